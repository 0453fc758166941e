/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host's end of a soft link, for test programs: attaches to swfabd in any
 * of the ways of doc/swfab-link.md and passes packets, blocking.
 */
#ifndef SF_TESTS_SWFAB_NIC_H
#define SF_TESTS_SWFAB_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/ring.h"
#include "net/softlink.h"

struct nic_options {
    const char *carrier; /* ring, seqpacket, udp, ether */
    const char *to;      /* path; A.B.C.D:PORT; IF/MAC */
    const char *name;
    const char *munge; /* socket of munged */
    uint64_t address;
};

struct nic;

/* Attach, within ten seconds.  NULL with text. */
struct nic *nic_open(const struct nic_options *o, struct errbuf *err);
void nic_close(struct nic *nic);

bool nic_send(struct nic *nic, const void *packet, size_t len);
/* The next packet into buf[0..NET_PACKET_MAX); its length, 0: none within
 * timeout_ms, or the fabric is gone. */
size_t nic_recv(struct nic *nic, uint8_t *buf, int timeout_ms);

#endif
