/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the updater does to one node of Slurm: from what is wanted and what
 * Slurm says now to the fields of one update.  Knows the rules of good
 * behaviour towards admins:
 *
 * - features: only ours, only those declared for the node in slurm.conf, are
 *   put into or taken out of its active features; the others stay
 * - Extra: our word begins with PLAN_MARK; what else stands there stays
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

/* What the collector wants, of fixed size: this is the record that crosses
 * to the updater.  Checked by plan_want_valid() there. */
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

/* Is it what the other side may send?  Names and evidence hold no byte that
 * means anything to Slurm or a terminal. */
bool plan_want_valid(const struct plan_want *want);

/* A node as Slurm has it; texts may be NULL. */
struct plan_node {
    const char *features;     /* declared */
    const char *features_act; /* active */
    const char *extra, *comment, *reason;
    const char *since; /* the want's, for people */
    bool drain;        /* DRAIN flag, whoever set it */
    bool unusable;     /* DOWN, FAIL, FUTURE, powered down: not for us */
    int64_t undone;    /* since of the fault whose drain was undone; 0 none */
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

/* False: a text of the node is too long to be merged; nothing is to be set. */
bool plan_make(const struct plan_want *want, const struct plan_node *node,
               struct plan *plan);

/* Slurm had our drain at `seen` (ms; 0: this process never saw it) and has it
 * no more.  Lost by a slurmctld that was started since (`boot`, ms, of whole
 * seconds; 0: not known), or taken back by somebody? */
bool plan_drain_was_lost(int64_t seen, int64_t boot);

/* Is this drain ours? */
bool plan_is_own(const char *reason);

#endif
