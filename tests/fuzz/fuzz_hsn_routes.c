/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "fuzz.h"
#include "hsn/routes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hsn_peer *peers;
    struct hsn_routes r;
    size_t n;

    if (hsn_routes_parse("fuzz", (const char *)data, size, &peers, &n, NULL) <
        0)
        return 0;
    if (hsn_routes_make(&r, peers, n, NULL, NULL) == 0) {
        for (size_t i = 0; i < n; i++)
            if (!hsn_routes_find(&r, peers[i].address))
                abort();
        hsn_routes_free(&r);
    }
    free(peers);
    return 0;
}
