/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Verify mode: rounds of three phases with a pause between them.
 *
 *   1  tree partners: do parent and children answer, with valid maps?
 *   2  the own crossbar: its hosts and the cables that leave it
 *   3  the own share of all cables between crossbars and of all free ports;
 *      the shares of all mappers together are everything
 */
#include <stdio.h>

#include "mapper/gm2_priv.h"
#include "mapper/gm_address.h"

static void end_round(struct gm2 *m)
{
    m->phase = GM2_PHASE_REST;
    m->round++;
    m->counters.rounds++;
    m->round_time = m->now - m->round_start;
    m->timer = m->now + m->config.verify_pause;
}

/* ---- phase 1 ------------------------------------------------------------- */

static void ask_partner(struct gm2 *m, const struct gm2_partner *partner,
                        unsigned which)
{
    const struct gm2_talk talk = {
        .purpose = GM2_TALK_PARTNER,
        .reason = GM2_LX_VERIFYING,
        .address = partner->address,
        .route = partner->route,
        .wait = m->config.scout_wait,
        .left = m->config.parent_tries,
        .which = which,
    };

    if (partner->address != 0)
        gm2_ask(m, &talk);
}

/* Nothing is known at the other end of the own cable: one probe for a
 * crossbar, one for a host.  What comes back is a change. */
static void look_out(struct gm2 *m)
{
    struct gm2_message probe = {.subtype = GM2_PROBE,
                                .session = m->talk_session};
    struct gm2_message scout = {.subtype = GM2_SCOUT,
                                .reason = GM2_LX_VERIFYING,
                                .session = m->talk_session};
    const struct gm2_route turn = {1, {net_route_byte(0)}}, none = {0, {0}};

    gm2_say(m, &probe, &turn);
    gm2_say(m, &scout, &none);
}

void gm2_look_out_answered(struct gm2 *m, const struct gm2_message *msg)
{
    if (m->state == GM2_STATE_VERIFYING && msg->tag == 0 &&
        msg->session == m->talk_session)
        gm2_changed(m, "the cable leads somewhere now");
}

void gm2_round_begin(struct gm2 *m)
{
    m->round_start = m->now;
    if (m->map->net->ncables == 0)
        look_out(m);
    m->phase = GM2_PHASE_PARTNERS;
    ask_partner(m, &m->parent, 2);
    ask_partner(m, &m->child[0], 0);
    ask_partner(m, &m->child[1], 1);
    gm2_round_partners(m);
}

/* A child with another map is told of ours; one that never takes it is not
 * what the map says. */
static bool children_follow(struct gm2 *m)
{
    char who[GM_ADDRESS_TEXT];

    for (unsigned i = 0; i < 2; i++) {
        struct gm2_partner *child = &m->child[i];

        if (child->address == 0 || child->same) {
            child->behind = 0;
            continue;
        }
        if (++child->behind <= GM2_ROUNDS_BEHIND)
            continue;
        gm2_changed(m, "host %s does not take the map",
                    gm_address_text(child->address, who));
        return false;
    }
    gm2_hush(m, GM2_TALK_TREE);
    gm2_tree_start(m);
    return true;
}

/* ---- phases 2 and 3 ------------------------------------------------------ */

static uint8_t shares(const struct gm2 *m)
{
    return m->map->net->nhosts > 255 ? 255 : (uint8_t)m->map->net->nhosts;
}

static bool start_phase(struct gm2 *m)
{
    struct verify_options o = {.round = m->me + m->round};

    switch (m->phase) {
    case GM2_PHASE_NEAR:
        o.hosts = true;
        o.links = !m->config.no_xbar_check;
        m->reduced = gm2_reduce_near(m->map->net, m->me);
        return m->reduced && gm2_search_verify(m, &o, m->reduced, m->me);
    case GM2_PHASE_SHARE:
        o.links = true;
        m->reduced = gm2_reduce_share(m->map->net, m->me);
        return m->reduced && !m->config.no_xbar_check &&
               gm2_search_verify(m, &o, m->reduced, m->me);
    case GM2_PHASE_FREE:
        o.empty = true;
        o.empty_share = shares(m);
        return gm2_search_verify(m, &o, m->map->net, m->me);
    default:
        return false;
    }
}

static void next_phase(struct gm2 *m)
{
    do {
        gm2_search_stop(m);
        if (m->phase == GM2_PHASE_FREE) {
            end_round(m);
            return;
        }
        m->phase++;
    } while (!start_phase(m));
}

void gm2_round_partners(struct gm2 *m)
{
    if (m->state != GM2_STATE_VERIFYING || m->phase != GM2_PHASE_PARTNERS ||
        gm2_talking(m, GM2_TALK_PARTNER))
        return;
    if (children_follow(m))
        next_phase(m);
}

void gm2_round_searched(struct gm2 *m)
{
    const struct verify_change *c = verify_change(m->v, 0);
    char text[200];

    if (!c) {
        next_phase(m);
        return;
    }
    gm2_describe_change(m->map->net, c, text, sizeof(text));
    gm2_changed(m, "%s", text);
}

void gm2_describe_change(const struct net *net, const struct verify_change *c,
                         char *text, size_t size)
{
    char who[GM_ADDRESS_TEXT], old[GM_ADDRESS_TEXT];
    const struct net_node *node = &net->nodes[c->node];

    gm_address_text(c->address, who);
    gm_address_text(node->id, old);
    switch (c->what) {
    case VERIFY_LINK_LOST:
        snprintf(text, size, "link lost: crossbar %u port %u to %u port %u",
                 c->node - net->nhosts, (unsigned)c->port,
                 c->peer - net->nhosts, (unsigned)c->peer_port);
        break;
    case VERIFY_HOST_LOST:
        snprintf(text, size, "host lost: %s", old);
        break;
    case VERIFY_HOST_OTHER:
        snprintf(text, size, "host %s where %s was", who, old);
        break;
    case VERIFY_HOST_NEW:
        snprintf(text, size, "host new: %s at crossbar %u port %u", who,
                 c->node - net->nhosts, (unsigned)c->port);
        break;
    case VERIFY_LINK_NEW:
        snprintf(text, size, "link new: crossbar %u port %u",
                 c->node - net->nhosts, (unsigned)c->port);
        break;
    case VERIFY_XBAR_OTHER:
        snprintf(text, size, "crossbar %u is another one",
                 c->node - net->nhosts);
        break;
    case VERIFY_MOVED:
        snprintf(text, size, "host moved: %s to crossbar %u port %u", who,
                 c->node - net->nhosts, (unsigned)c->port);
        break;
    }
}
