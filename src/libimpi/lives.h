/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes of this machine whose memory this one uses by loads and stores: no
 * connection need tell that one of them has died.  So they are looked at now
 * and then.  All under the lock.
 */
#ifndef LIBIMPI_LIVES_H
#define LIBIMPI_LIVES_H

#include <stdint.h>

/* From here on until lives_drop(), as often as it was added: the loss of this
 * process, a rank in the world, ends the job.  Not if it has ended by now, or
 * is not known by this pid. */
void lives_add(uint32_t rank, uint32_t pid);
void lives_drop(uint32_t rank);

/* In each round of whoever waits: looks at some, if it is time.  Does not
 * return if one has ended. */
void lives_look(void);

/* From here on they may end. */
void lives_stop(void);

#endif
