/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines of nodes (impi/presence.h) as long as there is no impi-server: in
 * srun.  Nothing is read from them, so that the server can have them as they
 * are; but one that ends without a goodbye is a slurmstepd that was killed, of
 * which Slurm would never hear.
 */
#ifndef SF_IMPID_SERVER_LINES_H
#define SF_IMPID_SERVER_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "impi/presence.h"

struct node_line {
    int fd;         /* above 9 */
    bool over;      /* ended, and looked at */
    bool known;     /* has said who it is */
    unsigned birth; /* the oldest stranger goes first */
};

struct server_lines {
    int listener;   /* of the lines; -1: there are none */
    uint32_t nodes; /* of the step: each has a line */
    int rest_ms;    /* before any is looked at: a short step shall not pay */
    uint8_t secret[IMPI_PRESENCE_SECRET];
    unsigned births;
    size_t n;
    struct node_line line[SF_IMPI_LINES_MAX]; /* in the order of fd */
};

/* Wait until somebody connects to the agents' listener (true), or a node is
 * lost (false, *lost is the node). */
bool server_lines_wait(struct server_lines *l, int agents,
                       struct impi_presence *lost);

/* The server has its own of them now. */
void server_lines_close(struct server_lines *l);

#endif
