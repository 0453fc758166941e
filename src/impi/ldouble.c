/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Both binary128 and the x87 format have 15 bits of exponent with one bias.
 * They differ in the fraction: 112 bits behind an implied 1, against 63 behind
 * an explicit one.
 */
#include <float.h>
#include <stdbool.h>
#include <string.h>

#include "base/be.h"
#include "impi/ldouble.h"

#if LDBL_MANT_DIG == 64 /* x87: 64-bit significand, then sign and exponent */

#define EXP_MAX 0x7fff

/* A binary128: 48 high bits of the fraction, 64 low bits. */
struct quad {
    bool negative;
    unsigned exponent;
    uint64_t high, low;
};

static void quad_store(uint8_t wire[16], const struct quad *q)
{
    be_store64(wire, (uint64_t)q->negative << 63 | (uint64_t)q->exponent << 48 |
                         q->high);
    be_store64(wire + 8, q->low);
}

static void quad_load(struct quad *q, const uint8_t wire[16])
{
    uint64_t head = be_load64(wire);

    q->negative = head >> 63;
    q->exponent = (unsigned)(head >> 48) & EXP_MAX;
    q->high = head & UINT64_C(0xffffffffffff);
    q->low = be_load64(wire + 8);
}

#define TOP_BIT (UINT64_C(1) << 63)

void impi_ldouble_pack(uint8_t wire[16], long double value)
{
    struct quad q = {0};
    uint64_t significand;
    uint16_t head;

    memcpy(&significand, &value, 8);
    memcpy(&head, (const char *)&value + 8, 2);
    q.negative = head >> 15;
    q.exponent = head & EXP_MAX;
    /* A subnormal of the x87 is one of binary128, but for the implied bit. */
    if (q.exponent == 0 && (significand & TOP_BIT))
        q.exponent = 1;
    significand &= ~TOP_BIT;
    q.high = significand >> 15;
    q.low = significand << 49;
    quad_store(wire, &q);
}

/* The 63 bits below the leading one, rounded; carry into *exponent. */
static uint64_t round_fraction(const struct quad *q, unsigned *exponent)
{
    const uint64_t half = UINT64_C(1) << 48, rest = q->low & (2 * half - 1);
    uint64_t fraction = q->high << 15 | q->low >> 49;

    if (rest > half || (rest == half && (fraction & 1)))
        fraction++;
    if (fraction & TOP_BIT) {
        fraction = 0;
        ++*exponent;
    }
    return fraction;
}

long double impi_ldouble_unpack(const uint8_t wire[16])
{
    long double value = 0;
    unsigned exponent;
    uint64_t significand;
    struct quad q;
    uint16_t head;

    quad_load(&q, wire);
    exponent = q.exponent;
    if (q.exponent == EXP_MAX) { /* infinity, or a NaN that stays one */
        significand = q.high << 15 | q.low >> 49;
        if (significand == 0 && q.low != 0)
            significand = 1;
    } else {
        significand = round_fraction(&q, &exponent);
    }
    if (exponent > 0)
        significand |= TOP_BIT;
    head = (uint16_t)(q.negative << 15 | exponent);
    memcpy(&value, &significand, 8);
    memcpy((char *)&value + 8, &head, 2);
    return value;
}

#elif LDBL_MANT_DIG == 113 /* binary128 itself */

void impi_ldouble_pack(uint8_t wire[16], long double value)
{
    unsigned __int128 bits;

    memcpy(&bits, &value, 16);
    be_store64(wire, (uint64_t)(bits >> 64));
    be_store64(wire + 8, (uint64_t)bits);
}

long double impi_ldouble_unpack(const uint8_t wire[16])
{
    unsigned __int128 bits =
        (unsigned __int128)be_load64(wire) << 64 | be_load64(wire + 8);
    long double value;

    memcpy(&value, &bits, 16);
    return value;
}

#else
#error "this machine's long double is not known"
#endif
