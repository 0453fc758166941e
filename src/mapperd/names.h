/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the site calls the nodes of a map.
 *
 * A mapper finds addresses of boards and crossbars that mostly have no name at
 * all.  The site has names for them: hosts in the identity table (elanhosts),
 * hosts and crossbars in the file that describes the cabling (mapper.conf's
 * Cabling).  They are put on the map before it is shown, written or reported,
 * so that one thing has one name everywhere.
 */
#ifndef SF_MAPPERD_NAMES_H
#define SF_MAPPERD_NAMES_H

#include "elan/elanhosts.h"
#include "net/graph.h"

struct names;

/* Read both files.  A NULL path means the default, which need not be there.
 * A file that cannot be used is told through `wrong`, and its names are not
 * used: a map without names is better than no map.  NULL: out of memory. */
typedef void names_wrong_f(const char *text, void *arg);
struct names *names_new(const char *elanhosts, const char *cabling,
                        names_wrong_f *wrong, void *arg);
void names_free(struct names *names);

/* A copy of a map with the names that are known; other nodes have none.  NULL:
 * out of memory. */
struct net *names_give(const struct names *names, const struct net *map);

/* The host with this board; NULL: not known. */
const char *names_of_host(const struct names *names, uint64_t board);
/* Its rail in the identity table; -1: not known. */
int names_rail_of(const struct names *names, uint64_t board);

#endif
