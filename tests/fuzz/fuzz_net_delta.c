/* SPDX-License-Identifier: BSD-3-Clause
 * A delta for a small map; its head is put right, so that the rest is read.  Or
 * edits of a delta of ours (fuzz.h): the byte before them says what changed. */
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "fuzz.h"
#include "net/build.h"
#include "net/delta.h"

static void foreign(const uint8_t *data, size_t size)
{
    struct net *net = net_build_named("line:3:2", NULL);
    struct net_version v = {1, 7};
    uint8_t buf[4096];
    struct errbuf err;

    if (!net || size < 52 || size > sizeof(buf)) {
        net_free(net);
        return;
    }
    memcpy(buf, data, size);
    be_store32(buf, 0x53464431);
    be_store64(buf + 4, v.leader);
    be_store32(buf + 12, v.counter);
    be_store32(buf + 28, net->nnodes);
    be_store32(buf + 48, net_fingerprint(net));
    net_delta_apply(net, &v, buf, size, NULL, NULL, NULL, &err);
    net_free(net);
}

static void change(struct net *net, uint8_t what)
{
    uint32_t node;

    if (what & 1)
        net_disconnect(net, net_find_name(net, "x0"), 0);
    if (what & 2 &&
        (node = net_add_host(net, "new", 0x0060dd00ff00)) != NET_NONE)
        for (unsigned p = 0; p < net->nodes[0].nports; p++)
            if (net_connect(net, node, 0, net_find_name(net, "x0"), p))
                break;
    if (what & 4)
        net_set_id(net, net_find_name(net, "x1"), what);
    if (what & 8)
        net_add_xbar(net, "behind", what, 0);
    if (what & 16)
        net_disconnect_all(net, net_find_name(net, "x2"));
}

static void edited(uint8_t what, const uint8_t *data, size_t size)
{
    struct net *before = net_build_named("line:3:2+ids", NULL);
    struct net *after = before ? net_copy(before) : NULL;
    struct net_version v = {1, 7};
    const struct net_version to = {1, 8};
    struct bytebuf b;
    struct errbuf err;
    uint8_t *bytes = NULL;
    size_t len;

    bytebuf_init(&b, 1 << 16);
    if (after) {
        change(after, what);
        if (net_delta_make(before, v, after, to, &b, &err) == 0) {
            len = bytebuf_len(&b);
            bytes = fuzz_edit(bytebuf_data(&b), &len, data, size);
            if (net_delta_apply(before, &v, bytes, len, NULL, NULL, NULL,
                                &err) == 0 &&
                size < 3 && net_fingerprint(before) != net_fingerprint(after))
                abort();
        }
    }
    free(bytes);
    bytebuf_free(&b);
    net_free(after);
    net_free(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 && data[0] == FUZZ_EDITS)
        edited(data[1], data + 2, size - 2);
    else
        foreign(data, size);
    return 0;
}
