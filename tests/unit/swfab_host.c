/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small host on the software fabric, for tests of swfabd:
 *
 *     swfab_host CARRIER TO NAME ADDRESS MUNGE echo
 *     swfab_host CARRIER TO NAME ADDRESS MUNGE ping COUNT SIZE THERE BACK
 *     swfab_host CARRIER TO NAME ADDRESS MUNGE flood COUNT SIZE THERE BACK
 *     swfab_host CARRIER TO NAME ADDRESS MUNGE loop ROUTE
 *     swfab_host CARRIER TO NAME ADDRESS MUNGE sleep
 *
 * ADDRESS and routes are hexadecimal.  echo says "ready" and answers pings
 * until it is terminated; ping prints "received N of COUNT"; flood sends
 * and does not listen; loop sends one
 * packet along ROUTE and tells how it came back; sleep attaches and takes
 * nothing.  EXIT STATUS: 0, 1 it could not attach, 2 wrong usage, 3 something
 * came back wrong.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "swfab_nic.h"

enum { PING = 1, PONG = 2 };

static size_t from_hex(uint8_t *out, size_t size, const char *hex)
{
    size_t n = 0;
    unsigned byte;

    for (; n < size && sscanf(hex, "%2x", &byte) == 1 && strlen(hex) >= 2;
         hex += 2)
        out[n++] = (uint8_t)byte;
    return n;
}

static bool send_packet(struct nic *nic, const uint8_t *route, size_t nroute,
                        uint16_t subtype, const uint8_t *payload, size_t len)
{
    uint8_t buf[NET_PACKET_MAX];
    struct net_packet p = {.route = route,
                           .nroute = nroute,
                           .type = NET_TYPE_HSN,
                           .subtype = subtype,
                           .payload = payload,
                           .len = len};
    size_t n = net_packet_make(buf, sizeof(buf), &p);

    return n && nic_send(nic, buf, n);
}

/* The next packet that is whole. */
static bool receive(struct nic *nic, uint8_t *buf, struct net_packet *p,
                    int timeout_ms)
{
    size_t n = nic_recv(nic, buf, timeout_ms);

    return n && net_packet_parse(p, buf, n) == 0 && p->crc_ok && !p->nroute;
}

/* A ping's payload: length of the way back, the way back, anything. */
static void answer(struct nic *nic, const struct net_packet *p)
{
    if (p->subtype == PING && p->len > p->payload[0])
        send_packet(nic, p->payload + 1, p->payload[0], PONG, p->payload,
                    p->len);
}

static int do_echo(struct nic *nic)
{
    uint8_t buf[NET_PACKET_MAX];
    struct net_packet p;

    for (;;)
        if (receive(nic, buf, &p, 1000))
            answer(nic, &p);
    return 0;
}

static int do_ping(struct nic *nic, char **arg)
{
    int count = atoi(arg[0]), got = 0;
    /* one ping is sent to see that none comes back */
    int patience = count > 1 ? 20000 : 1000;
    size_t size = (size_t)atoi(arg[1]), nthere;
    uint8_t there[NET_ROUTE_MAX], payload[NET_PAYLOAD_MAX] = {0},
                                  buf[NET_PACKET_MAX];
    struct net_packet p;

    nthere = from_hex(there, sizeof(there), arg[2]);
    payload[0] = (uint8_t)from_hex(payload + 1, NET_ROUTE_MAX, arg[3]);
    for (size_t i = 1u + payload[0] + 4; i < size; i++)
        payload[i] = (uint8_t)(i * 7);
    for (int i = 0; i < count; i++) {
        memcpy(payload + 1 + payload[0], &i, sizeof(i));
        if (!send_packet(nic, there, nthere, PING, payload, size))
            return 3;
        if (!receive(nic, buf, &p, patience))
            continue;
        if (p.subtype != PONG || p.len != size ||
            memcmp(p.payload, payload, size) != 0)
            return 3;
        got++;
    }
    printf("received %d of %d\n", got, count);
    return 0;
}

static int do_flood(struct nic *nic, char **arg)
{
    static uint8_t payload[NET_PAYLOAD_MAX];
    uint8_t there[NET_ROUTE_MAX];
    size_t nthere = from_hex(there, sizeof(there), arg[2]);

    for (int i = atoi(arg[0]); i > 0; i--)
        if (!send_packet(nic, there, nthere, 7, payload, (size_t)atoi(arg[1])))
            return 3;
    return 0;
}

static int do_loop(struct nic *nic, char **arg)
{
    uint8_t route[NET_WIRE_ROUTE_MAX], buf[NET_PACKET_MAX];
    struct net_packet p;
    size_t n = from_hex(route, sizeof(route), arg[0]);

    if (!send_packet(nic, route, n, 7, (const uint8_t *)"loop", 4))
        return 3;
    if (!receive(nic, buf, &p, 1000)) {
        puts("nothing");
        return 0;
    }
    if (p.subtype != 7 || p.len != 4 || memcmp(p.payload, "loop", 4) != 0)
        return 3;
    puts("back");
    return 0;
}

static int do_sleep(void)
{
    for (;;)
        pause();
    return 0;
}

int main(int argc, char **argv)
{
    struct nic_options o;
    struct nic *nic;
    struct errbuf err = {""};
    int rc = 2;

    if (argc < 7)
        return 2;
    o = (struct nic_options){.carrier = argv[1],
                             .to = argv[2],
                             .name = argv[3],
                             .address = strtoull(argv[4], NULL, 16),
                             .munge = argv[5]};
    nic = nic_open(&o, &err);
    if (!nic) {
        fprintf(stderr, "%s: %s\n", o.name, err.text);
        return 1;
    }
    puts("ready");
    fflush(stdout);
    if (strcmp(argv[6], "echo") == 0)
        rc = do_echo(nic);
    else if (strcmp(argv[6], "ping") == 0 && argc == 11)
        rc = do_ping(nic, argv + 7);
    else if (strcmp(argv[6], "flood") == 0 && argc == 11)
        rc = do_flood(nic, argv + 7);
    else if (strcmp(argv[6], "loop") == 0 && argc == 8)
        rc = do_loop(nic, argv + 7);
    else if (strcmp(argv[6], "sleep") == 0)
        rc = do_sleep();
    nic_close(nic);
    return rc;
}
