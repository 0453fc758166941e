/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the updater does to one Slurm node: turns what is wanted, and what Slurm
 * has now, into the fields of one update.  It respects what admins have set:
 *
 * - features: only ours, and only those declared for the node in slurm.conf,
 *   are added to or removed from its active features; the others stay
 * - Extra: our word begins with PLAN_MARK; anything else there stays
 * - Comment: written only when it is empty or begins with PLAN_MARK
 * - DRAIN: only when the node is not drained, down or failing for another
 *   reason, and not again for a fault whose drain somebody has undone
 * - RESUME: only of a drain whose reason begins with PLAN_REASON
 */
#ifndef SF_HEALTH_PLAN_H
#define SF_HEALTH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "health/state.h"

#define PLAN_MARK "fabric="
#define PLAN_REASON "switchmgrd: "

/* What the collector wants.  Of fixed size, because this record is sent to the
 * updater, which checks it with plan_want_valid(). */
struct plan_want {
    char node[SF_REPORT_NAME_MAX];
    uint8_t state; /* enum health_state, over all rails */
    uint8_t rails; /* a bit for each rail known */
    uint8_t rail_state[SF_ELAN_RAILS_MAX];
    uint8_t drain, resume;
    int64_t since; /* ms: when the state began */
    uint32_t count;
    char why[SF_REPORT_WHY_MAX];
};

/* As it is decided for a node that the model knows by this name. */
struct health_node;
struct policy_want;
void plan_want_make(struct plan_want *w, const char *name,
                    const struct health_node *node,
                    const struct policy_want *decided);

/* May the other side send this?  Names and evidence must hold no byte that has
 * a meaning for Slurm or a terminal. */
bool plan_want_valid(const struct plan_want *want);

/* A node as Slurm has it; texts may be NULL. */
struct plan_node {
    const char *features;     /* declared */
    const char *features_act; /* active */
    const char *extra, *comment, *reason;
    const char *since; /* of the want, as text for people */
    bool drain;        /* DRAIN flag, whoever set it */
    bool unusable;     /* DOWN, FAIL, FUTURE, powered down: we leave it */
    int64_t undone; /* `since' of the fault whose drain was undone; 0: none */
};

enum plan_state { PLAN_LEAVE, PLAN_DRAIN, PLAN_RESUME };

struct plan {
    bool set_features, set_extra, set_comment;
    enum plan_state state;
    char features_act[SF_PLAN_TEXT_MAX];
    char extra[SF_PLAN_TEXT_MAX];
    char comment[SF_PLAN_TEXT_MAX];
    char reason[SF_PLAN_TEXT_MAX];
};

/* False if a text of the node is too long to be merged; then set nothing. */
bool plan_make(const struct plan_want *want, const struct plan_node *node,
               struct plan *plan);

/* Slurm had our drain at `seen` (ms; 0: this process never saw it) and no
 * longer has it.  True if a slurmctld that was started since (`boot`, ms, of
 * whole seconds; 0: not known) lost it, false if somebody took it back. */
bool plan_drain_was_lost(int64_t seen, int64_t boot);

/* Is this drain ours? */
bool plan_is_own(const char *reason);

#endif
