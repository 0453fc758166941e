/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From health to what is wanted of Slurm, and the caps on it.
 *
 * switchmgrd's collector decides what it wants for each node; its updater,
 * which alone has power over Slurm, decides with health/plan.h what of it is
 * done, within the caps.
 */
#ifndef SF_HEALTH_POLICY_H
#define SF_HEALTH_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "health/model.h"

struct policy_conf {
    bool drain;           /* Drain: drain nodes at all */
    bool drain_flapping;  /* DrainFlapping */
    bool drain_degraded;  /* DrainDegraded */
    bool refuse_flapping; /* RefuseFlapping: no steps on them */
    bool refuse_silent;   /* SilentPolicy=refuse: none where hsnd is silent */
    bool any_rail;        /* DrainRails=any: one rail is enough (else all) */
    int64_t drain_after;  /* ms of continuous, proven evidence */
    int64_t resume_after; /* ms of health */
    int64_t start_grace;  /* ms after the start without a drain */
};
void policy_conf_defaults(struct policy_conf *conf);

struct policy_want {
    bool drain;     /* should not get jobs */
    bool resume;    /* healthy long enough to get jobs again */
    uint8_t refuse; /* rails that no step may use */
};

/* node: from model_node().  maintenance: an admin works on it, so it is not
 * drained.  started: when switchmgrd began.  Times in ms. */
struct policy_want policy_decide(const struct policy_conf *conf,
                                 const struct health_node *node,
                                 bool maintenance, int64_t now,
                                 int64_t started);

/* At most `max` drains within `interval`, and never more than max_percent of
 * the nodes (at least one node) drained by us at a time. */
struct caps_conf {
    uint32_t max;
    int64_t interval;
    uint32_t max_percent;
};
void caps_conf_defaults(struct caps_conf *conf);

#define CAPS_MAX 4096
struct caps {
    int64_t at[CAPS_MAX]; /* of the last drains, a ring */
    uint32_t n;           /* in all */
};

/* May one more node of `nodes` be drained while `drained` are? */
bool caps_may(const struct caps *caps, const struct caps_conf *conf,
              int64_t now, uint32_t nodes, uint32_t drained);
/* The same; takes one of the interval's when it may. */
bool caps_take(struct caps *caps, const struct caps_conf *conf, int64_t now,
               uint32_t nodes, uint32_t drained);

#endif
