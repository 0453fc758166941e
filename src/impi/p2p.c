/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "impi/p2p_impl.h"

struct impi_p2p *impi_p2p_create(const struct impi_world *world, uint32_t rank,
                                 const struct impi_p2p_ops *ops, void *arg)
{
    struct impi_p2p *p2p;

    if (rank >= world->nprocs || world->ackmark < 1 ||
        world->ackmark > world->hiwater || world->maxdatalen < 1) {
        errno = EINVAL;
        return NULL;
    }
    p2p = calloc(1, sizeof(*p2p));
    if (!p2p)
        return NULL;
    p2p->ops = ops;
    p2p->arg = arg;
    p2p->rank = rank;
    p2p->nprocs = world->nprocs;
    p2p->maxdatalen = world->maxdatalen;
    p2p->ackmark = world->ackmark;
    p2p->hiwater = world->hiwater;
    p2p->modest = world->flags & IMPI_WORLD_EXTENDED;
    p2p->first_max = p2p->maxdatalen;
    if (p2p->modest && p2p->first_max > FIRST_MAX)
        p2p->first_max = FIRST_MAX;
    p2p->unexpected_max = SF_IMPI_UNEXPECTED_MAX;
    TAILQ_INIT(&p2p->channels);
    TAILQ_INIT(&p2p->posted_any);
    TAILQ_INIT(&p2p->unexpected);
    impi_pool_init(&p2p->small_pool,
                   sizeof(struct impi_unexpected) + UNEXPECTED_SMALL, 128);
    impi_pool_init(&p2p->medium_pool,
                   sizeof(struct impi_unexpected) + UNEXPECTED_MEDIUM, 32);
    impi_pool_init(&p2p->control_pool, sizeof(struct control), 64);
    p2p->procs = malloc(world->nprocs * sizeof(*p2p->procs));
    p2p->pairs = calloc(world->nprocs, sizeof(struct impi_pair *));
    if (!p2p->procs || !p2p->pairs) {
        impi_p2p_destroy(p2p);
        errno = ENOMEM;
        return NULL;
    }
    for (uint32_t i = 0; i < world->nprocs; i++)
        impi_proc_encode(p2p->procs[i], world->procs[i].hostid,
                         world->procs[i].pid);
    return p2p;
}

/* Their memory may be gone already. */
static void forget_requests(struct impi_p2p *p2p)
{
    for (uint32_t i = 0; p2p->pairs && i < p2p->nprocs; i++) {
        struct impi_pair *pair = p2p->pairs[i];

        if (!pair)
            continue;
        TAILQ_INIT(&pair->first);
        TAILQ_INIT(&pair->rest);
        TAILQ_INIT(&pair->waiting);
        TAILQ_INIT(&pair->posted);
        TAILQ_INIT(&pair->matched);
    }
}

void impi_p2p_destroy(struct impi_p2p *p2p)
{
    struct impi_channel *channel;
    struct impi_unexpected *u;

    if (!p2p)
        return;
    forget_requests(p2p);
    while ((channel = TAILQ_FIRST(&p2p->channels)))
        impi_channel_destroy(channel);
    while ((u = TAILQ_FIRST(&p2p->unexpected)))
        unexpected_drop(u);
    for (uint32_t i = 0; p2p->pairs && i < p2p->nprocs; i++) {
        if (p2p->pairs[i])
            free(p2p->pairs[i]->error);
        free(p2p->pairs[i]);
    }
    impi_pool_destroy(&p2p->small_pool);
    impi_pool_destroy(&p2p->medium_pool);
    impi_pool_destroy(&p2p->control_pool);
    impi_slots_free(&p2p->slots);
    free(p2p->pairs);
    free(p2p->procs);
    free(p2p);
}

void impi_p2p_set_unexpected_max(struct impi_p2p *p2p, size_t bytes)
{
    p2p->unexpected_max = bytes;
}

static struct impi_pair *pair_create(struct impi_p2p *p2p, uint32_t peer)
{
    struct impi_pair *pair = calloc(1, sizeof(*pair));

    if (!pair)
        return NULL;
    pair->p2p = p2p;
    pair->peer = peer;
    memcpy(pair->proc, p2p->procs[peer], IMPI_PROC_SIZE);
    memcpy(pair->fast.src, p2p->procs[p2p->rank], IMPI_PROC_SIZE);
    memcpy(pair->fast.dest, pair->proc, IMPI_PROC_SIZE);
    TAILQ_INIT(&pair->controls);
    TAILQ_INIT(&pair->first);
    TAILQ_INIT(&pair->rest);
    TAILQ_INIT(&pair->waiting);
    TAILQ_INIT(&pair->posted);
    TAILQ_INIT(&pair->matched);
    TAILQ_INIT(&pair->unexpected);
    p2p->pairs[peer] = pair;
    return pair;
}

struct impi_pair *p2p_pair(struct impi_p2p *p2p, uint32_t peer)
{
    assert(peer < p2p->nprocs && peer != p2p->rank);
    return p2p->pairs[peer] ? p2p->pairs[peer] : pair_create(p2p, peer);
}

void pair_wake(struct impi_pair *pair)
{
    if (pair->active || pair->lost)
        return;
    if (!pair->channel) {
        if (pair->connecting || pair_is_quiet(pair))
            return;
        pair->connecting = true;
        pair->p2p->ops->connect(pair->p2p->arg, pair->peer);
        return;
    }
    if (!pair_can_send(pair))
        return;
    pair->active = true;
    pair->p2p->unsent++;
    TAILQ_INSERT_TAIL(&pair->channel->active, pair, link);
}

void request_complete(struct impi_p2p *p2p, struct impi_request *req,
                      struct impi_request_list *from, enum impi_error error)
{
    if (from)
        TAILQ_REMOVE(from, req, link);
    if (req->id && !(req->id & SHORT_SEND_ID)) {
        impi_slots_remove(&p2p->slots, req->id);
        req->id = 0;
    }
    if (error)
        req->status.error = error;
    req->state = IMPI_REQ_DONE;
    req->done = true;
    p2p->pending--;
}

static void fail_list(struct impi_p2p *p2p, struct impi_request_list *list)
{
    struct impi_request *req;

    while ((req = TAILQ_FIRST(list)))
        request_complete(p2p, req, list, IMPI_ERR_PEER);
}

static void drop_controls(struct impi_pair *pair)
{
    struct control *control;

    while ((control = TAILQ_FIRST(&pair->controls))) {
        TAILQ_REMOVE(&pair->controls, control, link);
        impi_pool_put(&pair->p2p->control_pool, control);
    }
    pair->ncontrols = 0;
    pair->acks_due = 0;
}

/* Messages that are here as a whole can still be received. */
static void drop_half_read(struct impi_pair *pair)
{
    struct impi_unexpected *u, *next;

    for (u = TAILQ_FIRST(&pair->unexpected); u; u = next) {
        next = TAILQ_NEXT(u, of_pair);
        if (u->have < u->len)
            unexpected_drop(u);
    }
}

void pair_fail(struct impi_pair *pair, const char *why)
{
    struct impi_p2p *p2p = pair->p2p;

    if (pair->lost)
        return;
    pair->lost = true;
    pair->error = strdup(why);
    if (pair->active) {
        TAILQ_REMOVE(&pair->channel->active, pair, link);
        pair->active = false;
        p2p->unsent--;
    }
    drop_controls(pair);
    drop_half_read(pair);
    fail_list(p2p, &pair->first);
    fail_list(p2p, &pair->rest);
    fail_list(p2p, &pair->waiting);
    fail_list(p2p, &pair->posted);
    fail_list(p2p, &pair->matched);
}

void impi_p2p_peer_fail(struct impi_p2p *p2p, uint32_t peer, const char *why)
{
    struct impi_pair *pair = p2p_pair(p2p, peer);

    if (!pair)
        return;
    if (pair->channel)
        impi_channel_fail(pair->channel, why);
    else
        pair_fail(pair, why);
}

const char *impi_p2p_peer_error(const struct impi_p2p *p2p, uint32_t peer)
{
    const struct impi_pair *pair = p2p->pairs[peer];

    if (!pair || !pair->lost)
        return NULL;
    return pair->error ? pair->error : "lost";
}

bool impi_p2p_busy(const struct impi_p2p *p2p)
{
    return p2p->pending > 0 || p2p->unsent > 0;
}

const struct impi_p2p_stats *impi_p2p_stats(const struct impi_p2p *p2p)
{
    return &p2p->stats;
}

bool impi_p2p_peer_stats(const struct impi_p2p *p2p, uint32_t peer,
                         struct impi_peer_stats *stats)
{
    const struct impi_pair *pair = p2p->pairs[peer];

    if (!pair)
        return false;
    *stats = pair->stats;
    return stats->messages_out > 0 || stats->messages_in > 0;
}
