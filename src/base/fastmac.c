/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <openssl/evp.h>

#include "base/be.h"
#include "base/fastmac.h"

enum { NONCE_SIZE = 12 };

/* The one struct is OpenSSL's own context. */
static EVP_CIPHER_CTX *context(struct fastmac *mac)
{
    return (EVP_CIPHER_CTX *)(void *)mac;
}

struct fastmac *fastmac_new(const uint8_t key[FASTMAC_KEY])
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

    if (ctx && EVP_EncryptInit_ex(ctx, EVP_aes_128_gcm(), NULL, key, NULL))
        return (struct fastmac *)(void *)ctx;
    EVP_CIPHER_CTX_free(ctx);
    errno = ENOMEM;
    return NULL;
}

void fastmac_free(struct fastmac *mac)
{
    EVP_CIPHER_CTX_free(context(mac));
}

int fastmac_sign(struct fastmac *mac, uint8_t tag[FASTMAC_TAG],
                 uint64_t counter, const struct mac_part *parts, size_t nparts)
{
    EVP_CIPHER_CTX *ctx = context(mac);
    uint8_t nonce[NONCE_SIZE] = {0};
    int n, ok;

    be_store64(nonce + NONCE_SIZE - sizeof(counter), counter);
    ok = EVP_EncryptInit_ex(ctx, NULL, NULL, NULL, nonce);
    for (size_t i = 0; ok && i < nparts; i++)
        if (parts[i].len)
            ok = EVP_EncryptUpdate(ctx, NULL, &n, parts[i].data,
                                   (int)parts[i].len);
    ok = ok && EVP_EncryptFinal_ex(ctx, tag, &n) &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, FASTMAC_TAG, tag);
    if (ok)
        return 0;
    errno = ENOMEM;
    return -1;
}

bool fastmac_check(struct fastmac *mac, const uint8_t tag[FASTMAC_TAG],
                   uint64_t counter, const struct mac_part *parts,
                   size_t nparts)
{
    uint8_t right[FASTMAC_TAG];

    return fastmac_sign(mac, right, counter, parts, nparts) == 0 &&
           mac_equal(right, tag, FASTMAC_TAG);
}
