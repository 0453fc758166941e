/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The partition manager: gives a step its program number, its contexts and
 * its capabilities, and takes them back.  This is all of the slurmctld side
 * of switch/elan but for the hooks themselves, file I/O and sealing.
 *
 * How the hooks use it:
 *   init, first use        elan_partition_create()
 *   libstate_restore       elan_partition_forget(); with a saved text
 *                          elan_partition_restore()
 *   build_jobinfo          elan_partition_build(), encode the payload, seal
 *                          it into info->sealed (sealing failed:
 *                          elan_partition_release()); then, while
 *                          elan_partition_wants_save(), write
 *                          elan_partition_state(.., false) to a file and call
 *                          elan_partition_saved()
 *   job_step_complete      elan_partition_release(): once, twice, never
 *                          built, all fine
 *   job_step_allocated     elan_partition_recover()
 *   job_complete           nothing.  It may come before job_step_complete,
 *                          while processes are still on the nodes: their
 *                          contexts stay taken until the step is complete.
 *   libstate_save          write elan_partition_state(.., true)
 *   reconfig               elan_partition_configure()
 *
 * Not thread safe: the caller holds a lock.
 */
#ifndef SF_ELAN_PARTITION_H
#define SF_ELAN_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "elan/jobinfo.h"
#include "elan/options.h"
#include "elan/payload.h"
#include "elan/state.h"

struct elan_partition;

/* `random`: where numbers and contexts begin without saved state.  NULL with
 * errno and text: EINVAL, ENOMEM. */
struct elan_partition *elan_partition_create(const struct elan_site *site,
                                             uint32_t random,
                                             struct errbuf *err);
void elan_partition_destroy(struct elan_partition *pm);

/* Take over a changed site; live programs keep what they have. */
int elan_partition_configure(struct elan_partition *pm,
                             const struct elan_site *site, struct errbuf *err);

/* All live programs are gone from the books: Slurm is about to read its state
 * (start, or takeover by a backup that was in charge before) and tells which
 * steps are live by elan_partition_recover(). */
void elan_partition_forget(struct elan_partition *pm);

/* Go on from a saved text; `name` stands for the file in messages.  0, or -1
 * as elan_state_parse(), then nothing changed (numbers stay random). */
int elan_partition_restore(struct elan_partition *pm, const char *name,
                           const char *text, struct errbuf *err);

/* The text to save: `orderly` at the end of slurmctld, else in advance of
 * what will be given out (prognum.h). */
void elan_partition_state(const struct elan_partition *pm, bool orderly,
                          char buf[ELAN_STATE_SIZE_MAX]);
bool elan_partition_wants_save(const struct elan_partition *pm);
void elan_partition_saved(struct elan_partition *pm);

/* A lease (lease.h) in the books is a program of the job's extern step, by the
 * first number of its block; released and recovered as any other. */
#define ELAN_LEASE_STEP 0xfffffffcu

/* Lease `width` contexts on these nodes and a block of numbers to the job of
 * *info, which comes from elan_jobinfo_init() with ELAN_LEASE_STEP.  0, or -1
 * as elan_partition_build(); then nothing has changed. */
int elan_partition_lease(struct elan_partition *pm,
                         const struct elan_layout *nodes, uint32_t width,
                         struct elan_jobinfo *info, struct errbuf *err);

/* Of each lease; f may release it. */
void elan_partition_each_lease(struct elan_partition *pm,
                               void (*f)(const struct elan_jobinfo *info,
                                         void *arg),
                               void *arg);

/* The stepmgr's: gives out what was leased and nothing else.  NULL with errno
 * and text: EINVAL *info is no lease, ENOMEM. */
struct elan_partition *
elan_partition_create_leased(const struct elan_jobinfo *info,
                             struct errbuf *err);

struct elan_step {
    uint32_t uid; /* owner of the job */
    uint32_t run; /* of the job: how often it was requeued */
    uint64_t now; /* seconds since the epoch */
    struct elan_options options;
    const struct elan_userkey *keys; /* [options.rails], random; borrowed */
    bool no_broadcast;               /* a node of the step is off the fabric */
};

/* Build the program of a step.  *info comes from elan_jobinfo_init() and gets
 * program number, contexts and nodes; *payload is filled (to be freed by the
 * caller) and takes over *layout, which has options.rails rails.
 * Returns 0, or -1 with errno and text: EBUSY no contexts are free now, the
 * step should wait; everything else is final: E2BIG more processes or
 * contexts than there will ever be, EINVAL, ENOMEM.  On failure *info,
 * *layout and the pool are as before and *payload is clear. */
int elan_partition_build(struct elan_partition *pm,
                         const struct elan_step *step,
                         struct elan_layout *layout, struct elan_jobinfo *info,
                         struct elan_payload *payload, struct errbuf *err);

/* Return what a program has.  True when it was live; false, with no effect,
 * when it was never built, is released already, or the number is another
 * step's by now.  errno is left alone. */
bool elan_partition_release(struct elan_partition *pm,
                            const struct elan_jobinfo *info);

/* Take note of a program that is live already.  0 also when it is known or
 * was never built; -1 with errno and text: EEXIST its number or its contexts
 * are another program's, EINVAL, ENOMEM; then it is not in the pool and its
 * release has no effect. */
int elan_partition_recover(struct elan_partition *pm,
                           const struct elan_jobinfo *info, struct errbuf *err);

/* Live programs; contexts taken, summed over the nodes. */
uint32_t elan_partition_programs(const struct elan_partition *pm);
uint64_t elan_partition_contexts(const struct elan_partition *pm);

#endif
