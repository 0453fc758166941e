/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports at rest, which in a healthy cluster are nearly all.  Only nicd has ever
 * reported such a port, and it keeps reporting the same: that the port is well.
 * So until nicd falls silent the port need not be judged, nor counted again
 * among those of its kind.  A tick looks at ports that are not at rest, and at
 * the one that has gone without a report for longest.
 *
 * Any change of a port has it judged, which ends its rest.  So does a change of
 * anything else that its judgement depends on: the configuration, and the speed
 * of most ports of its kind.
 */
#include "health/model_priv.h"

#define NOBODY_ELSE_TOLD(it)                                                   \
    (!(it)->pub.evidence[REPORT_HSND].known &&                                 \
     !(it)->pub.evidence[REPORT_MAPPERD].known &&                              \
     !(it)->pub.evidence[REPORT_LINKS].known)
_Static_assert(REPORT_FROMS == 4, "nobody else is all but nicd");

static bool has_echoes(const struct model_item *it)
{
    for (int i = 0; i < MODEL_ECHOES_MAX; i++)
        if (it->echoes[i].at)
            return true;
    return false;
}

/* Would it be judged as it stands until nicd falls silent? */
static bool may_rest(const struct model_item *it)
{
    const struct health_evidence *e = &it->pub.evidence[REPORT_NICD];

    return it->judged && it->raw == SEEN_UP &&
           it->pub.state == HEALTH_HEALTHY && e->seen == SEEN_UP &&
           !it->nic_never && it->nic[0] && it->pub.source == REPORT_NICD &&
           strcmp(it->pub.why, e->why) == 0 && NOBODY_ELSE_TOLD(it) &&
           !it->pub.peer[0] && !it->leaf && !it->errors.high &&
           !it->deaf_first && !it->deaf_at && !has_echoes(it);
}

static void stir(struct model *m, struct model_item *it)
{
    TAILQ_INSERT_TAIL(&m->awake, it, rest);
    if (m->ops.stirs && it->pub.kind == REPORT_HOST)
        m->ops.stirs(&it->pub, m->ops.arg);
}

void model_rest_make(struct model *m, struct model_item *it)
{
    stir(m, it);
}

void model_rest_drop(struct model *m, struct model_item *it)
{
    model_rest_end(m, it);
    TAILQ_REMOVE(&m->awake, it, rest);
}

/* The last of these has spoken last. */
static void go_last(struct model *m, struct model_item *it)
{
    if (TAILQ_NEXT(it, rest)) {
        TAILQ_REMOVE(&m->at_rest, it, rest);
        TAILQ_INSERT_TAIL(&m->at_rest, it, rest);
    }
}

void model_rest_word(struct model *m, struct model_item *it)
{
    if (it->rests) {
        go_last(m, it);
        return;
    }
    if (!may_rest(it) || !(it->rests = model_nic_rests(m, it)))
        return;
    TAILQ_REMOVE(&m->awake, it, rest);
    TAILQ_INSERT_TAIL(&m->at_rest, it, rest);
}

void model_rest_end(struct model *m, struct model_item *it)
{
    if (!it->rests)
        return;
    model_nic_rests_no_more(it->rests, it->rests_mbps);
    it->rests = NULL;
    TAILQ_REMOVE(&m->at_rest, it, rest);
    stir(m, it);
}

void model_rest_end_all(struct model *m, const struct model_nics *nics)
{
    struct model_item *it, *next;

    for (it = TAILQ_FIRST(&m->at_rest); it; it = next) {
        next = TAILQ_NEXT(it, rest);
        if (!nics || it->rests == nics)
            model_rest_end(m, it);
    }
}

void model_rest_tick(struct model *m, int64_t now)
{
    int64_t most = m->conf.stale[REPORT_NICD];
    struct model_item *it;

    if (most > m->conf.forget_after)
        most = m->conf.forget_after;
    while ((it = TAILQ_FIRST(&m->at_rest)) &&
           now - it->pub.evidence[REPORT_NICD].at > most)
        model_rest_end(m, it);
}
