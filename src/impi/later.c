/* SPDX-License-Identifier: BSD-3-Clause
 * Messages that found a receive which could not be claimed when they came.
 *
 * They wait among the unexpected ones.  Until they are matched, whatever comes
 * for a receive that one of them may want waits behind it: so messages of one
 * pair are matched in their order.  All others go on.
 */
#include "impi/p2p_impl.h"

void unexpected_later(struct impi_unexpected *u)
{
    u->later = true;
    u->pair->p2p->nlater++;
}

bool later_fits(const struct impi_p2p *p2p, const struct impi_request *req)
{
    const struct impi_unexpected *u;

    TAILQ_FOREACH(u, &p2p->unexpected, link)
    {
        if (u->later && u->cid == req->cid && tag_fits(req->tag, u->tag) &&
            (!req->pair || req->pair == u->pair))
            return true;
    }
    return false;
}

void impi_p2p_settle(struct impi_p2p *p2p)
{
    size_t left = p2p->nlater;
    struct impi_unexpected *u, *next;

    p2p->nlater = 0; /* those before it are settled: the order is kept */
    for (u = TAILQ_FIRST(&p2p->unexpected); u && left > 0; u = next) {
        struct impi_request *req;
        bool later = false;

        next = TAILQ_NEXT(u, link);
        if (!u->later)
            continue;
        left--;
        u->later = false;
        req = match_posted(u->pair, u->cid, u->tag, &later);
        if (later)
            unexpected_later(u);
        else if (req)
            take_unexpected(req, u);
    }
}
