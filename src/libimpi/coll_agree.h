/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What comes of a collective call with processes of other worlds, which may be
 * lost (foreign.h).  Only those that wait for a lost process find it out: so
 * they go on with the steps that others of their world wait for, and before the
 * call ends, or does anything else than its steps, all of the own world agree:
 * it has failed in all of them or in none.  Nobody of the own world can be lost
 * meanwhile, because that ends the job.
 *
 * Where there are three clients or more, the processes that speak for them tell
 * each other as well, across worlds; of two clients one is all of the other
 * world.
 */
#ifndef LIBIMPI_COLL_AGREE_H
#define LIBIMPI_COLL_AGREE_H

#include "libimpi/coll_run.h"

/* Nothing of the call is under way: start what comes next.  True: there is
 * agreement, and x->rc tells which. */
bool coll_agree(struct coll *x);

#endif
