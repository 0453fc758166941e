/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is a map that somebody found the truth?
 *
 * Two nets are the same when a one-to-one pairing of their nodes takes every
 * cable to a cable, port by port.  Hosts are paired by their address,
 * crossbars that tell an id by it, all others by where they hang: starting
 * from paired hosts along the cables, so the pairing is forced and found in
 * linear time.  Names are not looked at, nor are nodes without cables.
 *
 * The ports of an anonymous crossbar (has_id is 0 in the truth) are seen
 * from outside only relative to each other: nothing tells a crossbar of 8
 * ports with cables in 0-3 from one with cables in 4-7.  For such a crossbar
 * every port may be shifted by the same number, and its number of ports may
 * differ, as long as each cable is there.  A crossbar with an id must agree
 * in id, ports and number of ports.
 *
 * What no cable joins to any host, nor to a crossbar with an id, cannot be
 * compared and counts as different.
 */
#ifndef SF_NET_SAME_H
#define SF_NET_SAME_H

#include "base/errbuf.h"
#include "net/graph.h"

/* False with the first difference in *why (which may be NULL), in the words
 * of the truth's names; also when out of memory. */
bool net_same(const struct net *truth, const struct net *found,
              struct errbuf *why);

/* The same, and says what is what: pair[n] becomes the found node of the
 * truth's node n (NET_NONE: it has no cables), shift[n] its found port minus
 * its true port.  Both have room for truth->nnodes. */
bool net_match(const struct net *truth, const struct net *found, uint32_t *pair,
               int *shift, struct errbuf *why);

#endif
