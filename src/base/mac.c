/* SPDX-License-Identifier: BSD-3-Clause
 *
 * By nettle and not by OpenSSL: libcrypto costs each process that loads it a
 * millisecond and a half, and of these there are srun, slurmstepd, impid,
 * impi-server and every MPI process of every step.
 */
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>

#include "base/mac.h"

int mac_sign(uint8_t out[MAC_SIZE], const void *key, size_t key_len,
             const struct mac_part *parts, size_t nparts)
{
    struct hmac_sha256_ctx ctx;

    hmac_sha256_set_key(&ctx, key_len, key);
    for (size_t i = 0; i < nparts; i++)
        hmac_sha256_update(&ctx, parts[i].len, parts[i].data);
    hmac_sha256_digest(&ctx, MAC_SIZE, out);
    explicit_bzero(&ctx, sizeof(ctx));
    return 0;
}

bool mac_equal(const void *a, const void *b, size_t len)
{
    return memeql_sec(a, b, len);
}
