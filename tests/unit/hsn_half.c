/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A board that says half of what it has to say:
 *
 *     hsn_half FABRIC MUNGE
 *
 * is the host h2 on swfabd's fabric.  It waits for a packet of its neighbour h1
 * (an echo), sends it the first of two packets, and prints the incarnation that
 * h1's packet had.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "hsn/frame.h"
#include "hsn/nic_link.h"

#define NEIGHBOUR 0x020000000001ULL
#define OWN 0x020000000002ULL
#define PATIENCE 3000 /* of 10 ms */

static uint64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Has a packet of the neighbour come?  Its frame. */
static bool heard(struct hsn_nic *nic, struct hsn_frame *f)
{
    static uint8_t place[8448];
    struct hsn_rx rx = {.buf = {{place, sizeof(place)}}, .nbuf = 1};
    bool found = false;

    while (!found && nic->ops->recv(nic->self, &rx, 1) == 1) {
        struct iovec all = {place, rx.len};

        if (rx.borrowed)
            all.iov_base = (void *)(uintptr_t)rx.borrowed;
        found = rx.type == HSN_TYPE &&
                hsn_frame_get(f, &all, 1) == HSN_FRAME_OK &&
                f->host == NEIGHBOUR;
        nic->ops->release(nic->self);
    }
    return found;
}

static void send_half(struct hsn_nic *nic)
{
    static const uint8_t route[] = {0xbf}; /* one port down */
    static uint8_t data[HSN_FRAGMENT];
    uint8_t trailer[HSN_TRAILER];
    const struct hsn_frame f = {.host = OWN,
                                .to = NEIGHBOUR,
                                .incarnation = 1,
                                .sequence = 1,
                                .module = HSN_MODULE_ECHO, /* open there */
                                .data_len = 2 * HSN_FRAGMENT};
    struct hsn_tx tx = {.route = route, .route_len = 1, .type = HSN_TYPE};
    struct hsn_sent sent[4];

    tx.part[0] = (struct iovec){data, sizeof(data)};
    hsn_frame_put(&f, tx.part, 1, trailer);
    tx.part[1] = (struct iovec){trailer, sizeof(trailer)};
    nic->ops->send(nic->self, &tx);
    nic->ops->flush(nic->self);
    nic->ops->reap(nic->self, sent, 4);
}

int main(int argc, char **argv)
{
    struct hsn_nic_options o = {.kind = "ring", .name = "h2", .board = OWN};
    struct hsn_frame f;
    struct errbuf err;
    struct hsn_nic *nic;
    int tries = 0;

    if (argc != 3)
        return 2;
    o.fabric = argv[1];
    o.munge = argv[2];
    nic = hsn_nic_open(&o, &err);
    if (!nic)
        return 2;
    while (!(nic->up && heard(nic, &f)) && ++tries < PATIENCE) {
        nic->tick(nic->self, clock_ns());
        poll(NULL, 0, 10);
    }
    if (tries < PATIENCE) {
        send_half(nic);
        printf("%u\n", f.incarnation);
    }
    hsn_nic_close(nic);
    return tries == PATIENCE;
}
