/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the parts of requests: an open one holds its communicator.
 */
#ifndef LIBIMPI_REQ_PRIV_H
#define LIBIMPI_REQ_PRIV_H

#include "libimpi/req.h"

static inline void req_hold_comm(struct req *r, struct impi_comm *c)
{
    r->comm = c;
    comm_hold(c);
}

static inline void req_drop_comm(struct req *r)
{
    if (r->comm)
        comm_release(r->comm);
    r->comm = NULL;
}

#endif
