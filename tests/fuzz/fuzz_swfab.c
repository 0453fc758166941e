/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets by anybody into the crossbars: each has one fate, and what arrives
 * is inside its limits.  Input: pairs of a length byte and so many bytes of a
 * packet; the byte before says who sends and what is broken.
 */
#include <assert.h>
#include <stdlib.h>

#include "fuzz.h"
#include "net/build.h"
#include "swfab/swfab.h"

static void break_something(struct swfab *fab, uint8_t what)
{
    uint32_t node = (what >> 3) % swfab_nnodes(fab);

    switch (what & 7) {
    case 1:
        swfab_set_link(fab, node, 1, false);
        break;
    case 2:
        swfab_set_loss_all(fab, 0.1);
        break;
    case 3:
        swfab_set_corruption_all(fab, 0.5);
        break;
    case 4:
        swfab_set_xbar_dead(fab, node, true);
        break;
    case 5:
        swfab_disconnect(fab, node, 2);
        break;
    }
}

static void check(const struct swfab *fab, uint64_t sent)
{
    uint64_t total = 0;

    for (unsigned c = 0; c < SWFAB_CORRUPTED; c++)
        total += swfab_total(fab, c);
    assert(total == sent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct net *net;
    struct swfab *fab;
    struct swfab_arrival a;
    uint64_t sent = 0;

    if (!net)
        net = net_build_named("clos:4x4:1x2:1x2+ids", NULL);
    fab = net ? swfab_new(net) : NULL;
    while (fab && size >= 2) {
        size_t len = data[1] < size - 2 ? data[1] : size - 2;
        uint32_t host = data[0] % swfab_nnodes(fab);

        if (data[0] & 0x80)
            break_something(fab, data[0]);
        if (swfab_is_host(fab, host)) {
            if (swfab_send(fab, host, data + 2, len, &a))
                assert(a.len >= 5 && a.len <= len + 4 * NET_TAG_SIZE &&
                       swfab_is_host(fab, a.node) && !(a.packet[0] & 0x80));
            sent++;
        }
        data += 2 + len;
        size -= 2 + len;
    }
    if (fab)
        check(fab, sent);
    swfab_free(fab);
    return 0;
}
