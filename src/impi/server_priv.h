/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside the IMPI server: server.c (connections, events, time), session.c
 * (the conversation on one connection).
 */
#ifndef SF_IMPI_SERVER_PRIV_H
#define SF_IMPI_SERVER_PRIV_H

#include "base/bytebuf.h"
#include "impi/collect.h"
#include "impi/server.h"
#include "impi/wire.h"

#define IMPI_PEER_NAME_SIZE 64

/* Conversation; also what a message calls the place where it broke. */
enum session_state {
    SESSION_AUTH,   /* nothing but AUTH may come */
    SESSION_ANSWER, /* the method's answer is awaited */
    SESSION_VERIFY, /* it is here, and being verified */
    SESSION_IMPI,   /* authenticated, has no rank yet */
    SESSION_COLL,   /* has a rank, sends labels */
    SESSION_DONE,   /* said DONE */
    SESSION_FINI,   /* said FINI: may go */
    SESSION_CLOSED, /* being closed by us */
};

/* What the bytes that are being gathered are. */
enum session_item {
    ITEM_HEADER,  /* IMPI_Cmd */
    ITEM_PAYLOAD, /* of a command that we know */
    ITEM_SKIP,    /* of one that we do not */
    ITEM_ANSWER,  /* of the authentication method */
    ITEM_ANSWER_LEN,
};

struct session_command; /* of session.c */

struct session {
    bool used;
    enum session_state state;
    int client;     /* rank, or -1 */
    uint64_t since; /* counted time at connect */
    uint64_t order; /* which connection it was */
    char peer[IMPI_PEER_NAME_SIZE];
    const struct impi_auth_method *method;
    uint8_t nonce[IMPI_AUTH_NONCE_SIZE];
    enum session_item item;
    struct impi_cmd cmd;
    const struct session_command *command; /* that cmd names */
    size_t want;                           /* bytes of the item still to come */
    struct bytebuf in, out;
    struct bytebuf held; /* what came while it was verified */
};

struct impi_server {
    struct impi_server_options options;
    struct impi_collect collect;
    struct session *sessions; /* by connection number */
    int nsessions;
    int by_rank[SF_IMPI_CLIENTS_MAX]; /* connection, or -1 */
    uint32_t njoined, nfini;
    uint64_t nconnects;
    bool started, ready, finished, noticed;
    bool moved; /* bytes came since the last tick */
    bool have_time;
    uint64_t now;     /* last told */
    uint64_t counted; /* time that counts for authentication */
    uint64_t waited;  /* time that counts for the notice */
};

/* session.c */
void session_begin(struct session *c, const char *peer, const uint8_t *nonce,
                   uint64_t since);
void session_end(struct session *c);
void session_retry(struct impi_server *s, int conn);
void session_input(struct impi_server *s, int conn, const uint8_t *data,
                   size_t len);

/* server.c: what a conversation does to the job.  Each may break other
 * connections. */
void server_event(struct impi_server *s, enum impi_server_event_type type,
                  int client, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* End this connection, for the reason given: SF-E code and text. */
void server_break(struct impi_server *s, int conn, const char *code,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int server_join(struct impi_server *s, int conn, int32_t rank,
                struct errbuf *err);
void server_collected(struct impi_server *s);
void server_fini(struct impi_server *s, int conn);

#endif
