/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lookups of a net (internal to src/net): open addressing over node
 * indexes.  The nodes lie in an array that moves when it grows, so no hash
 * handle can live inside them; an index is copied with one memcpy.
 *
 * An entry whose node has been renamed stays where it is and simply no
 * longer compares equal; it goes when the table grows.
 */
#ifndef SF_NET_INDEX_H
#define SF_NET_INDEX_H

#include "net/graph.h"

uint64_t net_hash_id(uint64_t id);
uint64_t net_hash_name(const char *name);

/* The hash of a node, false if it is not to be found by that. */
typedef bool net_hash_f(const struct net_node *node, uint64_t *hash);
net_hash_f net_hash_id_of;
net_hash_f net_hash_name_of;

/* Room for one more entry.  Builds a larger table from all nodes of the net
 * that belong in this index.  False with errno ENOMEM. */
bool net_index_room(struct net *net, struct net_index *index, net_hash_f *of);

/* Needs net_index_room() before. */
void net_index_put(struct net_index *index, uint64_t hash, uint32_t node);

#endif
