/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A step of a link that asks for a credential, as a job for a clerk
 * (base/clerk.h): the answer may take long.  From clerk_give() to job.done()
 * the link is the clerk's and nobody else looks at it.
 */
#ifndef SF_NET_SOFTLINK_JOB_H
#define SF_NET_SOFTLINK_JOB_H

#include "base/clerk.h"
#include "net/softlink.h"

struct softlink_job {
    struct clerk_job job; /* its done() is the owner's */
    struct softlink *link;
    enum softlink_event event; /* what came of it, with err */
    struct errbuf err;
    size_t len; /* of the WELCOME in buf; 0: time passes */
    uint8_t buf[SOFTLINK_CONTROL_MAX];
};

/* For a message buf[0..len) that came, or with len 0 because time passes.
 * False: the message is too long for one. */
bool softlink_job_make(struct softlink_job *j, struct softlink *link,
                       const void *buf, size_t len,
                       void (*done)(struct clerk_job *job, bool cancelled));

#endif
