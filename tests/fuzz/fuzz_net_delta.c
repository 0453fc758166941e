/* SPDX-License-Identifier: BSD-3-Clause
 * A delta for a small map; its head is put right, so that the rest is read. */
#include <string.h>

#include "base/be.h"
#include "fuzz.h"
#include "net/build.h"
#include "net/delta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct net *net = net_build_named("line:3:2", NULL);
    struct net_version v = {1, 7};
    uint8_t buf[4096];
    struct errbuf err;

    if (!net || size < 52 || size > sizeof(buf)) {
        net_free(net);
        return 0;
    }
    memcpy(buf, data, size);
    be_store32(buf, 0x53464431);
    be_store64(buf + 4, v.leader);
    be_store32(buf + 12, v.counter);
    be_store32(buf + 28, net->nnodes);
    be_store32(buf + 48, net_fingerprint(net));
    net_delta_apply(net, &v, buf, size, NULL, NULL, NULL, &err);
    net_free(net);
    return 0;
}
