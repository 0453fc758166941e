/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the connections: what net.c (rounds and the end), net_link.c (life
 * of a link), net_open.c (opening) and net_pump.c (data) share.  Not for
 * others.
 */
#ifndef LIBIMPI_NET_PRIV_H
#define LIBIMPI_NET_PRIV_H

#include <stddef.h>
#include <time.h>

#include "base/accept.h"
#include "impi/chan_open.h"
#include "impi/chan_share.h"
#include "impi/channel.h"
#include "libimpi/net.h"
#include "libimpi/share.h"
#include "libimpi/state.h"

struct pollfd;

/* Connections that strangers may hold half open, beyond one for each rank. */
#ifndef GUESTS_EXTRA
#define GUESTS_EXTRA 64
#endif
/* How long a half open connection counts as something that is under way, s:
 * a stranger who only holds one shall not slow the program down for ever. */
#define GUEST_NEWS 10
/* How often an attempt is made again that the peer dropped half way. */
#define TRIES_MAX 8
/* Above this many, ask the kernel which are ready instead of trying each. */
#define TRY_EACH_MAX 4
/* Look for new connections at every n-th round without any other reason. */
#define LOOK_EVERY 32
/* The same where looking for data takes no system call, and how often the
 * bells are looked at then, which also tell of a dead peer. */
#define LOOK_EVERY_SHARED 1024
/* Looks into shared memory that make a round of net_look(). */
#define LOOKS 16
/* Where some links have shared memory: look at sockets every n-th round. */
#define SOCKETS_EVERY 8
/* Bytes taken from one connection before the next one has its turn. */
#define ROUND_BYTES (1u << 20)
/* A round at least at every n-th short message that goes without one. */
#define SKIP_MOST 32
/* In place of a rank: everybody, behind impid. */
#define PEER_RELAY UINT32_MAX

enum link_state {
    LINK_CONNECTING, /* TCP under way */
    LINK_OPENING,    /* proving each other */
    LINK_SHARING,    /* proved; agreeing on shared memory */
    LINK_AWAITED,    /* the peer's own connection is on its way */
    LINK_OPEN,
    LINK_CLOSED
};

struct link {
    uint32_t peer; /* a guest: not known */
    int fd;        /* its data, or only its bell: see share */
    enum link_state state;
    bool blocked; /* the socket takes no more for now */
    unsigned tries;
    time_t since; /* a guest: when it came */
    struct impi_chan_open open;
    struct impi_chan_share sharing;
    struct share *share; /* NULL: its data take the socket */
    bool gone;           /* with share: the socket is at its end */
    struct impi_channel *channel;
};

struct net {
    int listener;
    struct accept_rest rest; /* of the listener */
    bool told_full;          /* no descriptors: said so */
    int silence;             /* seconds after which a machine is lost */
    time_t watch_at;         /* when to look for that */
    struct link **by_peer;   /* [nprocs] */
    struct link **links;     /* all that is not a guest, dense */
    size_t nlinks;
    size_t nopening;     /* of them: not open yet */
    size_t nshared;      /* of them: with shared memory */
    bool sharing_off;    /* between clients the user or site wants none */
    bool asleep;         /* those with shared memory may ring their bells */
    struct link **guest; /* oldest first */
    size_t nguests;
    size_t guests_max;
    struct pollfd *fds; /* listener, guests, links */
    unsigned round;
    bool finishing;
};
extern struct net net;

/* ---- net_link.c ---- */

void link_set_up_socket(int fd);
struct link *link_create(int fd, enum link_state state);
void link_close_fd(struct link *l);
/* It is the one to this peer. */
void link_add(struct link *l, uint32_t peer);
void link_fail(struct link *l, const char *why);
/* The opening is through: hand over to the engine. */
void link_opened(struct link *l);
time_t net_now_s(void);
/* Lose what has not answered for too long.  Looks only now and then. */
void net_watch(void);
/* -1 while it rests, for there was no descriptor left.  Who sleeps on it looks
 * again before long. */
int net_listener(void);

/* ---- net_open.c ---- */

bool link_drive_opening(struct link *l);
bool net_look_for_guests(void);

/* ---- net_share.c ---- */

/* The peer is proved: open the link, or agree on shared memory first. */
void link_proved(struct link *l, bool initiator);
bool link_drive_sharing(struct link *l);
/* As link_pump_out() and the reading half of link_drive(), by the rings. */
bool link_share_out(struct link *l);
bool link_share_in(struct link *l);
/* Cheap: would link_share_in() find something on any link? */
bool net_share_has_news(void);
/* About to sleep: false when a ring has news. */
bool net_share_sleep(void);
/* Awake again, or only to see whether peers are still there. */
void net_share_awake(void);

/* ---- net_pump.c ---- */

bool link_pump_out(struct link *l);
/* Its channel has failed, and says why. */
void link_pump_failed(struct link *l);
/* That peer broke the protocol: said at once, nobody else knows. */
void link_breach(uint32_t peer);
/* Whatever its state wants.  True when something moved. */
bool link_drive(struct link *l);

#endif
