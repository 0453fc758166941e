/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends reports to switchmgrd: glue for the event loop of hsnd, mapperd and
 * sources of link status.  Each report is sealed in one MUNGE credential of
 * its own and sent over TCP ("host:port", "host" for port
 * SF_REPORT_PORT) or a unix socket ("/path") as a 32-bit big-endian length and
 * the credential's text; switchmgrd answers each with one byte, 'A' accepted
 * or 'R' refused.
 *
 * Nothing here waits: while switchmgrd is away reports queue, the oldest are
 * dropped, and the connection is tried again at growing distances.
 * Sealing asks the local munged (about 80 us, or seconds when that hangs):
 * beside the loop, if there is a clerk.
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
    struct clerk *clerk;           /* NULL: munged is asked by sender_put() */
    void (*lost)(const char *why); /* clerk: a report could not be sealed */
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

/* Seal and queue.  0; or -1 with errno and text: it cannot be encoded, or
 * munged does not answer (the report is lost; tell the log, go on).  With a
 * clerk, lost() says the latter, later. */
int sender_put(struct sender *sender, const struct report *report,
               struct errbuf *err);

void sender_stats(const struct sender *sender, struct sender_stats *stats);

#endif
