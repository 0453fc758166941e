/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The switch job info of a step: the clear part, which passes through the
 * user's srun and holds only what slurmctld itself needs again after a
 * restart (program number, context range, nodes), and in it the sealed
 * payload (payload.h) as a text that only root can open.
 *
 * Code on a node believes nothing of the clear part: it may be forged.
 */
#ifndef SF_ELAN_JOBINFO_H
#define SF_ELAN_JOBINFO_H

#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

struct elan_jobinfo {
    uint32_t job_id;
    uint32_t step_id;
    uint32_t het_comp;    /* Slurm's step_het_comp */
    uint32_t prognum;     /* 0: never built, and all below is empty */
    uint32_t low_context; /* first context */
    uint32_t ncontexts;   /* width of the range */
    uint32_t nnodes;
    uint32_t *nodes; /* [nnodes] Elan ids on rail 0; owned */
    char *sealed;    /* owned, may be NULL */
};

void elan_jobinfo_init(struct elan_jobinfo *info, uint32_t job_id,
                       uint32_t step_id, uint32_t het_comp);
/* Free what *info holds, not info itself.  A cleared one is fine. */
void elan_jobinfo_free(struct elan_jobinfo *info);
/* Deep copy into *to, which is overwritten.  0, or -1 with ENOMEM. */
int elan_jobinfo_copy(struct elan_jobinfo *to, const struct elan_jobinfo *from);

/* Encode into *buf (allocated; free() it).  info NULL gives the bytes of one
 * that was never built, for job 0.  Returns 0, or -1 with errno and text:
 * EMSGSIZE longer than SF_ELAN_JOBINFO_MAX, ENOMEM. */
int elan_jobinfo_encode(const struct elan_jobinfo *info, void **buf,
                        size_t *len, struct errbuf *err);

/* Decode buf[0..len) into *info (elan_jobinfo_free() it; cleared on failure).
 * Returns 0, or -1 with errno and text: EPROTO malformed, cut, or bytes left
 * over; EPROTONOSUPPORT of another version; EMSGSIZE; ENOMEM. */
int elan_jobinfo_decode(struct elan_jobinfo *info, const void *buf, size_t len,
                        struct errbuf *err);

#endif
