/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends reports to switchmgrd: glue for the event loop of hsnd, nicd, mapperd
 * and sources of link status.  Reports go over TCP ("host:port", "host" for
 * port SF_REPORT_PORT) or a unix socket ("/path"), in the form of
 * doc/health-report.md: the first of a connection in a MUNGE credential, which
 * also carries a key, later ones under that key.
 *
 * Nothing here waits: while switchmgrd is away, reports queue, the oldest are
 * dropped, and the connection is retried at growing intervals.  Sealing the
 * first report asks the local munged (about 80 us, or seconds when that hangs);
 * this happens outside the loop if there is a clerk.
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
    const char *munge_socket; /* NULL: the default */
    uid_t reader;             /* who can open reports; SEAL_ANY_UID: anybody */
    struct clerk *clerk;      /* NULL: ask munged in the loop */
    void (*lost)(const char *why); /* called when a report could not be
                                      sealed and is lost; may be NULL */
};

struct sender_stats {
    uint64_t put, sent, accepted, refused, dropped, connects;
    uint32_t queued;
};

/* Resolves a host name, once (this may block).  NULL with errno and text. */
struct sender *sender_new(struct ev_loop *loop,
                          const struct sender_options *options,
                          struct errbuf *err);
/* The clerk, if any, must have been freed before. */
void sender_free(struct sender *sender);

/* Queue a report; it is sealed when its turn to be sent comes.  0, or -1 with
 * errno and text: it cannot be encoded, or there is no memory. */
int sender_put(struct sender *sender, const struct report *report,
               struct errbuf *err);

void sender_stats(const struct sender *sender, struct sender_stats *stats);

#endif
