/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside the joining client: join.c (conversation), join_labels.c (what we
 * contribute), join_world.c (what is made of everybody's contributions).
 */
#ifndef SF_IMPI_JOIN_PRIV_H
#define SF_IMPI_JOIN_PRIV_H

#include "base/bytebuf.h"
#include "impi/join.h"

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
    JOIN_LABELS,  /* sent the standard labels */
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
    int current;                             /* index of the label being read */
    struct join_label labels[IMPI_N_LABELS]; /* parallel to impi_labels */
    struct bytebuf in, out;
    struct impi_world world;
};

/* join_labels.c */
void join_send_version(struct impi_join *j);
void join_send_standard(struct impi_join *j);
void join_send_extended(struct impi_join *j);
uint32_t join_versions(const struct impi_join *j); /* how many we offer */

/* join_world.c */
const struct join_label *join_label(const struct impi_join *j, int32_t label);
/* All clients contributed to the label. */
int join_need(const struct impi_join *j, int32_t label, struct errbuf *err);
int join_pick_version(struct impi_join *j, struct errbuf *err);
/* Whether every client offers extensions that we know. */
bool join_agree_extended(const struct impi_join *j);
/* Check every label and make the world.  0 or -1. */
int join_make_world(struct impi_join *j, struct errbuf *err);

#endif
