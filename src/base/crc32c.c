/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "base/crc32c.h"

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

#include <immintrin.h>

/* Three streams at once hide the latency of the instruction (3 cycles, one a
 * cycle): long ones, then short ones.  Their sums are joined by a product with
 * x^(8n), which is what n bytes of zeros after a stream do to its sum; the
 * product of two reflected sums, and the instruction upon it, make x^33 of
 * that by themselves. */
#define LONG 1024
#define SHORT 128
#define LONG_POWER 0x170076fau /* x^(8 * LONG - 33) */
#define SHORT_POWER 0xd3b6092u /* x^(8 * SHORT - 33) */

#define FAST __attribute__((target("sse4.2,pclmul")))

FAST static uint64_t behind(uint64_t sum, uint32_t power)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)sum),
                                           _mm_cvtsi32_si128((int)power), 0);

    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

FAST static uint64_t run(uint64_t crc, const uint8_t **p, size_t words)
{
    uint64_t word;

    while (words-- > 0) {
        memcpy(&word, *p, 8);
        crc = _mm_crc32_u64(crc, word);
        *p += 8;
    }
    return crc;
}

FAST static uint64_t three_lanes(uint64_t a, const uint8_t *p, size_t lane,
                                 uint32_t power)
{
    uint64_t b = 0, c = 0, wa, wb, wc;

    for (size_t i = 0; i < lane; i += 8) {
        memcpy(&wa, p + i, 8);
        memcpy(&wb, p + lane + i, 8);
        memcpy(&wc, p + 2 * lane + i, 8);
        a = _mm_crc32_u64(a, wa);
        b = _mm_crc32_u64(b, wb);
        c = _mm_crc32_u64(c, wc);
    }
    return c ^ behind(b ^ behind(a, power), power);
}

FAST static uint32_t crc32c_fast(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t sum = ~crc;

    for (; len >= 3 * LONG; len -= 3 * LONG, p += 3 * LONG)
        sum = three_lanes(sum, p, LONG, LONG_POWER);
    for (; len >= 3 * SHORT; len -= 3 * SHORT, p += 3 * SHORT)
        sum = three_lanes(sum, p, SHORT, SHORT_POWER);
    sum = run(sum, &p, len / 8);
    for (len %= 8; len > 0; len--)
        sum = _mm_crc32_u8((uint32_t)sum, *p++);
    return ~(uint32_t)sum;
}

uint32_t crc32c(uint32_t crc, const void *buf, size_t len)
{
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
        return crc32c_fast(crc, buf, len);
    return crc32c_plain(crc, buf, len);
}

#else

uint32_t crc32c(uint32_t crc, const void *buf, size_t len)
{
    return crc32c_plain(crc, buf, len);
}

#endif
