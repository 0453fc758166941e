/* SPDX-License-Identifier: BSD-3-Clause
 *
 * This agent's place in the tree of a large step (impi/agent_tree.h,
 * doc/rendezvous.md): it takes its children's connections, connects to its
 * parent, passes results on, and sends up what the agents below contribute
 * (impi/agent_merge.h).  Where a connection does not come about, impi-server
 * and the agent below talk directly.
 */
#ifndef SF_IMPID_TREE_H
#define SF_IMPID_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ev.h>

#include "base/guests.h"
#include "impi/agent_merge.h"
#include "impi/agent_wire.h"
#include "impi/chan_open.h"
#include "impid/impid_stream.h"

struct impid;
struct tree_child;

enum impid_tree_end {
    TREE_STAYS,
    TREE_ASKED,  /* LEAVING is said */
    TREE_PARTED, /* all has come, and BYE is on its way to the children */
};

struct impid_tree {
    struct impid *impid;
    uint32_t fanout; /* 0: there is no tree */
    /* children */
    uint32_t first, nchildren;
    struct tree_child *children; /* NULL: none may connect */
    int listener, spare, netlink;
    ev_io accept;
    struct guests guests;
    /* parent */
    uint32_t parent;
    int fd; /* while connecting or opening, else -1 */
    ev_io io;
    bool opening;
    struct impi_chan_open open;
    struct impid_stream stream; /* loop NULL: not attached */
    bool parted;                /* it said BYE */
    bool had_known;
    uint32_t sent, had; /* MERGED frames: by us, and when it left by it */
    ev_timer lost;
    /* contributions */
    struct agent_merge *merge;
    ev_timer hold;
    /* results */
    uint32_t spreads, due; /* that came; that must have come before we leave */
    bool due_known;
    enum impid_tree_end end;
};

/* impi-server says: there is a tree; here is the parent; leave after so many
 * SPREADs. */
void impid_tree_start(struct impid *a, uint32_t fanout);
void impid_tree_parent(struct impid *a, const struct agent_at *at);
void impid_tree_leave(struct impid *a, uint32_t spreads);
/* A SPREAD, whose own bytes are frame[0..len): to children, and to us.  0; -1:
 * it is none for this step. */
int impid_tree_spread(struct impid *a, const struct agent_spread *m,
                      const void *frame, size_t len);
/* The same for a contribution of this agent; set as impid_link_put() has it.
 * False: there is no tree. */
bool impid_tree_put(struct impid *a, const struct agent_put *put, bool gather,
                    const uint8_t *set);
/* The result of a key is here. */
void impid_tree_result(struct impid *a, const char *key);
/* Before the agent leaves: children must have all that went by us, and we what
 * they have sent.  False:
 * nothing is left to do.  Else the loop's `stop` is started again when it has
 * been done. */
bool impid_tree_holds_back(struct impid *a);
/* It was held back for too long: impi-server, then the children hear what came
 * from them.  True: the children may still say something. */
bool impid_tree_give_up(struct impid *a);
/* The last word: all that was to go by the parent is with it. */
void impid_tree_goodbye(struct impid *a);
void impid_tree_stop(struct impid *a);

#endif
