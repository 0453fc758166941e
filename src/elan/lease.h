/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What slurmctld leases to a job whose steps a stepmgr makes: contexts on all
 * nodes of the job and a block of program numbers.  The stepmgr, root of one
 * node, gives them out; each node of a step sees by the lease, which only
 * slurmctld can seal, that what it was given is the job's.
 *
 * In the books a lease is a program of the job's extern step (partition.h).
 */
#ifndef SF_ELAN_LEASE_H
#define SF_ELAN_LEASE_H

#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "elan/layout.h"
#include "elan/payload.h"

struct elan_lease {
    uint32_t job_id;
    uint32_t uid;     /* owner of the job */
    uint32_t run;     /* of the job: how often it was requeued */
    uint32_t prognum; /* first of a block, see prognum.h */
    uint32_t low_context;
    uint32_t ncontexts;
    struct elan_layout nodes; /* of the job, on each rail; owned */
};

/* Free what *lease holds, not lease itself.  A cleared one is fine. */
void elan_lease_free(struct elan_lease *lease);

/* Encode into *buf (allocated; free() it): nothing in it is secret.  0, or -1
 * with errno and text: EMSGSIZE longer than SF_SEAL_PAYLOAD_MAX, ENOMEM. */
int elan_lease_encode(const struct elan_lease *lease, void **buf, size_t *len,
                      struct errbuf *err);

/* Decode buf[0..len) into *lease (elan_lease_free() it; cleared on failure).
 * 0, or -1 with errno and text: EPROTO malformed, cut, or bytes left over;
 * EPROTONOSUPPORT of another version; ENOMEM. */
int elan_lease_decode(struct elan_lease *lease, const void *buf, size_t len,
                      struct errbuf *err);

/* Is what a step was given the job's?  Job, owner, run, number, contexts and
 * the nodes on every rail.  0, or -1 with text. */
int elan_lease_check(const struct elan_lease *lease,
                     const struct elan_payload *payload, struct errbuf *err);

#endif
