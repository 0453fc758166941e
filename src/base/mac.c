/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <sys/random.h>

#include "base/mac.h"

static int sign_parts(EVP_MAC_CTX *ctx, uint8_t out[MAC_SIZE], const void *key,
                      size_t key_len, const struct mac_part *parts,
                      size_t nparts)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string("digest", digest, 0),
        OSSL_PARAM_construct_end(),
    };
    size_t out_len = 0;

    if (!EVP_MAC_init(ctx, key, key_len, params))
        return -1;
    for (size_t i = 0; i < nparts; i++) {
        if (!EVP_MAC_update(ctx, parts[i].data, parts[i].len))
            return -1;
    }
    if (!EVP_MAC_final(ctx, out, &out_len, MAC_SIZE) || out_len != MAC_SIZE)
        return -1;
    return 0;
}

int mac_sign(uint8_t out[MAC_SIZE], const void *key, size_t key_len,
             const struct mac_part *parts, size_t nparts)
{
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *ctx = mac ? EVP_MAC_CTX_new(mac) : NULL;
    int rc = -1;

    if (ctx)
        rc = sign_parts(ctx, out, key, key_len, parts, nparts);
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(mac);
    if (rc < 0)
        errno = ENOMEM;
    return rc;
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
