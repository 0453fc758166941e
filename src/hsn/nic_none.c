/* SPDX-License-Identifier: BSD-3-Clause
 * An interface without a cable.
 */
#include <errno.h>
#include <stdlib.h>

#include "hsn/nic_priv.h"

static int no_send(void *self, const struct hsn_tx *tx)
{
    struct hsn_nic *nic = self;

    (void)tx;
    nic->counters.dropped_down++;
    return ENETDOWN;
}

static void nothing(void *self)
{
    (void)self;
}

static size_t no_reap(void *self, struct hsn_sent *sent, size_t max)
{
    (void)self;
    (void)sent;
    (void)max;
    return 0;
}

static void no_cancel(void *self, uint32_t slot)
{
    (void)self;
    (void)slot;
}

static size_t no_recv(void *self, struct hsn_rx *rx, size_t n)
{
    (void)self;
    (void)rx;
    (void)n;
    return 0;
}

static int no_fd(void *self)
{
    (void)self;
    return -1;
}

static bool may_sleep(void *self, bool room)
{
    (void)self;
    (void)room;
    return true;
}

static uint64_t never(void *self, uint64_t now)
{
    (void)self;
    (void)now;
    return UINT64_MAX;
}

static const struct hsn_nic_ops ops = {no_send,   nothing, no_reap,
                                       no_cancel, no_recv, nothing};

struct hsn_nic *hsn_nic_none_open(const struct hsn_nic_options *o,
                                  struct errbuf *err)
{
    struct hsn_nic *nic = calloc(1, sizeof(*nic));

    (void)o;
    if (!nic) {
        errprintf(err, "no memory");
        return NULL;
    }
    *nic = (struct hsn_nic){.ops = &ops,
                            .self = nic,
                            .kind = "none",
                            .fd = no_fd,
                            .rung = nothing,
                            .sleep = may_sleep,
                            .awake = nothing,
                            .tick = never,
                            .close = free};
    return nic;
}
