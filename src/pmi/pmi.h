/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMI server for the processes of one MPICH client on one node, PMI-1 and
 * PMI-2: a pure engine.  Bytes of a process go in; answers, barriers and aborts
 * come out through callbacks, always from within a call of this module.  The
 * first line of a process says which of the two it speaks; they share the
 * key-value space and the barriers, so it need not be the same for all.
 *
 * A barrier (PMI-2: a fence) that all local processes have entered is handed to
 * the host as one blob of the key-value pairs put since the last one; the host
 * exchanges the blobs of all nodes and gives them back with pmi_barrier_done().
 * Then every get is local.
 */
#ifndef SF_PMI_PMI_H
#define SF_PMI_PMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

struct pmi;

struct pmi_config {
    const char *kvsname;   /* no blanks, shorter than SF_PMI_KVSNAME_MAX */
    const char *mapping;   /* PMI_process_mapping, see pmi_mapping.h */
    uint32_t size;         /* processes of the client on all nodes */
    uint32_t nlocal;       /* processes on this node: numbered 0..nlocal-1 */
    const uint32_t *ranks; /* [nlocal] theirs; NULL: their numbers */
    uint32_t universe;     /* answer to get_universe_size */
    uint32_t appnum;       /* to get_appnum: the client's component */
};

struct pmi_ops {
    /* Send bytes[0..len) to a local process. */
    void (*reply)(void *arg, uint32_t local, const char *bytes, size_t len);
    /* All local processes are in the barrier; blob is valid in the call. */
    void (*barrier)(void *arg, const void *blob, size_t len);
    /* MPI_Abort of a local process. */
    void (*abort)(void *arg, uint32_t local, int code);
};

/* What the config points to is copied.  NULL with errno EINVAL or ENOMEM. */
struct pmi *pmi_create(const struct pmi_config *config,
                       const struct pmi_ops *ops, void *arg);
void pmi_destroy(struct pmi *p);

/* Bytes from a local process.  Returns 0; or -1 with errno and the reason in
 * err: EPROTO the process speaks neither (drop it), EMSGSIZE a message or the
 * key-value space is longer than its limit, ENOMEM. */
int pmi_input(struct pmi *p, uint32_t local, const void *data, size_t len,
              struct errbuf *err);

/* The blobs of all nodes, own included, in any order: answers the barrier.
 * Returns 0; or -1 with errno EPROTO (malformed), EMSGSIZE, EINVAL (no
 * barrier is open), ENOMEM. */
struct pmi_blob {
    const void *data;
    size_t len;
};
int pmi_barrier_done(struct pmi *p, const struct pmi_blob *blobs, size_t nblobs,
                     struct errbuf *err);

/* From now on nobody waits: who is in a barrier is answered, and so is each
 * that comes later, at once and without an exchange. */
void pmi_leave(struct pmi *p);

/* Has the local process said init; has it said finalize? */
bool pmi_initialized(const struct pmi *p, uint32_t local);
bool pmi_finalized(const struct pmi *p, uint32_t local);

/* Does it wait for others: in a barrier, or for an attribute of the node? */
bool pmi_waits(const struct pmi *p, uint32_t local);

#endif
