/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The IMPI server (section 2.3.2 to 2.3.7) as a pure engine: bytes of each
 * connection and time in, bytes and events out.  One engine serves one job:
 * AUTH, IMPI, COLL, DONE, FINI of nclients clients, in parallel.
 *
 * The caller accepts connections, moves their bytes, and closes one when
 * impi_server_open() turns false and its output is sent.  A connection that
 * breaks a rule is closed by that; what it costs others depends on when:
 *   before IMPI was answered  nothing: its rank is free again (REFUSED)
 *   after                     the job has lost a client (LOST)
 *
 * Time is milliseconds of any monotonic clock.  It only counts while it is
 * told often and while other connections move (impi_server_tick), so that a
 * machine or job that was suspended loses nobody.
 */
#ifndef SF_IMPI_SERVER_H
#define SF_IMPI_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "impi/auth.h"

enum impi_server_event_type {
    IMPI_SERVER_WARNING,  /* text for the user; nothing happened */
    IMPI_SERVER_REFUSED,  /* a connection was turned away */
    IMPI_SERVER_STARTED,  /* all have joined, IMPI was answered */
    IMPI_SERVER_READY,    /* all said DONE, DONE was answered */
    IMPI_SERVER_LOST,     /* a client went without FINI: the job is broken */
    IMPI_SERVER_LEFT,     /* a client sent FINI */
    IMPI_SERVER_FINISHED, /* all have sent FINI */
};

struct impi_server_event {
    enum impi_server_event_type type;
    int client;       /* rank in the job, or -1 */
    const char *text; /* with a code of doc/errors.md; "" when there is none */
};

/* Called from within the calls below; must not call back into the server. */
typedef void impi_server_event_f(void *arg,
                                 const struct impi_server_event *event);

struct impi_server_options {
    uint32_t nclients;                      /* 1..32 */
    const struct impi_auth_method *methods; /* best first, borrowed */
    size_t nmethods;
    /* Send a label outside the standard 14 only to clients that sent it:
     * some peers end on a label that they do not know (IM-075). */
    bool withhold;
    uint64_t auth_timeout_ms; /* counted time; 0: none */
    uint64_t notice_ms;       /* counted time until missing clients are named */
    impi_server_event_f *event;
    void *arg;
};

struct impi_server;

/* Returns the server; or NULL with errno EINVAL (nclients, no method: the
 * text says) or ENOMEM. */
struct impi_server *
impi_server_create(const struct impi_server_options *options,
                   struct errbuf *err);
void impi_server_destroy(struct impi_server *s);

/* A connection was accepted.  peer: its network address, for messages.
 * nonce: random, fresh.  Returns its number, to be used below until
 * impi_server_close(); or -1 ENOMEM (close it).  The oldest connection that
 * has not authenticated may be closed to make room. */
int impi_server_connect(struct impi_server *s, const char *peer,
                        const uint8_t nonce[IMPI_AUTH_NONCE_SIZE]);

/* Bytes came.  What comes on a connection that is to be closed is dropped. */
/* Turn one away that has not authenticated, for there are more than
 * SF_IMPI_PENDING_MAX of them; which one is the caller's choice, who sees where
 * they come from. */
void impi_server_crowded(struct impi_server *s, int conn);

void impi_server_input(struct impi_server *s, int conn, const void *data,
                       size_t len);

/* An answer is being verified: read no more from it until then. */
bool impi_server_waits(const struct impi_server *s, int conn);
/* A method that could not tell may know more by now. */
void impi_server_retry(struct impi_server *s, int conn);

/* Bytes to send, borrowed until the next call; and that n were sent. */
size_t impi_server_output(const struct impi_server *s, int conn,
                          const uint8_t **data);
void impi_server_sent(struct impi_server *s, int conn, size_t n);

/* It has authenticated. */
bool impi_server_proved(const struct impi_server *s, int conn);

/* False: send what is left, then close it and call impi_server_close(). */
bool impi_server_open(const struct impi_server *s, int conn);

/* The connection is closed: by us, or because the peer did. */
void impi_server_close(struct impi_server *s, int conn);

/* Tell the time, every second or so. */
void impi_server_tick(struct impi_server *s, uint64_t now_ms);

bool impi_server_started(const struct impi_server *s);
bool impi_server_finished(const struct impi_server *s);

#endif
