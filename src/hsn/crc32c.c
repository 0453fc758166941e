/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "hsn/crc32c.h"

#define POLYNOMIAL 0x82f63b78u /* reflected 0x1edc6f41 */

uint32_t crc32c_plain(uint32_t crc, const void *buf, size_t len)
{
    const uint8_t *p = buf;

    crc = ~crc;
    while (len-- > 0) {
        crc ^= *p++;
        for (int i = 0; i < 8; i++)
            crc = crc >> 1 ^ (POLYNOMIAL & -(crc & 1));
    }
    return ~crc;
}

#if defined(__x86_64__) && defined(__GNUC__)

/* Three streams at once hide the latency of the instruction (3 cycles, one a
 * cycle).  Their sums are joined by multiplying with x^(8 * LANE), which is
 * what LANE zero bytes after a stream do to its sum. */
#define LANE 1024

/* a * b modulo the polynomial, reflected. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;

    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = b >> 1 ^ (POLYNOMIAL & -(b & 1));
    }
    return product;
}

/* x^(8 * LANE) modulo the polynomial. */
#define LANE_POWER 0xe4172b16u

__attribute__((target("sse4.2"))) static uint64_t
run(uint64_t crc, const uint8_t **p, size_t words)
{
    uint64_t word;

    while (words-- > 0) {
        memcpy(&word, *p, 8);
        crc = __builtin_ia32_crc32di(crc, word);
        *p += 8;
    }
    return crc;
}

__attribute__((target("sse4.2"))) static uint32_t three_lanes(uint32_t crc,
                                                              const uint8_t *p)
{
    uint64_t a = crc, b = 0, c = 0, wa, wb, wc;

    for (size_t i = 0; i < LANE; i += 8) {
        memcpy(&wa, p + i, 8);
        memcpy(&wb, p + LANE + i, 8);
        memcpy(&wc, p + 2 * LANE + i, 8);
        a = __builtin_ia32_crc32di(a, wa);
        b = __builtin_ia32_crc32di(b, wb);
        c = __builtin_ia32_crc32di(c, wc);
    }
    b ^= multiply((uint32_t)a, LANE_POWER);
    return (uint32_t)c ^ multiply((uint32_t)b, LANE_POWER);
}

__attribute__((target("sse4.2"))) static uint32_t
crc32c_fast(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t sum;

    crc = ~crc;
    for (; len >= 3 * LANE; len -= 3 * LANE, p += 3 * LANE)
        crc = three_lanes(crc, p);
    sum = run(crc, &p, len / 8);
    for (len %= 8; len > 0; len--)
        sum = __builtin_ia32_crc32qi((uint32_t)sum, *p++);
    return ~(uint32_t)sum;
}

uint32_t crc32c(uint32_t crc, const void *buf, size_t len)
{
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_fast(crc, buf, len);
    return crc32c_plain(crc, buf, len);
}

#else

uint32_t crc32c(uint32_t crc, const void *buf, size_t len)
{
    return crc32c_plain(crc, buf, len);
}

#endif
