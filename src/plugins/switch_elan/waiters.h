/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launches that wait for contexts; those that wait for a node are
 * heal_watch.h's.  A srun whose step got ESLURM_INTERCONNECT_BUSY polls its
 * listening socket for a minute or two before it asks again; slurmctld would
 * wake it by a connection, but does so only for what waits for nodes of its
 * own job.  So we connect: nothing is said, the connection itself is what srun
 * waits for.  Whoever does not get its contexts then asks, waits and is
 * entered here again.
 *
 * Calls return at once: names are looked up and connections made by a thread,
 * started at first need.  No locks are held meanwhile.
 */
#ifndef SF_SWITCH_ELAN_WAITERS_H
#define SF_SWITCH_ELAN_WAITERS_H

#include <stdint.h>

struct waiters;

/* NULL with errno. */
struct waiters *waiters_create(void);

/* A launch waits at host (name or address) and port.  Beyond SF_WAITERS_MAX
 * the oldest is forgotten: it asks again by itself. */
void waiters_add(struct waiters *w, const char *host, uint16_t port);

/* Something has become free: wake all and forget them.  Returns how many. */
unsigned waiters_wake(struct waiters *w);

/* Wake this one launch, entered or not. */
void waiters_wake_one(struct waiters *w, const char *host, uint16_t port);

/* Wakes nobody any more; waits for the thread.  NULL is fine. */
void waiters_destroy(struct waiters *w);

#endif
