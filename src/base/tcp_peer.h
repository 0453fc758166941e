/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who is at the other end of a TCP connection: a user of this machine, as its
 * kernel says (sock_diag(7)), or another machine.
 */
#ifndef SF_BASE_TCP_PEER_H
#define SF_BASE_TCP_PEER_H

#include "base/guests.h"

/* Never fails: what cannot be found out is GUEST_UNKNOWN.  *netlink is the
 * caller's, 0 at first: a socket that is kept. */
void tcp_peer_ask(int fd, int *netlink, struct guest_source *out);
/* guests_choose() among connections by TCP, each guest with its fd. */
struct guest *tcp_peer_choose(struct guests *guests, int *netlink);
void tcp_peer_close(int *netlink);

#endif
