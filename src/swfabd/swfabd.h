/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The software crossbars as a daemon.  One event loop, and a
 * thread that asks munged.
 *
 *   fabric.c   which crossbars are ours, and a seat for every host at them
 *              and every cable that leads to another daemon
 *   attach.c   the unix socket: hosts come, with rings or packets
 *   rings.c    hosts at rings; when to look, when to sleep
 *   wire.c     UDP and Ethernet: hosts and other daemons by soft links
 *   door.c     whose HELLO is looked at
 *   greet.c    who says HELLO, while munged is asked beside the loop
 *   forward.c  a packet on its way
 *   control.c  verbs of the control socket
 *   conf.c     configuration
 *
 * Nothing waits for a host: every send is nonblocking, and what a host does
 * not take is dropped and counted.
 */
#ifndef SF_SWFABD_SWFABD_H
#define SF_SWFABD_SWFABD_H

#include <ev.h>
#include <netinet/in.h>
#include <linux/if_packet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/clerk.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/ctl.h"
#include "base/errbuf.h"
#include "base/limits.h"
#include "base/log_pace.h"
#include "base/look.h"
#include "base/ring.h"
#include "net/graph.h"
#include "net/softlink.h"
#include "swfab/script.h"
#include "swfab/swfab.h"
#include "swfab/walk.h"
#include "swfabd/door.h"
#include "swfabd/parts.h"

#define SWFABD_BATCH 32 /* packets of one source at a time */

struct swfabd_conf {
    char *net, *parts, *part, *socket, *control, *control_group, *udp,
        *ethernet, *munge, *user, *faults;
    bool trusted_segment;
    long ring_size, seed;
};

/* An address on a wire. */
union swfabd_address {
    struct sockaddr any;
    struct sockaddr_in udp;
    struct sockaddr_ll ether;
};

struct swfabd;
struct swfabd_wire;

/* Where a host attaches, or the end of a cable to another daemon. */
struct swfabd_seat {
    struct swfabd *d;
    uint32_t node; /* of the fabric */
    uint16_t slot; /* own index */
    bool trunk, calls;
    /* 0: nobody; else how packets are passed */
    enum softlink_carrier carrier;
    uint64_t since_ns; /* attached */
    /* unix socket: packets, or the bell of the rings */
    int fd;
    ev_io io;
    struct ring from, to;
    bool must_ring;      /* something was put into `to` */
    uint32_t ring_index; /* in swfabd.rings */
    /* datagrams */
    struct softlink *link;
    bool lent; /* the link, to the clerk: nobody else looks at it */
    struct swfabd_wire *wire;
    union swfabd_address address;
    char peer_name[SOFTLINK_NAME_MAX]; /* trunk: what the other side calls it */
};

/* A datagram socket with what is to be sent at once. */
struct swfabd_wire {
    struct swfabd *d;
    int fd; /* -1: not in use */
    bool ether;
    int ifindex;
    ev_io io;
    unsigned n; /* waiting to be sent */
    struct {
        uint8_t bytes[2 + SOFTLINK_DATAGRAM_MAX];
        size_t len;
        union swfabd_address to;
        uint32_t port; /* to be counted at; NET_NONE: not a packet */
    } out[SWFABD_BATCH];
};

struct swfabd {
    struct swfabd_conf conf;
    struct ev_loop *loop;
    struct net *net; /* the whole fabric; foreign parts without cables to us */
    struct parts parts;
    uint32_t own_part;
    struct swfab *fab;
    struct swfabd_seat *seats;
    uint32_t nseats;
    uint32_t *seat_of; /* by node; NET_NONE */
    struct softlink_ops ops;
    struct clerk *clerk; /* NULL: munged is asked in the loop */
    uid_t peer_uid;
    struct door door;
    int listen_fd;
    int spare; /* base/accept.h */
    ev_io listen_io;
    unsigned ncomers; /* connections without a HELLO yet */
    struct swfabd_wire udp, ether;
    /* seats at rings */
    uint32_t *rings;
    uint32_t nrings;
    bool asleep;
    struct look look;
    ev_idle idle;
    ev_prepare prepare;
    ev_check check;
    ev_timer tick;
    ev_signal sigterm, sigint;
    struct ctl_server *control;
    struct swfab_script script; /* Faults= */
    size_t next_fault;
    ev_timer fault_timer;
    uint64_t started_ns;
    uint64_t refused; /* HELLOs */
    uint64_t refusal_logged_ns;
    struct log_pace comings, troubles; /* of seats */
};

/* conf.c */
void swfabd_conf_init(struct swfabd_conf *conf);
/* Errors are reported one by one.  0 or -1. */
int swfabd_conf_read(struct swfabd_conf *conf, const char *path,
                     conf_error_f *report, void *arg);
void swfabd_conf_free(struct swfabd_conf *conf);

/* fabric.c */
int swfabd_fabric_open(struct swfabd *d, struct errbuf *err);
void swfabd_fabric_close(struct swfabd *d);
/* Cut `net` to the own part: seats for its hosts, and for the cables that
 * leave it.  Takes the net. */
int swfabd_fabric_make(struct swfabd *d, struct net *net, struct errbuf *err);
/* The seat that a HELLO means; NULL with text when there is none or it may
 * not sit there. */
struct swfabd_seat *swfabd_seat_for(struct swfabd *d,
                                    const struct softlink_hello *hello,
                                    struct errbuf *err);
const char *swfabd_seat_name(const struct swfabd_seat *seat);
/* Whoever is there leaves. */
void swfabd_seat_clear(struct swfabd_seat *seat, const char *why);

/* attach.c */
int swfabd_attach_open(struct swfabd *d, struct errbuf *err);
void swfabd_attach_close(struct swfabd *d);
void swfabd_log_refusal(struct swfabd *d, const char *why);

/* rings.c */
void swfabd_rings_open(struct swfabd *d);
void swfabd_rings_add(struct swfabd_seat *seat);
void swfabd_rings_remove(struct swfabd_seat *seat);
void swfabd_rings_ring(struct swfabd *d); /* bells of what was put in */

/* wire.c */
int swfabd_wire_open(struct swfabd *d, struct errbuf *err);
void swfabd_wire_close(struct swfabd *d);
/* End the link of a seat, so that nobody waits for our silence. */
void swfabd_wire_goodbye(struct swfabd_seat *seat);
void swfabd_wire_tick(struct swfabd *d);
void swfabd_wire_flush(struct swfabd *d);
/* A datagram came: what a fuzzer feeds. */
void swfabd_wire_input(struct swfabd_wire *wire, const uint8_t *buf, size_t len,
                       const union swfabd_address *from);
/* Queue a packet; counted when it is sent. */
void swfabd_wire_packet(struct swfabd_seat *seat, const struct swfab_walk *w,
                        const uint8_t *packet);

/* forward.c */
void swfabd_forward(struct swfabd_seat *from, const uint8_t *packet,
                    size_t len);

/* control.c */
extern const struct ctl_verb swfabd_verbs[];
extern const size_t swfabd_nverbs;
int swfabd_control_open(struct swfabd *d, struct errbuf *err);

#endif
