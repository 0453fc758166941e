/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier: its calls, its stages, what an answer or none means.
 */
#include "mapper/verify_priv.h"

#include <stdlib.h>
#include <string.h>

#define TOUR_MOST 100 /* links of a first tour; the route is the real limit */
#define BISECT_MOST 32

static void fail(struct verify *v)
{
    v->failed = true;
    v->stage = VERIFY_END;
}

static void add_change(struct verify *v, const struct verify_change *change)
{
    if (v->nchanges == v->cap_changes) {
        uint32_t cap = v->cap_changes ? v->cap_changes * 2 : 16;
        struct verify_change *more = realloc(v->changes, cap * sizeof(*more));

        if (!more) {
            fail(v);
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
                fail(v);
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

static void job_free(struct verify *v, uint32_t j)
{
    v->jobs[j].next = v->spare_job;
    v->spare_job = j;
}

static void host_lost(struct verify *v, uint32_t host)
{
    struct verify_change change = {.what = VERIFY_HOST_LOST,
                                   .node = host,
                                   .peer = net_peer_node(v->map, host, 0)};

    if (change.peer != NET_NONE)
        change.peer_port = (int16_t)net_peer_port(v->map, host, 0);
    add_change(v, &change);
}

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
        host_lost(v, host);
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

static bool make_job(struct verify *v, struct vjob *job)
{
    switch (v->stage) {
    case VERIFY_TOURS:
    case VERIFY_BISECT:
        if (v->limits.absolute)
            return make_absolute(v, job);
        return tour_make(v, job, v->stage == VERIFY_BISECT);
    case VERIFY_HOSTS:
        return make_host(v, job);
    case VERIFY_EMPTY:
        return make_empty(v, job);
    case VERIFY_END:
        break;
    }
    return false;
}

/* ---- stages ---- */

static void lose_link(struct verify *v, uint32_t l)
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
    add_change(v, &change);
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
            lose_link(v, l);
    tour_plan(v, true);
    v->at_node = 0;
    v->stage = VERIFY_HOSTS;
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
        v->at_node = 0;
        v->at_port = INT16_MIN;
        v->stage = v->options.empty ? VERIFY_EMPTY : VERIFY_END;
        break;
    default:
        v->stage = VERIFY_END;
        break;
    }
}

/* ---- what came, or did not ---- */

static void keep_answer(struct verify *v, uint32_t node,
                        const struct probe_host *host)
{
    if (v->nanswers == v->cap_answers) {
        uint32_t cap = v->cap_answers ? v->cap_answers * 2 : 64;
        struct probe_host *more = realloc(v->answers, cap * sizeof(*more));

        if (!more) {
            fail(v);
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
    add_change(v, &change);
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
    add_change(v, &change);
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

static void job_silent(struct verify *v, uint32_t j)
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
        host_lost(v, job->node);
    if (job->stage == VERIFY_BISECT && only != NET_NONE)
        lose_link(v, only);
    if (job->stage == VERIFY_EMPTY && job->scout) {
        job->scout = false;
        job->tries = 0;
        job->probe.kind = PROBE_LOOP;
        if (tour_to_port(v, job->node, job->port, true, &job->probe)) {
            ready(v, j);
            return;
        }
    }
    job_free(v, j);
}

static void job_answered(struct verify *v, uint32_t j,
                         const struct probe_answer *answer)
{
    struct vjob *job = &v->jobs[j];

    switch (job->stage) {
    case VERIFY_TOURS:
    case VERIFY_BISECT:
        if (right_far_end(v, job, answer))
            links_sound(v, job);
        else if (job->nlinks == 1)
            lose_link(v, job->links[0]);
        break;
    case VERIFY_HOSTS:
        if (answer->outcome == PROBE_HOST)
            host_answered(v, job, &answer->host);
        else
            host_lost(v, job->node);
        break;
    default:
        empty_answered(v, job, answer);
        break;
    }
    job_free(v, j);
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
        if (make_job(v, &v->jobs[j]))
            return send_job(v, now, j, probe);
        job_free(v, j);
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
        job_silent(v, j);
    else
        job_answered(v, j, answer);
}

uint64_t verify_deadline(const struct verify *v)
{
    return v->stage == VERIFY_END ? UINT64_MAX : window_deadline(&v->window);
}

void verify_tick(struct verify *v, uint64_t now)
{
    uint32_t j;

    while (v->stage != VERIFY_END && window_expired(&v->window, now, &j))
        job_silent(v, j);
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

uint64_t verify_probes(const struct verify *v)
{
    return v->window.sent;
}
