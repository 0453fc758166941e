/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes of this machine whose memory this one uses by loads and stores: no
 * connection need tell that one of them has died.  So they are looked at now
 * and then.  All under the lock.
 */
#ifndef LIBIMPI_LIVES_H
#define LIBIMPI_LIVES_H

#include <stdint.h>

/* Watch this process, a rank in the world: from here on, until lives_drop() was
 * called as often as this, its loss ends the job.  Nothing if it has ended
 * already, or has another pid here. */
void lives_add(uint32_t rank, uint32_t pid);
void lives_drop(uint32_t rank);

/* To be called in each round of a wait: looks at some, if it is time.  Does not
 * return if one has ended. */
void lives_look(void);

/* Watch nobody any more: from here on they may end. */
void lives_stop(void);

#endif
