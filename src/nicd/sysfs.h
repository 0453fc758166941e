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
};

struct sysfs;
struct sysfs *sysfs_open(const struct sysfs_options *options,
                         struct errbuf *err);
void sysfs_close(struct sysfs *s);

/* A look: how many ports there are. */
size_t sysfs_look(struct sysfs *s, struct nic_port ports[SF_NIC_PORTS_MAX]);

#endif
