/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Telling the service manager how a daemon fares: sd_notify(3)'s protocol, one
 * datagram to the socket that $NOTIFY_SOCKET names.  Started without a service
 * manager, a daemon says nothing.  Never blocks.
 */
#ifndef SF_BASE_NOTIFY_H
#define SF_BASE_NOTIFY_H

#define NOTIFY_READY "READY=1"
#define NOTIFY_STOPPING "STOPPING=1"

/* 1: said; 0: nobody wants to know; -1 with errno: could not be said (EINVAL:
 * $NOTIFY_SOCKET is neither a path nor an abstract name, or too long). */
int notify_manager(const char *state);

#endif
