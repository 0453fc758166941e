/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/policy.h"

void policy_conf_defaults(struct policy_conf *c)
{
    *c = (struct policy_conf){
        .drain = true,
        .drain_flapping = true,
        .drain_degraded = false,
        .refuse_flapping = false,
        .any_rail = true,
        .drain_after = 10000,
        .resume_after = 60000,
        .start_grace = 60000,
    };
}

void caps_conf_defaults(struct caps_conf *c)
{
    *c = (struct caps_conf){.max = 8, .interval = 600000, .max_percent = 10};
}

static bool drains(const struct policy_conf *c, enum health_state state)
{
    switch (state) {
    case HEALTH_DOWN:
        return true;
    case HEALTH_FLAPPING:
        return c->drain_flapping;
    case HEALTH_DEGRADED:
        return c->drain_degraded;
    case HEALTH_HEALTHY:
    case HEALTH_UNKNOWN:
        break;
    }
    return false;
}

static bool refuses(const struct policy_conf *c, const struct health_node *n,
                    unsigned rail)
{
    enum health_state state = n->rail_state[rail];

    return state == HEALTH_DOWN ||
           (state == HEALTH_FLAPPING && c->refuse_flapping) ||
           (n->silent & 1u << rail && c->refuse_silent);
}

/* What a dead daemon alone could have brought about is never enough. */
static bool has_proof(const struct policy_conf *c, const struct health_node *n,
                      unsigned rail, int64_t now)
{
    return n->rail_proven[rail] && now - n->rail_proven[rail] >= c->drain_after;
}

struct policy_want policy_decide(const struct policy_conf *c,
                                 const struct health_node *n, bool maintenance,
                                 int64_t now, int64_t started)
{
    struct policy_want w = {.resume = n->rails != 0};
    unsigned bad = 0, known = 0;

    for (unsigned r = 0; r < SF_ELAN_RAILS_MAX; r++) {
        int64_t age = now - n->rail_since[r];

        if (!(n->rails & 1u << r))
            continue;
        known++;
        bad += drains(c, n->rail_state[r]) && has_proof(c, n, r, now);
        if (refuses(c, n, r))
            w.refuse |= (uint8_t)(1u << r);
        if (n->rail_state[r] != HEALTH_HEALTHY || age < c->resume_after)
            w.resume = false;
    }
    w.drain = c->drain && !maintenance && bad > 0 &&
              (c->any_rail || bad == known) && now - started >= c->start_grace;
    return w;
}

bool caps_may(const struct caps *caps, const struct caps_conf *c, int64_t now,
              uint32_t nodes, uint32_t drained)
{
    uint32_t have = caps->n < CAPS_MAX ? caps->n : CAPS_MAX;
    uint64_t most = (uint64_t)nodes * c->max_percent / 100;
    uint32_t recent = 0;

    for (uint32_t i = 0; i < have; i++)
        recent += now - caps->at[i] < c->interval;
    return recent < c->max && c->max_percent != 0 &&
           drained < (most ? most : 1);
}

bool caps_take(struct caps *caps, const struct caps_conf *c, int64_t now,
               uint32_t nodes, uint32_t drained)
{
    if (!caps_may(caps, c, now, nodes, drained))
        return false;
    caps->at[caps->n++ % CAPS_MAX] = now;
    return true;
}
