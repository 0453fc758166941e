/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A sender that keeps to no rule about descriptors, and how many there are.
 */
#ifndef SF_UNIT_MANY_FDS_H
#define SF_UNIT_MANY_FDS_H

#include <dirent.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define MANY_FDS 8 /* more than anybody takes */

/* Send text[0..len) with fds[0..n), n at most MANY_FDS, whatever
 * fd_pass_send() would allow.  As sendmsg(2). */
static inline ssize_t send_many_fds(int to, const void *text, size_t len,
                                    const int *fds, size_t n)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(MANY_FDS * sizeof(int))];
    } control = {.space = {0}};
    struct iovec iov = {(void *)text, len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    if (n > 0) {
        msg.msg_control = control.space;
        msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
    }
    return sendmsg(to, &msg, MSG_NOSIGNAL);
}

/* Descriptors of this process, and a constant; 0: not to be found out. */
static inline unsigned count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

#endif
