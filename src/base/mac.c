/* SPDX-License-Identifier: BSD-3-Clause
 *
 * HMAC (RFC 2104) and SHA-256 (FIPS 180-4) of our own: it is needed in every
 * MPI process, where no library but the C library's own may be asked for: a few
 * times per connection there, and once for each health report in switchmgrd.
 */
#include <string.h>

#include "base/be.h"
#include "base/mac.h"

#define BLOCK 64
#define LENGTH_AT (BLOCK - 8)
#define ROUNDS 64
#define WORDS (MAC_SIZE / 4)

struct sha256 {
    uint32_t h[WORDS];
    uint8_t block[BLOCK];
    uint64_t len; /* bytes so far */
};

/* The first 32 bits of the fractions of the cube roots of the first primes. */
static const uint32_t constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static inline uint32_t sum0(uint32_t a)
{
    return (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22));
}

static inline uint32_t sum1(uint32_t e)
{
    return (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25));
}

/* One round.  Nothing is moved: the next round names the eight variables in the
 * next order instead. */
#define TURN(a, b, c, d, e, f, g, h, i)                                        \
    do {                                                                       \
        uint32_t t =                                                           \
            (h) + sum1(e) + ((g) ^ ((e) & ((f) ^ (g)))) + constants[i] + w[i]; \
        (d) += t;                                                              \
        (h) = t + sum0(a) + (((a) & (b)) | ((c) & ((a) | (b))));               \
    } while (0)

static void mix(struct sha256 *s, const uint8_t block[BLOCK])
{
    uint32_t a = s->h[0], b = s->h[1], c = s->h[2], d = s->h[3];
    uint32_t e = s->h[4], f = s->h[5], g = s->h[6], h = s->h[7];
    uint32_t w[ROUNDS];

    for (int i = 0; i < 16; i++)
        w[i] = be_load32(block + 4 * i);
    for (int i = 16; i < ROUNDS; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];

        w[i] = w[i - 16] + (turn(x, 7) ^ turn(x, 18) ^ x >> 3) + w[i - 7] +
               (turn(y, 17) ^ turn(y, 19) ^ y >> 10);
    }
    for (int i = 0; i < ROUNDS; i += 8) {
        TURN(a, b, c, d, e, f, g, h, i);
        TURN(h, a, b, c, d, e, f, g, i + 1);
        TURN(g, h, a, b, c, d, e, f, i + 2);
        TURN(f, g, h, a, b, c, d, e, i + 3);
        TURN(e, f, g, h, a, b, c, d, i + 4);
        TURN(d, e, f, g, h, a, b, c, i + 5);
        TURN(c, d, e, f, g, h, a, b, i + 6);
        TURN(b, c, d, e, f, g, h, a, i + 7);
    }
    s->h[0] += a;
    s->h[1] += b;
    s->h[2] += c;
    s->h[3] += d;
    s->h[4] += e;
    s->h[5] += f;
    s->h[6] += g;
    s->h[7] += h;
}

static void sha256_begin(struct sha256 *s)
{
    /* Of the square roots. */
    static const uint32_t first[WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                          0xa54ff53a, 0x510e527f, 0x9b05688c,
                                          0x1f83d9ab, 0x5be0cd19};

    memcpy(s->h, first, sizeof(first));
    s->len = 0;
}

static void sha256_add(struct sha256 *s, const void *data, size_t len)
{
    const uint8_t *p = data;

    while (len > 0) {
        size_t at = s->len % BLOCK;
        size_t n = len < BLOCK - at ? len : BLOCK - at;

        memcpy(s->block + at, p, n);
        s->len += n;
        p += n;
        len -= n;
        if (at + n == BLOCK)
            mix(s, s->block);
    }
}

static void sha256_end(struct sha256 *s, uint8_t out[MAC_SIZE])
{
    static const uint8_t pad[BLOCK] = {0x80};
    uint64_t bits = s->len * 8;
    uint8_t length[8];

    sha256_add(s, pad, 1 + (BLOCK + LENGTH_AT - 1 - s->len % BLOCK) % BLOCK);
    be_store64(length, bits);
    sha256_add(s, length, sizeof(length));
    for (int i = 0; i < WORDS; i++)
        be_store32(out + 4 * i, s->h[i]);
}

/* What the hash is after its first block, the key xor filler. */
static void begin_with_key(uint32_t out[WORDS], const uint8_t key[BLOCK],
                           uint8_t filler)
{
    struct sha256 s;

    for (int i = 0; i < BLOCK; i++)
        s.block[i] = key[i] ^ filler;
    sha256_begin(&s);
    mix(&s, s.block);
    memcpy(out, s.h, sizeof(s.h));
    explicit_bzero(&s, sizeof(s));
}

static void go_on(struct sha256 *s, const uint32_t begun[WORDS])
{
    memcpy(s->h, begun, sizeof(s->h));
    s->len = BLOCK;
}

void mac_key_set(struct mac_key *k, const void *key, size_t key_len)
{
    uint8_t full[BLOCK] = {0};
    struct sha256 s;

    if (key_len > BLOCK) {
        sha256_begin(&s);
        sha256_add(&s, key, key_len);
        sha256_end(&s, full);
        explicit_bzero(&s, sizeof(s));
    } else if (key_len > 0) {
        memcpy(full, key, key_len);
    }
    begin_with_key(k->inner, full, 0x36);
    begin_with_key(k->outer, full, 0x5c);
    explicit_bzero(full, sizeof(full));
}

void mac_key_sign(const struct mac_key *k, uint8_t out[MAC_SIZE],
                  const struct mac_part *parts, size_t nparts)
{
    uint8_t inner[MAC_SIZE];
    struct sha256 s;

    go_on(&s, k->inner);
    for (size_t i = 0; i < nparts; i++)
        sha256_add(&s, parts[i].data, parts[i].len);
    sha256_end(&s, inner);
    go_on(&s, k->outer);
    sha256_add(&s, inner, MAC_SIZE);
    sha256_end(&s, out);
    explicit_bzero(&s, sizeof(s));
}

int mac_sign(uint8_t out[MAC_SIZE], const void *key, size_t key_len,
             const struct mac_part *parts, size_t nparts)
{
    struct mac_key k;

    mac_key_set(&k, key, key_len);
    mac_key_sign(&k, out, parts, nparts);
    explicit_bzero(&k, sizeof(k));
    return 0;
}

bool mac_equal(const void *a, const void *b, size_t len)
{
    const volatile uint8_t *x = a, *y = b;
    unsigned differ = 0;

    for (size_t i = 0; i < len; i++)
        differ |= (unsigned)(x[i] ^ y[i]);
    return differ == 0;
}
