/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sfabric/names.h"

/* A name is a stem and the digits at its end, if there are any. */
static size_t stem_len(const char *s)
{
    size_t len = strlen(s);

    while (len > 0 && isdigit((unsigned char)s[len - 1]))
        len--;
    /* More digits than a number holds belong to the stem. */
    if (strlen(s) - len > 9)
        len = strlen(s) - 9;
    return len;
}

static int by_number(const void *x, const void *y)
{
    const char *a = *(const char *const *)x, *b = *(const char *const *)y;
    size_t la = stem_len(a), lb = stem_len(b);
    int c = strncmp(a, b, la < lb ? la : lb);

    if (c == 0 && la != lb)
        return la < lb ? -1 : 1;
    if (c == 0 && strlen(a) != strlen(b))
        return strlen(a) < strlen(b) ? -1 : 1;
    return c ? c : strcmp(a, b);
}

static bool follows(const char *a, const char *b)
{
    size_t len = stem_len(a);

    return stem_len(b) == len && strlen(a) == strlen(b) &&
           strncmp(a, b, len) == 0 && a[len] &&
           strtoul(a + len, NULL, 10) + 1 == strtoul(b + len, NULL, 10);
}

static bool same_stem(const char *a, const char *b)
{
    size_t len = stem_len(a);

    return stem_len(b) == len && strncmp(a, b, len) == 0 && a[len] && b[len];
}

/* How many names from the first on have its stem. */
static size_t family(const char **names, size_t n)
{
    size_t len = 1;

    while (len < n && same_stem(names[0], names[len]))
        len++;
    return len;
}

static void put_family(FILE *f, const char **names, size_t n)
{
    size_t stem = stem_len(names[0]), len;

    if (n == 1) {
        fputs(names[0], f);
        return;
    }
    fprintf(f, "%.*s[", (int)stem, names[0]);
    for (size_t i = 0; i < n; i += len) {
        len = 1;
        while (i + len < n && follows(names[i + len - 1], names[i + len]))
            len++;
        fprintf(f, "%s%s", i ? "," : "", names[i] + stem);
        if (len > 1)
            fprintf(f, "-%s", names[i + len - 1] + stem);
    }
    fputc(']', f);
}

char *names_compress(const char **names, size_t n)
{
    char *text = NULL;
    size_t size, kept = 0, len;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    if (n)
        qsort(names, n, sizeof(*names), by_number);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
            names[kept++] = names[i];
    }
    for (size_t i = 0; i < kept; i += len) {
        len = family(names + i, kept - i);
        if (i)
            fputc(',', f);
        put_family(f, names + i, len);
    }
    fclose(f);
    return text;
}
