/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interfaces of hsnd: the end of a cable into the software fabric
 * (doc/swfab-link.md).  Kinds:
 *
 *   none        no cable: the board talks to itself only
 *   ring        shared-memory rings with swfabd on this machine
 *   seqpacket   a unix socket to it
 *   udp         UDP to it, on any machine: tagged datagrams, sent and
 *               received many at a time (sendmmsg, recvmmsg, GSO, GRO)
 *   ethernet    frames of type 0x88b5 on one interface; the segment must be
 *               trusted
 *
 * All of them copy what they send at once, so a packet is done when it was
 * taken.  While the link is down packets are dropped with ENETDOWN.  This is
 * glue: it has sockets; time is an argument.
 */
#ifndef SF_HSN_NIC_LINK_H
#define SF_HSN_NIC_LINK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/clerk.h"
#include "base/errbuf.h"
#include "hsn/nic.h"

struct hsn_nic_options {
    const char *kind;
    const char *fabric;    /* unix socket; ADDRESS:PORT */
    const char *name;      /* of the cable */
    const char *interface; /* ethernet */
    const char *mac;       /* ethernet: of the other end, aa:bb:.. */
    const char *munge;     /* munged's socket, NULL: the default */
    uint64_t board;
    uid_t service;       /* beside root, who may be at the other end */
    bool trusted;        /* the segment is */
    struct clerk *clerk; /* asks munged beside the loop; NULL: in tick() and
                          * recv().  Free it before the interface. */
    void (*say)(void *arg, bool bad, const char *text); /* for the log */
    void *arg;
};

struct hsn_nic_counters {
    uint64_t dropped_down;   /* to send while there is no link */
    uint64_t dropped_bad;    /* no packet, or wrong CRC */
    uint64_t dropped_route;  /* arrived with route bytes left */
    uint64_t dropped_system; /* the system did not take them */
    uint64_t dropped_tag;    /* tag, counter or session wrong */
    uint64_t crowded;        /* times that some may have found no room here */
    uint64_t flaps;          /* times the link went down */
    uint64_t calls;          /* system calls that moved packets */
};

struct hsn_nic {
    const struct hsn_nic_ops *ops; /* their first argument is self */
    void *self;
    const char *kind;
    bool up;
    struct hsn_nic_counters counters;
    /* The descriptor to poll for reading, -1: none now.  May change in
     * tick(). */
    int (*fd)(void *self);
    /* fd is readable. */
    void (*rung)(void *self);
    /* About to sleep at fd: false when there is work by now.  room: also
     * wake when there is room to send again. */
    bool (*sleep)(void *self, bool room);
    void (*awake)(void *self);
    /* Time passes: calls, repeats, signs of life.  Returns when next. */
    uint64_t (*tick)(void *self, uint64_t now);
    void (*close)(void *self);
};

/* NULL with errno and text: EINVAL unknown kind, missing option, a segment
 * that is not trusted; others.  That nobody is at the other end is no error:
 * the link is down and tick() goes on trying. */
struct hsn_nic *hsn_nic_open(const struct hsn_nic_options *o,
                             struct errbuf *err);
/* While the clerk is in the middle of asking for it nothing is freed. */
void hsn_nic_close(struct hsn_nic *nic);

/* Does its cable lead to software crossbars?  The other end of a ring, a socket
 * or UDP has proved what it is (MUNGE); at the end of an Ethernet cable there
 * may be anything. */
bool hsn_nic_simulated(const struct hsn_nic *nic);

#endif
