/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two hosts and their processes in memory: message engines, relay engines and
 * byte streams of few bytes.  As impid does, a host always reads the other
 * one, and its own processes only while little waits for the other.
 *
 * Without a seed every connection moves what it can in each round.  With one
 * it is left out now and then and moves only a part: short reads and writes
 * and delays on every socket.  A round in which that moves nothing is repeated
 * without, so "nothing moves" is always true.
 */
#ifndef SF_TESTS_RELAY_SIM_H
#define SF_TESTS_RELAY_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/channel.h"
#include "impi/p2p.h"
#include "impi/packet.h"
#include "impi/relay.h"

#define SIM_EACH 4 /* processes of a host, at most */
#define SIM_PROCS (2 * SIM_EACH)
#define SIM_DATALEN 64 /* at most */
#define SIM_PACKET (IMPI_PACKET_SIZE + SIM_DATALEN)
#define SIM_PIPE 1024

struct sim_options {
    uint32_t each[2]; /* processes of the two hosts */
    uint32_t maxdatalen, ackmark, hiwater;
    size_t pipe;  /* bytes in flight on one connection, one way */
    size_t pause; /* more than this waits for the other host: see above */
    uint64_t seed;
};

struct sim_pipe {
    uint8_t bytes[SIM_PIPE];
    size_t len, size;
};

struct sim_packet;
struct sim_queue {
    struct sim_packet *first;
    size_t sent, bytes, peak;
};

/* A connection as its host has it. */
struct sim_port {
    struct sim_pipe *in, *out;
    uint8_t got[SIM_PACKET];
    size_t len;
    struct sim_queue queue;
};

struct sim_host {
    struct impi_relay *relay;
    uint32_t nprocs;
    size_t pause;
    struct sim_port procs[SIM_EACH], other;
    bool told_other, told_procs; /* FINI */
};

struct sim_proc {
    struct impi_p2p *p2p;
    struct impi_channel *channel;
    struct sim_pipe up, down;
    bool asleep;     /* touches nothing */
    bool skips;      /* only the next round */
    bool mute;       /* claim() cannot tell now */
    bool unsettled;  /* it was asked then */
    uint32_t claims; /* how often that was */
};

struct sim {
    struct impi_world world;
    uint32_t nprocs, first[2]; /* first process of each host */
    struct sim_proc proc[SIM_PROCS];
    struct sim_pipe between[2];
    struct sim_host host[2];
    uint64_t random; /* 0: no seed */
};

struct sim *sim_create(const struct sim_options *options);
void sim_destroy(struct sim *s);

/* 0 .. below - 1; without a seed the highest. */
uint32_t sim_random(struct sim *s, uint32_t below);
/* Processes behind the other host: how many, and the k-th. */
uint32_t sim_npeers(const struct sim *s, uint32_t proc);
uint32_t sim_peer(const struct sim *s, uint32_t proc, uint32_t k);
/* As much of it as fits, or with a seed less. */
size_t sim_put(struct sim *s, struct sim_pipe *p, const void *data, size_t len);
void sim_take(struct sim_pipe *p, void *data, size_t n);
/* One round; how many bytes moved.  0: nothing can. */
size_t sim_step(struct sim *s);
void sim_settle(struct sim *s);

#endif
