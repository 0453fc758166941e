/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launches that wait for a node's fabric to heal.  Nothing calls slurmctld's
 * plugin when the health table changes, so while a launch waits a thread looks
 * at the table twice a second (one stat(2) when nothing changed) and wakes
 * whom it lets through, or refuses for good.  When nobody waits it sleeps.
 *
 * The file is read by that thread only and with no lock held: whoever calls
 * here never waits for a file system.
 */
#ifndef SF_SWITCH_ELAN_HEAL_WATCH_H
#define SF_SWITCH_ELAN_HEAL_WATCH_H

#include "plugins/switch_elan/gate.h"
#include "plugins/switch_elan/waiters.h"

struct heal_watch;

/* Said of each that is woken, by the thread. */
typedef void heal_watch_told_f(const struct gate_wait *wait);

/* Wakes by `waiters` (borrowed).  NULL with errno. */
struct heal_watch *heal_watch_create(struct waiters *waiters,
                                     heal_watch_told_f *told);

/* A launch at host and port waits for that, by the table at path.  Beyond
 * SF_WAITERS_MAX the oldest is forgotten: it asks again by itself. */
void heal_watch_add(struct heal_watch *w, const char *path,
                    const struct gate_wait *wait, const char *host,
                    uint16_t port);

/* The policy may have changed: all shall ask again. */
void heal_watch_wake_all(struct heal_watch *w);

/* Waits for the thread.  NULL is fine. */
void heal_watch_destroy(struct heal_watch *w);

#endif
