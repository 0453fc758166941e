/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Byte shuffles of 32 bytes where the processor has them, which is asked at
 * run time: as fast as memory.  Else eight bytes at a time.
 */
#include "impi/swap.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "only little-endian machines are known"
#endif

#define VECTOR_LEAST 64 /* bytes; fewer are not worth the question */
#define ALIGN_LEAST 512

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* order: where the bytes of each 16 come from.  Returns how many bytes are
 * done. */
__attribute__((target("avx2"))) static size_t
shuffle_avx2(uint8_t *to, const uint8_t *from, size_t len,
             const uint8_t order[16])
{
    __m256i how =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)order));
    size_t i = 0;

    for (; i + 64 <= len; i += 64) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(from + i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(from + i + 32));

        _mm256_storeu_si256((__m256i *)(to + i), _mm256_shuffle_epi8(a, how));
        _mm256_storeu_si256((__m256i *)(to + i + 32),
                            _mm256_shuffle_epi8(b, how));
    }
    return i;
}

static size_t shuffle(uint8_t *to, const uint8_t *from, size_t len,
                      const uint8_t order[16])
{
    if (!__builtin_cpu_supports("avx2"))
        return 0;
    return shuffle_avx2(to, from, len, order);
}
#else
static size_t shuffle(uint8_t *to, const uint8_t *from, size_t len,
                      const uint8_t order[16])
{
    (void)to, (void)from, (void)len, (void)order;
    return 0;
}
#endif

static uint64_t swap_each16(uint64_t v)
{
    const uint64_t low = UINT64_C(0x00ff00ff00ff00ff);

    return (v & low) << 8 | (v >> 8 & low);
}

static uint64_t swap_each32(uint64_t v)
{
    v = __builtin_bswap64(v);
    return v << 32 | v >> 32;
}

/* Bytes up to where `to` is aligned, for long arrays: stores that straddle
 * cache lines cost a quarter.  0 when elements straddle them in any case. */
static size_t head(const uint8_t *to, size_t len, size_t size)
{
    uintptr_t at = (uintptr_t)to;

    return len >= ALIGN_LEAST && at % size == 0 ? -at % VECTOR_LEAST : 0;
}

#define SWAP(name, type, swap_one, swap_word, ...)                             \
    void name(uint8_t *to, const uint8_t *from, size_t count)                  \
    {                                                                          \
        static const uint8_t order[16] = {__VA_ARGS__};                        \
        size_t len = count * sizeof(type), i = 0;                              \
        size_t first = head(to, len, sizeof(type));                            \
        uint64_t word;                                                         \
                                                                               \
        for (; i < first; i += sizeof(type))                                   \
            swap_one(to + i, from + i);                                        \
        if (len - i >= VECTOR_LEAST)                                           \
            i += shuffle(to + i, from + i, len - i, order);                    \
        for (; i + 8 <= len; i += 8) {                                         \
            memcpy(&word, from + i, 8);                                        \
            word = swap_word(word);                                            \
            memcpy(to + i, &word, 8);                                          \
        }                                                                      \
        for (; i < len; i += sizeof(type))                                     \
            swap_one(to + i, from + i);                                        \
    }

SWAP(impi_swap16, uint16_t, impi_swap_one16, swap_each16, 1, 0, 3, 2, 5, 4, 7,
     6, 9, 8, 11, 10, 13, 12, 15, 14)
SWAP(impi_swap32, uint32_t, impi_swap_one32, swap_each32, 3, 2, 1, 0, 7, 6, 5,
     4, 11, 10, 9, 8, 15, 14, 13, 12)
SWAP(impi_swap64, uint64_t, impi_swap_one64, __builtin_bswap64, 7, 6, 5, 4, 3,
     2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8)
