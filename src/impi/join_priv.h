/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside the joining client: join.c (conversation), join_labels.c (what we
 * contribute), join_version.c, join_procs.c, join_world.c (what is made of
 * everybody's contributions).
 */
#ifndef SF_IMPI_JOIN_PRIV_H
#define SF_IMPI_JOIN_PRIV_H

#include "base/bytebuf.h"
#include "impi/join.h"

/* Longest payload kept of one label: 16 bytes for each process; versions are
 * far below. */
#define JOIN_LABEL_MAX (16 * SF_IMPI_PROCS_MAX)

enum join_item {
    JOIN_CHOICE,    /* IMPI_Server_auth */
    JOIN_CHALLENGE, /* its follow-on bytes */
    JOIN_HEADER,
    JOIN_SIZE,  /* payload of IMPI */
    JOIN_CHDR,  /* front of COLL */
    JOIN_LABEL, /* rest of a COLL that we know */
    JOIN_SKIP,
};

enum join_phase {
    JOIN_AUTH,    /* offered methods */
    JOIN_WAIT,    /* sent the rank */
    JOIN_VERSION, /* sent VERSION */
    JOIN_LABELS,  /* sends labels and awaits each */
    JOIN_ENDING,  /* sent all labels and DONE */
    JOIN_DONE,
    JOIN_FINI,
};

/* What the server broadcast for one label. */
struct join_label {
    bool got;
    uint32_t mask;
    uint8_t *data; /* allocated */
    uint32_t len;
};

struct impi_join {
    struct impi_join_options o; /* hosts and procs are our own copies */
    enum join_phase phase;
    enum join_item item;
    size_t want;
    struct impi_cmd cmd;
    int method;         /* chosen by the server, -1 before */
    bool refused_early; /* nothing came after our answer */
    uint32_t nclients;
    bool extended;
    struct impi_version version;
    int32_t asked;                           /* label that was sent last */
    int current;                             /* index of the label being read */
    struct join_label labels[IMPI_N_LABELS]; /* parallel to impi_labels */
    struct bytebuf in, out;
    struct impi_world world;
};

/* join_labels.c */
void join_send_version(struct impi_join *j);
/* The next label of version 0.0, behind X_EXT where that is asked for: a server
 * that swallows it answers the other one.  False: there is none. */
bool join_send_next(struct impi_join *j);
/* All that are left, in a world of ours. */
void join_send_rest(struct impi_join *j);

/* Hosts and processes of each client, and where they begin. */
struct join_shape {
    uint32_t host[SF_IMPI_CLIENTS_MAX + 1];
    uint32_t proc[SF_IMPI_CLIENTS_MAX + 1];
};

/* join_version.c */
int join_fail(void); /* -1 with errno EPROTO */
const struct join_label *join_label(const struct impi_join *j, int32_t label);
const char *join_label_name(int32_t label);
/* Element i of a label with 32-bit elements; it must be there. */
uint32_t join_get32(const struct impi_join *j, int32_t label, uint32_t i);
/* Whose part of an array element i is. */
uint32_t join_client_of(const uint32_t *first, uint32_t i);
int join_bad_value(struct errbuf *err, uint32_t client, int32_t label,
                   long long value);
/* All clients contributed to the label. */
int join_need(const struct impi_join *j, int32_t label, struct errbuf *err);
int join_pick_version(struct impi_join *j, struct errbuf *err);
/* Whether every client offers extensions that we know. */
bool join_agree_extended(const struct impi_join *j, uint32_t version);

/* join_procs.c */
int join_take_procs(const struct impi_join *j, const struct join_shape *s,
                    struct impi_world *w, struct errbuf *err);
/* Without X_RANK the order is the standard's: does it suit us? */
int join_check_order(const struct impi_join *j, const struct join_shape *s,
                     struct errbuf *err);
/* (P_IPV6, P_PID) names one process of the whole job (IM-092). */
int join_check_identities(const struct impi_world *w, struct errbuf *err);

/* join_world.c */
/* Check every label and make the world.  0 or -1. */
int join_make_world(struct impi_join *j, struct errbuf *err);

#endif
