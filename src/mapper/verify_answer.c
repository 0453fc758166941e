/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an answer to the verifier, or none, means.
 */
#include "mapper/verify_priv.h"

#include <stdlib.h>

void verify_host_lost(struct verify *v, uint32_t host)
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

void verify_job_silent(struct verify *v, uint32_t j)
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

void verify_job_answered(struct verify *v, uint32_t j,
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
