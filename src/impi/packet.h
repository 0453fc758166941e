/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The 128-byte packet header of IMPI section 3.5, table 3.1.  Of a control
 * packet only the fields that the table names mean anything; real peers leave
 * garbage in the others, lengths included: impi_packet_payload() knows.
 */
#ifndef SF_IMPI_PACKET_H
#define SF_IMPI_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/world.h"

#define IMPI_PACKET_SIZE 128
#define IMPI_PROC_SIZE (IMPI_HOSTID_SIZE + 8) /* IMPI_Proc on the wire */

enum impi_packet_type {
    IMPI_PK_DATA = 0,
    IMPI_PK_DATASYNC = 1,
    IMPI_PK_PROTOACK = 2,
    IMPI_PK_SYNCACK = 3,
    IMPI_PK_CANCEL = 4,
    IMPI_PK_CANCELYES = 5,
    IMPI_PK_CANCELNO = 6,
    IMPI_PK_FINI = 7,
    IMPI_PK_TYPES
};

struct impi_packet {
    uint32_t type;
    uint32_t len;                 /* of the user data behind the header */
    uint8_t src[IMPI_PROC_SIZE];  /* in wire form */
    uint8_t dest[IMPI_PROC_SIZE]; /* in wire form */
    uint64_t srqid;
    uint64_t drqid;
    uint64_t msglen;
    int32_t lsrank;
    int32_t tag;
    uint64_t cid;
    uint64_t seqnum;
    int64_t count;
    uint64_t dtype;
    uint64_t reserved;
};

void impi_packet_encode(uint8_t out[IMPI_PACKET_SIZE],
                        const struct impi_packet *pk);
/* The same in place: from values of this machine to wire form. */
void impi_packet_to_wire(struct impi_packet *pk);
/* Any 128 bytes decode; what they mean is the engine's to judge. */
void impi_packet_decode(struct impi_packet *pk,
                        const uint8_t in[IMPI_PACKET_SIZE]);

/* Wire form of an IMPI_Proc. */
void impi_proc_encode(uint8_t out[IMPI_PROC_SIZE],
                      const uint8_t hostid[IMPI_HOSTID_SIZE], uint64_t pid);

/* Bytes of user data that follow this header: none behind control packets,
 * whatever they say. */
static inline uint32_t impi_packet_payload(const struct impi_packet *pk)
{
    return pk->type <= IMPI_PK_DATASYNC ? pk->len : 0;
}

/* Are the numbers of this header in the order of a little-endian machine?
 * True only where one of them cannot be right, but could be with its bytes
 * exchanged. */
#define IMPI_PACKET_SWAPPED                                                    \
    "sends the numbers of its packets in the byte order of its machine; IMPI " \
    "has them big-endian"
bool impi_packet_is_swapped(const struct impi_packet *pk, uint32_t maxdatalen,
                            uint32_t nprocs);
/* A control packet with what the first generation leaves in the fields that
 * mean nothing there: lengths of 128, rank and tag -1. */
bool impi_packet_is_old(const struct impi_packet *pk);

/* "DATASYNC len 5 msglen 9 ...": the fields that mean something for its type.
 * Cuts at size, returns the length without the cut. */
int impi_packet_format(char *buf, size_t size, const struct impi_packet *pk);

#endif
