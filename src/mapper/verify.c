/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier: its calls, its stages, what an answer or none means.
 */
#include "mapper/verify_priv.h"

#include <stdlib.h>
#include <string.h>

#define TOUR_MOST 100 /* links of a first tour; the route is the real limit */
#define BISECT_MOST 32

void verify_fail(struct verify *v)
{
    v->failed = true;
    v->stage = VERIFY_END;
}

void verify_add_change(struct verify *v, const struct verify_change *change)
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

void verify_job_free(struct verify *v, uint32_t j)
{
    v->jobs[j].next = v->spare_job;
    v->spare_job = j;
}

/* ---- stages ---- */

void verify_lose_link(struct verify *v, uint32_t l)
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

uint64_t verify_probes(const struct verify *v)
{
    return v->window.sent;
}
