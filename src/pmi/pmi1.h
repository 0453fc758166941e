/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMI-1 wire server for the processes of one MPICH client on one node: a
 * pure engine.  Bytes of a process go in; answers, barriers and aborts come
 * out through callbacks, always from within a call of this module.
 *
 * A barrier that all local processes have entered is handed to the host as
 * one blob of the key-value pairs put since the last one; the host exchanges
 * the blobs of all nodes and gives them back with pmi1_barrier_done().  Then
 * every get is local.
 *
 * Source: the PMI-1 wire as MPICH 4.0 to 4.2 speaks it (lines of key=value,
 * ended by a newline; "cmd=" first).
 */
#ifndef SF_PMI_PMI1_H
#define SF_PMI_PMI1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

struct pmi1;

struct pmi1_config {
    const char *kvsname; /* no blanks, shorter than SF_PMI1_KVSNAME_MAX */
    const char *mapping; /* PMI_process_mapping, see pmi1_mapping() */
    uint32_t size;       /* processes of the client on all nodes */
    uint32_t nlocal;     /* processes on this node: numbered 0..nlocal-1 */
    uint32_t universe;   /* answer to get_universe_size */
    uint32_t appnum;     /* to get_appnum: the client's component */
};

struct pmi1_ops {
    /* Send line[0..len), newline included, to a local process. */
    void (*reply)(void *arg, uint32_t local, const char *line, size_t len);
    /* All local processes are in the barrier; blob is valid in the call. */
    void (*barrier)(void *arg, const void *blob, size_t len);
    /* MPI_Abort of a local process. */
    void (*abort)(void *arg, uint32_t local, int code);
};

/* Strings are copied.  NULL with errno EINVAL or ENOMEM. */
struct pmi1 *pmi1_create(const struct pmi1_config *config,
                         const struct pmi1_ops *ops, void *arg);
void pmi1_destroy(struct pmi1 *p);

/* Bytes from a local process.  Returns 0; or -1 with errno and the reason in
 * err: EPROTO the process does not speak PMI-1 (drop it), EMSGSIZE a line or
 * the key-value space is longer than its limit, ENOMEM. */
int pmi1_input(struct pmi1 *p, uint32_t local, const void *data, size_t len,
               struct errbuf *err);

/* The blobs of all nodes, own included, in any order: answers the barrier.
 * Returns 0; or -1 with errno EPROTO (malformed), EMSGSIZE, EINVAL (no
 * barrier is open), ENOMEM. */
struct pmi1_blob {
    const void *data;
    size_t len;
};
int pmi1_barrier_done(struct pmi1 *p, const struct pmi1_blob *blobs,
                      size_t nblobs, struct errbuf *err);

/* From now on nobody waits: who is in a barrier is answered, and so is each
 * that comes later, at once and without an exchange. */
void pmi1_leave(struct pmi1 *p);

/* Has the local process said init; has it said finalize? */
bool pmi1_initialized(const struct pmi1 *p, uint32_t local);
bool pmi1_finalized(const struct pmi1 *p, uint32_t local);

/* Does it wait in a barrier? */
bool pmi1_in_barrier(const struct pmi1 *p, uint32_t local);

/* PMI_process_mapping of a client: node[i] is the node of rank i, any
 * numbering.  Returns an allocated "(vector,(node,nodes,tasks),...)" with
 * nodes numbered by first use, or NULL with errno ENOMEM. */
char *pmi1_mapping(const uint32_t *node, uint32_t size);

#endif
