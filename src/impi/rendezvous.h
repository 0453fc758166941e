/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rendezvous of a step's agents: keyed allgatherv (doc/rendezvous.md).
 * A pure engine on the server's side: contributions in, and when a key is
 * complete the one frame that all its contributors get.
 */
#ifndef SF_IMPI_RENDEZVOUS_H
#define SF_IMPI_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytebuf.h"
#include "impi/agent_wire.h"

struct rendezvous;

/* A key that is complete: the GOT frame and who gets it. */
struct rendezvous_result {
    struct bytebuf frame;
    uint32_t *agents; /* each once */
    uint32_t nagents;
};

/* NULL: ENOMEM. */
struct rendezvous *rendezvous_create(void);
void rendezvous_destroy(struct rendezvous *r);

/* A contribution of an agent; the blob is copied.  gather: only who has
 * contributed index 0 gets the result.  Returns 1: the key is
 * complete, *result is filled (rendezvous_result_free()) and the key is
 * forgotten; 0: others are missing; -1 with errno EPROTO (the agent breaks
 * the rules: index out of range or twice, another number expected than
 * before, gathered by some only, a limit) or ENOMEM. */
int rendezvous_put(struct rendezvous *r, uint32_t agent,
                   const struct agent_put *put, bool gather,
                   struct rendezvous_result *result, struct errbuf *err);
void rendezvous_result_free(struct rendezvous_result *result);

/* Keys that wait for contributions. */
uint32_t rendezvous_open(const struct rendezvous *r);

#endif
