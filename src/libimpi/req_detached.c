/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests that nobody waits for any more.
 */
#include "libimpi/req_priv.h"

static struct req *detached;

void req_detach(struct req *r)
{
    r->next = detached;
    detached = r;
}

void req_reap(void)
{
    struct req **p = &detached;

    while (*p) {
        struct req *r = *p;

        if (req_active(r) && !req_poll(r)) {
            p = &r->next;
            continue;
        }
        *p = r->next;
        req_drop_comm(r);
        req_free(r);
    }
}

bool req_detached_left(void)
{
    for (struct req *r = detached; r; r = r->next) {
        if (!r->recv)
            return true;
    }
    return false;
}
