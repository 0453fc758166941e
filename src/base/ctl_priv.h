/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the control socket's server: ctl.c accepts, ctl_conn.c
 * serves one connection.
 */
#ifndef SF_BASE_CTL_PRIV_H
#define SF_BASE_CTL_PRIV_H

#include <ev.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/bytebuf.h"
#include "base/ctl.h"
#include "base/limits.h"

struct ctl_conn {
    LIST_ENTRY(ctl_conn) link;
    struct ctl_server *server;
    struct ctl_peer peer;
    bool may_write;
    bool closing;            /* hang up when the answer is out */
    struct ctl_later *later; /* the answer that is waited for; NULL: none */
    ev_io in, out;
    ev_timer timer; /* idle, or stalled while an answer waits */
    struct bytebuf rx, tx;
    int fd;
};

LIST_HEAD(ctl_conns, ctl_conn);

struct ctl_server {
    struct ev_loop *loop;
    struct ctl_options options; /* path is owned, group unused */
    ev_io listener;
    struct ctl_conns conns;
    gid_t group;
    bool has_group;
    uint32_t nconns;
    uint64_t dev, ino; /* of our socket's name */
    int fd;
    int spare; /* base/accept.h */
};

/* Takes fd over.  NULL: no memory (fd is closed). */
struct ctl_conn *ctl_conn_new(struct ctl_server *server, int fd,
                              const struct ctl_peer *peer, bool may_write);
void ctl_conn_free(struct ctl_conn *conn);

#endif
