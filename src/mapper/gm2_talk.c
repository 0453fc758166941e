/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a GM-2 mapper and others say to each other: meeting, maps that are
 * fetched, given and taken into use.
 *
 * Exchanges between mappers: a scout is sent again until it is answered or
 * its tries are used up.  Answers to other mappers' scouts.
 */
#include <errno.h>
#include <string.h>

#include "mapper/cables.h"
#include "mapper/gm2_priv.h"
#include "mapper/gm_address.h"
#include "net/deadlock.h"

static void gm2_sum_done(struct gm2 *m);
static void gm2_past_keep(struct gm2 *m, const struct gm2_map *next);
static bool gm2_past_gives(const struct gm2 *m);
static const struct bytebuf *gm2_past_delta(struct gm2 *m, uint32_t counter);
static void gm2_fetch_whole(struct gm2 *m);
static void gm2_unanswered(struct gm2 *m, const struct gm2_talk *talk);

static void put_sender(const struct gm2 *m, struct gm2_message *msg)
{
    msg->sender = m->config.address;
    msg->level = m->config.level;
    msg->host_type = m->config.host_type;
    if (m->map)
        msg->version = m->map->version;
    if (m->valid) {
        msg->flags |= GM2_VALID | GM2_CONFIGURED;
        msg->ups = m->ups;
    }
    if (m->complete)
        msg->flags |= GM2_COMPLETE;
    if (m->valid && gm2_past_gives(m))
        msg->flags |= GM2_GIVES_DELTA;
    if (m->state == GM2_STATE_MAPPING)
        msg->flags |= GM2_MAPPING;
}

static void send_bytes(struct gm2 *m, const struct gm2_route *route,
                       const uint8_t *body, size_t len)
{
    if (len == 0)
        return;
    m->counters.sent++;
    m->counters.sent_bytes += len;
    m->ops.send(route->byte, route->len, body, len, m->arg);
}

void gm2_say(struct gm2 *m, struct gm2_message *msg,
             const struct gm2_route *route)
{
    uint8_t body[GM2_PIECE_SIZE + GM2_ROUTE_MAX];

    if (msg->subtype != GM2_PROBE)
        put_sender(m, msg);
    send_bytes(m, route, body, gm2_encode(body, sizeof(body), msg));
}

/* ---- exchanges ----------------------------------------------------------- */

static void send_talk(struct gm2 *m, struct gm2_talk *talk)
{
    struct gm2_message msg = {.subtype = GM2_SCOUT, .reason = talk->reason};

    msg.tag = talk->tag;
    msg.session = m->talk_session;
    msg.scout.argument = talk->argument;
    msg.scout.back.len = talk->route.len;
    net_route_reverse(msg.scout.back.byte, talk->route.byte, talk->route.len);
    talk->left--;
    talk->next = m->now + talk->wait;
    if (talk->purpose == GM2_TALK_PIECE || talk->purpose == GM2_TALK_DELTA) {
        uint8_t body[GM2_SCOUT_SIZE + GM2_ROUTE_MAX];

        put_sender(m, &msg);
        msg.version = m->want;
        send_bytes(m, &talk->route, body, gm2_encode(body, sizeof(body), &msg));
        return;
    }
    gm2_say(m, &msg, &talk->route);
}

bool gm2_ask(struct gm2 *m, const struct gm2_talk *talk)
{
    for (int i = 0; i < GM2_TALKS; i++) {
        struct gm2_talk *slot = &m->talk[i];

        if (slot->purpose != GM2_TALK_FREE)
            continue;
        *slot = *talk;
        slot->tag = ++m->talk_tag;
        send_talk(m, slot);
        return true;
    }
    return false;
}

void gm2_hush(struct gm2 *m, enum gm2_purpose purpose)
{
    for (int i = 0; i < GM2_TALKS; i++)
        if (purpose == GM2_TALK_FREE || m->talk[i].purpose == purpose)
            m->talk[i].purpose = GM2_TALK_FREE;
}

bool gm2_talking(const struct gm2 *m, enum gm2_purpose purpose)
{
    for (int i = 0; i < GM2_TALKS; i++)
        if (m->talk[i].purpose == purpose)
            return true;
    return false;
}

static struct gm2_talk *gm2_talk_of(struct gm2 *m,
                                    const struct gm2_message *msg)
{
    if (msg->session != m->talk_session)
        return NULL;
    for (int i = 0; i < GM2_TALKS; i++) {
        struct gm2_talk *talk = &m->talk[i];

        if (talk->purpose != GM2_TALK_FREE && talk->tag == msg->tag &&
            talk->address == msg->sender)
            return talk;
    }
    return NULL;
}

/* The first that is due; giving one up may change all the others. */
static struct gm2_talk *due(struct gm2 *m)
{
    for (int i = 0; i < GM2_TALKS; i++)
        if (m->talk[i].purpose != GM2_TALK_FREE && m->talk[i].next <= m->now)
            return &m->talk[i];
    return NULL;
}

void gm2_talk_tick(struct gm2 *m)
{
    struct gm2_talk *talk, gone;

    while ((talk = due(m)) != NULL) {
        if (talk->left > 0) {
            send_talk(m, talk);
            continue;
        }
        gone = *talk;
        talk->purpose = GM2_TALK_FREE;
        gm2_unanswered(m, &gone);
    }
}

uint64_t gm2_talk_deadline(const struct gm2 *m)
{
    uint64_t t = GM2_NEVER;

    for (int i = 0; i < GM2_TALKS; i++)
        if (m->talk[i].purpose != GM2_TALK_FREE && m->talk[i].next < t)
            t = m->talk[i].next;
    return t;
}

void gm2_ping(struct gm2 *m)
{
    const struct gm2_talk talk = {
        .purpose = GM2_TALK_PING,
        .reason = GM2_LX_QUERYING_MAP_VERSION,
        .address = m->parent.address,
        .route = m->parent.route,
        .wait = m->config.scout_wait,
        .left = m->config.parent_tries,
    };

    m->timer = m->now + m->config.ping_interval;
    if (!gm2_talking(m, GM2_TALK_PING))
        gm2_ask(m, &talk);
}

/* ---- answers ------------------------------------------------------------- */

static bool answer_piece(struct gm2 *m, const struct gm2_message *scout)
{
    struct gm2_message msg = {
        .reason = scout->reason, .tag = scout->tag, .session = scout->session};
    uint8_t body[GM2_MESSAGE_MAX];
    size_t len;

    if (!m->valid || !gm2_version_equal(&scout->version, &m->map->version))
        return false;
    put_sender(m, &msg);
    len = gm2_map_encode_piece(m->map, scout->scout.argument, &msg, body,
                               sizeof(body));
    if (len == 0)
        return false;
    m->counters.pieces_sent++;
    send_bytes(m, &scout->scout.back, body, len);
    return true;
}

static bool answer_delta(struct gm2 *m, const struct gm2_message *scout)
{
    struct gm2_message msg = {.subtype = GM2_DELTA,
                              .reason = scout->reason,
                              .tag = scout->tag,
                              .session = scout->session};
    const struct bytebuf *delta;
    uint8_t body[GM2_MESSAGE_MAX];
    size_t len;

    if (!m->valid || !gm2_version_equal(&scout->version, &m->map->version))
        return false;
    delta = gm2_past_delta(m, scout->scout.argument);
    if (!delta)
        return false;
    put_sender(m, &msg);
    len = gm2_encode(body, sizeof(body), &msg);
    memcpy(body + len, bytebuf_data(delta), bytebuf_len(delta));
    m->counters.deltas_sent++;
    send_bytes(m, &scout->scout.back, body, len + bytebuf_len(delta));
    return true;
}

static void gm2_answer_scout(struct gm2 *m, const struct gm2_message *scout)
{
    struct gm2_message msg = {.subtype = GM2_REPLY, .reason = scout->reason};

    if (scout->reason == GM2_LX_QUERYING_MAP_PIECE) {
        if (answer_piece(m, scout))
            return;
        msg.flags |= GM2_NO_PIECE;
    }
    if (scout->reason == GM2_LX_QUERYING_MAP_DELTA) {
        if (answer_delta(m, scout))
            return;
        msg.flags |= GM2_NO_PIECE;
    }
    msg.tag = scout->tag;
    msg.session = scout->session;
    msg.reply.done = m->done;
    msg.reply.parent = m->parent.address;
    if (m->valid)
        msg.reply.npieces = gm2_map_pieces(m->map);
    gm2_say(m, &msg, &scout->scout.back);
}

/* ---- gm2 map use ------------------------------------------------------- */

/* Taking a map into use: routes of this host, place in the tree, partners. */

static struct net_routes *compute(struct gm2 *m, const struct gm2_map *map,
                                  uint32_t me, struct errbuf *err)
{
    struct net_route_params params = m->config.routes;
    struct net_routes *routes;

    params.seed = m->config.seed ^ m->config.address;
    routes = net_routes_proved(map->net, &params, me, &m->unproved, err);
    if (routes && m->unproved.text[0])
        gm2_notice(m, "%s: routes of engine %s instead", m->unproved.text,
                   net_engine_name(net_routes_engine(routes)));
    return routes;
}

/* A partner by its number in the tree.  Left alone when no way leads to it
 * (hosts of --extra-hosts hang on nothing).  The hop limit is that of other
 * hosts' routes: mappers tell each other of the map all the same. */
static void set_partner(struct gm2 *m, struct gm2_partner *partner,
                        uint32_t number)
{
    struct net_route route;
    uint32_t node = number - 1;

    if (number == 0 || !net_routes_reach(m->routes, m->me, node, &route) ||
        route.hops > GM2_ROUTE_MAX)
        return;
    memset(partner, 0, sizeof(*partner));
    partner->address = m->map->net->nodes[node].id;
    partner->route.len = route.hops;
    memcpy(partner->route.byte, route.byte, route.hops);
}

static void find_partners(struct gm2 *m)
{
    uint32_t n = m->me + 1;

    if (gm2_is_leader(m))
        m->parent.address = 0;
    else
        set_partner(m, &m->parent, gm2_tree_parent(n));
    for (unsigned i = 0; i < 2; i++) {
        m->child[i].address = 0;
        set_partner(m, &m->child[i], gm2_tree_child(n, i, m->map->net->nhosts));
    }
}

/* Does the way that is known to the parent lead to it from this host? */
static bool leads_to_parent(const struct gm2 *m, const struct net *net,
                            uint32_t host)
{
    struct net_route route = {.hops = m->parent.route.len};
    uint32_t end;

    memcpy(route.byte, m->parent.route.byte, route.hops);
    end = net_route_follow(net, host, &route, NULL);
    return end != NET_NONE && net->nodes[end].id == m->parent.address;
}

/* Which host of the map is this one?  Of several with its board id the one
 * from which the way to the parent leads there: only one does, for the way
 * back from there ends in one place. */
static uint32_t own_node(struct gm2 *m, const struct net *net)
{
    uint32_t me = net_find_host(net, m->config.address);
    bool twin = false;

    for (uint32_t i = 0; i < net->nhosts; i++)
        twin |= i != me && net->nodes[i].id == m->config.address;
    if (!twin)
        return me;
    gm2_notice(m, "another board has the id of this one");
    for (uint32_t i = 0; i < net->nhosts; i++)
        if (net->nodes[i].id == m->config.address && leads_to_parent(m, net, i))
            return i;
    return me;
}

/* ---- routes -------------------------------------------------------------- */

/* More cables than these are no small loss. */
#define LOST_MAX 64

struct lost {
    uint32_t ports[LOST_MAX], peers[LOST_MAX];
    unsigned n;
};

static bool same_nodes(const struct gm2_map *a, const struct gm2_map *b)
{
    if (a->net->nnodes != b->net->nnodes || a->net->nports != b->net->nports)
        return false;
    for (uint32_t n = 0; n < a->net->nnodes; n++) {
        const struct net_node *x = &a->net->nodes[n], *y = &b->net->nodes[n];

        if (x->kind != y->kind || x->id != y->id || x->first != y->first ||
            x->has_id != y->has_id || x->plane != y->plane)
            return false;
    }
    for (uint32_t i = 0; i < a->net->nhosts; i++)
        if (a->hosts[i].level != b->hosts[i].level ||
            a->hosts[i].type != b->hosts[i].type)
            return false;
    return true;
}

/* Is the new map the old one less some cables between crossbars? */
static bool lost_only(const struct gm2_map *old, const struct gm2_map *now,
                      struct lost *lost)
{
    lost->n = 0;
    if (!same_nodes(old, now))
        return false;
    for (uint32_t p = 0; p < old->net->nports; p++) {
        uint32_t was = old->net->ports[p].peer, is = now->net->ports[p].peer;

        if (was == is)
            continue;
        if (is != NET_NONE || lost->n == LOST_MAX ||
            net_is_host(old->net, old->net->ports[p].node) ||
            net_is_host(old->net, old->net->ports[was].node))
            return false;
        if (was < p)
            continue;
        lost->ports[lost->n] = p;
        lost->peers[lost->n++] = was;
    }
    return true;
}

/* And this host's routes are proved, its alternatives, too. */
static bool repaired(struct gm2 *m, const struct lost *lost, uint32_t me)
{
    return net_routes_repair(m->routes, lost->ports, lost->peers, lost->n, NULL,
                             NULL) == 0 &&
           net_routes_host_deadlock(m->routes, me, NULL) == 0;
}

/* The old map becomes the new one, which is freed, and the routes with it.
 * False: the old map and its routes are gone, if the repair was tried. */
static bool repair(struct gm2 *m, struct gm2_map *map, uint32_t me)
{
    struct lost lost;
    struct net *net = m->map ? m->map->net : NULL;

    if (!m->routes || !m->map || m->unproved.text[0] ||
        !lost_only(m->map, map, &lost))
        return false;
    for (unsigned i = 0; i < lost.n; i++)
        net_disconnect(net, net->ports[lost.ports[i]].node,
                       net_port_number(net, lost.ports[i]));
    if (lost.n == 0 || repaired(m, &lost, me)) {
        m->map->version = map->version;
        gm2_map_free(map);
        m->counters.repairs++;
        m->repaired |= lost.n > 0;
        return true;
    }
    net_routes_free(m->routes);
    gm2_map_free(m->map);
    m->routes = NULL;
    m->map = NULL;
    return false;
}

static bool route_anew(struct gm2 *m, struct gm2_map *map, uint32_t me)
{
    struct errbuf err = {""};
    struct net_routes *routes = compute(m, map, me, &err);

    if (!routes) {
        bool memory = errno == ENOMEM;

        gm2_map_free(map);
        if (memory)
            gm2_notice(m, "no memory for routes");
        else
            gm2_end(m, err.text);
        return false;
    }
    net_routes_free(m->routes);
    gm2_map_free(m->map);
    m->map = map;
    m->routes = routes;
    m->repaired = false;
    return true;
}

/* Whom this host has no route to: the net is deeper than the hop limit. */
static void find_beyond(struct gm2 *m)
{
    struct net_beyond b;
    struct errbuf names;
    unsigned n;

    m->beyond.text[0] = '\0';
    net_routes_beyond(m->routes, &b);
    n = net_routes_missing(m->routes, m->me, &names);
    if (n > 0)
        errprintf(&m->beyond,
                  "no route of at most %u hops leads to %u of %u hosts: %.400s",
                  b.limit, n, m->map->net->nhosts - 1, names.text);
}

bool gm2_use_map(struct gm2 *m, struct gm2_map *map)
{
    uint32_t me = own_node(m, map->net);

    gm2_past_keep(m, map);
    if (m->cables)
        cables_stop(m->cables);
    if (!repair(m, map, me) && !route_anew(m, map, me))
        return false;
    gm2_suppose(m, NULL);
    m->ups = net_routes_ups(m->routes);
    m->unlike = m->unlike_heard = 0;
    m->me = me;
    m->valid = true; /* whoever is told of the map may ask for its leader */
    m->complete = false;
    m->reported = 0;
    find_beyond(m);
    find_partners(m);
    if (m->ops.configured)
        m->ops.configured(m->map, m->me, m->routes, m->arg);
    return true;
}

/* ---- the tree ------------------------------------------------------------ */

static void tell(struct gm2 *m, unsigned which)
{
    const struct gm2_talk talk = {
        .purpose = GM2_TALK_TREE,
        .reason = GM2_LX_TREE,
        .address = m->child[which].address,
        .argument = gm2_tree_child(m->me + 1, which, m->map->net->nhosts),
        .route = m->child[which].route,
        .wait = m->config.scout_wait,
        .left = m->config.tree_tries,
        .which = which,
    };

    if (talk.address != 0)
        gm2_ask(m, &talk);
}

void gm2_tree_start(struct gm2 *m)
{
    gm2_sum_done(m);
    for (unsigned i = 0; i < 2; i++)
        if (!m->child[i].same)
            tell(m, i);
}

/* Hosts of the map that hang on the fabric. */
static uint32_t connected(const struct gm2 *m)
{
    const struct net *net = m->map->net;
    uint32_t n = 0;

    for (uint32_t i = 0; i < net->nhosts; i++)
        n += i == m->me || net_peer_node(net, i, 0) != NET_NONE;
    return n;
}

static void gm2_sum_done(struct gm2 *m)
{
    m->done = 1;
    for (unsigned i = 0; i < 2; i++)
        if (m->child[i].address != 0)
            m->done += m->child[i].done;
    if (!gm2_is_leader(m) || m->complete || m->done < connected(m))
        return;
    m->complete = true;
    if (m->ops.complete)
        m->ops.complete(m->done, m->arg);
}

/* ---- gm2 past ---------------------------------------------------------- */

/* Maps of before. Children that have one of them pull only what is different
 * in the map in use: most have the last one, some missed a few. */

static void drop(struct gm2_past *past)
{
    gm2_map_free(past->map);
    bytebuf_free(&past->delta);
    *past = (struct gm2_past){0};
}

void gm2_past_free(struct gm2 *m)
{
    for (unsigned i = 0; i < SF_GM_PAST_MAX; i++)
        drop(&m->past[i]);
}

/* Deltas lead to the map in use: to another one from now on. */
static void forget_deltas(struct gm2 *m)
{
    for (unsigned i = 0; i < SF_GM_PAST_MAX; i++) {
        bytebuf_free(&m->past[i].delta);
        m->past[i].made = false;
    }
}

static void make(struct gm2_past *past, const struct gm2_map *to)
{
    past->made = true;
    bytebuf_init(&past->delta, GM2_DELTA_MAX);
    if (!gm2_delta_make(past->map, to, &past->delta))
        bytebuf_free(&past->delta);
}

static bool has_children(const struct gm2 *m, const struct gm2_map *map)
{
    uint32_t n = gm2_map_host(map, m->config.address) + 1;

    return gm2_tree_child(n, 0, map->net->nhosts) != 0;
}

/* The map in use is about to be replaced by this one. */
static void gm2_past_keep(struct gm2 *m, const struct gm2_map *next)
{
    const struct gm2_map *old = m->map ? m->map : m->supposed;
    struct gm2_map *copy;

    if (!m->config.map_deltas || !old || !has_children(m, next)) {
        gm2_past_free(m);
        return;
    }
    if (gm2_version_equal(&old->version, &next->version))
        return; /* pulled once more */
    forget_deltas(m);
    copy = gm2_map_copy(old);
    if (!copy)
        return; /* children who have it pull the whole */
    drop(&m->past[SF_GM_PAST_MAX - 1]);
    for (unsigned i = SF_GM_PAST_MAX - 1; i > 0; i--)
        m->past[i] = m->past[i - 1];
    m->past[0] = (struct gm2_past){.map = copy};
    make(&m->past[0], next);
}

/* Any delta at all?. */
static bool gm2_past_gives(const struct gm2 *m)
{
    return bytebuf_len(&m->past[0].delta) > 0 || m->past[1].map;
}

/* What leads from the map with this counter to the one in use; NULL. */
static const struct bytebuf *gm2_past_delta(struct gm2 *m, uint32_t counter)
{
    for (unsigned i = 0; i < SF_GM_PAST_MAX; i++) {
        struct gm2_past *past = &m->past[i];

        if (!past->map || past->map->version.counter != counter)
            continue;
        if (!past->made)
            make(past, m->map);
        if (bytebuf_len(&past->delta) > 0)
            return &past->delta;
    }
    return NULL;
}

/* ---- gm2 fetching ------------------------------------------------------ */

/* Pulling a map from the parent: first what is different in it, if the parent
 * gives that and a map is there that it could begin at; else, or when it does
 * not fit, the whole: a few pieces are asked for at a time, each again until
 * it comes. */

static bool asked(const struct gm2 *m, uint32_t piece)
{
    for (int i = 0; i < GM2_TALKS; i++)
        if (m->talk[i].purpose == GM2_TALK_PIECE &&
            m->talk[i].argument == piece)
            return true;
    return false;
}

static unsigned in_flight(const struct gm2 *m)
{
    unsigned n = 0;

    for (int i = 0; i < GM2_TALKS; i++)
        n += m->talk[i].purpose == GM2_TALK_PIECE;
    return n;
}

static void ask_piece(struct gm2 *m, uint32_t piece)
{
    const struct gm2_talk talk = {
        .purpose = GM2_TALK_PIECE,
        .reason = GM2_LX_QUERYING_MAP_PIECE,
        .address = m->parent.address,
        .argument = piece,
        .route = m->parent.route,
        .wait = m->config.piece_wait,
        .left = m->config.piece_tries,
    };

    gm2_ask(m, &talk);
}

/* Before the first piece nobody knows how many there are. */
static void fetch_more(struct gm2 *m)
{
    uint32_t piece = gm2_fetch_missing(m->fetch);

    while (piece != UINT32_MAX && in_flight(m) < GM2_WINDOW) {
        if (!asked(m, piece))
            ask_piece(m, piece);
        piece = gm2_fetch_next(m->fetch, piece + 1);
    }
}

/* What a delta could begin at. */
static const struct gm2_map *base(const struct gm2 *m)
{
    return m->map ? m->map : m->supposed;
}

static bool ask_delta(struct gm2 *m)
{
    struct gm2_talk talk = {
        .purpose = GM2_TALK_DELTA,
        .reason = GM2_LX_QUERYING_MAP_DELTA,
        .address = m->parent.address,
        .route = m->parent.route,
        .wait = m->config.piece_wait,
        .left = m->config.piece_tries,
    };

    if (!m->config.map_deltas || !m->offered || !base(m))
        return false;
    talk.argument = base(m)->version.counter;
    return gm2_ask(m, &talk);
}

void gm2_fetch_start(struct gm2 *m)
{
    if (!ask_delta(m))
        gm2_fetch_whole(m);
}

/* No delta, or not yet. */
static void gm2_fetch_whole(struct gm2 *m)
{
    m->fetch = gm2_fetch_new(&m->want);
    if (m->fetch)
        fetch_more(m);
    else
        gm2_fire(m, GM2_EVENT_FETCH_FAILED);
}

static void use(struct gm2 *m, struct gm2_map *map)
{
    map->version.level = m->want.level;
    if (gm2_use_map(m, map))
        gm2_fire(m, GM2_EVENT_FETCHED);
    else if (m->state == GM2_STATE_FETCHING)
        gm2_fire(m, GM2_EVENT_FETCH_FAILED);
}

static void finish(struct gm2 *m)
{
    struct errbuf err = {""};
    struct gm2_map *map = gm2_fetch_finish(m->fetch, &err);

    if (map && gm2_map_host(map, m->config.address) == NET_NONE) {
        errprintf(&err, "the map of the parent does not have this host");
        gm2_map_free(map);
        map = NULL;
    }
    if (!map) {
        gm2_notice(m, "%s", err.text[0] ? err.text : "no memory for the map");
        gm2_fire(m, GM2_EVENT_FETCH_FAILED);
        return;
    }
    use(m, map);
}

static void gm2_take_delta(struct gm2 *m, const struct gm2_message *msg)
{
    struct gm2_talk *talk = gm2_talk_of(m, msg);
    struct errbuf err = {""};
    struct gm2_map *map;

    if (!talk || talk->purpose != GM2_TALK_DELTA ||
        !gm2_version_equal(&msg->version, &m->want)) {
        m->counters.dropped_late++;
        return;
    }
    talk->purpose = GM2_TALK_FREE;
    m->counters.deltas_received++;
    m->counters.pulled += GM2_HEADER_SIZE + msg->rows_len;
    map = gm2_delta_apply(base(m), &m->want, msg->rows, msg->rows_len, &err);
    if (map && gm2_map_host(map, m->config.address) != NET_NONE) {
        use(m, map);
        return;
    }
    gm2_map_free(map);
    gm2_notice(m, "%s: fetching the whole map",
               map ? "the new map does not have this host" : err.text);
    gm2_fetch_whole(m);
}

static void gm2_take_piece(struct gm2 *m, const struct gm2_message *msg)
{
    struct gm2_talk *talk = gm2_talk_of(m, msg);

    if (!talk || talk->purpose != GM2_TALK_PIECE || !m->fetch ||
        talk->argument != msg->piece.piece) {
        m->counters.dropped_late++;
        return;
    }
    talk->purpose = GM2_TALK_FREE;
    m->counters.pieces_received++;
    m->counters.pulled += GM2_PIECE_SIZE + msg->rows_len;
    if (gm2_fetch_add(m->fetch, msg) < 0) {
        gm2_fire(m, GM2_EVENT_FETCH_FAILED);
        return;
    }
    if (gm2_fetch_missing(m->fetch) == UINT32_MAX)
        finish(m);
    else
        fetch_more(m);
}

/* ---- gm2 meet ---------------------------------------------------------- */

/* What the messages of other mappers mean to this one: who is higher, who is
 * the parent, whether there is another map, whether ours is still true. */

static bool outranks_me(const struct gm2 *m, uint32_t level, uint64_t address)
{
    return gm_outranks(level, address, m->config.level, m->config.address);
}

static bool leader_outranks_me(const struct gm2 *m, const struct gm2_version *v)
{
    return outranks_me(m, v->level, v->leader);
}

/* Of one leader: not an older map that somebody still has. */
static bool is_older(const struct gm2_version *a, const struct gm2_version *b)
{
    return a->leader == b->leader &&
           b->counter - a->counter <= UINT32_C(0x10000);
}

/* May the sender's map stand in the place of that one?  The own parent's
 * always may, for its children have what it has; else a higher leader's. */
static bool replaces(const struct gm2 *m, const struct gm2_message *msg,
                     const struct gm2_version *old)
{
    const struct gm2_version *v = &msg->version;

    if (gm2_version_equal(v, old) || is_older(v, old))
        return false;
    return msg->sender == m->parent.address ||
           !gm_outranks(old->level, old->leader, v->level, v->leader);
}

static bool in_map(const struct gm2 *m, uint64_t address)
{
    return gm2_map_host(m->map, address) != NET_NONE;
}

static void stranger(struct gm2 *m, const struct gm2_message *msg)
{
    char who[GM_ADDRESS_TEXT];

    if (m->state == GM2_STATE_VERIFYING && !in_map(m, msg->sender))
        gm2_changed(m, "host %s is new", gm_address_text(msg->sender, who));
}

void gm2_meet(struct gm2 *m, const struct gm2_message *msg,
              const struct gm2_route *route)
{
    const struct gm2_version *mine = NULL;

    if (!outranks_me(m, msg->level, msg->sender)) {
        stranger(m, msg);
        return;
    }
    if (m->state == GM2_STATE_VERIFYING)
        mine = &m->map->version;
    else if (m->state == GM2_STATE_FETCHING)
        mine = &m->want;
    else if (m->state == GM2_STATE_PASSIVE || m->state == GM2_STATE_PAUSED)
        return;
    if (mine &&
        (!(msg->flags & GM2_MAPPING) ||
         !gm_outranks(msg->level, msg->sender, mine->level, mine->leader))) {
        stranger(m, msg);
        return;
    }
    gm2_adopt(m, msg->sender, route);
    gm2_fire(m, GM2_EVENT_MET_HIGHER);
}

/* ---- scouts -------------------------------------------------------------- */

static void told_parent(struct gm2 *m, const struct gm2_message *msg)
{
    const struct gm2_version *v = &msg->version;

    if (!(msg->flags & GM2_VALID) || v->counter == 0 ||
        !leader_outranks_me(m, v))
        return;
    if (m->map && gm2_version_equal(v, &m->map->version)) {
        if (m->valid)
            gm2_adopt(m, msg->sender, &msg->scout.back);
        return; /* not valid: the reply told the parent */
    }
    if (m->state == GM2_STATE_VERIFYING && !replaces(m, msg, &m->map->version))
        return;
    if (m->state == GM2_STATE_FETCHING && !replaces(m, msg, &m->want))
        return;
    gm2_adopt(m, msg->sender, &msg->scout.back);
    m->want = *v;
    m->offered = msg->flags & GM2_GIVES_DELTA;
    gm2_fire(m, GM2_EVENT_TOLD_PARENT);
}

/* A mapper with our map that says it is not true. */
static bool disowned(const struct gm2 *m, const struct gm2_message *msg)
{
    return m->state == GM2_STATE_VERIFYING && !(msg->flags & GM2_VALID) &&
           gm2_version_equal(&msg->version, &m->map->version);
}

static void doubt(struct gm2 *m, const struct gm2_message *msg)
{
    char who[GM_ADDRESS_TEXT];

    gm2_changed(m, "host %s holds the map for invalid",
                gm_address_text(msg->sender, who));
}

static void take_pause(struct gm2 *m, const struct gm2_message *msg)
{
    uint32_t seconds = msg->scout.argument;

    if (!outranks_me(m, msg->level, msg->sender))
        return;
    if (seconds > GM2_PAUSE_MAX)
        seconds = GM2_PAUSE_MAX;
    m->pause_until = m->now + seconds * UINT64_C(1000000000);
    gm2_fire(m, GM2_EVENT_PAUSE);
}

/* What messages of mappers mean. */
static void gm2_take_scout(struct gm2 *m, const struct gm2_message *msg)
{
    if (msg->sender == m->config.address && gm2_search_own(m, msg))
        return;
    gm2_answer_scout(m, msg);
    switch (msg->reason) {
    case GM2_LX_MAPPING:
        gm2_meet(m, msg, &msg->scout.back);
        break;
    case GM2_LX_TREE:
        told_parent(m, msg);
        break;
    case GM2_LX_PAUSE:
        take_pause(m, msg);
        break;
    case GM2_LX_QUERYING_MAP_VERSION:
        if (disowned(m, msg))
            doubt(m, msg);
        else
            stranger(m, msg);
        break;
    case GM2_LX_VERIFYING:
        stranger(m, msg);
        break;
    case GM2_LX_QUERYING_MAP_PIECE:
    case GM2_LX_QUERYING_MAP_DELTA:
        break;
    }
}

/* ---- replies ------------------------------------------------------------- */

/* A parent has a new map when leader or counter differ and the counter is not
 * zero. */
static bool new_map(struct gm2 *m, const struct gm2_message *msg)
{
    const struct gm2_version *v = &msg->version;

    if (!(msg->flags & GM2_VALID) || v->counter == 0 ||
        !leader_outranks_me(m, v))
        return false;
    if (m->map && gm2_version_equal(v, &m->map->version))
        return false;
    if (m->state == GM2_STATE_VERIFYING && !replaces(m, msg, &m->map->version))
        return false;
    m->want = *v;
    m->offered = msg->flags & GM2_GIVES_DELTA;
    gm2_fire(m, GM2_EVENT_NEW_MAP);
    return true;
}

/* As many partners as there can be, once each. */
#define UNLIKE_HEARD 3

/* A partner has routes of the same map that allow other turns, and these here
 * were repaired: hosts that repair keep the turns of an older map, which who
 * has just come does not know.  Computed anew they are the same everywhere. */
static void renew(struct gm2 *m)
{
    struct errbuf err = {""};
    struct net_routes *routes = compute(m, m->map, m->me, &err);

    m->repaired = false;
    m->unlike = m->unlike_heard = 0;
    if (!routes) {
        gm2_notice(m, "routes are not computed anew: %s", err.text);
        return;
    }
    net_routes_free(m->routes);
    m->routes = routes;
    m->ups = net_routes_ups(routes);
    find_beyond(m);
    if (m->ops.configured)
        m->ops.configured(m->map, m->me, m->routes, m->arg);
}

/* Each host proves that routes which first go up and then down, as its own do,
 * cannot deadlock.  The proof holds for all hosts together only if all agree on
 * which way is up.  If two hosts disagree, then so do some two neighbours on
 * the tree path between them; it is enough to compare neighbours. */
static void compare_ups(struct gm2 *m, const struct gm2_message *msg)
{
    if (!m->valid || msg->ups == 0 ||
        !gm2_version_equal(&msg->version, &m->map->version))
        return;
    if (msg->ups != m->ups && m->repaired)
        renew(m);
    if (msg->ups == m->ups) {
        if (m->unlike == msg->sender)
            m->unlike = 0;
        return;
    }
    /* Partners with repaired routes compute anew when they hear of this, too.
     */
    if (m->unlike != 0 || ++m->unlike_heard <= UNLIKE_HEARD)
        return;
    m->unlike = msg->sender;
    if (m->ops.unlike)
        m->ops.unlike(msg->sender, m->arg);
}

static void parent_replied(struct gm2 *m, const struct gm2_message *msg)
{
    if (new_map(m, msg))
        return;
    if (disowned(m, msg)) {
        doubt(m, msg);
        return;
    }
    if ((msg->flags & GM2_COMPLETE) &&
        gm2_version_equal(&msg->version, &m->map->version))
        m->complete = true;
    gm2_round_partners(m);
}

static void child_replied(struct gm2 *m, unsigned which,
                          const struct gm2_message *msg)
{
    const struct gm2_version *mine = &m->map->version, *theirs = &msg->version;
    struct gm2_partner *child = &m->child[which];

    if (disowned(m, msg)) {
        doubt(m, msg);
        return;
    }
    child->same = gm2_version_equal(theirs, mine);
    child->done = child->same ? msg->reply.done : 0;
    gm2_sum_done(m);
}

static void partner_replied(struct gm2 *m, const struct gm2_talk *talk,
                            const struct gm2_message *msg)
{
    compare_ups(m, msg);
    if (talk->which == 2) {
        parent_replied(m, msg);
        return;
    }
    child_replied(m, talk->which, msg);
    if (m->state == GM2_STATE_VERIFYING)
        gm2_round_partners(m);
}

static void gm2_take_reply(struct gm2 *m, const struct gm2_message *msg)
{
    struct gm2_talk *talk = gm2_talk_of(m, msg), was;

    if (!talk) {
        if (gm2_search_reply(m, msg))
            return;
        m->counters.dropped_late++;
        gm2_look_out_answered(m, msg);
        return;
    }
    was = *talk;
    if (was.purpose == GM2_TALK_PIECE && msg->flags & GM2_NO_PIECE) {
        gm2_fire(m, GM2_EVENT_FETCH_FAILED);
        return;
    }
    talk->purpose = GM2_TALK_FREE;
    switch (was.purpose) {
    case GM2_TALK_DELTA: /* it has none from our map */
        gm2_fetch_whole(m);
        break;
    case GM2_TALK_PING:
        new_map(m, msg);
        break;
    case GM2_TALK_TREE:
        child_replied(m, was.which, msg);
        break;
    case GM2_TALK_PARTNER:
        partner_replied(m, &was, msg);
        break;
    default:
        break;
    }
}

/* An exchange was given up. */
static void gm2_unanswered(struct gm2 *m, const struct gm2_talk *talk)
{
    char who[GM_ADDRESS_TEXT];

    gm_address_text(talk->address, who);
    switch (talk->purpose) {
    case GM2_TALK_PIECE:
        gm2_notice(m, "parent %s does not give piece %u of its map", who,
                   talk->argument);
        gm2_fire(m, GM2_EVENT_FETCH_FAILED);
        break;
    case GM2_TALK_DELTA:
        gm2_fetch_whole(m);
        break;
    case GM2_TALK_PING:
    case GM2_TALK_PARTNER:
        if (talk->which != 2 && talk->purpose == GM2_TALK_PARTNER) {
            gm2_changed(m, "host %s does not answer", who);
            break;
        }
        m->counters.lost_parents++;
        gm2_notice(m, "parent %s does not answer", who);
        gm2_fire(m, GM2_EVENT_PARENT_LOST);
        break;
    default:
        break; /* LX_TREE: the next round tells it again */
    }
}

/* ---- gm2 input --------------------------------------------------------- */

/* What arrives at a GM-2 mapper, told apart. */

/* A probe of our own that a crossbar has marked: the record stands behind
 * what we sent. */
static void take_tagged(struct gm2 *m, const uint8_t *body, size_t len)
{
    uint8_t plain[GM2_PROBE_SIZE];
    struct gm2_message msg;
    struct probe_id id = {0};
    struct net_tag tag;
    size_t rest;

    if (len < GM2_PROBE_SIZE)
        return;
    memcpy(plain, body, sizeof(plain));
    net_type_put(plain, NET_TYPE_MAPPING, GM2_PROBE);
    if (gm2_decode(&msg, plain, sizeof(plain)) < 0)
        return;
    if (len == GM2_PROBE_SIZE) {
        gm2_search_back(m, &msg, NULL);
        return;
    }
    if (!net_tags_get(&tag, 1, body + NET_TYPE_SIZE, len - NET_TYPE_SIZE,
                      &rest))
        return;
    id.id = tag.id;
    id.entry = tag.entry;
    id.nports = tag.ports;
    gm2_search_back(m, &msg, &id);
}

static void take(struct gm2 *m, const struct gm2_message *msg)
{
    switch (msg->subtype) {
    case GM2_PROBE:
        gm2_search_back(m, msg, NULL);
        break;
    case GM2_SCOUT:
        gm2_take_scout(m, msg);
        break;
    case GM2_REPLY:
        gm2_take_reply(m, msg);
        break;
    case GM2_PIECE:
        gm2_take_piece(m, msg);
        break;
    case GM2_DELTA:
        gm2_take_delta(m, msg);
        break;
    }
}

void gm2_input(struct gm2 *m, uint64_t now, const void *body, size_t len)
{
    struct gm2_message msg;

    if (now > m->now)
        m->now = now;
    if (m->state == GM2_STATE_ENDED)
        return;
    m->counters.received++;
    if (len >= NET_TYPE_SIZE &&
        net_type_is(body, NET_TYPE_MAPPING, NET_SUBTYPE_TAGGED))
        take_tagged(m, body, len);
    else if (gm2_decode(&msg, body, len) == 0)
        take(m, &msg);
    else if (errno == ENOMSG)
        m->counters.dropped_foreign++;
    else
        m->counters.dropped_broken++;
    gm2_search_run(m, false);
}
