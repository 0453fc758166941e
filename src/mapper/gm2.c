/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A GM-2 mapper: its searches and verification rounds, old maps as hypotheses,
 * its state machine, and time.  Its messages to other mappers: gm2_talk.c.
 */
#include "mapper/gm2.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapper/cables.h"
#include "mapper/gm2_priv.h"
#include "mapper/gm_address.h"
#include "net/align.h"
#include "net/build.h"
#include "net/same.h"

static void gm2_describe_change(const struct net *net,
                                const struct verify_change *c, char *text,
                                size_t size);
static void gm2_search_stop(struct gm2 *m);
static bool gm2_search_verify(struct gm2 *m,
                              const struct verify_options *options,
                              const struct net *net, uint32_t me);
static struct explore *gm2_search_explorer(struct gm2 *m);
static void gm2_search_explore(struct gm2 *m, struct explore *x);

/* ---- gm2 reduce -------------------------------------------------------- */

/* The parts of a map that one host verifies: copies of the net with the same
 * nodes and ports, but only some of its cables. */

/* A copy without the cables that are not marked at their lower end. */
static struct net *keep_only(const struct net *net, const bool *keep)
{
    struct net *copy = net_copy(net);

    for (uint32_t p = 0; copy && p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q != NET_NONE && q > p && !keep[p] && !keep[q])
            net_disconnect(copy, net->ports[p].node, net_port_number(net, p));
    }
    return copy;
}

/* The host's own crossbar with its cables. */
static struct net *gm2_reduce_near(const struct net *net, uint32_t me)
{
    bool *keep = calloc(net->nports + 1, sizeof(*keep));
    uint32_t x = net_peer_node(net, me, 0);
    struct net *copy;

    if (!keep)
        return NULL;
    keep[net->nodes[me].first] = true;
    for (unsigned i = 0; x != NET_NONE && i < net->nodes[x].nports; i++)
        keep[net->nodes[x].first + i] = true;
    copy = keep_only(net, keep);
    free(keep);
    return copy;
}

/* up[n]: the port of node n that leads towards the host, or NET_NONE. */
static void search(const struct net *net, uint32_t me, uint32_t *up,
                   uint32_t *queue)
{
    uint32_t head = 0, tail = 0;

    for (uint32_t i = 0; i < net->nnodes; i++)
        up[i] = NET_NONE;
    queue[tail++] = me;
    while (head < tail) {
        const struct net_node *node = &net->nodes[queue[head++]];

        for (unsigned i = 0; i < node->nports; i++) {
            uint32_t q = net->ports[node->first + i].peer, n;

            if (q == NET_NONE)
                continue;
            n = net->ports[q].node;
            if (n == me || up[n] != NET_NONE)
                continue;
            up[n] = q;
            if (net->nodes[n].kind == NET_XBAR)
                queue[tail++] = n;
        }
    }
}

/* Mark the way from a node to the host. */
static void mark_way(const struct net *net, uint32_t node, const uint32_t *up,
                     bool *keep)
{
    while (up[node] != NET_NONE && !keep[up[node]]) {
        keep[up[node]] = true;
        node = net->ports[net->ports[up[node]].peer].node;
    }
}

static void mark_share(const struct net *net, uint32_t me, const uint32_t *up,
                       bool *keep)
{
    uint32_t link = 0;

    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer, node = net->ports[p].node;

        if (q == NET_NONE || q < p || net->nodes[node].kind != NET_XBAR ||
            net->nodes[net->ports[q].node].kind != NET_XBAR)
            continue;
        if (link++ % net->nhosts != me)
            continue;
        mark_way(net, node, up, keep);
        mark_way(net, net->ports[q].node, up, keep);
        keep[p] = true;
    }
}

static struct net *gm2_reduce_share(const struct net *net, uint32_t me)
{
    bool *keep = calloc(net->nports + 1, sizeof(*keep));
    uint32_t *up = calloc(net->nnodes + 1, sizeof(*up));
    uint32_t *queue = calloc(net->nnodes + 1, sizeof(*queue));
    struct net *copy = NULL;

    if (keep && up && queue) {
        search(net, me, up, queue);
        keep[net->nodes[me].first] = true;
        mark_share(net, me, up, keep);
        copy = keep_only(net, keep);
    }
    free(queue);
    free(up);
    free(keep);
    return copy;
}

static struct net *gm2_reduce_above(const struct net *net, uint32_t me)
{
    struct net *copy = net_copy(net);

    for (uint32_t i = me + 1; copy && i < copy->nhosts; i++)
        net_disconnect(copy, i, 0);
    return copy;
}

/* A copy without the nodes that the host cannot reach, in the same order;
 * *there is the host's number in it. */
static struct net *gm2_reduce_reachable(const struct net *net, uint32_t me,
                                        uint32_t *there)
{
    uint32_t *up = calloc(net->nnodes + 1, sizeof(*up));
    uint32_t *queue = calloc(net->nnodes + 1, sizeof(*queue));
    bool *gone = calloc(net->nnodes + 1, sizeof(*gone));
    struct net *left = NULL;

    if (up && queue && gone) {
        search(net, me, up, queue);
        *there = me;
        for (uint32_t i = 0; i < net->nnodes; i++) {
            gone[i] = i != me && up[i] == NET_NONE;
            *there -= i < me && gone[i];
        }
        left = net_without(net, gone, NULL);
    }
    free(gone);
    free(queue);
    free(up);
    return left;
}

/* ---- gm2 explored ------------------------------------------------------ */

/* The end of an exploration: the net found becomes a map with a version. */

/* Board ids of --extra-hosts: locally administered addresses. */
#define EXTRA_ADDRESS UINT64_C(0x02ff00000000)

/* What a host answered in the current search. */
static const struct probe_host *answer_of(const struct gm2 *m, uint64_t address)
{
    uint32_t node;

    if (m->x)
        return explore_host(m->x, address);
    node =
        m->v && m->guess.net ? net_find_host(m->guess.net, address) : NET_NONE;
    return node == NET_NONE ? NULL : verify_host(m->v, node);
}

static void host_of(uint64_t address, struct gm2_host *host, void *arg)
{
    const struct gm2 *m = arg;
    const struct probe_host *known = answer_of(m, address);
    uint32_t old = m->map ? gm2_map_host(m->map, address) : NET_NONE;

    if (address == m->config.address)
        *host = (struct gm2_host){m->config.level, m->config.host_type};
    else if (known)
        *host = (struct gm2_host){known->level, (uint8_t)known->type};
    else if (old != NET_NONE)
        *host = m->map->hosts[old];
}

static struct net *found(struct gm2 *m)
{
    struct errbuf err = {""};
    const char *doubt;

    if (explore_failed(m->x, &err)) {
        gm2_notice(m, "exploring failed: %s", err.text);
        return NULL;
    }
    for (uint32_t i = 0; (doubt = explore_doubt(m->x, i)) != NULL; i++)
        gm2_notice(m, "%s", doubt);
    return explore_map(m->x);
}

static void add_extra_hosts(const struct gm2 *m, struct net *net)
{
    for (uint32_t i = 0; i < m->config.extra_hosts; i++)
        if (net_add_host(net, "", EXTRA_ADDRESS + i) == NET_NONE)
            break;
}

static struct gm2_version next_version(struct gm2 *m)
{
    if (++m->counter == 0)
        m->counter = 1;
    return (struct gm2_version){m->config.address, m->config.level, m->counter};
}

static struct gm2_map *make_map(struct gm2 *m, const struct net *net)
{
    const struct gm2_version version = next_version(m);
    struct gm2_map *map = gm2_map_new(net, &version, host_of, m);

    /* A higher host makes itself known when it answers.  If the map has one
     * that did not, search again. */
    if (!map || map->net->nodes[0].id == m->config.address)
        return map;
    gm2_map_free(map);
    return NULL;
}

/* Two boards with one id cannot both lead: nobody could tell their maps
 * apart. */
static bool has_twin(const struct gm2 *m, const struct net *net)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < net->nnodes; i++)
        n += net->nodes[i].kind == NET_HOST &&
             net->nodes[i].id == m->config.address;
    return n > 1;
}

static void end_as_twin(struct gm2 *m)
{
    char text[100], who[GM_ADDRESS_TEXT];

    m->twins = 0;
    snprintf(text, sizeof(text),
             "another board has the id of this one, %s: it cannot lead",
             gm_address_text(m->config.address, who));
    gm2_end(m, text);
}

/* Number the crossbars as in the previous map, so that the two maps differ only
 * where the fabric does. */
static struct gm2_map *make_alike(struct gm2 *m, const struct net *net)
{
    const struct gm2_map *old = m->map ? m->map : m->supposed;
    struct net *alike =
        old && m->config.map_deltas ? net_align_copy(old->net, net) : NULL;
    struct gm2_map *map = make_map(m, alike ? alike : net);

    net_free(alike);
    return map;
}

/* Could the new map, or the previous one, be the result of lost probes?  If
 * both are the same, the search was unnecessary: something was lost.  If the
 * new one has more cables, the previous one missed some (or somebody plugged a
 * cable in; the next map will tell).  If it has fewer, or others, the previous
 * one was right in its time.  With fixed timers silent ports are not probed
 * again, so every map is doubtful. */
static bool looks_doubtful(const struct gm2 *m, const struct net *net)
{
    const struct net *old = m->map ? m->map->net : NULL;

    return m->config.limits.fixed_timers ||
           (old && (net->ncables > old->ncables || net_same(old, net, NULL)));
}

/* True: the mapper has ended. */
static bool met_twin(struct gm2 *m)
{
    if (++m->twins < GM_TWIN_SEARCHES) {
        gm2_notice(m, "the id of this board is met elsewhere: looking again");
        return false;
    }
    end_as_twin(m);
    return true;
}

/* Make the net found the map; the caller keeps the net.  False: it cannot
 * become the map, and the search continues. */
static bool gm2_take_net(struct gm2 *m, struct net *net)
{
    struct gm2_map *map;

    if (has_twin(m, net))
        return met_twin(m);
    m->twins = 0;
    add_extra_hosts(m, net);
    map = make_alike(m, net);
    if (!map)
        return false;
    gm2_search_stop(m);
    m->doubtful = looks_doubtful(m, map->net);
    m->counters.maps++;
    if (gm2_use_map(m, map))
        gm2_fire(m, GM2_EVENT_EXPLORED);
    else if (m->state == GM2_STATE_MAPPING) /* else a user error ended it */
        gm2_fire(m, GM2_EVENT_EXPLORE_FAILED);
    return true;
}

static void gm2_explored(struct gm2 *m)
{
    struct net *net = found(m);
    bool taken = net && gm2_take_net(m, net);

    net_free(net);
    if (taken)
        return;
    gm2_search_stop(m);
    gm2_fire(m, GM2_EVENT_EXPLORE_FAILED);
}

/* ---- gm2 hypothesis ---------------------------------------------------- */

/* An old map serves as a hypothesis in place of an exploration: the stored map
 * after a restart, the map in use with --map-incrementally.  It is verified
 * link by link, host by host, port by port.  Whatever is lost is removed and
 * the rest verified again, until a complete verification finds no difference;
 * only then does it become the map.  Anything that is new or has moved is
 * explored, starting from what was verified.  A host that was not the highest
 * in the stored map first asks those above it: if one answers, that one leads,
 * and nothing is verified here. */

/* After this many patches the fabric changes faster than it can be verified. */
#define PATCHES_MAX 4

void gm2_suppose(struct gm2 *m, struct gm2_map *map)
{
    gm2_map_free(m->supposed);
    m->supposed = map;
}

static void gm2_hypothesis_stop(struct gm2 *m)
{
    net_free(m->guess.net);
    m->guess = (struct gm2_guess){0};
}

/* ---- asking -------------------------------------------------------------- */

static bool ask_higher(struct gm2 *m)
{
    const struct verify_options hosts = {.hosts = true};

    m->reduced = gm2_reduce_above(m->guess.net, m->guess.me);
    return m->reduced && gm2_search_verify(m, &hosts, m->reduced, m->guess.me);
}

static bool ask_all(struct gm2 *m)
{
    const struct verify_options all = {
        .hosts = true,
        .links = true,
        .empty = true,
        .ids = m->config.limits.tagged,
        .rings = VERIFY_RINGS_ALL,
    };

    return gm2_search_verify(m, &all, m->guess.net, m->guess.me);
}

static bool ask(struct gm2 *m)
{
    if (m->guess.greeting ? ask_higher(m) : ask_all(m))
        return true;
    gm2_hypothesis_stop(m);
    return false;
}

static const struct gm2_map *choose(const struct gm2 *m, uint32_t *me)
{
    if (m->supposed && !m->refuted) {
        *me = gm2_map_host(m->supposed, m->config.address);
        return *me == NET_NONE ? NULL : m->supposed;
    }
    *me = m->me;
    return m->config.map_incrementally && gm2_is_leader(m) ? m->map : NULL;
}

/* An old map in the place of an exploration. */
static bool gm2_hypothesis_start(struct gm2 *m)
{
    uint32_t me;
    const struct gm2_map *map = choose(m, &me);

    if (!map)
        return false;
    m->guess = (struct gm2_guess){
        .net = net_copy(map->net),
        .me = me,
        .stored = map == m->supposed,
        .greeting = map == m->supposed && me > 0,
    };
    if (!m->guess.net)
        return false;
    m->counters.hypotheses++;
    return ask(m);
}

/* ---- the result ---------------------------------------------------------- */

/* Explore everything anew, or only the rest if part of it was verified. */
static void give_up(struct gm2 *m, const char *why, bool verified)
{
    struct explore *x = gm2_search_explorer(m);

    if (verified && x && !explore_after(x, m->v)) {
        explore_free(x);
        x = NULL;
    }
    if (m->guess.stored)
        gm2_notice(m, "the stored map is not true any more (%s): exploring%s",
                   why, verified ? " what is different" : "");
    m->counters.regions += verified;
    m->refuted = m->guess.stored; /* it still says what stood where */
    gm2_search_stop(m);
    gm2_search_explore(m, x);
}

/* The first change that is more than a loss, or NULL. */
static const struct verify_change *more_than_lost(const struct gm2 *m)
{
    const struct verify_change *c;
    uint32_t i = 0;

    while ((c = verify_change(m->v, i)) != NULL &&
           (c->what == VERIFY_LINK_LOST || c->what == VERIFY_HOST_LOST))
        i++;
    return c;
}

/* Remove what is lost.  False: no memory. */
static bool patch(struct gm2 *m)
{
    const struct verify_change *c;
    struct net *left;
    uint32_t me;

    for (uint32_t i = 0; (c = verify_change(m->v, i)) != NULL; i++)
        if (c->what == VERIFY_LINK_LOST)
            net_disconnect(m->guess.net, c->node, (unsigned)c->port);
        else
            net_disconnect_all(m->guess.net, c->node);
    left = gm2_reduce_reachable(m->guess.net, m->guess.me, &me);
    if (!left)
        return false;
    net_free(m->guess.net);
    m->guess.net = left;
    m->guess.me = me;
    m->guess.patches++;
    return true;
}

static void accept(struct gm2 *m)
{
    uint32_t me;
    struct net *net = gm2_reduce_reachable(m->guess.net, m->guess.me, &me);
    bool stored = m->guess.stored, patched = m->guess.patches > 0, taken;

    taken = net && gm2_take_net(m, net);
    net_free(net);
    if (!taken)
        give_up(m, "a higher mapper is there", false);
    else if (stored)
        gm2_notice(m, "the stored map is true%s",
                   patched ? ", less what is lost" : "");
}

/* The verification has ended. */
static void gm2_hypothesis_done(struct gm2 *m)
{
    const struct verify_change *c = verify_change(m->v, 0);
    char text[200] = "no memory";

    if (m->guess.greeting) {
        m->guess.greeting = false;
        if (!ask(m))
            give_up(m, text, false);
        return;
    }
    /* The map in use was doubted for a reason. */
    if (!c && !verify_failed(m->v) && (m->guess.stored || m->guess.patches)) {
        accept(m);
        return;
    }
    if (c && !more_than_lost(m) && m->guess.patches < PATCHES_MAX) {
        if (!patch(m) || !ask(m))
            give_up(m, text, false);
        return;
    }
    if (c)
        gm2_describe_change(m->guess.net,
                            more_than_lost(m) ? more_than_lost(m) : c, text,
                            sizeof(text));
    give_up(m, text, c != NULL);
}

/* ---- gm2 rounds -------------------------------------------------------- */

/* Verify mode: rounds of three phases with a pause between them. 1 tree
 * partners: do parent and children answer, with valid maps? 2 the own
 * crossbar: its hosts and the cables that leave it 3 the own share of all
 * cables between crossbars and of all free ports; the shares of all mappers
 * together are everything */

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

/* Nothing is known at the other end of this host's cable: send one probe for a
 * crossbar and one for a host.  Any answer is a change. */
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

static void gm2_round_begin(struct gm2 *m)
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

/* A child with another map is told about ours.  A child that never accepts it
 * is not the host that the map shows. */
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

static void gm2_round_searched(struct gm2 *m)
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

static void gm2_describe_change(const struct net *net,
                                const struct verify_change *c, char *text,
                                size_t size)
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

/* ---- gm2 search -------------------------------------------------------- */

/* Probes: translation between the explorer or verifier, which do not know any
 * wire format, and GM-2's messages. */

static void own_host(const struct gm2 *m, struct probe_host *host)
{
    *host = (struct probe_host){
        .address = m->config.address,
        .level = m->config.level,
        .type = m->config.host_type,
    };
    if (!m->map)
        return;
    host->map_leader = m->map->version.leader;
    host->map_version = m->map->version.counter;
}

static void gm2_search_stop(struct gm2 *m)
{
    if (m->x || m->v)
        m->searched = m->now;
    explore_free(m->x);
    verify_free(m->v);
    net_free(m->reduced);
    gm2_hypothesis_stop(m);
    m->x = NULL;
    m->v = NULL;
    m->reduced = NULL;
}

static void new_session(struct gm2 *m)
{
    if (m->x || m->v)
        m->searched = m->now;
    m->former = m->session;
    m->session = (uint32_t)net_rng_next(&m->rng);
    memset(m->flight, 0, GM2_FLIGHT * sizeof(*m->flight));
}

static bool gm2_search_verify(struct gm2 *m,
                              const struct verify_options *options,
                              const struct net *net, uint32_t me)
{
    struct prober_limits limits = m->config.limits;

    /* A port that is still free does not answer: what is missed now is found in
     * the next round. */
    limits.tries =
        options->hosts || options->links ? (uint8_t)m->config.verify_tries : 2;
    new_session(m);
    verify_free(m->v);
    m->v = verify_new(&limits, options, net, me);
    return m->v != NULL;
}

/* NULL: no memory. */
static struct explore *gm2_search_explorer(struct gm2 *m)
{
    struct prober_limits limits = m->config.limits;
    struct probe_host me;

    limits.tries = m->tries;
    limits.no_check = m->config.no_xbar_check;
    own_host(m, &me);
    return explore_new(&limits, &me);
}

/* Takes ownership of x. */
static void gm2_search_explore(struct gm2 *m, struct explore *x)
{
    m->counters.explorations++;
    new_session(m);
    m->x = x;
    if (!m->x)
        gm2_fire(m, GM2_EVENT_EXPLORE_FAILED);
}

/* Exploring and verifying by probes. */
static void gm2_search_start(struct gm2 *m)
{
    if (!gm2_hypothesis_start(m))
        gm2_search_explore(m, gm2_search_explorer(m));
}

/* ---- out ----------------------------------------------------------------- */

/* The low half of a tag numbers the probes in flight. */
static struct gm2_flight *flight_of(struct gm2 *m, uint64_t tag)
{
    return &m->flight[(uint32_t)tag % GM2_FLIGHT];
}

static void send_scout(struct gm2 *m, const struct probe *probe,
                       const struct gm2_route *route)
{
    struct gm2_message msg = {.subtype = GM2_SCOUT,
                              .reason = m->state == GM2_STATE_MAPPING
                                            ? GM2_LX_MAPPING
                                            : GM2_LX_VERIFYING,
                              .tag = probe->tag,
                              .session = m->session};
    struct gm2_flight *flight = flight_of(m, probe->tag);

    flight->tag = probe->tag;
    flight->route = *route;
    msg.scout.back.len = route->len;
    net_route_reverse(msg.scout.back.byte, route->byte, route->len);
    gm2_say(m, &msg, route);
}

static void send_tagged(struct gm2 *m, const struct probe *probe,
                        const struct gm2_route *route)
{
    const struct gm2_message msg = {
        .subtype = GM2_PROBE, .tag = probe->tag, .session = m->session};
    uint8_t body[GM2_PROBE_SIZE];
    size_t len = gm2_encode(body, sizeof(body), &msg);

    net_type_put(body, NET_TYPE_MAPPING, NET_SUBTYPE_TAGGED);
    m->counters.sent++;
    m->counters.sent_bytes += len;
    m->ops.send(route->byte, route->len, body, len, m->arg);
}

static void send_probe(struct gm2 *m, const struct probe *probe)
{
    struct gm2_message msg = {
        .subtype = GM2_PROBE, .tag = probe->tag, .session = m->session};
    struct gm2_route route;

    if (probe->nroute > GM2_ROUTE_MAX)
        return;
    m->counters.probes++;
    route.len = probe->nroute;
    memcpy(route.byte, probe->route, probe->nroute);
    if (probe->kind == PROBE_SCOUT)
        send_scout(m, probe, &route);
    else if (probe->kind == PROBE_TAGGED)
        send_tagged(m, probe, &route);
    else
        gm2_say(m, &msg, &route);
}

/* ---- in ------------------------------------------------------------------ */

/* An answer to a search that has ended. */
static void came_too_late(struct gm2 *m, const struct gm2_message *msg)
{
    bool running = m->x || m->v;

    /* Of no search, as a pause is; or of none that has been. */
    if (msg->session == 0 || m->searched == 0)
        return;
    if (msg->session == (running ? m->former : m->session))
        prober_pace_late(&m->pace, m->now, m->now - m->searched,
                         m->config.limits.loop_wait);
}

static void answer(struct gm2 *m, const struct probe_answer *a)
{
    if (m->x)
        explore_answer(m->x, m->now, a);
    else if (m->v)
        verify_answer(m->v, m->now, a);
}

void gm2_search_back(struct gm2 *m, const struct gm2_message *msg,
                     const struct probe_id *id)
{
    struct probe_answer a = {.tag = msg->tag, .outcome = PROBE_BACK};

    if (m->cables && msg->session == m->cables_session) {
        cables_back(m->cables, msg->tag);
        return;
    }
    if ((!m->x && !m->v) || msg->session != m->session) {
        m->counters.dropped_late++;
        came_too_late(m, msg);
        gm2_look_out_answered(m, msg);
        return;
    }
    if (id) {
        a.outcome = PROBE_ID;
        a.id = *id;
    }
    answer(m, &a);
}

/* One of our scouts came back: the route ends at our own port. */
bool gm2_search_own(struct gm2 *m, const struct gm2_message *msg)
{
    struct probe_answer a = {.tag = msg->tag, .outcome = PROBE_HOST};

    if (msg->session != m->session) {
        came_too_late(m, msg);
        return false;
    }
    own_host(m, &a.host);
    answer(m, &a);
    return true;
}

static void say_pause(struct gm2 *m, const struct gm2_route *route)
{
    struct gm2_message msg = {.subtype = GM2_SCOUT, .reason = GM2_LX_PAUSE};

    msg.scout.argument = (uint32_t)(m->config.pause_time / 1000000000);
    msg.scout.back.len = route->len;
    net_route_reverse(msg.scout.back.byte, route->byte, route->len);
    gm2_say(m, &msg, route);
}

bool gm2_search_reply(struct gm2 *m, const struct gm2_message *msg)
{
    struct probe_answer a = {.tag = msg->tag, .outcome = PROBE_HOST};
    const struct gm2_flight *flight = flight_of(m, msg->tag);
    bool mapping = m->state == GM2_STATE_MAPPING;

    if ((!m->x && !m->v) || msg->session != m->session) {
        came_too_late(m, msg);
        return false;
    }
    a.host.address = msg->sender;
    a.host.level = msg->level;
    a.host.type = msg->host_type;
    a.host.map_leader = msg->version.leader;
    a.host.map_version = msg->version.counter;
    answer(m, &a);
    if (!mapping || flight->tag != msg->tag)
        return true;
    if (m->config.pause)
        say_pause(m, &flight->route);
    gm2_meet(m, msg, &flight->route);
    return true;
}

/* ---- running ------------------------------------------------------------- */

static bool next_probe(struct gm2 *m, struct probe *probe)
{
    if (m->x)
        return explore_next(m->x, m->now, probe);
    return m->v && verify_next(m->v, m->now, probe);
}

/* True: a search has ended, and another one may have begun. */
static bool search_done(struct gm2 *m)
{
    bool explored = m->x && explore_done(m->x);
    bool verified = m->v && verify_done(m->v);

    if (explored)
        gm2_explored(m);
    else if (verified && m->guess.net)
        gm2_hypothesis_done(m);
    else if (verified)
        gm2_round_searched(m);
    return explored || verified;
}

void gm2_search_run(struct gm2 *m, bool tick)
{
    struct probe probe;

    if (tick && m->x)
        explore_tick(m->x, m->now);
    else if (tick && m->v)
        verify_tick(m->v, m->now);
    do {
        while (next_probe(m, &probe))
            send_probe(m, &probe);
    } while (search_done(m));
}

static uint64_t gm2_search_deadline(const struct gm2 *m)
{
    if (m->x)
        return explore_done(m->x) ? m->now : explore_deadline(m->x);
    if (m->v)
        return verify_done(m->v) ? m->now : verify_deadline(m->v);
    return GM2_NEVER;
}

/* ---- gm2 states -------------------------------------------------------- */

/* The states of a GM-2 mapper and all transitions between them. */

#define NONE GM2_NSTATES
#define SLEEPING GM2_STATE_SLEEPING
#define LISTENING GM2_STATE_LISTENING
#define MAPPING GM2_STATE_MAPPING
#define PASSIVE GM2_STATE_PASSIVE
#define FETCHING GM2_STATE_FETCHING
#define VERIFYING GM2_STATE_VERIFYING
#define PAUSED GM2_STATE_PAUSED
#define ENDED GM2_STATE_ENDED

/* `never` is the next state of a mapper that never maps, `leader` that of one
 * that made its map itself.  NONE: the same as `to`. */
static const struct edge {
    enum gm2_state from;
    enum gm2_event event;
    enum gm2_state to, never, leader;
} edges[] = {
    {SLEEPING, GM2_EVENT_WAKE, MAPPING, LISTENING, NONE},
    {SLEEPING, GM2_EVENT_MET_HIGHER, PASSIVE, NONE, NONE},
    {SLEEPING, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {SLEEPING, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},

    {LISTENING, GM2_EVENT_MET_HIGHER, PASSIVE, NONE, NONE},
    {LISTENING, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {LISTENING, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},

    {MAPPING, GM2_EVENT_EXPLORED, VERIFYING, NONE, NONE},
    {MAPPING, GM2_EVENT_EXPLORE_FAILED, MAPPING, NONE, NONE},
    {MAPPING, GM2_EVENT_MET_HIGHER, PASSIVE, NONE, NONE},
    {MAPPING, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {MAPPING, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},
    {MAPPING, GM2_EVENT_FATAL, ENDED, NONE, NONE},

    {PASSIVE, GM2_EVENT_NEW_MAP, FETCHING, NONE, NONE},
    {PASSIVE, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {PASSIVE, GM2_EVENT_PARENT_LOST, MAPPING, LISTENING, NONE},
    {PASSIVE, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},

    {FETCHING, GM2_EVENT_FETCHED, VERIFYING, NONE, NONE},
    {FETCHING, GM2_EVENT_FETCH_FAILED, MAPPING, LISTENING, NONE},
    {FETCHING, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {FETCHING, GM2_EVENT_MET_HIGHER, PASSIVE, NONE, NONE},
    {FETCHING, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},
    {FETCHING, GM2_EVENT_FATAL, ENDED, NONE, NONE},

    {VERIFYING, GM2_EVENT_CHANGED, PASSIVE, NONE, MAPPING},
    {VERIFYING, GM2_EVENT_NEW_MAP, FETCHING, NONE, NONE},
    {VERIFYING, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {VERIFYING, GM2_EVENT_MET_HIGHER, PASSIVE, NONE, NONE},
    {VERIFYING, GM2_EVENT_PARENT_LOST, MAPPING, LISTENING, NONE},
    {VERIFYING, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},
    {VERIFYING, GM2_EVENT_FINISHED, ENDED, NONE, NONE},

    {PAUSED, GM2_EVENT_RESUME, MAPPING, LISTENING, NONE},
    {PAUSED, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {PAUSED, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},
};

enum gm2_state gm2_next_state(enum gm2_state from, enum gm2_event event,
                              bool may_map, bool leader)
{
    for (unsigned i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
        const struct edge *e = &edges[i];

        if (e->from != from || e->event != event)
            continue;
        if (!may_map && e->never != NONE)
            return e->never;
        return leader && e->leader != NONE ? e->leader : e->to;
    }
    return NONE;
}

const char *gm2_state_name(enum gm2_state state)
{
    static const char *const names[GM2_NSTATES] = {
        "sleeping", "listening", "mapping", "passive",
        "fetching", "verifying", "paused",  "ended",
    };

    return state < GM2_NSTATES ? names[state] : "?";
}

const char *gm2_event_name(enum gm2_event event)
{
    static const char *const names[GM2_NEVENTS] = {
        "wake",        "met-higher", "explored", "explore-failed",
        "told-parent", "new-map",    "fetched",  "fetch-failed",
        "parent-lost", "changed",    "pause",    "resume",
        "fatal",       "finished",
    };

    return event < GM2_NEVENTS ? names[event] : "?";
}

#define MS UINT64_C(1000000)

void gm2_config_default(struct gm2_config *config)
{
    *config = (struct gm2_config){
        .level = 1,
        .limits = PROBER_LIMITS_DEFAULT,
        .ping_interval = 1000 * MS,
        .verify_pause = 1000 * MS,
        .scout_wait = 10 * MS,
        .piece_wait = 20 * MS,
        .parent_tries = 30,
        .tree_tries = 10,
        .piece_tries = 30,
        .verify_tries = 15,
        .pause_time = 10000 * MS,
        .map_deltas = true,
    };
    config->limits.max_route = GM2_ROUTE_MAX;
    config->limits.tagged = true;
}

struct gm2 *gm2_new(const struct gm2_config *config, const struct gm2_ops *ops,
                    void *arg, uint64_t now)
{
    struct gm2 *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->flight = calloc(GM2_FLIGHT, sizeof(*m->flight));
    if (!m->flight) {
        free(m);
        return NULL;
    }
    m->config = *config;
    m->config.limits.pace = &m->pace;
    if (m->config.limits.window_max > GM2_FLIGHT)
        m->config.limits.window_max = GM2_FLIGHT;
    m->ops = *ops;
    m->arg = arg;
    m->rng.state = config->seed ^ config->address;
    m->counter = (uint32_t)net_rng_next(&m->rng);
    m->talk_session = (uint32_t)net_rng_next(&m->rng);
    m->tries = config->limits.tries;
    m->now = m->since = now;
    m->state = GM2_STATE_SLEEPING;
    m->timer = now + config->start_delay;
    return m;
}

void gm2_free(struct gm2 *m)
{
    if (!m)
        return;
    gm2_search_stop(m);
    gm2_fetch_free(m->fetch);
    cables_free(m->cables);
    net_routes_free(m->routes);
    gm2_map_free(m->map);
    gm2_map_free(m->supposed);
    gm2_past_free(m);
    free(m->flight);
    free(m);
}

void gm2_notice(struct gm2 *m, const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (m->ops.notice)
        m->ops.notice(text, m->arg);
}

bool gm2_is_leader(const struct gm2 *m)
{
    return m->map && m->map->version.leader == m->config.address;
}

void gm2_adopt(struct gm2 *m, uint64_t address, const struct gm2_route *route)
{
    m->parent = (struct gm2_partner){.address = address, .route = *route};
}

static void invalidate(struct gm2 *m)
{
    if (m->valid && m->ops.invalid)
        m->ops.invalid(m->arg);
    m->valid = m->complete = false;
}

static void enter_mapping(struct gm2 *m, enum gm2_event event)
{
    bool young = m->map && m->now - m->map_since < m->config.verify_pause / 2;

    m->parent.address = 0;
    /* Pause first, so as not to explore in a tight loop. */
    if (event == GM2_EVENT_EXPLORE_FAILED || young)
        m->timer = m->now + m->config.verify_pause / 2;
    else
        gm2_search_start(m);
}

/* Pause before asking again for a map that could not be fetched. */
static void enter_fetching(struct gm2 *m)
{
    if (m->now < m->fetch_again && gm2_version_equal(&m->want, &m->unfetched))
        m->timer = m->fetch_again;
    else
        gm2_fetch_start(m);
}

/* All hosts get a map at about the same time.  If all their rounds began
 * together, a fault just after them would be seen a whole pause later.  So the
 * first rests differ in length, but last at least half a pause, or a flapping
 * link would be mapped continuously.  Neighbours in the order of ids mostly
 * share a crossbar and its cables; reversing the bits of their numbers spreads
 * them out. */
static uint64_t first_rest(const struct gm2 *m)
{
    uint32_t slot = 0;

    for (unsigned i = 0; i < GM2_REST_BITS; i++)
        slot = slot << 1 | (m->me >> i & 1);
    return m->config.verify_pause -
           (m->config.verify_pause / 2 * slot >> GM2_REST_BITS);
}

static void enter_verifying(struct gm2 *m)
{
    m->map_since = m->now;
    m->round = 0;
    m->phase = GM2_PHASE_REST;
    m->lingering = false;
    m->timer = m->now + first_rest(m);
    gm2_tree_start(m);
}

static void enter(struct gm2 *m, enum gm2_event event)
{
    switch (m->state) {
    case GM2_STATE_MAPPING:
        enter_mapping(m, event);
        break;
    case GM2_STATE_PASSIVE:
        gm2_ping(m);
        break;
    case GM2_STATE_FETCHING:
        enter_fetching(m);
        break;
    case GM2_STATE_VERIFYING:
        enter_verifying(m);
        break;
    case GM2_STATE_PAUSED:
        m->timer = m->pause_until;
        break;
    default:
        break;
    }
}

bool gm2_fire(struct gm2 *m, enum gm2_event event)
{
    enum gm2_state from = m->state;
    enum gm2_state to =
        gm2_next_state(from, event, m->config.level != 0, gm2_is_leader(m));

    if (to == GM2_NSTATES)
        return false;
    if (event == GM2_EVENT_FETCH_FAILED) {
        m->unfetched = m->want;
        m->fetch_again = m->now + m->config.verify_pause / 2;
    }
    gm2_hush(m, GM2_TALK_FREE);
    gm2_search_stop(m);
    gm2_fetch_free(m->fetch);
    m->fetch = NULL;
    m->timer = GM2_NEVER;
    if (to != GM2_STATE_VERIFYING)
        invalidate(m);
    m->state = to;
    m->since = m->now;
    if (m->ops.moved)
        m->ops.moved(event, from, to, m->arg);
    enter(m, event);
    return true;
}

/* Maps that were replaced soon, by the same map or by one with more cables,
 * were made in a fabric that loses probes.  A fabric that really changes each
 * time is explored as usual. */
static void judge_map(struct gm2 *m)
{
    uint64_t age = m->now - m->map_since;

    if (!gm2_is_leader(m))
        return;
    if (age > 60 * m->config.verify_pause || !m->doubtful)
        m->tries = m->config.limits.tries;
    else if (age < 5 * m->config.verify_pause && m->tries < GM2_TRIES_MAX)
        m->tries = (uint8_t)(m->tries * 2 > GM2_TRIES_MAX ? GM2_TRIES_MAX
                                                          : m->tries * 2);
}

void gm2_changed(struct gm2 *m, const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    if (m->state != GM2_STATE_VERIFYING)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (m->ops.notice)
        m->ops.notice(text, m->arg);
    judge_map(m);
    gm2_fire(m, GM2_EVENT_CHANGED);
}

void gm2_end(struct gm2 *m, const char *text)
{
    gm2_fire(m, text ? GM2_EVENT_FATAL : GM2_EVENT_FINISHED);
    if (m->ops.ended)
        m->ops.ended(text, m->arg);
}

/* ---- time ---------------------------------------------------------------- */

static void rest_is_over(struct gm2 *m)
{
    if (m->config.map_once && m->complete && m->lingering)
        gm2_end(m, NULL);
    else if (m->config.map_once && m->complete) {
        /* No more rounds, but the children must learn that the map is
         * complete. */
        m->lingering = true;
        m->timer = m->now + 3 * m->config.verify_pause;
    } else if (m->config.thrash && m->complete && gm2_is_leader(m))
        gm2_changed(m, "mapping again, as --thrash says");
    else
        gm2_round_begin(m);
}

static void timer_rings(struct gm2 *m)
{
    m->timer = GM2_NEVER;
    switch (m->state) {
    case GM2_STATE_SLEEPING:
        gm2_fire(m, GM2_EVENT_WAKE);
        break;
    case GM2_STATE_MAPPING:
        gm2_search_start(m);
        break;
    case GM2_STATE_PASSIVE:
        gm2_ping(m);
        break;
    case GM2_STATE_FETCHING:
        gm2_fetch_start(m);
        break;
    case GM2_STATE_VERIFYING:
        rest_is_over(m);
        break;
    case GM2_STATE_PAUSED:
        gm2_fire(m, GM2_EVENT_RESUME);
        break;
    default:
        break;
    }
}

/* Frames over each cable of the map, while this mapper leads and verifies. */
static void test_cables(struct gm2 *m)
{
    struct cables_frame f;

    if (m->state != GM2_STATE_VERIFYING || !m->valid || !gm2_is_leader(m) ||
        m->config.no_xbar_check) {
        if (m->cables)
            cables_stop(m->cables);
        return;
    }
    if (!m->cables)
        m->cables = cables_new(net_rng_next(&m->rng));
    if (m->cables && !cables_began(m->cables)) {
        cables_begin(m->cables, m->map->net, m->me, m->now);
        m->cables_session = (uint32_t)net_rng_next(&m->rng);
    }
    if (!m->cables || !cables_began(m->cables))
        return; /* no memory; next time */
    if (cables_tick(m->cables, m->now) && m->ops.cables)
        m->ops.cables(m->arg);
    while (cables_next(m->cables, &f)) {
        struct gm2_message msg = {
            .subtype = GM2_PROBE, .tag = f.tag, .session = m->cables_session};
        struct gm2_route route = {.len = f.nroute};

        memcpy(route.byte, f.route, f.nroute);
        m->counters.probes++;
        gm2_say(m, &msg, &route);
    }
}

void gm2_tick(struct gm2 *m, uint64_t now)
{
    if (now > m->now)
        m->now = now;
    gm2_talk_tick(m);
    if (m->timer <= m->now)
        timer_rings(m);
    gm2_search_run(m, true);
    test_cables(m);
}

uint64_t gm2_deadline(const struct gm2 *m)
{
    uint64_t t = gm2_talk_deadline(m), s = gm2_search_deadline(m);

    if (m->timer < t)
        t = m->timer;
    if (m->cables && cables_deadline(m->cables) < t)
        t = cables_deadline(m->cables);
    return s < t ? s : t;
}

uint32_t gm2_cable_lost(const struct gm2 *m, uint32_t port)
{
    return m->cables ? cables_lost(m->cables, port) : 0;
}

uint32_t gm2_cable_falls(const struct gm2 *m, uint32_t port)
{
    return m->cables ? cables_falls(m->cables, port) : 0;
}

/* ---- inspection ---------------------------------------------------------- */

void gm2_status(const struct gm2 *m, struct gm2_status *status)
{
    *status = (struct gm2_status){
        .state = m->state,
        .leader = m->valid && gm2_is_leader(m),
        .valid = m->valid,
        .complete = m->complete,
        .parent = m->parent.address,
        .level = m->config.level,
        .done = m->done,
        .since = m->since,
        .round_time = m->round_time,
        .engine =
            m->routes ? net_routes_engine(m->routes) : m->config.routes.engine,
        .unproved = m->unproved.text,
        .beyond = m->beyond.text,
        .unlike = m->unlike,
        .counters = m->counters,
    };
    if (!m->map)
        return;
    status->version = m->map->version;
    status->nhosts = m->map->net->nhosts;
    status->nxbars = m->map->net->nxbars;
    status->ncables = m->map->net->ncables;
}

const struct gm2_map *gm2_current_map(const struct gm2 *m)
{
    return m->map;
}

const struct net_routes *gm2_current_routes(const struct gm2 *m)
{
    return m->routes;
}
