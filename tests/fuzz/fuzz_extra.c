/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any text as a node's Extra, in which we look for our word.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "plugins/switch_elan/hold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct health_table_node node = {.name = ""};
    char *extra = malloc(size + 1);
    bool told;

    if (!extra)
        return 0;
    memcpy(extra, data, size);
    extra[size] = '\0';
    told = hold_read_extra(&node, extra);
    if ((!told && node.refuse) || node.since < 0 ||
        !memchr(node.why, '\0', sizeof(node.why)) ||
        hold_is_down(extra, 8) != (node.refuse != 0))
        abort();
    free(extra);
    return 0;
}
