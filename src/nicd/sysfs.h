/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ports of this machine's NICs, as sysfs has them: RDMA devices
 * (class/infiniband), Slingshot's (class/cxi), and network interfaces that are
 * named.  Of a port whose own state says nothing (RoCE, iWARP, EFA, cxi) the
 * network interface behind it tells.  Virtual functions are left out.
 *
 * What is there is listed anew every SYSFS_LIST looks, or when a port does not
 * answer; in between a look reads three files of a port.
 */
#ifndef SF_NICD_SYSFS_H
#define SF_NICD_SYSFS_H

#include "base/errbuf.h"
#include "health/nic.h"

#define SYSFS_LIST 10 /* looks, and between two of counters */

struct sysfs_options {
    const char *root; /* "/", or where a tree is that has sys and dev */
    /* Patterns as of the shell, apart by commas; NULL: none.  watch: RDMA
     * devices that are watched instead of all, and interfaces.  ignore: what
     * is not, although it would be.  A device, a port ("mlx5_0/1"), or the
     * interface behind it. */
    const char *watch, *ignore;
    /* "DEVICE:INTERFACE,..", where sysfs does not say what is behind. */
    const char *behind;
    /* Patterns of drivers ("mlx5_core"; "virtual": none): sysfs_rdma() has the
     * devices of these. */
    const char *drivers;
};

/* An RDMA device, and what verbs know it by ("uverbs0"). */
struct sysfs_rdma {
    char device[SF_NIC_NAME_MAX], verbs[SF_NIC_NAME_MAX];
};

struct sysfs;
struct sysfs *sysfs_open(const struct sysfs_options *options,
                         struct errbuf *err);
void sysfs_close(struct sysfs *s);

/* A look: how many ports there are. */
size_t sysfs_look(struct sysfs *s, struct nic_port ports[SF_NIC_PORTS_MAX]);

/* The RDMA devices of these drivers that have a port that is watched, and what
 * verbs need; *n of them, until the next look.  NULL: they were not listed
 * since the last call. */
const struct sysfs_rdma *sysfs_rdma(struct sysfs *s, size_t *n);

#endif
