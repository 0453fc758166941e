/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A step that was built on a node whose fabric has a young fault, where Slurm
 * cannot make it wait (25.11 and later, and a stepmgr): its tasks on that node
 * are held until the fabric is well.  What is known of it there is Slurm's own
 * word on the node, the Extra that switchmgrd writes.  Knows no Slurm.
 */
#ifndef SF_SWITCH_ELAN_HOLD_H
#define SF_SWITCH_ELAN_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "health/table.h"

/* The updater writes Extra after the table that refuses steps is there: a
 * node that looks well at once may not have been told of yet. */
#define HOLD_SETTLE_MS 5000

struct hold {
    int64_t began, until; /* ms, of a clock that is not set */
    bool seen_down;
};

enum hold_verdict { HOLD_WAIT, HOLD_GO, HOLD_REFUSE };

/* What a node's Extra says of its fabric, as a line of the health table: its
 * rails that are down, since when, why.  False: it says nothing of it.  NULL:
 * the same.  *node is cleared but for its name. */
bool hold_read_extra(struct health_table_node *node, const char *extra);

/* Is one of the first `rails` rails down, by a node's Extra?  NULL: false. */
bool hold_is_down(const char *extra, uint32_t rails);

/* Held from now on, for as long. */
void hold_begin(struct hold *hold, int64_t now, uint32_t seconds);

/* What Extra says now; known: it could be asked. */
enum hold_verdict hold_look(struct hold *hold, int64_t now, bool known,
                            bool down);

#endif
