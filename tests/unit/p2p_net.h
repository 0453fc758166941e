/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A network in memory for tests of the message engine: processes with an
 * engine each, channels opened on first use, and byte streams of small
 * capacity that deliver in random pieces.  Everything follows from the seed.
 */
#ifndef SF_TESTS_P2P_NET_H
#define SF_TESTS_P2P_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/channel.h"
#include "impi/p2p.h"
#include "impi/packet.h"

#define NET_PROCS 16
#define NET_TRACE 4096

struct net_stream { /* one direction */
    uint8_t *bytes;
    size_t len, size;
    bool closed;
    /* what passed, as packets */
    uint8_t head[IMPI_PACKET_SIZE];
    size_t head_len, payload_left;
};

struct net_traced {
    uint32_t from, to;
    struct impi_packet pk;
};

struct net {
    struct impi_world world;
    struct impi_p2p *p2p[NET_PROCS];
    struct impi_p2p_ops ops[NET_PROCS];
    struct net_proc {
        struct net *net;
        uint32_t rank;
        int claims, deny; /* claim(): how often; the next `deny` say no */
        void *denied;
        bool later; /* claim() cannot tell now */
    } procs[NET_PROCS];
    struct impi_channel *channel[NET_PROCS][NET_PROCS]; /* [a][b]: a's */
    struct net_stream stream[NET_PROCS][NET_PROCS];     /* a to b */
    bool asleep[NET_PROCS];                             /* makes no progress */
    size_t piece; /* largest piece moved at a time */
    bool apart;
    int max_out, max_in; /* entries of a write, a read */
    uint64_t random;
    bool trace_on;
    struct net_traced trace[NET_TRACE];
    size_t ntrace;
};

struct net_options {
    uint32_t nprocs, maxdatalen, ackmark, hiwater;
    size_t capacity; /* of a stream */
    size_t piece;
    uint64_t seed;
    bool extended; /* all processes are ours */
    bool apart;    /* data of callbacks go straight into the streams */
    bool places;   /* those in pieces go one by one */
};

/* Three processes with short packets, all that is sent moved at once. */
extern const struct net_options net_three;

struct net *net_create(const struct net_options *options);
void net_destroy(struct net *net);

uint32_t net_random(struct net *net, uint32_t below);

/* Move bytes once on every channel; returns how many moved. */
size_t net_step(struct net *net);
/* Until nothing moves. */
void net_settle(struct net *net);
/* Until all are done; fails the test when nothing moves before. */
void net_wait(struct net *net, struct impi_request **reqs, size_t n);

/* Open a channel between a and b now. */
void net_connect(struct net *net, uint32_t a, uint32_t b);

/* Bytes straight into a's end of its channel to b, as if b had sent them.
 * Returns what impi_channel_rx_done() said. */
int net_inject(struct net *net, uint32_t a, uint32_t b, const void *data,
               size_t len);
/* A packet from b to a, fields as in *pk but src and dest filled in. */
int net_inject_packet(struct net *net, uint32_t a, uint32_t b,
                      struct impi_packet pk, const void *data);
/* Take what a's engine sends to b: the next packet (its payload is skipped);
 * false: there is none. */
bool net_take_packet(struct net *net, uint32_t a, uint32_t b,
                     struct impi_packet *pk);

/* Short forms: rank = world rank, cid 0. */
void net_isend(struct net *net, uint32_t from, uint32_t to, int32_t tag,
               const void *data, size_t len, bool sync,
               struct impi_request *req);
void net_irecv(struct net *net, uint32_t at, uint32_t from, int32_t tag,
               void *data, size_t len, struct impi_request *req);

#endif
