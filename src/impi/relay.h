/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an IMPI host does for its processes when only hosts are connected
 * (sections 2.3.8 and 3.8): which connection a packet has to take, and when
 * each FINI is due.  A pure engine: headers in, decisions out; the caller
 * moves the bytes.
 *
 * Processes are named by their number on this host (the order of the joined
 * world), other hosts by their host rank.  A FINI is never passed on: that of
 * a process says that it is through, and when all have said it, every other
 * host gets one; when all other hosts have said it, every process gets one.
 */
#ifndef SF_IMPI_RELAY_H
#define SF_IMPI_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "impi/packet.h"

struct impi_relay;

/* world: borrowed for the relay's life.  host: own host rank.  NULL with
 * errno ENOMEM or EINVAL (no such host). */
struct impi_relay *impi_relay_create(const struct impi_world *world,
                                     uint32_t host);
void impi_relay_destroy(struct impi_relay *r);

/* Own processes and the other hosts that are connected with (those of other
 * clients). */
uint32_t impi_relay_nprocs(const struct impi_relay *r);
bool impi_relay_wants(const struct impi_relay *r, uint32_t host);
/* The dance: who has the higher host rank connects. */
bool impi_relay_connects(const struct impi_relay *r, uint32_t host);

#define IMPI_RELAY_TAKEN (-2)

/* A header came.  Returns where the packet goes (a host rank, a process
 * number), IMPI_RELAY_TAKEN for a FINI, or -1 with errno EPROTO and the
 * reason: unknown type, longer than the negotiated packet, not from whom it
 * says, to nobody, after FINI. */
int64_t impi_relay_from_proc(struct impi_relay *r, uint32_t proc,
                             const struct impi_packet *pk, struct errbuf *err);
int64_t impi_relay_from_host(struct impi_relay *r, uint32_t host,
                             const struct impi_packet *pk, struct errbuf *err);

/* Acknowledgements pass packets that wait, so that two hosts that flood each
 * other never wait for each other (3.6). */
static inline bool impi_relay_is_urgent(const struct impi_packet *pk)
{
    return pk->type == IMPI_PK_PROTOACK;
}

/* All own processes have said FINI: say it to the other hosts. */
bool impi_relay_procs_done(const struct impi_relay *r);
/* All other hosts have said FINI: say it to the own processes. */
bool impi_relay_hosts_done(const struct impi_relay *r);
/* This host has: its connection may close. */
bool impi_relay_host_done(const struct impi_relay *r, uint32_t host);

#endif
