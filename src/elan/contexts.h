/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allocator of Elan contexts.  A program takes one contiguous range of
 * contexts, the same on each of its nodes.  Programs that share a node never
 * share a context; programs that share none may.
 *
 * Next fit: the search begins above the last range that was given out and
 * wraps at the top, so that a context rests as long as possible before it is
 * used again.
 *
 * Cost: one row of 4096 bits per node.  With k nodes in the request and c
 * contexts in base..top, allocation reads k * c / 64 words (16 per node by
 * default) and release writes k * width / 64: independent of how many
 * programs are live.  Memory: 512 bytes per node that was ever used.
 *
 * Not thread safe: the caller holds a lock.
 */
#ifndef SF_ELAN_CONTEXTS_H
#define SF_ELAN_CONTEXTS_H

#include <stdint.h>

#include "base/errbuf.h"

struct elan_contexts;

/* Nodes by Elan id on rail 0, each at most SF_ELAN_NODE_ID_MAX, none twice;
 * borrowed. */
struct elan_nodes {
    const uint32_t *id;
    uint32_t n;
};

/* A pool that gives out base..top, both included.  NULL with errno and text:
 * EINVAL base above top or top not below ELAN_MAX_CONTEXTS, ENOMEM. */
struct elan_contexts *elan_contexts_create(uint32_t base, uint32_t top,
                                           struct errbuf *err);
void elan_contexts_destroy(struct elan_contexts *c);

/* Another range from now on; what is given out stays valid.  0, or -1 as
 * elan_contexts_create(). */
int elan_contexts_set_range(struct elan_contexts *c, uint32_t base,
                            uint32_t top, struct errbuf *err);

/* Where the next search begins; a value outside base..top means base. */
uint32_t elan_contexts_cursor(const struct elan_contexts *c);
void elan_contexts_set_cursor(struct elan_contexts *c, uint32_t cursor);

/* Take `width` contexts on all nodes; *low is the first.  Returns 0, or -1
 * with errno and text: EBUSY none is free now; E2BIG wider than base..top,
 * will never fit; EINVAL no node, no width, or an id out of range; ENOMEM.
 * On failure nothing changed. */
int elan_contexts_alloc(struct elan_contexts *c, struct elan_nodes nodes,
                        uint32_t width, uint32_t *low, struct errbuf *err);

/* Take a given range, which may lie outside base..top (recovery, after a
 * change of configuration).  -1 with EEXIST: a part is taken; nothing
 * changed.  EINVAL, ENOMEM as above. */
int elan_contexts_claim(struct elan_contexts *c, struct elan_nodes nodes,
                        uint32_t low, uint32_t width, struct errbuf *err);

/* Return a range.  -1 with ENOENT when a part of it is not taken; nothing
 * changed then. */
int elan_contexts_release(struct elan_contexts *c, struct elan_nodes nodes,
                          uint32_t low, uint32_t width);

/* Contexts taken, summed over all nodes. */
uint64_t elan_contexts_used(const struct elan_contexts *c);

#endif
