/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The client's side of the IMPI start-up, as a pure engine: bytes from the
 * server in, bytes to the server out, at the end the joined world.
 *
 *   j = impi_join_create(&options, &err);
 *   move bytes with impi_join_output(), _sent(), _input() until
 *       impi_join_done(); every -1 ends it, with the reason in err;
 *   impi_join_take_world(j, &world);
 *   ... the job runs, keep the connection ...
 *   impi_join_fini(j); flush; close.
 *
 * Extensions (doc/impi-extensions.md) are said only when options.extensions
 * is set, and used only when every client said them.
 */
#ifndef SF_IMPI_JOIN_H
#define SF_IMPI_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "impi/auth.h"
#include "impi/wire.h"
#include "impi/world.h"

/* Version of the channels between processes that X_EXT offers; what came with
 * the second (chan_share.h), the third (X_CPUS: flat collective calls), the
 * fourth (rma.h), the fifth (windows of several processes' memory), the
 * sixth (chan_fabric.h), the seventh (io_plan.h), the eighth (windows that
 * the network reads and writes), the ninth (collective calls of few rounds,
 * schedule.h), the tenth (locks of windows that operations bring along) and the
 * eleventh (collective calls that send few bytes). */
#define IMPI_EXT_VERSION 11
#define IMPI_EXT_SHARE 2
#define IMPI_EXT_FLAT 3
#define IMPI_EXT_RMA 4
#define IMPI_EXT_RMA_SHARE 5
#define IMPI_EXT_FABRIC 6
#define IMPI_EXT_FILES 7
#define IMPI_EXT_RMA_FABRIC 8
#define IMPI_EXT_FEW_ROUNDS 9
#define IMPI_EXT_RMA_EARLY 10
#define IMPI_EXT_FEW_BYTES 11

struct impi_join_host {
    uint8_t addr[IMPI_HOSTID_SIZE];
    uint16_t port; /* where it accepts other hosts; 0 when it never does */
    uint32_t nprocs;
};

struct impi_join_proc {
    uint8_t hostid[IMPI_HOSTID_SIZE];
    uint64_t pid;                   /* unique among all with that hostid */
    uint32_t rank;                  /* wanted rank in MPI_COMM_WORLD */
    uint8_t addr[IMPI_HOSTID_SIZE]; /* where it listens; extended only */
    uint16_t port;
    uint16_t cpus; /* processors that it and its neighbours may use */
};

struct impi_join_options {
    uint32_t client;   /* own rank among the clients */
    uint32_t nclients; /* what is expected; 0: whatever the server says */
    const struct impi_auth_method *methods; /* best first, borrowed */
    size_t nmethods;
    bool extensions; /* say X_EXT */
    /* Take the standard's order of ranks when it differs from the wanted one
     * and extensions are not agreed; else that is an error. */
    bool reorder;
    const struct impi_version *versions; /* ascending; NULL: 0.0 alone */
    uint32_t nversions;
    uint32_t maxdatalen;
    int32_t tagub;
    int32_t coll_xsize, coll_maxlinear; /* -1: the default */
    uint32_t ackmark, hiwater;          /* of each of our hosts */
    uint8_t repr[IMPI_REPR_SIZE];       /* impi_repr_own() */
    uint8_t secret[IMPI_SECRET_SIZE];   /* put into the world */
    const struct impi_join_host *hosts; /* copied */
    uint32_t nhosts;
    const struct impi_join_proc *procs; /* host by host; copied */
    uint32_t nprocs;
};

/* Sensible values for everything but the numbers and arrays. */
void impi_join_defaults(struct impi_join_options *o);

/* The user's choice of a collective threshold: a number 0..2^31-1; NULL or
 * empty leaves *value.  name is for the message.  0, or -1 EINVAL. */
int impi_join_threshold(int32_t *value, const char *name, const char *text,
                        struct errbuf *err);

struct impi_join;

/* Returns NULL with errno EINVAL (no method available, impossible numbers)
 * or ENOMEM. */
struct impi_join *impi_join_create(const struct impi_join_options *o,
                                   struct errbuf *err);
void impi_join_destroy(struct impi_join *j);

/* Bytes from the server.  Returns 0; or -1 EPROTO or ENOMEM: close, the job
 * can not start. */
int impi_join_input(struct impi_join *j, const void *data, size_t len,
                    struct errbuf *err);
/* The server closed or broke the connection.  Returns 0 when that is all
 * right (after FINI), else -1 with the reason. */
int impi_join_eof(struct impi_join *j, struct errbuf *err);

size_t impi_join_output(const struct impi_join *j, const uint8_t **data);
void impi_join_sent(struct impi_join *j, size_t n);

/* DONE came and all is negotiated. */
bool impi_join_done(const struct impi_join *j);
/* Move the world out; once, after done. */
void impi_join_take_world(struct impi_join *j, struct impi_world *world);
/* All hosts of the client are closed: queue FINI. */
void impi_join_fini(struct impi_join *j);

#endif
