/* SPDX-License-Identifier: BSD-3-Clause
 * Inside the repair of routes (src/net only): one lost cable of a Clos.
 */
#ifndef SF_NET_MEND_H
#define SF_NET_MEND_H

#include "net/route.h"

/* What a repair has touched. */
struct net_hurt {
    uint8_t *tree;     /* per tree: to be mended as a whole */
    uint8_t *leaf_hit; /* per leaf: a route from it changed */
    struct net_repair *what;
};

/* The cable between two global ports, of two crossbars, is gone: mark its edges
 * dead and turn the places of trees that used it.  What cannot be done place
 * by place is marked in hurt->tree.  Trees that are marked there already are
 * left alone.  False: out of memory. */
bool net_mend_cable(struct net_routes *r, uint32_t a, uint32_t b,
                    struct net_hurt *hurt);

#endif
