/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The line that connects a node whose tasks have not called MPI yet with the
 * launch: a TCP connection that slurmstepd holds while the step runs.  The node
 * identifies itself once.  When the server is there it sends one byte, of any
 * value, and then the node's agent starts.  When slurmstepd ends in an orderly
 * way it writes one more byte.  If a line ends and no agent was seen, the node
 * ended without MPI; if that byte is missing, its slurmstepd was killed.
 *
 * PRESENCE, 140 bytes, all integers big-endian:
 *   magic "SFPR", u32 agent index, u32 lowest world rank on the node,
 *   node name[96] with zeros behind, mac[32]
 *
 * mac = HMAC-SHA256(secret, "presence" and all bytes before it).  A replay is
 * harmless: it only says the same again.
 */
#ifndef SF_IMPI_PRESENCE_H
#define SF_IMPI_PRESENCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/mac.h"

#define IMPI_PRESENCE_SECRET 32
#define IMPI_PRESENCE_NODE 96 /* longer names are cut */
#define IMPI_PRESENCE_SIZE (12 + IMPI_PRESENCE_NODE + MAC_SIZE)

/* What the user is told about a node whose slurmstepd was killed, wherever that
 * was noticed. */
#define IMPI_LOST_NODE                                                         \
    "lost slurmstepd on node %s, and its tasks with it (was it killed? see "   \
    "the log of slurmd there)"

struct impi_presence {
    uint32_t agent; /* index of the node in the step */
    uint32_t rank;  /* the lowest of its tasks */
    char node[IMPI_PRESENCE_NODE + 1];
};

void impi_presence_encode(uint8_t out[IMPI_PRESENCE_SIZE],
                          const struct impi_presence *p,
                          const uint8_t secret[IMPI_PRESENCE_SECRET]);

/* Parse a secret of 64 hexadecimal digits.  0, or -1 if it is not one. */
int impi_presence_secret(uint8_t out[IMPI_PRESENCE_SECRET], const char *text);

/* 0; or -1 with errno EPROTO (malformed), EACCES (made without the secret). */
int impi_presence_decode(struct impi_presence *p,
                         const uint8_t in[IMPI_PRESENCE_SIZE],
                         const uint8_t secret[IMPI_PRESENCE_SECRET]);

#endif
