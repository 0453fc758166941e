/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One connection to a process of another client, for the files that know how
 * its bytes go: link_share.c, link_fabric.c, link_socket.c.  conns.c owns all
 * links: it opens, drives and closes them.
 */
#ifndef LIBIMPI_LINK_H
#define LIBIMPI_LINK_H

#include <sys/uio.h>

#include "base/guests.h"
#include "impi/chan_fabric.h"
#include "impi/chan_open.h"
#include "impi/chan_share.h"
#include "impi/channel.h"
#include "libimpi/conns.h"

/* Bytes taken from one link before the next one has its turn. */
#define LINK_ROUND_BYTES (1u << 20)

enum link_state {
    LINK_PAUSED,     /* was closed during opening: tries again */
    LINK_CONNECTING, /* TCP under way */
    LINK_OPENING,    /* proving each other */
    LINK_AGREEING,   /* proved; may its way be used? */
    LINK_AWAITED,    /* the peer's own connection is on its way */
    LINK_OPEN,
    LINK_CLOSED
};

struct link;

/* A way for the data of an open link (memory, libfabric, the socket), and how
 * two ends agree on it. */
struct way {
    const char *(*name)(void);
    uint32_t flag; /* of the world, without which it is not tried; 0: always */
    bool socket;   /* data go by the link's socket: the kernel has the news */
    bool apart;    /* write() fetches data that a callback moves */

    /* ---- agreeing, over the socket; begin NULL: nothing to agree on ---- */
    void (*begin)(struct link *l, bool initiator);
    /* Judge what was said, find out what is to be said. */
    void (*look)(struct link *l);
    size_t (*output)(const struct link *l, const uint8_t **data);
    void (*sent)(struct link *l, size_t n);
    bool (*done)(const struct link *l);
    size_t (*want)(const struct link *l); /* at most LINK_WANT_MAX */
    int (*input)(struct link *l, const void *in, size_t n, struct errbuf *err);
    /* When done: 1 this way, 0 another one, -1 the peer cannot be trusted. */
    int (*end)(struct link *l, struct errbuf *err);

    /* ---- moving ---- */
    /* Returns the bytes written; 0: none for now, or never again, which the
     * reading side finds. */
    size_t (*write)(struct link *l, const struct iovec *iov, int n);
    bool (*in)(struct link *l);
    /* Short messages, see conns_put() and conns_take(); looks: at most. */
    size_t (*put)(struct link *l, const void *head,
                  const struct impi_buffer *buf);
    bool (*take)(struct link *l, const struct impi_recv *want, unsigned looks,
                 struct impi_status *status);

    /* ---- sleeping; NULL: the kernel wakes ---- */
    bool (*sleep)(struct link *l); /* false: there is news */
    void (*awake)(struct link *l); /* no bell is needed from here on */
    void (*bell)(struct link *l);  /* it may have rung: is the peer there? */

    /* ---- the end; NULL: nothing to do ---- */
    /* The channel is finished: may the connection be closed? */
    bool (*leave)(struct link *l);
    void (*drop)(struct link *l);
};

#define LINK_WANT_MAX IMPI_FABRIC_END_MAX
_Static_assert(IMPI_SHARE_OFFER_SIZE <= LINK_WANT_MAX, "the longer of both");

extern const struct way way_share, way_fabric, way_socket;

struct link {
    uint32_t peer; /* a guest: not known */
    int fd;        /* its data, or only its bell: see way */
    const struct way *way;
    bool initiator;
    enum link_state state;
    bool blocked;   /* takes no more for now */
    unsigned tries; /* that were closed during opening */
    time_t since;   /* the first one */
    int64_t again;  /* LINK_PAUSED: when, of clock_ms() */
    struct guest guest;
    struct impi_chan_open open;
    uint64_t key_out, key_in;
    struct impi_channel *channel;
    bool gone; /* without the socket's: it is at its end */
    /* Memory, or NULL: not by this. */
    struct impi_chan_share sharing;
    struct share *share;
    /* libfabric, or NULL, and what is said of it. */
    struct impi_chan_fabric meeting;
    struct fabric_peer *fabric;
    int64_t meet_by;              /* LINK_AGREEING: of clock_ms(), or 0 */
    bool leave_said, leave_heard; /* all that came is taken */
};

/* Its channel has failed, and says why. */
void link_failed(struct link *l);

/* Where the next bytes go, of which `ready` are here.  A header with much
 * behind it is taken alone, so that its data go straight to their place. */
int link_places(struct link *l, struct iovec *iov, size_t ready);

#endif
