/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What Slurm's own commands say, for `sfabric verify` and `sfabric doctor`.
 * They are asked, not libslurm, so that sfabric runs whatever Slurm is
 * installed, or none.
 */
#ifndef SF_SFABRIC_SLURM_SAYS_H
#define SF_SFABRIC_SLURM_SAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "sfabric/findings.h"

/* Run a command (of sh) for at most SECONDS and give each line of its output
 * to `each`, without its end.  Its exit status; 124: it took too long, 127:
 * there is no such command, -1: errno. */
typedef void slurm_line_f(char *line, void *arg);
int slurm_says(const char *command, int seconds, slurm_line_f *each, void *arg);

/* Does slurmctld answer this host, and if not, why not?  Asks munged first,
 * which is behind most of it.  False: it does not, which is said. */
bool slurm_answers(struct findings *f);

/* A node as slurmctld has it. */
struct slurm_node {
    char name[256], host[256], addr[256], state[128], reason[512];
    uint16_t port;
};
typedef void slurm_node_f(const struct slurm_node *node, void *arg);
/* All of them.  How many; -1: slurmctld does not answer. */
int slurm_nodes(slurm_node_f *each, void *arg);

/* A job, of Slurm's memory or of its accounting. */
struct slurm_job {
    char id[32], nodes[4096], state[32]; /* nodes: as a list; "": none yet */
    int64_t start, end;                  /* ms since the epoch; 0: not yet */
};
/* id: digits, '_' and '+' alone.  False: it is not known. */
bool slurm_find_job(const char *id, struct slurm_job *job);

/* What Slurm makes of a state's words ("IDLE+DRAIN", "DOWN*"): SFABRIC_OK jobs
 * can run there, SFABRIC_DEGRADED an administrator keeps them away,
 * SFABRIC_DOWN it is broken. */
int slurm_node_status(const char *state);

#endif
