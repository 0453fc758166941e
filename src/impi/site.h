/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a site says in impi.conf (doc/impi.md).  Read by srun's plugin and by
 * impid, always as the job's user; it holds no secrets.
 */
#ifndef SF_IMPI_SITE_H
#define SF_IMPI_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

struct impi_site {
    char *port_range; /* as written, or NULL */
    char *network;    /* "10.1.0.0/16": listen there, or NULL */
    char *advertise;  /* address of impi-server as nodes see it, or NULL */
    long direct_max;  /* connections of one process; -1: not said */
    long fanout;      /* of the tree of agents */
    char *fabric;     /* providers of libfabric in order, or NULL */
    char *port_users; /* "same", "any" or NULL, which is same */
    bool debug;
    bool shared_memory;        /* between clients on one machine; default yes */
    bool any_user;             /* of PortUsers: worlds of others may meet */
    uint16_t port_lo, port_hi; /* of port_range; 0,0: any */
};

/* Read path; a file that does not exist gives the defaults.  Returns 0; or
 * -1 with errno EINVAL or that of reading, and the first error as text. */
int impi_site_read(struct impi_site *site, const char *path,
                   struct errbuf *err);
void impi_site_free(struct impi_site *site);

/* "4000-4100".  0, or -1 EINVAL. */
int impi_port_range_parse(uint16_t *lo, uint16_t *hi, const char *text,
                          struct errbuf *err);

#endif
