/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors that travel with a message over a Unix socket.
 */
#ifndef SF_BASE_FD_PASS_H
#define SF_BASE_FD_PASS_H

#include <stddef.h>
#include <sys/types.h>

struct ucred;

/* Send buf[0..len), at least one byte, with copies of fds[0..nfds), at most
 * SF_FD_PASS_MAX.  flags as for send(2); there is never a SIGPIPE.  Returns the
 * number of bytes sent, or -1 with errno of sendmsg(2): ETOOMANYREFS if too
 * many descriptors of this user are on their way. */
ssize_t fd_pass_send(int sock, const void *buf, size_t len, const int *fds,
                     size_t nfds, int flags);

/* Receive at most len bytes, and up to nfds (at most SF_FD_PASS_MAX)
 * descriptors, which are close-on-exec and belong to the caller.  fds[] is
 * filled from the first on and is -1 where none came: the sender sent fewer, or
 * this process may open no more (MSG_CTRUNC).  Descriptors beyond nfds are
 * closed.  With cred (SO_PASSCRED is set on the socket) *cred is the sender,
 * all zero if the kernel did not say.  flags as for recv(2).  Returns the
 * number of bytes, 0 at the end (and for an empty message, whose descriptors
 * are closed), or -1 with errno of recvmsg(2). */
ssize_t fd_pass_receive(int sock, void *buf, size_t len, int *fds, size_t nfds,
                        struct ucred *cred, int flags);

#endif
