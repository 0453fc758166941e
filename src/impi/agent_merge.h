/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What agents contribute to the rendezvous, on its way up their tree
 * (doc/rendezvous.md, "The tree"): an agent holds what comes to a key from
 * itself and from the children that are attached, and sends it on in one frame
 * when nobody below has more to give.  It never decides whether a contribution
 * is right, which is impi-server's to do.
 *
 * A pure engine, one per agent.  Times are milliseconds of any clock that does
 * not go back.
 */
#ifndef SF_IMPI_AGENT_MERGE_H
#define SF_IMPI_AGENT_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "impi/agent_wire.h"

struct agent_merge;

/* A whole MERGED frame, valid in the call: to the parent, or to impi-server. */
typedef void agent_merge_send_f(void *arg, bool to_parent, const void *frame,
                                size_t len);

/* NULL: ENOMEM.  0 <= self < agents, fanout >= 1. */
struct agent_merge *agent_merge_create(uint32_t self, uint32_t agents,
                                       uint32_t fanout,
                                       agent_merge_send_f *send, void *arg);
void agent_merge_destroy(struct agent_merge *m);

/* This agent has given its part of a key before it knew of the tree. */
int agent_merge_given(struct agent_merge *m, const char *key);
/* It gives one now.  set: who contributes to the key in all, of
 * AGENT_SET_SIZE(agents) bytes; NULL: every agent.  0, or -1 ENOMEM. */
int agent_merge_put(struct agent_merge *m, const struct agent_put *put,
                    bool gather, const uint8_t *set, uint64_t now);
/* From an attached child.  0, or -1: EPROTO, it broke the rule that err tells;
 * ENOMEM. */
int agent_merge_child(struct agent_merge *m, uint32_t child,
                      const struct agent_merged *msg, uint64_t now,
                      struct errbuf *err);

/* A child is attached: it is waited for from the next key on.  It is not any
 * more. */
void agent_merge_attached(struct agent_merge *m, uint32_t child);
int agent_merge_gone(struct agent_merge *m, uint32_t child);
/* Frames go by the parent from now on, or not any more (and never again). */
int agent_merge_parent(struct agent_merge *m, bool attached);

/* The key is complete: its result has come or passed by. */
void agent_merge_forget(struct agent_merge *m, const char *key);
/* The agent wants to leave: all that is held goes, nothing is held again. */
int agent_merge_leave(struct agent_merge *m);

/* When agent_merge_tick() has something to do; UINT64_MAX: never. */
uint64_t agent_merge_due(const struct agent_merge *m);
/* What was held for long enough goes without the others.  0, or -1 ENOMEM. */
int agent_merge_tick(struct agent_merge *m, uint64_t now);
/* Keys of which more is to come. */
uint32_t agent_merge_open(const struct agent_merge *m);

/* Every part is of `from` or of an agent below it, and the set has the right
 * size.  0, or -1 EPROTO with the rule. */
int agent_merged_check(const struct agent_merged *msg, uint32_t from,
                       uint32_t agents, uint32_t fanout, struct errbuf *err);

#endif
