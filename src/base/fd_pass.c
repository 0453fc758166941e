/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "base/fd_pass.h"
#include "base/limits.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS_SPACE CMSG_SPACE(SF_FD_PASS_MAX * sizeof(int))

ssize_t fd_pass_send(int sock, const void *buf, size_t len, const int *fds,
                     size_t nfds, int flags)
{
    union {
        struct cmsghdr head;
        char space[FDS_SPACE];
    } control = {.space = {0}};
    struct iovec iov = {(void *)buf, len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    assert(len > 0 && nfds <= SF_FD_PASS_MAX);
    if (nfds > 0) {
        msg.msg_control = control.space;
        msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(nfds * sizeof(int));
        memcpy(CMSG_DATA(&control.head), fds, nfds * sizeof(int));
    }
    return sendmsg(sock, &msg, flags | MSG_NOSIGNAL);
}

/* Take those of one control message; *n counts the ones that are kept. */
static void take_fds(const struct cmsghdr *c, int *fds, size_t nfds, size_t *n)
{
    const unsigned char *at = CMSG_DATA(c);

    for (size_t left = c->cmsg_len - CMSG_LEN(0); left >= sizeof(int);
         left -= sizeof(int), at += sizeof(int)) {
        int fd;

        memcpy(&fd, at, sizeof(fd));
        if (*n < nfds)
            fds[(*n)++] = fd;
        else
            close(fd);
    }
}

ssize_t fd_pass_receive(int sock, void *buf, size_t len, int *fds, size_t nfds,
                        struct ucred *cred, int flags)
{
    union {
        struct cmsghdr head;
        char space[FDS_SPACE + CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec iov = {buf, len};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.space,
                         .msg_controllen = sizeof(control.space)};
    size_t n = 0;
    ssize_t got;

    assert(nfds <= SF_FD_PASS_MAX);
    for (size_t i = 0; i < nfds; i++)
        fds[i] = -1;
    if (cred)
        *cred = (struct ucred){0};
    got = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
        if (c->cmsg_level != SOL_SOCKET)
            continue;
        if (c->cmsg_type == SCM_RIGHTS)
            take_fds(c, fds, got > 0 ? nfds : 0, &n);
        if (cred && c->cmsg_type == SCM_CREDENTIALS &&
            c->cmsg_len == CMSG_LEN(sizeof(*cred)))
            memcpy(cred, CMSG_DATA(c), sizeof(*cred));
    }
    return got;
}
