/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Topologies of spanning communicators.
 */
#include "libimpi/topo.h"

#include <stdlib.h>

struct topo *topo_copy(const struct topo *t)
{
    (void)t;
    return NULL;
}

void topo_free(struct topo *t)
{
    free(t);
}
