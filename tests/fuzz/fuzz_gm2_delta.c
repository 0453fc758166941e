/* SPDX-License-Identifier: BSD-3-Clause
 * Input: a delta to a map of line:2:2; its fingerprints of the map before are
 * put right where they stand, so that what lies behind them is read. */
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "fuzz.h"
#include "mapper/gm2_delta.h"
#include "net/build.h"
#include "net/delta.h"

#define NET_HEAD                                                               \
    8            /* where the inner delta begins when no node goes or comes    \
                  */
#define PRINT 48 /* of the map before, in the inner delta */

static void level_one(uint64_t address, struct gm2_host *host, void *arg)
{
    (void)address;
    (void)arg;
    *host = (struct gm2_host){1, 0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct gm2_version from = {NET_BUILD_HOST_ID, 1, 7};
    const struct gm2_version to = {NET_BUILD_HOST_ID, 1, 8};
    struct errbuf err;
    struct net *net = net_build_named("line:2:2", &err);
    struct gm2_map *map = net ? gm2_map_new(net, &from, level_one, NULL) : NULL;
    uint8_t *bytes = malloc(size + 1);

    if (map && bytes) {
        memcpy(bytes, data, size);
        gm2_map_free(gm2_delta_apply(map, &to, bytes, size, &err));
        if (size >= NET_HEAD + PRINT + 4) {
            be_store32(bytes + NET_HEAD + PRINT, net_fingerprint(map->net));
            gm2_map_free(gm2_delta_apply(map, &to, bytes, size, &err));
        }
    }
    free(bytes);
    gm2_map_free(map);
    net_free(net);
    return 0;
}
