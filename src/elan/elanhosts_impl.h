/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the parser and the look-ups of the identity table only.
 */
#ifndef SF_ELAN_ELANHOSTS_IMPL_H
#define SF_ELAN_ELANHOSTS_IMPL_H

#include <stdbool.h>

#include "elan/elanhosts.h"

struct board_index {
    uint64_t board;
    uint32_t host;
    uint32_t rail;
};

struct elanhosts {
    bool natural;
    struct elan_host *host; /* [n], order of the file */
    uint32_t n, room;
    uint32_t *by_name; /* [n] */
    struct board_index *by_board;
    uint32_t nboards;
};

/* Sort the indexes and report what stands twice.  0, or -1 with errno EINVAL
 * (reported) or ENOMEM. */
int elanhosts_index(struct elanhosts *hosts, const char *name,
                    conf_error_f *report, void *arg);

#endif
