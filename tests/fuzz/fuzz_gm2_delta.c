/* SPDX-License-Identifier: BSD-3-Clause
 * Input: a delta to a map of line:2:2; its fingerprints of the map before are
 * put right where they stand, so that what lies behind them is read.  Or edits
 * of a delta of ours (fuzz.h): the byte before them says what changed. */
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

static void foreign(const uint8_t *data, size_t size)
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
}

/* The net as it is found another time. */
static struct net *found_again(uint8_t what)
{
    struct net *net = net_build_named("line:2:2+ids", NULL), *rest;
    uint32_t node, there;

    if (!net)
        return NULL;
    if (what & 1)
        net_disconnect(net, net_find_name(net, "h1"), 0);
    if (what & 2 &&
        (node = net_add_host(net, "new", 0x0060dd00ff00)) != NET_NONE)
        for (unsigned p = 0; p < 16; p++)
            if (net_connect(net, node, 0, net_find_name(net, "x0"), p))
                break;
    if (what & 4)
        net_set_id(net, net_find_name(net, "x1"), what);
    if (what & 8 && (node = net_add_xbar(net, "y", 4, 0)) != NET_NONE)
        for (unsigned p = 0; p < 16; p++)
            if (net_connect(net, node, 0, net_find_name(net, "x0"), p))
                break;
    rest = net_reachable(net, net_find_name(net, "h0"), &there);
    net_free(net);
    return rest;
}

static void edited(uint8_t what, const uint8_t *data, size_t size)
{
    const struct gm2_version from = {NET_BUILD_HOST_ID, 1, 7};
    const struct gm2_version to = {NET_BUILD_HOST_ID, 1, 8};
    struct net *one = found_again(0), *two = found_again(what);
    struct gm2_map *before =
        one ? gm2_map_new(one, &from, level_one, NULL) : NULL;
    struct gm2_map *after = two ? gm2_map_new(two, &to, level_one, NULL) : NULL;
    struct gm2_map *got;
    uint8_t *bytes = NULL;
    struct bytebuf b;
    struct errbuf err;
    size_t len;

    bytebuf_init(&b, 1 << 16);
    if (before && after && gm2_delta_make(before, after, &b)) {
        len = bytebuf_len(&b);
        bytes = fuzz_edit(bytebuf_data(&b), &len, data, size);
        got = gm2_delta_apply(before, &to, bytes, len, &err);
        if (size < 3 &&
            (!got || net_fingerprint(got->net) != net_fingerprint(after->net)))
            abort();
        gm2_map_free(got);
    }
    free(bytes);
    bytebuf_free(&b);
    gm2_map_free(after);
    gm2_map_free(before);
    net_free(two);
    net_free(one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 && data[0] == FUZZ_EDITS)
        edited(data[1], data + 2, size - 2);
    else
        foreign(data, size);
    return 0;
}
