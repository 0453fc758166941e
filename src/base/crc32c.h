/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CRC-32C (Castagnoli, reflected, as in iSCSI), by the processor's own
 * instruction where there is one.  The link's CRC-8 lets one broken packet of
 * 256 through; this is what a datagram is believed by.
 */
#ifndef SF_BASE_CRC32C_H
#define SF_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Go on from crc (0 to begin) over buf[0..len). */
uint32_t crc32c(uint32_t crc, const void *buf, size_t len);
/* The same without the instruction; for the test that compares both. */
uint32_t crc32c_plain(uint32_t crc, const void *buf, size_t len);

#endif
