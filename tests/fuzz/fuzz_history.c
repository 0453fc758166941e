/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as the files of the history of links: of names, as they are or as
 * edits of a sound one, and of a block.
 */
#include <string.h>

#include "fuzz.h"
#include "switchmgrd/history.h"

static int take(const struct history_name *n, void *arg)
{
    (void)arg;
    if (strlen(n->name) >= SF_HISTORY_NAME_MAX ||
        n->column >= SF_HISTORY_LINKS_MAX)
        abort();
    return 0;
}

/* The text has a NUL behind it, as file_read() gives it. */
static void names(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct errbuf err;

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    history_names_read(text, size, take, NULL, &err);
    free(text);
}

/* With the sum that is right, so that what lies behind it is reached. */
static void lines(const uint8_t *data, size_t size)
{
    struct errbuf err;
    size_t len;
    char *text = history_names_close((const char *)data, size, &len);

    if (text)
        history_names_read(text, len, take, NULL, &err);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct history_sample s[HISTORY_COLUMNS] = {{0}};
    uint8_t block[HISTORY_BLOCK], *edited;
    size_t len = sizeof(block);

    if (size == 0)
        return 0;
    if (data[0] != FUZZ_EDITS) {
        names(data, size);
        lines(data, size);
        return 0;
    }
    s[3] = (struct history_sample){1000, 2000, 3, 1, 2};
    history_block_write(block, 77, s);
    edited = fuzz_edit(block, &len, data + 1, size - 1);
    memset(block, 0, sizeof(block));
    memcpy(block, edited, len);
    free(edited);
    history_block_read(block, 77, s);
    return 0;
}
