/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where subcommands about cabling and routes get their net from.
 */
#ifndef SF_SFABRIC_NETSOURCE_H
#define SF_SFABRIC_NETSOURCE_H

#include "net/graph.h"
#include "sfabric/sfabric.h"

/* The net of a file (swfab.net, ibnetdiscover's form), or with file NULL the
 * map that mapperd has.  NULL: told on stderr; leave with SFABRIC_UNKNOWN. */
struct net *sfabric_net(const struct sfabric_options *o, const char *file);

/* The name of a node, or something to call it by. */
const char *sfabric_node_name(const struct net *net, uint32_t node,
                              char buf[32]);

#endif
