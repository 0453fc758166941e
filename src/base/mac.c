/* SPDX-License-Identifier: BSD-3-Clause
 *
 * HMAC (RFC 2104) over OpenSSL's plain SHA-256 functions.  The first use of
 * EVP_MAC in a process takes a millisecond to set OpenSSL up (all algorithms,
 * its configuration, providers), in every impid, impi-server and MPI process
 * of every step; these need nothing to be set up.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>
#include <sys/random.h>

#include "base/mac.h"

#define INNER 0x36
#define OUTER 0x5c

/* Begin a hash with the key, each byte changed by pad. */
static int begin(SHA256_CTX *ctx, const uint8_t key[SHA256_CBLOCK], uint8_t pad)
{
    uint8_t block[SHA256_CBLOCK];
    int ok;

    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = key[i] ^ pad;
    ok = SHA256_Init(ctx) && SHA256_Update(ctx, block, sizeof(block));
    OPENSSL_cleanse(block, sizeof(block));
    return ok;
}

static int sign(uint8_t out[MAC_SIZE], const uint8_t key[SHA256_CBLOCK],
                const struct mac_part *parts, size_t nparts)
{
    uint8_t inner[SHA256_DIGEST_LENGTH];
    SHA256_CTX ctx;
    int ok = begin(&ctx, key, INNER);

    for (size_t i = 0; ok && i < nparts; i++)
        ok = SHA256_Update(&ctx, parts[i].data, parts[i].len);
    ok = ok && SHA256_Final(inner, &ctx) && begin(&ctx, key, OUTER) &&
         SHA256_Update(&ctx, inner, sizeof(inner)) && SHA256_Final(out, &ctx);
    OPENSSL_cleanse(&ctx, sizeof(ctx));
    OPENSSL_cleanse(inner, sizeof(inner));
    return ok;
}

int mac_sign(uint8_t out[MAC_SIZE], const void *key, size_t key_len,
             const struct mac_part *parts, size_t nparts)
{
    uint8_t block[SHA256_CBLOCK] = {0};
    int ok = 1;

    if (key_len > sizeof(block))
        ok = SHA256(key, key_len, block) != NULL;
    else if (key_len > 0)
        memcpy(block, key, key_len);
    ok = ok && sign(out, block, parts, nparts);
    OPENSSL_cleanse(block, sizeof(block));
    if (ok)
        return 0;
    errno = ENOMEM;
    return -1;
}

bool mac_equal(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}

int mac_random(void *buf, size_t len)
{
    uint8_t *p = buf;

    while (len > 0) {
        ssize_t n = getrandom(p, len, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}
