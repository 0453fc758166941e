/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <wchar.h>

#include "impi/external32.h"
#include "impi/ldouble.h"
#include "impi/swap.h"

static const struct {
    size_t wire, native;
} sizes[IMPI_X32_KINDS] = {
    [IMPI_X32_BYTE] = {1, 1},
    [IMPI_X32_INT16] = {2, 2},
    [IMPI_X32_INT32] = {4, 4},
    [IMPI_X32_INT64] = {8, 8},
    [IMPI_X32_LONG] = {4, sizeof(long)},
    [IMPI_X32_ULONG] = {4, sizeof(unsigned long)},
    [IMPI_X32_WCHAR] = {2, sizeof(wchar_t)},
    [IMPI_X32_LDOUBLE] = {16, sizeof(long double)},
};

size_t impi_x32_wire_size(enum impi_x32 kind)
{
    return sizes[kind].wire;
}

size_t impi_x32_native_size(enum impi_x32 kind)
{
    return sizes[kind].native;
}

/* The kinds that only change their byte order; the same both ways. */
static void swap(enum impi_x32 kind, void *to, const void *from, size_t count)
{
    switch (kind) {
    case IMPI_X32_INT16:
        impi_swap16(to, from, count);
        break;
    case IMPI_X32_INT32:
        impi_swap32(to, from, count);
        break;
    case IMPI_X32_INT64:
        impi_swap64(to, from, count);
        break;
    default:
        if (count > 0)
            memcpy(to, from, count);
    }
}

/* Each: convert all, return the index of the first that does not fit, or
 * count. */
#define NARROW_LOOP(name, native_type, wire_type, swap)                        \
    static size_t name(uint8_t *restrict to, const uint8_t *restrict from,     \
                       size_t count, long long *bad)                           \
    {                                                                          \
        size_t first = count;                                                  \
                                                                               \
        for (size_t i = 0; i < count; i++) {                                   \
            native_type v;                                                     \
            wire_type w;                                                       \
                                                                               \
            memcpy(&v, from + i * sizeof(v), sizeof(v));                       \
            w = (wire_type)v;                                                  \
            if ((native_type)w != v && first == count) {                       \
                first = i;                                                     \
                *bad = (long long)v;                                           \
            }                                                                  \
            w = (wire_type)swap(w);                                            \
            memcpy(to + i * sizeof(w), &w, sizeof(w));                         \
        }                                                                      \
        return first;                                                          \
    }

#define SWAP32(v) htobe32((uint32_t)(v))
#define SWAP16(v) htobe16((uint16_t)(v))

NARROW_LOOP(pack_long, long, int32_t, SWAP32)
NARROW_LOOP(pack_ulong, unsigned long, uint32_t, SWAP32)
NARROW_LOOP(pack_wchar, wchar_t, uint16_t, SWAP16)

static int out_of_range(enum impi_x32 kind, long long bad, uint64_t index,
                        struct errbuf *err)
{
    if (kind == IMPI_X32_LONG)
        errprintf(err,
                  "MPI_LONG has 4 bytes in external32: element %" PRIu64
                  " = %lld does not fit",
                  index, bad);
    else if (kind == IMPI_X32_ULONG)
        errprintf(err,
                  "MPI_UNSIGNED_LONG has 4 bytes in external32: element"
                  " %" PRIu64 " = %llu does not fit",
                  index, (unsigned long long)bad);
    else
        errprintf(err,
                  "MPI_WCHAR has 2 bytes in external32: element %" PRIu64
                  " = %#llx does not fit",
                  index, (unsigned long long)bad);
    errno = ERANGE;
    return -1;
}

static void pack_ldouble(uint8_t *wire, const uint8_t *native, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        long double v;

        memcpy(&v, native + i * sizeof(v), sizeof(v));
        impi_ldouble_pack(wire + i * 16, v);
    }
}

int impi_x32_pack(enum impi_x32 kind, void *wire, const void *native,
                  size_t count, uint64_t first, struct errbuf *err)
{
    size_t bad = count;
    long long value = 0;

    switch (kind) {
    case IMPI_X32_LONG:
        bad = pack_long(wire, native, count, &value);
        break;
    case IMPI_X32_ULONG:
        bad = pack_ulong(wire, native, count, &value);
        break;
    case IMPI_X32_WCHAR:
        bad = pack_wchar(wire, native, count, &value);
        break;
    case IMPI_X32_LDOUBLE:
        pack_ldouble(wire, native, count);
        break;
    default:
        swap(kind, wire, native, count);
    }
    return bad < count ? out_of_range(kind, value, first + bad, err) : 0;
}

#define WIDEN_LOOP(name, native_type, wire_type, unsigned_type, swap)          \
    static void name(uint8_t *restrict to, const uint8_t *restrict from,       \
                     size_t count)                                             \
    {                                                                          \
        for (size_t i = 0; i < count; i++) {                                   \
            unsigned_type w;                                                   \
            native_type v;                                                     \
                                                                               \
            memcpy(&w, from + i * sizeof(w), sizeof(w));                       \
            v = (native_type)(wire_type)swap(w);                               \
            memcpy(to + i * sizeof(v), &v, sizeof(v));                         \
        }                                                                      \
    }

WIDEN_LOOP(unpack_long, long, int32_t, uint32_t, be32toh)
WIDEN_LOOP(unpack_ulong, unsigned long, uint32_t, uint32_t, be32toh)
WIDEN_LOOP(unpack_wchar, wchar_t, uint16_t, uint16_t, be16toh)

static void unpack_ldouble(uint8_t *native, const uint8_t *wire, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        long double v = impi_ldouble_unpack(wire + i * 16);

        memcpy(native + i * sizeof(v), &v, sizeof(v));
    }
}

void impi_x32_unpack(enum impi_x32 kind, void *native, const void *wire,
                     size_t count)
{
    switch (kind) {
    case IMPI_X32_LONG:
        unpack_long(native, wire, count);
        break;
    case IMPI_X32_ULONG:
        unpack_ulong(native, wire, count);
        break;
    case IMPI_X32_WCHAR:
        unpack_wchar(native, wire, count);
        break;
    case IMPI_X32_LDOUBLE:
        unpack_ldouble(native, wire, count);
        break;
    default:
        swap(kind, native, wire, count);
    }
}
