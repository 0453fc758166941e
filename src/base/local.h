/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sockets of this machine, which have paths.
 */
#ifndef SF_BASE_LOCAL_H
#define SF_BASE_LOCAL_H

#include <sys/types.h>

/* A close-on-exec socket of that type (SOCK_STREAM or SOCK_SEQPACKET, with
 * SOCK_NONBLOCK or without) that is connected to path.  seconds: the longest
 * that connecting, and each call later, may take; 0: no limit.  -1 with errno:
 * ENAMETOOLONG, ECONNREFUSED nobody listens any more, EAGAIN its queue is full,
 * ETIMEDOUT it has stayed full for `seconds`, others of connect(2). */
int local_connect(const char *path, int type, int seconds);

/* A nonblocking, close-on-exec socket of that type that listens at path, and to
 * which everybody may connect: who is served is decided at accept.  A path left
 * behind is taken; the socket listens before it has that path, so that whoever
 * finds it there is heard.  -1 with errno: ENAMETOOLONG, EADDRINUSE somebody
 * listens there. */
int local_listen(const char *path, int type);

/* The same, though somebody may listen there. */
int local_listen_over(const char *path, int type);

/* The same at a path where nothing is; who may connect is left to the caller
 * and its umask.  -1 with errno: EADDRINUSE there is something. */
int local_listen_new(const char *path, int type);

/* A pidfd of the process that connected, whose pid SO_PEERCRED tells.  Before
 * Linux 6.5 the pid may have been used again by then.  -1 with errno: ESRCH or
 * EINVAL when it has ended, EMFILE. */
int local_peer_pidfd(int fd, pid_t pid);

#endif
