/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* accept4, SO_PEERCRED */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/ctl.h"
#include "base/ctl_priv.h"
#include "base/local.h"

bool ctl_may_write(uid_t uid, uid_t own, gid_t control, bool has_control,
                   const gid_t *groups, size_t n)
{
    if (uid == 0 || uid == own)
        return true;
    for (size_t i = 0; has_control && i < n; i++) {
        if (groups[i] == control)
            return true;
    }
    return false;
}

/* The peer's groups as the kernel noted them at connect(). */
static bool peer_may_write(const struct ctl_server *s, int fd,
                           const struct ctl_peer *peer)
{
    gid_t groups[SF_CTL_GROUPS_MAX + 1];
    socklen_t len = SF_CTL_GROUPS_MAX * sizeof(gid_t);
    size_t n = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0)
        n = len / sizeof(gid_t);
    groups[n++] = peer->gid;
    return ctl_may_write(peer->uid, geteuid(), s->group, s->has_group, groups,
                         n);
}

/* Make room for one more: a user has so many, and when there are too many in
 * all the one that came first goes. */
static bool make_room(struct ctl_server *s, uid_t uid)
{
    struct ctl_conn *c, *oldest = NULL;
    uint32_t of_user = 0;

    LIST_FOREACH(c, &s->conns, link)
    {
        of_user += c->peer.uid == uid;
        oldest = c;
    }
    if (uid != 0 && of_user >= SF_CTL_USER_CLIENTS_MAX)
        return false;
    if (s->nconns >= SF_CTL_CLIENTS_MAX)
        ctl_conn_free(oldest);
    return true;
}

static void on_connect(struct ev_loop *loop, ev_io *w, int events)
{
    struct ctl_server *s = w->data;
    int fd = accept_or_shed(s->fd, &s->spare);
    struct ucred cred;
    socklen_t len = sizeof(cred);
    struct ctl_peer peer;

    if (fd < 0)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
        !make_room(s, cred.uid)) {
        close(fd);
        return;
    }
    peer = (struct ctl_peer){cred.uid, cred.gid, cred.pid};
    ctl_conn_new(s, fd, &peer, peer_may_write(s, fd, &peer));
}

static int find_group(struct ctl_server *s, const char *name,
                      struct errbuf *err)
{
    struct group *g;

    if (!name || !*name)
        return 0;
    errno = 0;
    g = getgrnam(name);
    if (!g) {
        errprintf(err, "ControlGroup: there is no group %s", name);
        errno = EINVAL;
        return -1;
    }
    s->group = g->gr_gid;
    s->has_group = true;
    return 0;
}

/* The path never points at nothing, and a socket left behind does no harm. */
static int bind_path(struct ctl_server *s, struct errbuf *err)
{
    const char *path = s->options.path;
    struct stat st;

    s->fd = local_listen_over(path, SOCK_STREAM);
    if (s->fd < 0 || lstat(path, &st) < 0)
        return errprintf(err, "%s: %m", path);
    s->dev = st.st_dev;
    s->ino = st.st_ino;
    return 0;
}

struct ctl_server *ctl_server_new(struct ev_loop *loop,
                                  const struct ctl_options *options,
                                  struct errbuf *err)
{
    struct ctl_server *s = calloc(1, sizeof(*s));
    int e;

    if (s)
        s->options = *options;
    if (!s || !(s->options.path = strdup(options->path))) {
        free(s);
        errprintf(err, "out of memory");
        errno = ENOMEM;
        return NULL;
    }
    s->loop = loop;
    s->fd = -1;
    LIST_INIT(&s->conns);
    if (find_group(s, options->group, err) < 0 || bind_path(s, err) < 0) {
        e = errno;
        ctl_server_free(s);
        errno = e;
        return NULL;
    }
    ev_io_init(&s->listener, on_connect, s->fd, EV_READ);
    s->listener.data = s;
    ev_io_start(loop, &s->listener);
    return s;
}

void ctl_server_free(struct ctl_server *s)
{
    struct stat st;

    if (!s)
        return;
    while (!LIST_EMPTY(&s->conns))
        ctl_conn_free(LIST_FIRST(&s->conns));
    if (s->ino && lstat(s->options.path, &st) == 0 && st.st_dev == s->dev &&
        st.st_ino == s->ino)
        unlink(s->options.path);
    if (s->fd >= 0) {
        if (s->ino)
            ev_io_stop(s->loop, &s->listener);
        close(s->fd);
        accept_spare_close(&s->spare);
    }
    free((char *)s->options.path);
    free(s);
}
