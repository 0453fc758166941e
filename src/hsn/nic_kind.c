/* SPDX-License-Identifier: BSD-3-Clause
 * An interface of any kind.
 */
#include <errno.h>
#include <string.h>

#include "hsn/nic_priv.h"

struct hsn_nic *hsn_nic_open(const struct hsn_nic_options *o,
                             struct errbuf *err)
{
    if (strcmp(o->kind, "none") == 0)
        return hsn_nic_none_open(o, err);
    if (strcmp(o->kind, "ring") == 0)
        return hsn_nic_unix_open(o, SOFTLINK_RING, err);
    if (strcmp(o->kind, "seqpacket") == 0)
        return hsn_nic_unix_open(o, SOFTLINK_SEQPACKET, err);
    if (strcmp(o->kind, "udp") == 0)
        return hsn_nic_udp_open(o, err);
    if (strcmp(o->kind, "ethernet") == 0)
        return hsn_nic_ether_open(o, err);
    errno = EINVAL;
    errprintf(err, "no such kind of interface: %s", o->kind);
    return NULL;
}

bool hsn_nic_simulated(const struct hsn_nic *nic)
{
    return strcmp(nic->kind, "ethernet") != 0;
}

void hsn_nic_close(struct hsn_nic *nic)
{
    if (nic)
        nic->close(nic->self);
}
