/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mapperd --prober=ib --map-once: map an InfiniBand fabric and leave.
 */
#ifndef SF_MAPPERD_MAP_IB_H
#define SF_MAPPERD_MAP_IB_H

#include <stdio.h>

struct map_ib {
    const char *ca;
    int port;
    unsigned window;
    const char *map_file; /* NULL: only say what was found */
};

/* The exit status: 0; 1, what was not reached is said on err, the map is
 * written all the same; 2 with a line on err. */
int map_ib_once(const struct map_ib *m, FILE *out, FILE *err);

#endif
