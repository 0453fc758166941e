/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric why JOBID: which links a job's nodes have, and what was not well with
 * them while it ran: by switchmgrd's events, which are the newest 4096, and its
 * history of a day by minutes or a year by hours.
 */
#ifndef SF_SFABRIC_WHY_JOB_H
#define SF_SFABRIC_WHY_JOB_H

#include <stdbool.h>

#include "sfabric/sfabric.h"

/* "12", "12_3", "12+1": a job's, and no node's. */
bool why_job_is_one(const char *text);

/* Prints it; brief: one line, and none when all was well.  The exit status:
 * the worst that was seen. */
int why_job(const char *id, bool brief, const struct sfabric_options *o);

#endif
