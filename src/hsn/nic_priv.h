/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the kinds of interfaces.
 */
#ifndef SF_HSN_NIC_PRIV_H
#define SF_HSN_NIC_PRIV_H

#include "hsn/nic_link.h"
#include "net/packet.h"
#include "net/softlink.h"

struct hsn_nic *hsn_nic_none_open(const struct hsn_nic_options *o,
                                  struct errbuf *err);
struct hsn_nic *hsn_nic_unix_open(const struct hsn_nic_options *o,
                                  enum softlink_carrier carrier,
                                  struct errbuf *err);
struct hsn_nic *hsn_nic_udp_open(const struct hsn_nic_options *o,
                                 struct errbuf *err);
struct hsn_nic *hsn_nic_ether_open(const struct hsn_nic_options *o,
                                   struct errbuf *err);

/* Packets that are done; every interface has one of these. */
struct hsn_nic_done {
    uint32_t slot[1024];
    size_t n;
};
size_t hsn_nic_reap(struct hsn_nic_done *d, struct hsn_sent *sent, size_t max);

/* Length of a packet as on the wire. */
size_t hsn_nic_packet_len(const struct hsn_tx *tx);
/* Write it: route, type, parts, CRC. */
void hsn_nic_packet_put(uint8_t *at, const struct hsn_tx *tx);
/* A packet came, in buf: make rx lend it.  False: dropped and counted. */
bool hsn_nic_packet_get(struct hsn_nic *nic, struct hsn_rx *rx,
                        const uint8_t *buf, size_t len);

/* Credentials by MUNGE. */
struct softlink_ops hsn_nic_credentials(const struct hsn_nic_options *o);
/* Copies of the options' strings, freed by _free(). */
int hsn_nic_options_copy(struct hsn_nic_options *to,
                         const struct hsn_nic_options *o);
void hsn_nic_options_free(struct hsn_nic_options *o);
/* Say a change of the link to the log. */
void hsn_nic_link(struct hsn_nic *nic, const struct hsn_nic_options *o, bool up,
                  const char *why);

#endif
