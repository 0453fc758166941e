/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What impid is told when it starts: NUL-terminated "key=value" records on a
 * file descriptor (secrets travel in it, so neither argv nor environment).
 */
#ifndef SF_IMPID_CONF_H
#define SF_IMPID_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/netaddr.h"
#include "impi/chan_open.h"
#include "impi/site.h"
#include "impi/taskmap.h"

struct impid_conf {
    struct netaddr server;
    struct netaddr foreign; /* port 0: none; else the IMPI server that
                             * joins us with clients started elsewhere, */
    uint32_t client;        /* where this component is that client */
    uint8_t secret[IMPI_CHAN_SECRET_SIZE];
    struct taskmap map;
    char *nodes;       /* names of the map's nodes, "n0,n1", or empty */
    char *step;        /* "JOB.STEP", for messages and munge */
    char *dir;         /* the step directory of this agent */
    char *munge;       /* munged's socket, empty: the default */
    char *pmix_module; /* path of impid_pmix.so */
    char *conf;        /* path of impi.conf */
    char *coll_xsize, *coll_maxlinear; /* IMPI_COLL_* of the user, or NULL */
    char *auth_key;                    /* IMPI_AUTH_KEY of the user, or NULL */
    char *auth_none;                   /* IMPI_AUTH_NONE likewise */
    char *reorder;                     /* SLURM_IMPI_REORDER */
    char *clients;                     /* SLURM_IMPI_CLIENTS */
    char *direct;                      /* SLURM_IMPI_DIRECT */
    char *ifname;                      /* IMPI_IFNAME of the user, or NULL */
    char *log;                         /* directory to log to, or NULL */
    struct impi_site site;
    uint32_t job, stepid; /* the numbers of step */
    uint32_t component;   /* number of this component */
    uint32_t offset;      /* its first world rank, */
    uint32_t ntasks;      /* its number of ranks, */
    uint32_t nodeid;      /* this node's number in it */
    uint32_t node;        /* this agent: the map's number of the node */
    uint32_t direct_max;  /* of the user, else the site's, else what the limit
                           * of descriptors allows */
    bool by_node;         /* SLURM_IMPI_CLIENTS=node */
    bool watch;           /* leave with the last task, nobody will stop us */
};

/* Read all of fd and parse.  Returns 0, or -1 with text. */
int impid_conf_read(struct impid_conf *conf, int fd, struct errbuf *err);
/* The same from memory: text[0..len), every record ends with a NUL. */
int impid_conf_parse(struct impid_conf *conf, const char *text, size_t len,
                     struct errbuf *err);
void impid_conf_free(struct impid_conf *conf);

/* Name of a node of the map into buf; "nodeN" when names were not given. */
void impid_conf_node_name(const struct impid_conf *conf, uint32_t node,
                          char *buf, size_t size);

#endif
