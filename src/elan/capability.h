/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Building, checking, reading and coding of Elan capabilities.
 *
 * Bitmap.  A capability has one bit for each slot of each node from LowNode
 * to HighNode.  With r nodes in that range and w = HighContext - LowContext
 * + 1 slots a node, the bit of slot s on the node with Elan id e is
 *     BLOCK   (e - LowNode) * w + s
 *     CYCLIC  (e - LowNode) + s * r
 * and the n-th set bit is process n, unless ELAN_CAP_TYPE_MAPPED is set.
 * Bits of slots and nodes that hold no process are clear.
 *
 * Keys: whoever no longer needs a capability clears it with explicit_bzero().
 */
#ifndef SF_ELAN_CAPABILITY_H
#define SF_ELAN_CAPABILITY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/be.h"
#include "base/errbuf.h"
#include "elan/elanvp.h"
#include "elan/layout.h"

/* Set every member to its known value: ELAN_CAP_UNINITIALISED for numbers,
 * zero for key, rail mask and bitmap, the current Version. */
void elan3_nullcap(struct elan_capability *cap);

struct elan_capability_spec {
    const struct elan_layout *layout;
    uint32_t rail;
    uint32_t low_context;
    uint32_t ncontexts;      /* width of the range, >= layout->max_tasks */
    struct elan_userkey key; /* 128 random bits */
    bool no_broadcast;       /* a node of the program is off the fabric */
};

/* Build the program's capability for one rail.  Type is BLOCK or CYCLIC,
 * whichever puts every process where the layout has it (both do: as
 * layout->cyclic says; none does: the same, with ELAN_CAP_TYPE_MAPPED).
 * Returns 0, or -1 with errno and text: E2BIG more than ELAN_MAX_VPS slots,
 * EINVAL contexts out of range or fewer than max_tasks, no such rail; ENOMEM.
 * On failure *cap is as elan3_nullcap() leaves it. */
int elan_capability_build(struct elan_capability *cap,
                          const struct elan_capability_spec *spec,
                          struct errbuf *err);

/* Would that many slots fit?  0, or -1 with E2BIG and text. */
int elan_capability_fits(const struct elan_layout *l, uint32_t rail,
                         uint32_t ncontexts, struct errbuf *err);

/* Is every member of a capability that came from elsewhere consistent with
 * the others?  0, or -1 with EPROTO and text. */
int elan_capability_validate(const struct elan_capability *cap,
                             struct errbuf *err);

bool elan_capability_bit(const struct elan_capability *cap, uint32_t bit);
/* Does the capability have a process in this slot of this node? */
bool elan_capability_has(const struct elan_capability *cap, uint32_t node,
                         uint32_t slot);
/* Elan id and context of the n-th set bit; -1 (ENOENT) past the last. */
int elan3_locate(const struct elan_capability *cap, uint32_t n, uint32_t *node,
                 uint32_t *context);
/* Compares the keys in a time that does not depend on where they differ. */
bool elan_capability_equal(const struct elan_capability *a,
                           const struct elan_capability *b);

/* Codec; the form is in doc/jobinfo-wire.md. */
size_t elan_capability_size(const struct elan_capability *cap);
void elan_capability_put(struct be_writer *w,
                         const struct elan_capability *cap);
/* Decodes and validates.  -1 with EPROTO and text. */
int elan_capability_get(struct be_reader *r, struct elan_capability *cap,
                        struct errbuf *err);

#endif
