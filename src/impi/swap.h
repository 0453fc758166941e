/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrays of 2, 4 or 8 byte elements in the other byte order.
 */
#ifndef SF_IMPI_SWAP_H
#define SF_IMPI_SWAP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Any alignment; the memory must not overlap. */
void impi_swap16(uint8_t *to, const uint8_t *from, size_t count);
void impi_swap32(uint8_t *to, const uint8_t *from, size_t count);
void impi_swap64(uint8_t *to, const uint8_t *from, size_t count);

/* One element each, for loops that step over gaps. */
static inline void impi_swap_one16(uint8_t *to, const uint8_t *from)
{
    uint16_t v;

    memcpy(&v, from, sizeof(v));
    v = __builtin_bswap16(v);
    memcpy(to, &v, sizeof(v));
}

static inline void impi_swap_one32(uint8_t *to, const uint8_t *from)
{
    uint32_t v;

    memcpy(&v, from, sizeof(v));
    v = __builtin_bswap32(v);
    memcpy(to, &v, sizeof(v));
}

static inline void impi_swap_one64(uint8_t *to, const uint8_t *from)
{
    uint64_t v;

    memcpy(&v, from, sizeof(v));
    v = __builtin_bswap64(v);
    memcpy(to, &v, sizeof(v));
}

#endif
