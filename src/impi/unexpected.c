/* SPDX-License-Identifier: BSD-3-Clause
 * Messages that came before their receive, and probes of them (3.7.3).
 *
 * They are on their pair's list and on the list of all, in order of arrival.
 */
#include <stdlib.h>
#include <string.h>

#include "impi/p2p_impl.h"

static struct impi_unexpected *allocate(struct impi_p2p *p2p, uint32_t *size)
{
    if (*size <= UNEXPECTED_SMALL) {
        *size = UNEXPECTED_SMALL;
        return impi_pool_get(&p2p->small_pool);
    }
    if (*size <= UNEXPECTED_MEDIUM) {
        *size = UNEXPECTED_MEDIUM;
        return impi_pool_get(&p2p->medium_pool);
    }
    return malloc(sizeof(struct impi_unexpected) + *size);
}

static void release(struct impi_p2p *p2p, struct impi_unexpected *u)
{
    if (u->size == UNEXPECTED_SMALL)
        impi_pool_put(&p2p->small_pool, u);
    else if (u->size == UNEXPECTED_MEDIUM)
        impi_pool_put(&p2p->medium_pool, u);
    else
        free(u);
}

struct impi_unexpected *unexpected_add(struct impi_pair *pair,
                                       const struct impi_packet *pk)
{
    struct impi_p2p *p2p = pair->p2p;
    uint32_t size = pk->len;
    struct impi_unexpected *u = allocate(p2p, &size);

    if (!u)
        return NULL;
    *u = (struct impi_unexpected){
        .pair = pair,
        .cid = pk->cid,
        .srqid = pk->srqid,
        .msglen = pk->msglen,
        .rank = pk->lsrank,
        .tag = pk->tag,
        .len = pk->len,
        .sync = pk->type == IMPI_PK_DATASYNC,
        .size = size,
    };
    TAILQ_INSERT_TAIL(&p2p->unexpected, u, link);
    TAILQ_INSERT_TAIL(&pair->unexpected, u, of_pair);
    pair->unexpected_mem += sizeof(*u) + size;
    p2p->stats.unexpected_messages++;
    p2p->stats.unexpected_bytes += sizeof(*u) + size;
    if (p2p->stats.unexpected_peak < p2p->stats.unexpected_bytes)
        p2p->stats.unexpected_peak = p2p->stats.unexpected_bytes;
    return u;
}

void unexpected_unlink(struct impi_unexpected *u)
{
    u->pair->p2p->nlater -= u->later;
    TAILQ_REMOVE(&u->pair->p2p->unexpected, u, link);
    TAILQ_REMOVE(&u->pair->unexpected, u, of_pair);
}

void unexpected_free(struct impi_unexpected *u)
{
    struct impi_p2p *p2p = u->pair->p2p;

    u->pair->unexpected_mem -= sizeof(*u) + u->size;
    p2p->stats.unexpected_bytes -= sizeof(*u) + u->size;
    release(p2p, u);
}

void unexpected_drop(struct impi_unexpected *u)
{
    struct impi_channel *channel = u->pair->channel;

    if (channel && channel->rx_unexpected == u)
        channel->rx_unexpected = NULL;
    unexpected_unlink(u);
    unexpected_free(u);
}

static inline struct impi_unexpected *find(struct impi_p2p *p2p,
                                           const struct impi_recv *args)
{
    struct impi_unexpected *u;

    if (args->peer == IMPI_ANY_PEER) {
        TAILQ_FOREACH(u, &p2p->unexpected, link)
        {
            if (u->cid == args->cid && tag_fits(args->tag, u->tag))
                return u;
        }
        return NULL;
    }
    if (!p2p->pairs[args->peer])
        return NULL;
    TAILQ_FOREACH(u, &p2p->pairs[args->peer]->unexpected, of_pair)
    {
        if (u->cid == args->cid && tag_fits(args->tag, u->tag))
            return u;
    }
    return NULL;
}

/* One that was not matched yet may belong to an older receive. */
struct impi_unexpected *find_unexpected(struct impi_p2p *p2p,
                                        const struct impi_recv *args)
{
    struct impi_unexpected *u = find(p2p, args);

    if (!u || !u->later)
        return u;
    impi_p2p_settle(p2p);
    return find(p2p, args);
}

/* Available once the first packet is wholly read (3.7.3); a younger message
 * must not be seen before an older one that fits. */
static struct impi_unexpected *probe(struct impi_p2p *p2p,
                                     const struct impi_recv *args,
                                     struct impi_status *status)
{
    struct impi_unexpected *u = find_unexpected(p2p, args);

    if (!u || u->have < u->len)
        return NULL;
    *status = (struct impi_status){
        .source = args->peer == IMPI_ANY_PEER ? u->rank : args->rank,
        .tag = u->tag,
        .bytes = u->msglen,
        .msglen = u->msglen,
    };
    return u;
}

bool impi_p2p_iprobe(struct impi_p2p *p2p, const struct impi_recv *args,
                     struct impi_status *status)
{
    return probe(p2p, args, status) != NULL;
}

struct impi_unexpected *impi_p2p_improbe(struct impi_p2p *p2p,
                                         const struct impi_recv *args,
                                         struct impi_status *status)
{
    struct impi_unexpected *u = probe(p2p, args, status);

    if (u)
        unexpected_unlink(u);
    return u;
}
