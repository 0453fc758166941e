/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An explorer or verifier at one host of a software fabric, in virtual time:
 * what `mapperd --check`, benches and simulations drive.  Packets cross the
 * fabric in functional mode (swfab.h); each takes SIMFAB_HOP_NS per crossbar
 * and SIMFAB_HOST_NS in every host it enters or leaves.  All hosts answer
 * scouts.  Not the GM protocols: a packet carries the probe's tag and little
 * else.
 */
#ifndef SF_MAPPERD_SIMFAB_H
#define SF_MAPPERD_SIMFAB_H

#include "mapper/explore.h"
#include "mapper/verify.h"
#include "swfab/swfab.h"

#define SIMFAB_HOP_NS 500
#define SIMFAB_HOST_NS 5000

/* The five calls of an engine. */
struct simfab_engine {
    void *engine;
    bool (*next)(void *engine, uint64_t now, struct probe *probe);
    void (*answer)(void *engine, uint64_t now,
                   const struct probe_answer *answer);
    uint64_t (*deadline)(const void *engine);
    void (*tick)(void *engine, uint64_t now);
    bool (*done)(const void *engine);
};
struct simfab_engine simfab_explorer(struct explore *x);
struct simfab_engine simfab_verifier(struct verify *v);

struct simfab;

/* The truth is borrowed (names and addresses of hosts), the fabric made from
 * it is the simfab's own.  NULL: no memory. */
struct simfab *simfab_new(const struct net *truth, uint32_t host);
void simfab_free(struct simfab *sim);

/* For faults. */
struct swfab *simfab_fabric(struct simfab *sim);
/* Called before each packet is sent, with the number of it. */
typedef void simfab_hook_f(struct simfab *sim, uint64_t packet, void *arg);
void simfab_hook(struct simfab *sim, simfab_hook_f *hook, void *arg);

void simfab_host_info(const struct net *truth, uint32_t host,
                      struct probe_host *info);

/* Until the engine is done.  False: no memory, or `most` virtual
 * nanoseconds have passed. */
bool simfab_run(struct simfab *sim, struct simfab_engine e, uint64_t most);
uint64_t simfab_now(const struct simfab *sim);

#endif
