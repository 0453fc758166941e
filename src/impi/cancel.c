/* SPDX-License-Identifier: BSD-3-Clause
 * Taking sends back (3.7.4).  The receiver is asked only in the three cases
 * that the standard names; a CANCEL follows the packet that it means, because
 * that has been handed out before.
 */
#include "impi/p2p_impl.h"

static void cancel_here(struct impi_p2p *p2p, struct impi_request *req)
{
    req->status.cancelled = true;
    request_complete(p2p, req, &req->pair->first, IMPI_OK);
}

/* A short message that is written already: take the request up again. */
static void reopen(struct impi_p2p *p2p, struct impi_request *req)
{
    req->done = false;
    req->state = IMPI_REQ_DRAINING;
    p2p->pending++;
    TAILQ_INSERT_TAIL(&req->pair->waiting, req, link);
}

/* May the receiver still have it unmatched? */
static bool worth_asking(const struct impi_request *req)
{
    if (req->status.error || req->cancelling || req->pair->lost ||
        req->pair->channel->fini_wanted || req->pair->channel->fini_received)
        return false;
    return req->state == IMPI_REQ_SENT || (req->id & SHORT_SEND_ID);
}

void impi_p2p_cancel_send(struct impi_p2p *p2p, struct impi_request *req)
{
    if (!req->pair) /* it never started */
        return;
    if (req->state == IMPI_REQ_QUEUED) {
        cancel_here(p2p, req);
        return;
    }
    if (!worth_asking(req) ||
        pair_answer(req->pair, IMPI_PK_CANCEL, req->id, 0) < 0)
        return;
    if (req->done)
        reopen(p2p, req);
    req->cancelling = true;
}

static struct impi_request *find(struct impi_request_list *list, uint64_t srqid)
{
    struct impi_request *req;

    TAILQ_FOREACH(req, list, link)
    {
        if (req->cancelling && req->id == srqid)
            return req;
    }
    return NULL;
}

const char *send_cancel_reply(struct impi_pair *pair, uint64_t srqid, bool yes)
{
    struct impi_request *req = find(&pair->waiting, srqid);

    if (!req)
        req = find(&pair->rest, srqid);
    if (!req)
        return "answers a cancel request that was never made";
    /* Acknowledged: it was matched, and can not be unmatched as well. */
    if (yes && req->state != IMPI_REQ_SENT && !(req->id & SHORT_SEND_ID))
        return "gives a message back that it has received";
    req->cancelling = false;
    if (yes) {
        req->status.cancelled = true;
        req->state = IMPI_REQ_DRAINING;
    }
    send_check_drained(pair->p2p, req);
    return NULL;
}
