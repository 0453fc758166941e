/* SPDX-License-Identifier: BSD-3-Clause
 * Inside the repair of routes (src/net only): one lost cable of a Clos.
 */
#ifndef SF_NET_MEND_H
#define SF_NET_MEND_H

#include "net/route.h"

/* The cable between two global ports, of two crossbars, is gone: mark its edges
 * dead and turn the places of trees that used it.  Trees that cannot be done
 * place by place are marked in whole[]; those that are marked there already
 * are left alone.  False: out of memory. */
bool net_mend_cable(struct net_routes *r, uint32_t a, uint32_t b,
                    uint8_t *whole);

#endif
