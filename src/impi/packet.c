/* SPDX-License-Identifier: BSD-3-Clause */
#include <byteswap.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "impi/packet.h"

/* The struct is laid out as the wire is: no padding, fields in place. */
_Static_assert(sizeof(struct impi_packet) == IMPI_PACKET_SIZE, "layout");
_Static_assert(offsetof(struct impi_packet, srqid) == 56, "layout");
_Static_assert(offsetof(struct impi_packet, lsrank) == 80, "layout");
_Static_assert(offsetof(struct impi_packet, reserved) == 120, "layout");

/* Context ids are given out one after the other: none is so large, and those of
 * a world that is swapped have as many zero bits below. */
#define CID_LARGE 48
#define CID_SMALL 16

/* Exchange the bytes of every integer; its own inverse. */
static inline void swap_fields(struct impi_packet *pk)
{
    pk->type = be32toh(pk->type);
    pk->len = be32toh(pk->len);
    pk->srqid = be64toh(pk->srqid);
    pk->drqid = be64toh(pk->drqid);
    pk->msglen = be64toh(pk->msglen);
    pk->lsrank = (int32_t)be32toh((uint32_t)pk->lsrank);
    pk->tag = (int32_t)be32toh((uint32_t)pk->tag);
    pk->cid = be64toh(pk->cid);
    pk->seqnum = be64toh(pk->seqnum);
    pk->count = (int64_t)be64toh((uint64_t)pk->count);
    pk->dtype = be64toh(pk->dtype);
    pk->reserved = be64toh(pk->reserved);
}

void impi_packet_to_wire(struct impi_packet *pk)
{
    swap_fields(pk);
}

void impi_packet_encode(uint8_t out[IMPI_PACKET_SIZE],
                        const struct impi_packet *pk)
{
    struct impi_packet wire = *pk;

    swap_fields(&wire);
    memcpy(out, &wire, sizeof(wire));
}

void impi_packet_decode(struct impi_packet *pk,
                        const uint8_t in[IMPI_PACKET_SIZE])
{
    memcpy(pk, in, sizeof(*pk));
    swap_fields(pk);
}

void impi_proc_encode(uint8_t out[IMPI_PROC_SIZE],
                      const uint8_t hostid[IMPI_HOSTID_SIZE], uint64_t pid)
{
    pid = htobe64(pid);
    memcpy(out, hostid, IMPI_HOSTID_SIZE);
    memcpy(out + IMPI_HOSTID_SIZE, &pid, sizeof(pid));
}

bool impi_packet_is_swapped(const struct impi_packet *pk, uint32_t maxdatalen,
                            uint32_t nprocs)
{
    uint32_t rank = (uint32_t)pk->lsrank, tag = (uint32_t)pk->tag;

    if (pk->type >= IMPI_PK_TYPES)
        return bswap_32(pk->type) < IMPI_PK_TYPES;
    if (pk->type > IMPI_PK_DATASYNC)
        return false;
    return (pk->len > maxdatalen && bswap_32(pk->len) <= maxdatalen) ||
           (rank >= nprocs && bswap_32(rank) < nprocs) ||
           (tag > INT32_MAX && bswap_32(tag) <= INT32_MAX) ||
           (pk->cid >> CID_LARGE > 0 && bswap_64(pk->cid) >> CID_SMALL == 0);
}

bool impi_packet_is_old(const struct impi_packet *pk)
{
    return pk->type > IMPI_PK_DATASYNC && pk->type < IMPI_PK_TYPES &&
           pk->len == IMPI_PACKET_SIZE && pk->msglen == IMPI_PACKET_SIZE &&
           pk->lsrank == -1 && pk->tag == -1;
}

static uint64_t proc_pid(const uint8_t proc[IMPI_PROC_SIZE])
{
    uint64_t pid;

    memcpy(&pid, proc + IMPI_HOSTID_SIZE, sizeof(pid));
    return be64toh(pid);
}

int impi_packet_format(char *buf, size_t size, const struct impi_packet *pk)
{
    static const char *const names[IMPI_PK_TYPES] = {
        "DATA",   "DATASYNC",  "PROTOACK", "SYNCACK",
        "CANCEL", "CANCELYES", "CANCELNO", "FINI"};
    uint64_t src = proc_pid(pk->src), dest = proc_pid(pk->dest);

    if (pk->type >= IMPI_PK_TYPES)
        return snprintf(buf, size, "type %" PRIu32 "?", pk->type);
    switch (pk->type) {
    case IMPI_PK_DATA:
    case IMPI_PK_DATASYNC:
        return snprintf(buf, size,
                        "%s %" PRIu64 ">%" PRIu64 " len %" PRIu32 " of %" PRIu64
                        " rank %" PRId32 " tag %" PRId32 " cid %" PRIu64
                        " srqid %" PRIx64 " drqid %" PRIx64,
                        names[pk->type], src, dest, pk->len, pk->msglen,
                        pk->lsrank, pk->tag, pk->cid, pk->srqid, pk->drqid);
    case IMPI_PK_SYNCACK:
        return snprintf(buf, size,
                        "SYNCACK %" PRIu64 ">%" PRIu64 " srqid %" PRIx64
                        " drqid %" PRIx64,
                        src, dest, pk->srqid, pk->drqid);
    case IMPI_PK_CANCEL:
    case IMPI_PK_CANCELYES:
    case IMPI_PK_CANCELNO:
        return snprintf(buf, size, "%s %" PRIu64 ">%" PRIu64 " srqid %" PRIx64,
                        names[pk->type], src, dest, pk->srqid);
    case IMPI_PK_PROTOACK:
        return snprintf(buf, size, "PROTOACK %" PRIu64 ">%" PRIu64, src, dest);
    default:
        return snprintf(buf, size, "FINI");
    }
}
