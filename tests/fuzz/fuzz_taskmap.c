/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/taskmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct taskmap map;

    if (text && taskmap_parse(&map, text, NULL) == 0)
        taskmap_free(&map);
    free(text);
    return 0;
}
