/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Management agents of a simulated InfiniBand fabric, in the place of libibumad
 * and within the test: switches' and adapters' ports, forwarding tables, and
 * performance management with PortCounters that stay full at their end and,
 * where it offers that, PortCountersExtended.  Answers may be lost, come twice,
 * or be whatever a test makes of them.
 */
#ifndef TESTS_UNIT_UMAD_SIM_H
#define TESTS_UNIT_UMAD_SIM_H

#include <errno.h>
#include <infiniband/umad.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "health/tally.h"
#include "net/graph.h"

#define UMAD_SIM_NODES 16
#define UMAD_SIM_PORTS 16 /* of a node */

struct umad_sim {
    const struct net *map; /* node 0 asks; LIDs are 1 + the node's number */
    struct {
        bool extended, errors; /* what its performance management offers */
        bool has_no_info;      /* it refuses ClassPortInfo */
        uint64_t counted[UMAD_SIM_PORTS][TALLY_PORT_COUNTERS];
        uint8_t routes[64]; /* of its only block */
        bool dead;
    } node[UMAD_SIM_NODES];
    unsigned lose; /* so many of the next questions are not answered */
    /* Changes an answer; NULL: none. */
    void (*spoil)(uint8_t *mad, void *arg);
    void *arg;
    /* What was asked. */
    unsigned asked, most_in_flight;
    unsigned gets, sets;        /* to performance management */
    unsigned class_infos, wide; /* of those */
    uint16_t last_select;       /* CounterSelect of the last Set */
};

/* Layouts are written anew here, not taken from the readers under test. */
#define MAD 256
#define DATA 64
#define HELD 256

/* The one that libibumad's functions are answered by. */
static struct umad_sim *umad_sim;

/* Answers that wait to be fetched. */
static struct {
    uint8_t mad[HELD][MAD];
    unsigned head, tail;
} held;

struct packet {
    struct ib_mad_addr addr;
    uint8_t mad[MAD];
};

static void put(uint8_t *at, uint64_t v, int bytes)
{
    while (bytes-- > 0) {
        at[bytes] = (uint8_t)v;
        v >>= 8;
    }
}

/* ---- agents -------------------------------------------------------------- */

/* The node at the end of a path; NET_NONE: none answers there. */
static uint32_t at_end(const uint8_t *mad)
{
    uint32_t at = 0;

    for (unsigned i = 1; i <= mad[7] && at != NET_NONE; i++) {
        unsigned port = at == 0 ? 0 : mad[128 + i] - 1u;

        if (umad_sim->node[at].dead)
            return NET_NONE;
        at = net_peer_node(umad_sim->map, at, port);
    }
    return at != NET_NONE && umad_sim->node[at].dead ? NET_NONE : at;
}

static void port_info(uint32_t at, unsigned port, uint8_t *d)
{
    const struct net *map = umad_sim->map;
    unsigned p = net_is_host(map, at) ? 0 : port - 1u;
    uint32_t peer = port ? net_peer_node(map, at, p) : NET_NONE;
    bool link = peer != NET_NONE && !umad_sim->node[peer].dead;

    put(d + 16, at + 1, 2);
    d[29] = d[31] = 2;
    d[32] = link || !port ? 4 : 1;
    d[33] = (uint8_t)((link || !port ? 5 : 2) << 4);
    d[35] = 0x44;
}

static bool answer_smp(uint8_t *mad)
{
    uint32_t at = at_end(mad);
    unsigned attr = mad[16] * 256u + mad[17];

    if (at == NET_NONE)
        return false;
    mad[3] = 0x81;
    if (attr == 0x15)
        port_info(at, mad[23], mad + DATA);
    else if (attr == 0x19 && mad[23] == 0)
        memcpy(mad + DATA, umad_sim->node[at].routes, 64);
    else
        mad[5] = 0x1c;
    return true;
}

/* Where each is in PortCounters (in bits from its begin), how many bits, and
 * where in PortCountersExtended. */
static const struct {
    unsigned bit, bits, wide;
} layout[TALLY_PORT_COUNTERS] = {
    [TALLY_SYMBOL_ERROR] = {32, 16, 72},
    [TALLY_LINK_ERROR_RECOVERY] = {48, 8, 80},
    [TALLY_LINK_DOWNED] = {56, 8, 88},
    [TALLY_PORT_RCV_ERRORS] = {64, 16, 96},
    [TALLY_PORT_XMIT_DISCARDS] = {112, 16, 120},
    [TALLY_LOCAL_LINK_INTEGRITY_ERRORS] = {152, 4, 144},
    [TALLY_EXCESSIVE_BUFFER_OVERRUN_ERRORS] = {156, 4, 152},
};

static void narrow(const uint64_t *counted, uint8_t *d)
{
    for (int i = 0; i < TALLY_PORT_COUNTERS; i++) {
        unsigned bits = layout[i].bits, at = layout[i].bit / 8;
        uint64_t most = (1u << bits) - 1;
        uint64_t v = counted[i] < most ? counted[i] : most;

        if (bits < 8)
            d[at] |= (uint8_t)(v << (8 - bits - layout[i].bit % 8));
        else
            put(d + at, v, (int)bits / 8);
    }
}

static void class_info(uint32_t at, uint8_t *mad)
{
    umad_sim->class_infos++;
    if (umad_sim->node[at].has_no_info) {
        mad[5] = 0x0c;
        return;
    }
    mad[DATA] = mad[DATA + 1] = 1;
    put(mad + DATA + 2, umad_sim->node[at].extended ? 0x0200 : 0, 2);
    /* ... and how long an answer takes, in the lower five bits. */
    put(mad + DATA + 4, (umad_sim->node[at].errors ? 2u << 5 : 0) | 0x12, 4);
}

static bool answer_pma(uint8_t *mad, unsigned lid)
{
    uint32_t at = lid - 1u;
    uint8_t port = mad[DATA + 1] % UMAD_SIM_PORTS;
    uint64_t *counted;

    if (at >= umad_sim->map->nnodes || umad_sim->node[at].dead)
        return false;
    counted = umad_sim->node[at].counted[port];
    umad_sim->gets += mad[3] == 1;
    umad_sim->sets += mad[3] == 2;
    if (mad[3] == 2) {
        umad_sim->last_select = (uint16_t)(mad[DATA + 2] << 8 | mad[DATA + 3]);
        for (int i = 0; i < TALLY_PORT_COUNTERS; i++)
            counted[i] = 0;
    }
    mad[3] = 0x81;
    if (mad[17] == 0x01) {
        class_info(at, mad);
    } else if (mad[17] == 0x12) {
        narrow(counted, mad + DATA);
    } else if (mad[17] == 0x1d && umad_sim->node[at].extended) {
        umad_sim->wide++;
        for (int i = 0; umad_sim->node[at].errors && i < TALLY_PORT_COUNTERS;
             i++)
            put(mad + DATA + layout[i].wide, counted[i], 8);
    } else {
        mad[5] = 0x0c;
    }
    return true;
}

/* ---- libibumad ----------------------------------------------------------- */

int umad_init(void)
{
    held.head = held.tail = 0;
    return 0;
}

int umad_get_port(const char *ca, int number, umad_port_t *port)
{
    (void)ca;
    memset(port, 0, sizeof(*port));
    port->portnum = number ? number : 1;
    return 0;
}

int umad_release_port(umad_port_t *port)
{
    (void)port;
    return 0;
}

int umad_open_port(const char *ca, int number)
{
    (void)ca;
    (void)number;
    return 0;
}

int umad_register(int id, int class, int version, uint8_t rmpp,
                  long methods[16 / sizeof(long)])
{
    (void)id;
    (void)version;
    (void)rmpp;
    (void)methods;
    return class;
}

size_t umad_size(void)
{
    return sizeof(struct ib_mad_addr);
}

void *umad_get_mad(void *umad)
{
    return ((struct packet *)umad)->mad;
}

int umad_status(void *umad)
{
    (void)umad;
    return 0;
}

int umad_set_addr(void *umad, int lid, int qp, int sl, int qkey)
{
    struct packet *p = umad;

    (void)qp;
    (void)sl;
    (void)qkey;
    p->addr.lid = (__be16)lid;
    return 0;
}

int umad_send(int id, int agent, void *umad, int len, int ms, int retries)
{
    struct packet *p = umad;
    uint8_t mad[MAD];

    (void)id;
    (void)agent;
    (void)ms;
    (void)retries;
    if (len != MAD || held.tail - held.head == HELD)
        return -EINVAL;
    memcpy(mad, p->mad, MAD);
    umad_sim->asked++;
    if (umad_sim->lose) {
        umad_sim->lose--;
        return 0;
    }
    if (!(mad[1] == 0x04 ? answer_pma(mad, p->addr.lid) : answer_smp(mad)))
        return 0;
    if (umad_sim->spoil)
        umad_sim->spoil(mad, umad_sim->arg);
    memcpy(held.mad[held.tail++ % HELD], mad, MAD);
    if (held.tail - held.head > umad_sim->most_in_flight)
        umad_sim->most_in_flight = held.tail - held.head;
    return 0;
}

static uint64_t now = 1000000000;

uint64_t clock_ns(void)
{
    return now;
}

/* Without an answer the time has passed at once. */
int umad_recv(int id, void *umad, int *len, int ms)
{
    (void)id;
    if (held.head == held.tail) {
        now += (uint64_t)ms * 1000000;
        return -ETIMEDOUT;
    }
    memcpy(((struct packet *)umad)->mad, held.mad[held.head++ % HELD], MAD);
    *len = MAD;
    return 0;
}

#endif
