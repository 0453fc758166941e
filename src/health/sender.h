/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends reports to switchmgrd: glue for the event loop of hsnd, nicd, mapperd
 * and sources of link status.  They go over TCP ("host:port", "host" for port
 * SF_REPORT_PORT) or a unix socket ("/path"), in the form of
 * doc/health-report.md: the first of a connection in a MUNGE credential, which
 * also brings a key, those that follow under that key.
 *
 * Nothing here waits: while switchmgrd is away reports queue, the oldest are
 * dropped, and the connection is tried again at growing distances.
 * Sealing the first asks the local munged (about 80 us, or seconds when that
 * hangs): beside the loop, if there is a clerk.
 */
#ifndef SF_HEALTH_SENDER_H
#define SF_HEALTH_SENDER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "health/report.h"

struct clerk;
struct ev_loop;
struct sender;

struct sender_options {
    const char *to;
    const char *munge_socket;      /* NULL: the default */
    uid_t reader;                  /* who can open it; SEAL_ANY_UID: anybody */
    struct clerk *clerk;           /* NULL: munged is asked in the loop */
    void (*lost)(const char *why); /* a report could not be sealed, and is
                                      lost; NULL: nobody wants to know */
};

struct sender_stats {
    uint64_t put, sent, accepted, refused, dropped, connects;
    uint32_t queued;
};

/* A host name is resolved here, once (this may block).  NULL with errno and
 * text. */
struct sender *sender_new(struct ev_loop *loop,
                          const struct sender_options *options,
                          struct errbuf *err);
/* The clerk, if any, was freed before. */
void sender_free(struct sender *sender);

/* Queue it; it is sealed when it is its turn to be sent.  0; or -1 with errno
 * and text: it cannot be encoded, or no memory. */
int sender_put(struct sender *sender, const struct report *report,
               struct errbuf *err);

void sender_stats(const struct sender *sender, struct sender_stats *stats);

#endif
