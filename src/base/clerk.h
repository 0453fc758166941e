/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread beside an event loop, for work that may wait: asking munged, whose
 * answer takes 0.1 ms or, when it hangs, seconds.  Jobs are done one after the
 * other.  work() runs in the thread and must touch nothing that the loop uses
 * meanwhile; done() runs in the loop afterwards, and frees the job.
 */
#ifndef SF_BASE_CLERK_H
#define SF_BASE_CLERK_H

#include <stdbool.h>

struct ev_loop;
struct clerk;

struct clerk_job {
    void (*work)(struct clerk_job *job);
    /* cancelled: the loop ends, only free what is the job's; it may not have
     * been worked at. */
    void (*done)(struct clerk_job *job, bool cancelled);
    struct clerk_job *next;
};

/* At most `max` jobs wait.  NULL with errno. */
struct clerk *clerk_new(struct ev_loop *loop, unsigned max);

/* Give it a job, which is the clerk's until done().  Without a clerk (NULL)
 * both are called at once.  -1 with errno EAGAIN: too many wait, the job
 * stays the caller's. */
int clerk_give(struct clerk *clerk, struct clerk_job *job);

/* Jobs that wait or are being done. */
unsigned clerk_pending(struct clerk *clerk);

/* Cancel what is left.  False: the thread is in the middle of a job, so it and
 * what that job uses must be left alone; the process should end.  NULL is
 * fine. */
bool clerk_free(struct clerk *clerk);

#endif
