/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which IMPI clients and hosts the processes of one generation make.  A
 * client is the set of processes of one component with one build of one MPI
 * library (and on one node, if so asked); clients are numbered by their lowest
 * world rank.  A host is a client's part on one node; hosts are numbered
 * client by client, within a client in node order.  Every agent computes the
 * same from the same members.
 */
#ifndef SF_IMPI_CLIENTS_H
#define SF_IMPI_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

/* One process, by world rank. */
struct impi_member {
    uint32_t component;
    uint32_t family; /* not 0 */
    uint32_t build;  /* of the library: two versions of one family, or two
                        builds of one version, do not understand each other */
    uint16_t memory; /* which of its node's shared memories it sees, from 0 */
};

struct impi_client_info {
    uint32_t component, family;
    uint32_t nprocs;
    uint32_t first_host, nhosts; /* host ranks first_host .. */
};

struct impi_client_host {
    uint32_t client;
    uint32_t node;
    uint32_t nprocs;
};

/* However the ranks are dealt out to nodes and clients, a node keeps a byte of
 * each. */
struct impi_clients {
    uint32_t nclients, nhosts, nprocs;
    struct impi_client_info *clients;
    struct impi_client_host *hosts; /* by host rank */
    const uint16_t *node;           /* [nprocs] borrowed */
    uint8_t *client;                /* [nprocs] of each world rank */
    uint32_t *before;               /* processes of each client before each
                                       IMPI_CLIENTS_BLOCK ranks */
    uint16_t *memory; /* [nprocs] as the member's; NULL: each has 0 */
};
#define IMPI_CLIENTS_BLOCK 256

/* Form the clients of members[0..n).  node: index of the agent of each; stays
 * for the life of *c.  Returns 0; or -1 with errno and text: EINVAL n is 0 or a
 * member has no family, E2BIG more than SF_IMPI_CLIENTS_MAX clients, ENOMEM;
 * then *c is empty. */
int impi_clients_form(struct impi_clients *c, const struct impi_member *members,
                      const uint16_t *node, uint32_t n, bool by_node,
                      struct errbuf *err);
void impi_clients_free(struct impi_clients *c);

/* Number of the client of a world rank, and its rank among the client's. */
uint32_t impi_clients_client(const struct impi_clients *c, uint32_t rank);
uint32_t impi_clients_native(const struct impi_clients *c, uint32_t rank);

/* For each native rank of a client the number of its host, counted from the
 * client's first.  NULL with errno ENOMEM; free() it. */
uint32_t *impi_clients_native_hosts(const struct impi_clients *c,
                                    uint32_t client);

/* Where the native library of a client may count on shared memory: a number for
 * each native rank, equal for those of one node who see the same memory.  NULL
 * with errno ENOMEM; free() it. */
uint32_t *impi_clients_native_nodes(const struct impi_clients *c,
                                    uint32_t client);

/* The host rank of a client on a node, or -1. */
int64_t impi_clients_host_on(const struct impi_clients *c, uint32_t client,
                             uint32_t node);

#endif
