/* SPDX-License-Identifier: BSD-3-Clause
 * Interfaces over datagrams: the link, and what munged is asked for it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hsn/nic_dgram.h"

void dgram_event(struct dgram_nic *d, enum softlink_event e,
                 const struct errbuf *err)
{
    if (e == SOFTLINK_WENT_UP)
        hsn_nic_link(&d->nic, &d->o, true,
                     d->ether ? d->o.interface : d->o.fabric);
    else if (e == SOFTLINK_WENT_DOWN)
        hsn_nic_link(&d->nic, &d->o, false, "the fabric is silent");
    else if (e == SOFTLINK_WAS_REFUSED && d->o.say)
        d->o.say(d->o.arg, true, err->text);
}

/* That munged does not answer is said once, not each second. */
static void complain(struct dgram_nic *d, const char *why)
{
    if (why[0] && !d->complained && d->o.say)
        d->o.say(d->o.arg, true, why);
    d->complained = why[0];
}

static void asked(struct clerk_job *job, bool cancelled)
{
    struct dgram_nic *d = (struct dgram_nic *)(void *)job;

    d->asking = false;
    if (cancelled)
        return;
    dgram_event(d, d->ask.event, &d->ask.err);
    if (d->ether && d->ask.event == SOFTLINK_WENT_UP)
        memcpy(d->peer.sll_addr, d->from[d->in_msg].sll_addr, 6);
    if (d->ask.event == SOFTLINK_NOTHING)
        complain(d, d->ask.err.text);
    dgram_flush_link(d);
}

void dgram_ask(struct dgram_nic *d, const uint8_t *p, size_t len)
{
    if (!softlink_job_make(&d->ask, d->link, p, len, asked)) {
        d->nic.counters.dropped_bad++; /* too long for a WELCOME */
        return;
    }
    d->asking = true;
    if (clerk_give(d->o.clerk, &d->ask.job) == 0)
        return;
    d->asking = false;
    complain(d, "too many wait for munged");
}

static uint64_t dgram_tick(void *self, uint64_t now)
{
    struct dgram_nic *d = self;
    struct errbuf err = {""};

    d->now = now;
    if (!d->asking && now >= softlink_next(d->link)) {
        if (softlink_is_up(d->link))
            dgram_event(d, softlink_tick(d->link, now, &err), &err);
        else
            dgram_ask(d, NULL, 0);
    }
    if (d->asking)
        return UINT64_MAX;
    dgram_flush_link(d);
    return softlink_next(d->link);
}

static size_t dgram_reap(void *self, struct hsn_sent *sent, size_t max)
{
    struct dgram_nic *d = self;

    return hsn_nic_reap(&d->done, sent, max);
}

static void dgram_cancel(void *self, uint32_t slot)
{
    (void)self; /* packets are copied: none is held */
    (void)slot;
}

static void dgram_release(void *self)
{
    (void)self; /* buffers are used again by the next refill only */
}

static int dgram_fd(void *self)
{
    const struct dgram_nic *d = self;

    return d->asking ? -1 : d->fd;
}

static bool dgram_sleep(void *self, bool room)
{
    struct dgram_nic *d = self;

    (void)room;
    dgram_flush(d);
    return d->asking || d->in_msg == d->nin;
}

static void dgram_nothing(void *self)
{
    (void)self;
}

static void dgram_close(void *self)
{
    struct dgram_nic *d = self;

    if (d->asking)
        return;
    if (d->link && d->fd >= 0) {
        softlink_close(d->link);
        dgram_flush_link(d);
    }
    softlink_free(d->link);
    if (d->fd >= 0)
        close(d->fd);
    free(d->in);
    free(d->out);
    hsn_nic_options_free(&d->o);
    free(d);
}

static const struct hsn_nic_ops ops = {dgram_send, dgram_flush,
                                       dgram_reap, dgram_cancel,
                                       dgram_recv, dgram_release};

static struct hsn_nic *dgram_new(const struct hsn_nic_options *o, bool ether,
                                 struct errbuf *err)
{
    struct dgram_nic *d = calloc(1, sizeof(*d));
    int one = 1;

    if (!d || hsn_nic_options_copy(&d->o, o) < 0) {
        free(d);
        errprintf(err, "no memory");
        return NULL;
    }
    d->fd = -1;
    d->ether = ether;
    d->credentials = hsn_nic_credentials(&d->o);
    d->nic = (struct hsn_nic){.ops = &ops,
                              .self = d,
                              .kind = ether ? "ethernet" : "udp",
                              .fd = dgram_fd,
                              .rung = dgram_nothing,
                              .sleep = dgram_sleep,
                              .awake = dgram_nothing,
                              .tick = dgram_tick,
                              .close = dgram_close};
    d->in = malloc((size_t)DGRAM_IN * DGRAM_IN_SIZE);
    d->out = malloc((size_t)DGRAM_OUT * DGRAM_MAX);
    d->link = softlink_new_caller(d->o.name, d->o.board, SOFTLINK_DATAGRAMS, 0,
                                  &d->credentials);
    if (!d->in || !d->out || !d->link)
        errprintf(err, "no memory");
    else if ((ether ? dgram_open_ether(d, err) : dgram_open_udp(d, err)) == 0) {
        d->gso_most = ether ? 0 : DGRAM_GSO_BYTES;
        if (!ether)
            setsockopt(d->fd, SOL_UDP, UDP_GRO, &one, sizeof(one));
        return &d->nic;
    }
    dgram_close(d);
    return NULL;
}

struct hsn_nic *hsn_nic_udp_open(const struct hsn_nic_options *o,
                                 struct errbuf *err)
{
    return dgram_new(o, false, err);
}

struct hsn_nic *hsn_nic_ether_open(const struct hsn_nic_options *o,
                                   struct errbuf *err)
{
    return dgram_new(o, true, err);
}
