/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier: routes of its probes, what answers mean, its questions, its
 * stages and its calls.
 */
#include "mapper/verify.h"

#include <stdlib.h>
#include <string.h>

#include "mapper/window.h"

/* A link (of two crossbars) is unknown, sound or lost in this round.  First
 * tours go over all links that are not lost, then, where tours did not come
 * back, shorter and shorter ones that reach the links in question over sound
 * links alone: one that fails with a single such link has found a lost one.
 */
enum vlink_state { VLINK_UNKNOWN, VLINK_SOUND, VLINK_LOST };

enum vstage {
    VERIFY_TOURS,
    VERIFY_BISECT,
    VERIFY_HOSTS,
    VERIFY_RINGS,
    VERIFY_IDS,
    VERIFY_EMPTY,
    VERIFY_END
};

struct vlink {
    uint32_t a, b; /* global ports, the nearer one first */
    uint8_t state;
    bool out; /* a tour with it is under way, or failed in this pass */
};

/* A probe and what it stands for. */
struct vjob {
    enum vstage stage;
    uint8_t tries;
    uint8_t nlinks;
    bool scout;    /* empty ports: scout, then loop */
    uint32_t node; /* host or crossbar asked; link in the ring; crossbar with
                    * empty port */
    int port;
    uint32_t next; /* spare, or ready */
    uint32_t links[PROBE_ROUTE_MAX];
    struct probe probe;
};

struct verify {
    struct prober_limits limits;
    struct verify_options options;
    const struct net *map;
    uint32_t me, root; /* root: the crossbar on our cable, or NET_NONE */
    struct window window;
    enum vstage stage;
    struct vlink *links;
    uint32_t nlinks, at_link;
    uint32_t *link_of; /* global port: its link, or NET_NONE */
    uint32_t *need;    /* node: links of it to be toured */
    uint32_t *parent;  /* node: port of it that leads home, or NET_NONE */
    uint16_t *dist;    /* crossbars before it */
    uint32_t *queue;
    unsigned most; /* links of one tour */
    uint32_t at_node;
    int at_port;
    struct vjob *jobs;
    uint32_t njobs, cap_jobs, spare_job, ready_job;
    struct verify_change *changes;
    uint32_t nchanges, cap_changes;
    struct probe_host *answers; /* by host's order */
    uint32_t *answer_of;        /* node: index in answers, or NET_NONE */
    uint32_t nanswers, cap_answers;
    bool failed;
};

/* ---- verify tour ------------------------------------------------------- */

/* Routes of the verifier's probes. */

struct walk {
    struct verify *v;
    struct vjob *job;
    uint32_t node, in; /* where the packet is, global port it came in by */
    unsigned bytes;
    bool sure;
};

static void verify_fail(struct verify *v);
static void verify_add_change(struct verify *v,
                              const struct verify_change *change);
static void verify_job_free(struct verify *v, uint32_t j);
static void verify_lose_link(struct verify *v, uint32_t l);

static unsigned number(const struct net *net, uint32_t port)
{
    return net_port_number(net, port);
}

static uint32_t peer_node(const struct net *net, uint32_t port)
{
    return net->ports[net->ports[port].peer].node;
}

static bool usable(const struct verify *v, uint32_t port, bool sure)
{
    uint32_t l = v->link_of[port];

    if (l == NET_NONE)
        return false;
    return sure ? v->links[l].state == VLINK_SOUND
                : v->links[l].state != VLINK_LOST;
}

/* The tree of ways home over links that are not lost (sure:
 * sound ones). */
static void tour_plan(struct verify *v, bool sure)
{
    const struct net *net = v->map;
    uint32_t head = 0, tail = 0;

    for (uint32_t n = 0; n < net->nnodes; n++)
        v->parent[n] = NET_NONE;
    if (v->root == NET_NONE)
        return;
    v->parent[v->root] = net->ports[net->nodes[v->me].first].peer;
    v->dist[v->root] = 0;
    v->queue[tail++] = v->root;
    while (head < tail) {
        uint32_t n = v->queue[head++];
        const struct net_node *node = &net->nodes[n];

        for (uint32_t p = node->first; p < node->first + node->nports; p++) {
            uint32_t far;

            if (!usable(v, p, sure))
                continue;
            far = peer_node(net, p);
            if (v->parent[far] != NET_NONE)
                continue;
            v->parent[far] = net->ports[p].peer;
            v->dist[far] = (uint16_t)(v->dist[n] + 1);
            v->queue[tail++] = far;
        }
    }
}

/* Ports by which the way to a crossbar leaves those before it, last first. */
static unsigned ports_to(const struct verify *v, uint32_t node, uint32_t *out)
{
    unsigned n = 0;

    for (; node != v->root; n++) {
        out[n] = v->map->ports[v->parent[node]].peer;
        node = v->map->ports[out[n]].node;
    }
    return n;
}

static uint8_t byte_for(const struct verify *v, uint32_t in, uint32_t out)
{
    unsigned to = number(v->map, out);

    if (v->limits.absolute)
        return (uint8_t)to;
    return net_route_byte((int)to - (int)number(v->map, in));
}

static void note(struct walk *w, uint32_t port)
{
    struct verify *v = w->v;
    uint32_t l = v->link_of[port];
    struct vlink *link = &v->links[l];

    w->job->links[w->job->nlinks++] = l;
    if (link->state == VLINK_UNKNOWN && !link->out) {
        link->out = true;
        v->need[v->map->ports[link->a].node]--;
        v->need[v->map->ports[link->b].node]--;
    }
}

/* Over one cable. */
static void step(struct walk *w, uint32_t port)
{
    w->job->probe.route[w->bytes++] = byte_for(w->v, w->in, port);
    if (w->v->link_of[port] != NET_NONE)
        note(w, port);
    w->in = w->v->map->ports[port].peer;
    w->node = w->v->map->ports[w->in].node;
}

static bool may_step(const struct walk *w, uint32_t port, bool wanted)
{
    const struct verify *v = w->v;
    uint32_t l = v->link_of[port], far;
    bool fresh;

    if (l == NET_NONE || v->links[l].state == VLINK_LOST)
        return false;
    fresh = v->links[l].state == VLINK_UNKNOWN && !v->links[l].out;
    if (wanted ? !fresh : !usable(v, port, w->sure))
        return false;
    far = peer_node(v->map, port);
    return v->parent[far] != NET_NONE &&
           w->bytes + 1 + v->dist[far] + 1u <= v->limits.max_route &&
           w->job->nlinks + v->dist[far] + 2u < PROBE_ROUTE_MAX;
}

static unsigned wanted_links(const struct walk *w)
{
    unsigned n = 0;

    for (int i = 0; i < w->job->nlinks; i++)
        n += w->v->links[w->job->links[i]].out;
    return n;
}

/* Where to go on: an untoured link here, or one step towards one. */
static uint32_t next_port(const struct walk *w)
{
    const struct verify *v = w->v;
    const struct net_node *node = &v->map->nodes[w->node];
    uint32_t end = node->first + node->nports;

    if (wanted_links(w) >= v->most)
        return NET_NONE;
    for (uint32_t p = node->first; v->need[w->node] > 0 && p < end; p++)
        if (p != w->in && may_step(w, p, true))
            return p;
    for (uint32_t p = node->first; p < end; p++)
        if (p != w->in && may_step(w, p, false) &&
            v->need[peer_node(v->map, p)] > 0)
            return p;
    return NET_NONE;
}

/* A way home through the door we came in by would not tell whose door it is:
 * better over some other crossbar. */
static void widen_end(struct walk *w)
{
    const struct net_node *node = &w->v->map->nodes[w->node];

    if (w->node == w->v->root || w->in != w->v->parent[w->node])
        return;
    for (uint32_t p = node->first; p < node->first + node->nports; p++) {
        if (p != w->in && may_step(w, p, false) &&
            w->v->parent[peer_node(w->v->map, p)] != w->v->map->ports[p].peer) {
            step(w, p);
            return;
        }
    }
}

static void go_home(struct walk *w)
{
    while (w->node != w->v->me)
        step(w, w->v->parent[w->node]);
}

/* An untoured link with an end that can be reached; the port to leave by. */
static uint32_t first_port(struct verify *v)
{
    for (; v->at_link < v->nlinks; v->at_link++) {
        const struct vlink *l = &v->links[v->at_link];
        uint32_t a = v->map->ports[l->a].node, b = v->map->ports[l->b].node;

        if (l->state != VLINK_UNKNOWN || l->out)
            continue;
        if (v->parent[a] == NET_NONE && v->parent[b] == NET_NONE)
            continue;
        if (v->parent[a] == NET_NONE ||
            (v->parent[b] != NET_NONE && v->dist[b] < v->dist[a]))
            return l->b;
        return l->a;
    }
    return NET_NONE;
}

static void walk_to(struct walk *w, uint32_t node)
{
    uint32_t out[PROBE_ROUTE_MAX];
    unsigned n = ports_to(w->v, node, out);

    while (n > 0)
        step(w, out[--n]);
}

/* The one way to a link whose far end no sound link reaches: there and back
 * over itself. */
static void there_and_back(struct walk *w, uint32_t port)
{
    step(w, port);
    step(w, w->in);
}

/* Untoured links here that no other way leads behind. */
static void bounce(struct walk *w)
{
    const struct verify *v = w->v;
    const struct net_node *node = &v->map->nodes[w->node];

    for (uint32_t p = node->first; p < node->first + node->nports; p++) {
        uint32_t l = v->link_of[p];

        if (l == NET_NONE || v->links[l].state != VLINK_UNKNOWN ||
            v->links[l].out || v->parent[peer_node(v->map, p)] != NET_NONE)
            continue;
        if (wanted_links(w) >= v->most ||
            w->bytes + 2u + v->dist[w->node] + 1u > v->limits.max_route ||
            w->job->nlinks + v->dist[w->node] + 3u >= PROBE_ROUTE_MAX)
            return;
        there_and_back(w, p);
    }
}

/* A tour of up to v->most links that need one, from links[at_link] on; false:
 * none can be reached. */
static bool tour_make(struct verify *v, struct vjob *job, bool sure)
{
    struct walk w = {.v = v, .job = job, .sure = sure};
    uint32_t port = first_port(v);

    if (port == NET_NONE)
        return false;
    w.node = v->root;
    w.in = v->map->ports[v->map->nodes[v->me].first].peer;
    job->nlinks = 0;
    memset(&job->probe, 0, sizeof(job->probe));
    job->probe.kind = PROBE_TOUR;
    if (2 * (v->dist[v->map->ports[port].node] + 1u) + 1 >
            v->limits.max_route ||
        v->dist[v->map->ports[port].node] > PROBE_ROUTE_MAX / 2 - 2) {
        v->at_link++; /* beyond our reach: nothing to be said of it */
        return tour_make(v, job, sure);
    }
    walk_to(&w, v->map->ports[port].node);
    if (v->parent[peer_node(v->map, port)] == NET_NONE) {
        there_and_back(&w, port);
    } else if (v->links[v->link_of[port]].out) {
        /* on the way here already */
    } else if (may_step(&w, port, true)) {
        step(&w, port);
    } else {
        there_and_back(&w, port);
    }
    bounce(&w);
    while ((port = next_port(&w)) != NET_NONE) {
        step(&w, port);
        bounce(&w);
    }
    widen_end(&w);
    go_home(&w);
    job->probe.nroute = (uint8_t)w.bytes;
    return true;
}

static bool in_tree(const struct verify *v, const struct vlink *link)
{
    return v->parent[v->map->ports[link->a].node] == link->a ||
           v->parent[v->map->ports[link->b].node] == link->b;
}

/* There by the one end's way, over the link, home by the other's: comes back
 * only if the link leads from the one to the other.  False: a link of the
 * tree itself, or too far. */
static bool tour_make_ring(struct verify *v, struct vjob *job, uint32_t l)
{
    const struct vlink *link = &v->links[l];
    uint32_t a = v->map->ports[link->a].node, b = v->map->ports[link->b].node;
    struct walk w = {.v = v, .job = job, .node = v->root};

    if (link->state != VLINK_SOUND || v->parent[a] == NET_NONE ||
        v->parent[b] == NET_NONE || in_tree(v, link) ||
        v->dist[a] + v->dist[b] + 2u > v->limits.max_route)
        return false;
    w.in = v->map->ports[v->map->nodes[v->me].first].peer;
    job->probe.kind = PROBE_TOUR;
    walk_to(&w, a);
    step(&w, link->a);
    go_home(&w);
    job->probe.nroute = (uint8_t)w.bytes;
    return true;
}

/* The way to a port of a crossbar: route bytes there (loop: and back).
 * False: not to be reached, or too far. */
static bool tour_to_port(const struct verify *v, uint32_t node, int port,
                         bool loop, struct probe *probe)
{
    uint32_t out[PROBE_ROUTE_MAX];
    uint32_t in = v->map->ports[v->map->nodes[v->me].first].peer;
    unsigned n, bytes = 0;

    if (v->parent[node] == NET_NONE || v->dist[node] >= PROBE_ROUTE_MAX / 2 ||
        (loop ? 2u * v->dist[node] + 3 : v->dist[node] + 1u) >
            v->limits.max_route)
        return false;
    n = ports_to(v, node, out);
    while (n > 0) {
        n--;
        probe->route[bytes++] = byte_for(v, in, out[n]);
        in = v->map->ports[out[n]].peer;
    }
    probe->route[bytes++] =
        v->limits.absolute ? (uint8_t)port
                           : net_route_byte(port - (int)number(v->map, in));
    if (loop) {
        probe->route[bytes] = net_route_byte(0);
        net_route_reverse(probe->route + bytes + 1, probe->route, bytes);
        bytes = 2 * bytes + 1;
    }
    probe->nroute = (uint8_t)bytes;
    return true;
}

/* ---- verify answer ----------------------------------------------------- */

/* What an answer to the verifier, or none, means. */

static void verify_host_lost(struct verify *v, uint32_t host)
{
    struct verify_change change = {.what = VERIFY_HOST_LOST,
                                   .node = host,
                                   .peer = net_peer_node(v->map, host, 0)};

    if (change.peer != NET_NONE)
        change.peer_port = (int16_t)net_peer_port(v->map, host, 0);
    verify_add_change(v, &change);
}

/* ---- what came, or did not ---- */

static void keep_answer(struct verify *v, uint32_t node,
                        const struct probe_host *host)
{
    if (v->nanswers == v->cap_answers) {
        uint32_t cap = v->cap_answers ? v->cap_answers * 2 : 64;
        struct probe_host *more = realloc(v->answers, cap * sizeof(*more));

        if (!more) {
            verify_fail(v);
            return;
        }
        v->answers = more;
        v->cap_answers = cap;
    }
    v->answer_of[node] = v->nanswers;
    v->answers[v->nanswers++] = *host;
}

static void host_answered(struct verify *v, const struct vjob *job,
                          const struct probe_host *host)
{
    uint32_t known = net_find_host(v->map, host->address);
    struct verify_change change = {.what = VERIFY_HOST_OTHER,
                                   .node = job->node,
                                   .peer = known,
                                   .address = host->address};

    if (host->address == v->map->nodes[job->node].id) {
        keep_answer(v, job->node, host);
        return;
    }
    verify_add_change(v, &change);
}

static void other_xbar(struct verify *v, const struct vjob *job)
{
    const struct verify_change change = {.what = VERIFY_XBAR_OTHER,
                                         .node = job->node,
                                         .port = (int16_t)job->port,
                                         .peer = NET_NONE};

    verify_add_change(v, &change);
}

static void id_answered(struct verify *v, const struct vjob *job,
                        const struct probe_answer *answer)
{
    const struct net_node *node = &v->map->nodes[job->node];

    if (answer->outcome != PROBE_ID || answer->id.id != node->id ||
        answer->id.entry != job->port || answer->id.nports != node->nports)
        other_xbar(v, job);
}

static void empty_answered(struct verify *v, const struct vjob *job,
                           const struct probe_answer *answer)
{
    struct verify_change change = {.what = VERIFY_LINK_NEW,
                                   .node = job->node,
                                   .port = (int16_t)job->port,
                                   .peer = NET_NONE};

    if (answer->outcome == PROBE_HOST) {
        change.address = answer->host.address;
        change.peer = net_find_host(v->map, change.address);
        change.what = change.peer == NET_NONE ? VERIFY_HOST_NEW : VERIFY_MOVED;
    }
    verify_add_change(v, &change);
}

/* The crossbar that the map has there? */
static bool right_far_end(const struct verify *v, const struct vjob *job,
                          const struct probe_answer *answer)
{
    uint32_t far;

    if (!v->limits.absolute)
        return answer->outcome == PROBE_BACK || answer->outcome == PROBE_ID;
    far = v->map->ports[job->node].peer;
    return answer->outcome == PROBE_ID &&
           answer->id.id == v->map->nodes[v->map->ports[far].node].id &&
           answer->id.entry == net_port_number(v->map, far);
}

static void links_sound(struct verify *v, const struct vjob *job)
{
    for (int i = 0; i < job->nlinks; i++)
        if (v->links[job->links[i]].state == VLINK_UNKNOWN)
            v->links[job->links[i]].state = VLINK_SOUND;
}

/* The only link that a silent tour puts in question; NET_NONE: several. */
static uint32_t only_link(const struct verify *v, const struct vjob *job)
{
    uint32_t only = NET_NONE;

    for (int i = 0; i < job->nlinks; i++) {
        uint32_t l = job->links[i];

        if (v->links[l].state != VLINK_UNKNOWN || l == only)
            continue;
        if (only != NET_NONE)
            return NET_NONE;
        only = l;
    }
    return only;
}

static void ready(struct verify *v, uint32_t j)
{
    v->jobs[j].next = v->ready_job;
    v->ready_job = j;
}

static void verify_job_silent(struct verify *v, uint32_t j)
{
    struct vjob *job = &v->jobs[j];
    int tries = v->limits.fixed_timers ? 1 : v->limits.tries;
    uint32_t only = NET_NONE;

    if (job->stage == VERIFY_EMPTY)
        tries = 1;
    if (job->stage <= VERIFY_BISECT) {
        only = only_link(v, job);
        /* A long tour that was merely unlucky is halved all the same. */
        if (job->stage == VERIFY_TOURS || only == NET_NONE)
            tries = 1;
    }
    if (++job->tries < tries) {
        ready(v, j);
        return;
    }
    if (job->stage == VERIFY_HOSTS)
        verify_host_lost(v, job->node);
    if (job->stage == VERIFY_RINGS)
        verify_lose_link(v, job->node);
    if (job->stage == VERIFY_IDS)
        other_xbar(v, job);
    if (job->stage == VERIFY_BISECT && only != NET_NONE)
        verify_lose_link(v, only);
    if (job->stage == VERIFY_EMPTY && job->scout) {
        job->scout = false;
        job->tries = 0;
        job->probe.kind = PROBE_LOOP;
        if (tour_to_port(v, job->node, job->port, true, &job->probe)) {
            ready(v, j);
            return;
        }
    }
    verify_job_free(v, j);
}

static void verify_job_answered(struct verify *v, uint32_t j,
                                const struct probe_answer *answer)
{
    struct vjob *job = &v->jobs[j];

    switch (job->stage) {
    case VERIFY_TOURS:
    case VERIFY_BISECT:
        if (right_far_end(v, job, answer))
            links_sound(v, job);
        else if (job->nlinks == 1)
            verify_lose_link(v, job->links[0]);
        break;
    case VERIFY_RINGS:
        break;
    case VERIFY_IDS:
        id_answered(v, job, answer);
        break;
    case VERIFY_HOSTS:
        if (answer->outcome == PROBE_HOST)
            host_answered(v, job, &answer->host);
        else
            verify_host_lost(v, job->node);
        break;
    default:
        empty_answered(v, job, answer);
        break;
    }
    verify_job_free(v, j);
}

/* ---- verify jobs ------------------------------------------------------- */

/* The verifier's next question, stage by stage. */

/* The next host to ask. */
static bool make_host(struct verify *v, struct vjob *job)
{
    const struct net *net = v->map;

    for (; v->at_node < net->nnodes; v->at_node++) {
        uint32_t host = v->at_node, at;

        if (!net_is_host(net, host) || host == v->me)
            continue;
        at = net_peer_node(net, host, 0);
        if (at == NET_NONE)
            continue;
        job->node = host;
        job->probe.kind = v->limits.absolute ? PROBE_TAGGED : PROBE_SCOUT;
        if (at == v->me ||
            (!net_is_host(net, at) &&
             tour_to_port(v, at, (int)net_peer_port(net, host, 0), false,
                          &job->probe))) {
            v->at_node++;
            return true;
        }
        verify_host_lost(v, host);
    }
    return false;
}

/* The next link of this round's share to be closed to a ring. */
static bool make_ring(struct verify *v, struct vjob *job)
{
    uint32_t share = (v->nlinks - 1) / v->options.rings + 1;

    for (; v->at_link < v->nlinks; v->at_link++) {
        if (v->at_link % share != v->options.round % share ||
            !tour_make_ring(v, job, v->at_link))
            continue;
        job->node = v->at_link++;
        return true;
    }
    return false;
}

/* A probe that turns round in a crossbar, which marks it. */
static bool to_turn_in(const struct verify *v, uint32_t node,
                       struct probe *probe)
{
    uint32_t before;

    probe->kind = PROBE_TAGGED;
    if (node == v->root) {
        probe->nroute = 1;
        probe->route[0] = net_route_byte(0);
        return true;
    }
    before = v->map->ports[v->parent[node]].peer;
    return tour_to_port(v, v->map->ports[before].node,
                        (int)net_port_number(v->map, before), true, probe);
}

/* The next crossbar to be asked who it is. */
static bool make_id(struct verify *v, struct vjob *job)
{
    while (v->at_node < v->map->nnodes) {
        uint32_t node = v->at_node++;

        if (!v->map->nodes[node].has_id || v->parent[node] == NET_NONE ||
            !to_turn_in(v, node, &job->probe))
            continue;
        job->node = node;
        job->port = (int)net_port_number(v->map, v->parent[node]);
        return true;
    }
    return false;
}

/* Ports that a crossbar may have, by what the map shows of it. */
static void port_range(const struct verify *v, const struct net_node *node,
                       int *first, int *last)
{
    int lo = node->nports, hi = -1;

    *first = 0;
    *last = node->nports - 1;
    if (node->has_id || v->limits.absolute)
        return;
    for (int p = 0; p < node->nports; p++) {
        if (v->map->ports[node->first + (uint32_t)p].peer == NET_NONE)
            continue;
        lo = p < lo ? p : lo;
        hi = p;
    }
    if (hi < 0)
        return;
    *first = hi - (v->limits.max_ports - 1);
    *last = lo + (v->limits.max_ports - 1);
}

static bool is_free(const struct verify *v, const struct net_node *node,
                    int port)
{
    return port < 0 || port >= node->nports ||
           v->map->ports[node->first + (uint32_t)port].peer == NET_NONE;
}

/* The next free port to look at. */
static bool make_empty(struct verify *v, struct vjob *job)
{
    unsigned share = v->options.empty_share ? v->options.empty_share : 1;

    for (; v->at_node < v->map->nnodes; v->at_node++, v->at_port = INT16_MIN) {
        const struct net_node *node = &v->map->nodes[v->at_node];
        int first, last;

        if (node->kind != NET_XBAR || v->parent[v->at_node] == NET_NONE)
            continue;
        port_range(v, node, &first, &last);
        if (v->at_port < first)
            v->at_port = first;
        for (; v->at_port <= last; v->at_port++) {
            if (!is_free(v, node, v->at_port) ||
                ((unsigned)(v->at_port - first) + v->at_node) % share !=
                    v->options.round % share)
                continue;
            job->node = v->at_node;
            job->port = v->at_port;
            job->scout = !v->limits.absolute;
            job->probe.kind = job->scout ? PROBE_SCOUT : PROBE_TAGGED;
            if (!tour_to_port(v, job->node, job->port, false, &job->probe))
                break;
            v->at_port++;
            return true;
        }
    }
    return false;
}

/* Absolute fabrics: one probe asks who is at the far end of one link. */
static bool make_absolute(struct verify *v, struct vjob *job)
{
    for (; v->at_link < v->nlinks; v->at_link++) {
        const struct vlink *l = &v->links[v->at_link];
        uint32_t from = l->a, node = v->map->ports[from].node;
        uint32_t other = v->map->ports[l->b].node;

        if (l->state != VLINK_UNKNOWN)
            continue;
        if (v->parent[node] == NET_NONE ||
            (v->parent[other] != NET_NONE && v->dist[other] < v->dist[node])) {
            from = l->b;
            node = other;
        }
        if (v->parent[node] == NET_NONE)
            continue;
        job->node = from;
        job->probe.kind = PROBE_TAGGED;
        job->nlinks = 1;
        job->links[0] = v->at_link;
        if (!tour_to_port(v, node, (int)net_port_number(v->map, from), false,
                          &job->probe))
            continue;
        v->links[v->at_link++].out = true;
        return true;
    }
    return false;
}

/* The stage's next question; false: none left. */
static bool verify_make_job(struct verify *v, struct vjob *job)
{
    switch (v->stage) {
    case VERIFY_TOURS:
    case VERIFY_BISECT:
        if (v->limits.absolute)
            return make_absolute(v, job);
        return tour_make(v, job, v->stage == VERIFY_BISECT);
    case VERIFY_HOSTS:
        return make_host(v, job);
    case VERIFY_RINGS:
        return make_ring(v, job);
    case VERIFY_IDS:
        return make_id(v, job);
    case VERIFY_EMPTY:
        return make_empty(v, job);
    case VERIFY_END:
        break;
    }
    return false;
}

/* ---- verify ------------------------------------------------------------ */

#define TOUR_MOST 100 /* links of a first tour; the route is the real limit */
#define BISECT_MOST 32

static void verify_fail(struct verify *v)
{
    v->failed = true;
    v->stage = VERIFY_END;
}

static void verify_add_change(struct verify *v,
                              const struct verify_change *change)
{
    if (v->nchanges == v->cap_changes) {
        uint32_t cap = v->cap_changes ? v->cap_changes * 2 : 16;
        struct verify_change *more = realloc(v->changes, cap * sizeof(*more));

        if (!more) {
            verify_fail(v);
            return;
        }
        v->changes = more;
        v->cap_changes = cap;
    }
    v->changes[v->nchanges++] = *change;
}

static void next_stage(struct verify *v);

/* ---- making ---- */

static bool find_links(struct verify *v)
{
    const struct net *net = v->map;

    v->links = calloc(net->ncables + 1u, sizeof(*v->links));
    v->link_of = malloc((net->nports + 1u) * sizeof(*v->link_of));
    if (!v->links || !v->link_of)
        return false;
    for (uint32_t p = 0; p < net->nports; p++)
        v->link_of[p] = NET_NONE;
    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q == NET_NONE || q < p || net_is_host(net, net->ports[p].node) ||
            net_is_host(net, net->ports[q].node))
            continue;
        v->link_of[p] = v->link_of[q] = v->nlinks;
        v->links[v->nlinks++] = (struct vlink){.a = p, .b = q};
    }
    return true;
}

static bool make_arrays(struct verify *v)
{
    uint32_t n = v->map->nnodes + 1;

    v->need = calloc(n, sizeof(*v->need));
    v->parent = calloc(n, sizeof(*v->parent));
    v->dist = calloc(n, sizeof(*v->dist));
    v->queue = calloc(n, sizeof(*v->queue));
    v->answer_of = malloc(n * sizeof(*v->answer_of));
    if (!v->need || !v->parent || !v->dist || !v->queue || !v->answer_of)
        return false;
    for (uint32_t i = 0; i < n; i++)
        v->answer_of[i] = NET_NONE;
    return find_links(v);
}

/* What a pass of tours begins with. */
static void begin_pass(struct verify *v, bool sure)
{
    for (uint32_t n = 0; n < v->map->nnodes; n++)
        v->need[n] = 0;
    for (uint32_t l = 0; l < v->nlinks; l++) {
        struct vlink *link = &v->links[l];

        link->out = false;
        if (link->state != VLINK_UNKNOWN)
            continue;
        v->need[v->map->ports[link->a].node]++;
        v->need[v->map->ports[link->b].node]++;
    }
    v->at_link = 0;
    tour_plan(v, sure);
}

struct verify *verify_new(const struct prober_limits *limits,
                          const struct verify_options *options,
                          const struct net *map, uint32_t me)
{
    struct verify *v = calloc(1, sizeof(*v));
    uint32_t opposite;

    if (!v)
        return NULL;
    v->limits = *limits;
    v->options = *options;
    v->map = map;
    v->me = me;
    v->spare_job = v->ready_job = NET_NONE;
    v->most = TOUR_MOST;
    if (v->limits.max_route > PROBE_ROUTE_MAX)
        v->limits.max_route = PROBE_ROUTE_MAX;
    opposite = net_peer_node(map, me, 0);
    v->root = opposite == NET_NONE || net_is_host(map, opposite) ? NET_NONE
                                                                 : opposite;
    if (!window_init(&v->window, &v->limits) || !make_arrays(v)) {
        verify_free(v);
        return NULL;
    }
    begin_pass(v, false);
    if (!v->options.links)
        v->stage = VERIFY_HOSTS;
    if (!v->options.links && !v->options.hosts)
        next_stage(v);
    return v;
}

void verify_free(struct verify *v)
{
    if (!v)
        return;
    window_clear(&v->window);
    free(v->links);
    free(v->link_of);
    free(v->need);
    free(v->parent);
    free(v->dist);
    free(v->queue);
    free(v->jobs);
    free(v->changes);
    free(v->answers);
    free(v->answer_of);
    free(v);
}

/* ---- jobs ---- */

static uint32_t job_new(struct verify *v)
{
    uint32_t j = v->spare_job;

    if (j != NET_NONE) {
        v->spare_job = v->jobs[j].next;
    } else {
        if (v->njobs == v->cap_jobs) {
            uint32_t cap = v->cap_jobs ? v->cap_jobs * 2 : 64;
            struct vjob *more = realloc(v->jobs, cap * sizeof(*more));

            if (!more) {
                verify_fail(v);
                return NET_NONE;
            }
            v->jobs = more;
            v->cap_jobs = cap;
        }
        j = v->njobs++;
    }
    memset(&v->jobs[j], 0, sizeof(v->jobs[j]));
    v->jobs[j].stage = v->stage;
    return j;
}

static void verify_job_free(struct verify *v, uint32_t j)
{
    v->jobs[j].next = v->spare_job;
    v->spare_job = j;
}

/* ---- stages ---- */

static void verify_lose_link(struct verify *v, uint32_t l)
{
    const struct net *net = v->map;
    struct vlink *link = &v->links[l];
    struct verify_change change = {
        .what = VERIFY_LINK_LOST,
        .node = net->ports[link->a].node,
        .port = (int16_t)net_port_number(net, link->a),
        .peer = net->ports[link->b].node,
        .peer_port = (int16_t)net_port_number(net, link->b)};

    if (link->state == VLINK_LOST)
        return;
    link->state = VLINK_LOST;
    verify_add_change(v, &change);
}

/* After a pass of tours: shorter ones, or all is told. */
static void next_pass(struct verify *v)
{
    bool unknown = false, fresh = false;

    for (uint32_t l = 0; l < v->nlinks; l++) {
        struct vlink *link = &v->links[l];

        unknown |= link->state == VLINK_UNKNOWN && v->at_link > 0;
        fresh |= link->state == VLINK_SOUND && link->out;
    }
    if (unknown && v->stage == VERIFY_TOURS) {
        v->stage = VERIFY_BISECT;
        v->most = BISECT_MOST;
        begin_pass(v, true);
        return;
    }
    if (unknown && (v->most > 1 || fresh)) {
        v->most = v->most > 1 ? v->most / 2 : BISECT_MOST;
        begin_pass(v, true);
        return;
    }
    /* What no sound link leads to is as good as lost. */
    for (uint32_t l = 0; l < v->nlinks; l++)
        if (v->links[l].state == VLINK_UNKNOWN)
            verify_lose_link(v, l);
    tour_plan(v, true);
    v->at_node = 0;
    v->stage = VERIFY_HOSTS;
}

/* A change is known already, or every link was asked who it leads to. */
static bool rings_wanted(const struct verify *v)
{
    return v->options.links && v->options.rings > 0 && v->nchanges == 0 &&
           v->nlinks > 0 && !v->limits.absolute;
}

static void next_stage(struct verify *v)
{
    switch (v->stage) {
    case VERIFY_TOURS:
    case VERIFY_BISECT:
        next_pass(v);
        if (v->stage == VERIFY_HOSTS && !v->options.hosts)
            next_stage(v);
        break;
    case VERIFY_HOSTS:
        v->at_link = 0;
        v->stage = VERIFY_RINGS;
        if (!rings_wanted(v))
            next_stage(v);
        break;
    case VERIFY_RINGS:
        v->at_node = 0;
        v->stage = VERIFY_IDS;
        if (!v->options.ids || v->limits.absolute)
            next_stage(v);
        break;
    case VERIFY_IDS:
        v->at_node = 0;
        v->at_port = INT16_MIN;
        v->stage = v->options.empty ? VERIFY_EMPTY : VERIFY_END;
        break;
    default:
        v->stage = VERIFY_END;
        break;
    }
}

/* ---- calls ---- */

static bool send_job(struct verify *v, uint64_t now, uint32_t j,
                     struct probe *probe)
{
    *probe = v->jobs[j].probe;
    window_send(&v->window, now, probe, j);
    return true;
}

bool verify_next(struct verify *v, uint64_t now, struct probe *probe)
{
    while (v->stage != VERIFY_END) {
        uint32_t j;

        if (window_again(&v->window, now, probe))
            return true;
        if (window_sound(&v->window, now, probe))
            return true;
        if (!window_open(&v->window))
            return false;
        if (v->ready_job != NET_NONE) {
            j = v->ready_job;
            v->ready_job = v->jobs[j].next;
            return send_job(v, now, j, probe);
        }
        j = job_new(v);
        if (j == NET_NONE)
            return false;
        if (verify_make_job(v, &v->jobs[j]))
            return send_job(v, now, j, probe);
        verify_job_free(v, j);
        if (v->window.inflight > 0)
            return false;
        next_stage(v);
    }
    return false;
}

void verify_answer(struct verify *v, uint64_t now,
                   const struct probe_answer *answer)
{
    uint32_t j;

    if (v->stage == VERIFY_END ||
        !window_answer(&v->window, now, answer->tag, &j))
        return;
    if (answer->outcome == PROBE_NOTHING)
        verify_job_silent(v, j);
    else
        verify_job_answered(v, j, answer);
}

uint64_t verify_deadline(const struct verify *v)
{
    return v->stage == VERIFY_END ? UINT64_MAX : window_deadline(&v->window);
}

void verify_tick(struct verify *v, uint64_t now)
{
    uint32_t j;

    while (v->stage != VERIFY_END && window_expired(&v->window, now, &j))
        verify_job_silent(v, j);
}

bool verify_done(const struct verify *v)
{
    return v->stage == VERIFY_END;
}

bool verify_failed(const struct verify *v)
{
    return v->failed;
}

const struct verify_change *verify_change(const struct verify *v, uint32_t i)
{
    return i < v->nchanges ? &v->changes[i] : NULL;
}

const struct probe_host *verify_host(const struct verify *v, uint32_t node)
{
    uint32_t i = v->answer_of[node];

    return i == NET_NONE ? NULL : &v->answers[i];
}

const struct net *verify_map(const struct verify *v)
{
    return v->map;
}

uint32_t verify_me(const struct verify *v)
{
    return v->me;
}

uint32_t verify_root(const struct verify *v)
{
    return v->root;
}

uint64_t verify_probes(const struct verify *v)
{
    return v->window.sent;
}
