/* SPDX-License-Identifier: BSD-3-Clause
 * Who may open what.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "hsnd/hsnd.h"

/* Root, or in the group. */
static bool privileged(int fd, uid_t uid, gid_t gid, bool has_gid)
{
    gid_t groups[256];
    socklen_t len = sizeof(groups);
    struct ucred cred;
    socklen_t cred_len = sizeof(cred);

    if (uid == 0)
        return true;
    if (!has_gid)
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) == 0 &&
        cred.gid == gid)
        return true;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
        return false;
    for (size_t i = 0; i < len / sizeof(groups[0]); i++)
        if (groups[i] == gid)
            return true;
    return false;
}

bool hsnd_may_raw(const struct conn *c)
{
    const struct hsnd *d = c->d;

    return privileged(c->fd, c->uid, d->raw_gid, d->has_raw_gid);
}

bool hsnd_may_dgram(const struct conn *c)
{
    const struct hsnd *d = c->d;

    return privileged(c->fd, c->uid, d->dgram_gid, d->has_dgram_gid);
}

int hsnd_refuse(struct conn *c, const char *what, uint32_t number, int error)
{
    if (!hsnd_count(c->d, &c->d->counts.refused_port))
        return error;
    log_info("uid %u may not open %s %#x: %s", (unsigned)c->uid, what, number,
             strerror(error));
    return error;
}
