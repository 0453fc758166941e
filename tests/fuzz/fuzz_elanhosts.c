/* SPDX-License-Identifier: BSD-3-Clause
 * The identity table: its text, and a node name that is looked up in it.
 */
#include <stdlib.h>
#include <string.h>

#include "elan/elanhosts.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elanhosts *hosts =
        elanhosts_parse("fuzz", (const char *)data, size, NULL, NULL);
    const struct elan_host *host;
    uint32_t rail;

    for (uint32_t i = 0; hosts && (host = elanhosts_get(hosts, i)); i++) {
        if (elanhosts_find(hosts, host->name) != host)
            abort();
        if (host->board[0] != 0 &&
            elanhosts_find_board(hosts, host->board[0], &rail) != host)
            abort();
    }
    elanhosts_destroy(hosts);
    return 0;
}
