/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Somebody who got onto the fabric itself (root, with a NIC of his own) sends
 * frames to node 0 that claim to be of node 1's process in a program:
 *
 *     elan_forge FABRIC MUNGE CAPABILITY
 *
 * with a wrong key; by a board that is not node 1's; from a context that is
 * not the program's; and a right one twice (he has the capability: only the
 * second one must be noticed).
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "elan/capability.h"
#include "hsn/elan_frame.h"
#include "hsn/frame.h"
#include "hsn/nic_link.h"

#define VICTIM 0x020000000000ULL
#define CLAIMED 0x020000000001ULL
#define OWN 0x0200000000eeULL

static ELAN_CAPABILITY cap;
static struct hsn_nic *nic;

static uint64_t clock_ns(clockid_t which)
{
    struct timespec t;

    clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void put(uint64_t host, const uint8_t *head)
{
    static uint32_t sequence = 1;
    static const uint8_t route[] = {0xbe}; /* two ports down */
    uint8_t headers[HSN_ELAN_HEADER + HSN_TRAILER];
    struct hsn_frame f = {.host = host,
                          .to = VICTIM,
                          .incarnation = 0xbad,
                          .sequence = sequence,
                          .module = HSN_MODULE_ELAN,
                          .header_len = HSN_ELAN_HEADER,
                          .last = true};
    struct hsn_tx tx = {.route = route, .route_len = 1, .type = HSN_TYPE};
    struct hsn_sent sent[4];

    sequence++;
    memcpy(headers, head, HSN_ELAN_HEADER);
    tx.part[1] = (struct iovec){headers, HSN_ELAN_HEADER};
    hsn_frame_put(&f, tx.part, 2, headers + HSN_ELAN_HEADER);
    tx.part[1].iov_len += HSN_TRAILER;
    nic->ops->send(nic->self, &tx);
    nic->ops->flush(nic->self);
    nic->ops->reap(nic->self, sent, 4);
}

/* One frame, sent `times` times. */
static void forge(uint64_t host, uint32_t key, int context, int times)
{
    struct elan_userkey k = cap.UserKey;
    struct iovec none = {NULL, 0};
    struct hsn_elan_sender s;
    uint8_t head[HSN_ELAN_HEADER];

    k.Values[0] ^= key;
    if (hsn_elan_sender_init(&s, &k, 1, (uint16_t)context,
                             clock_ns(CLOCK_REALTIME)) < 0 ||
        hsn_elan_seal(&s, 0, (uint16_t)cap.LowContext, &none, &none, head) < 0)
        exit(1);
    while (times-- > 0)
        put(host, head);
    hsn_elan_sender_clear(&s);
}

int main(int argc, char **argv)
{
    struct hsn_nic_options o = {.kind = "ring", .name = "x0", .board = OWN};
    struct errbuf err;
    FILE *f = argc == 4 ? fopen(argv[3], "r") : NULL;

    if (!f || fread(&cap, sizeof(cap), 1, f) != 1)
        return 2;
    o.fabric = argv[1];
    o.munge = argv[2];
    nic = hsn_nic_open(&o, &err);
    for (int i = 0; nic && !nic->up && i < 6000; i++) {
        nic->tick(nic->self, clock_ns(CLOCK_MONOTONIC));
        poll(NULL, 0, 10);
    }
    if (!nic || !nic->up)
        return 1;
    forge(CLAIMED, 1, cap.LowContext, 1);
    forge(OWN, 0, cap.LowContext, 1);
    forge(CLAIMED, 0, cap.HighContext + 1, 1);
    forge(CLAIMED, 0, cap.LowContext, 2);
    printf("sent\n");
    fclose(f);
    hsn_nic_close(nic);
    return 0;
}
