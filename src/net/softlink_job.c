/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "base/clock.h"
#include "net/softlink_job.h"

static void work(struct clerk_job *job)
{
    struct softlink_job *j = (struct softlink_job *)(void *)job;
    const uint8_t *packet;
    size_t len;

    j->event = j->len ? softlink_input(j->link, clock_ns(), j->buf, j->len,
                                       &packet, &len, &j->err)
                      : softlink_tick(j->link, clock_ns(), &j->err);
}

bool softlink_job_make(struct softlink_job *j, struct softlink *link,
                       const void *buf, size_t len,
                       void (*done)(struct clerk_job *job, bool cancelled))
{
    if (len > sizeof(j->buf))
        return false;
    j->job = (struct clerk_job){work, done, NULL};
    j->link = link;
    j->event = SOFTLINK_NOTHING;
    j->err.text[0] = '\0';
    j->len = len;
    if (len)
        memcpy(j->buf, buf, len);
    return true;
}
