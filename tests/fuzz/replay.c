/* SPDX-License-Identifier: BSD-3-Clause
 *
 * main() of a fuzz target in an ordinary build: feeds it every file of its
 * corpus, and every prefix of each, and says so in TAP.  A crash fails the
 * test; an empty corpus is a skip.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define FILE_MAX (1 << 20)

static size_t read_file(const char *path, uint8_t *buf)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    if (!f)
        return 0;
    n = fread(buf, 1, FILE_MAX, f);
    fclose(f);
    return n;
}

/* Each input in a block of its own size, so that a sanitizer sees overruns. */
static void feed(const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);

    if (!copy)
        abort();
    memcpy(copy, data, len);
    LLVMFuzzerTestOneInput(copy, len);
    free(copy);
}

static void replay(const char *path, uint8_t *buf)
{
    size_t len = read_file(path, buf);
    size_t step = 1 + len / 512;

    for (size_t n = 0; n < len; n += step)
        feed(buf, n);
    feed(buf, len);
}

int main(int argc, char **argv)
{
    const char *top = getenv("SF_TOP_SRCDIR");
    const char *name = strrchr(argv[0], '/');
    uint8_t *buf = malloc(FILE_MAX);
    char dir[3000], path[4000];
    struct dirent *entry;
    int count = 0;
    DIR *d;

    name = strstr(name ? name : argv[0], "fuzz_");
    if (!buf || !name)
        return 99;
    snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus/%s", top ? top : ".",
             name + strlen("fuzz_"));
    d = opendir(dir);
    while (d && (entry = readdir(d))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        replay(path, buf);
        printf("ok %d - %s replays %s\n", ++count, name, entry->d_name);
        fflush(stdout);
    }
    if (d)
        closedir(d);
    free(buf);
    if (count == 0)
        printf("1..0 # SKIP no corpus in %s\n", dir);
    else
        printf("1..%d\n", count);
    return 0;
}
