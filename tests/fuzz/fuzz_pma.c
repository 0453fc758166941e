/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as an answer about a port, its counters or a switch's routes, and
 * what is told of them.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "mapperd/ib_watch.h"

static struct ib_watch *make(void)
{
    struct ib_watch *w = ib_watch_new();
    struct ib_end a = {.guid = 1, .port = 1, .name = "leaf0"},
                  b = {.guid = 2, .port = 1, .host = true, .name = "n0"},
                  c = {.guid = 1, .port = 2, .name = "leaf0"},
                  d = {.guid = 3, .port = 1, .name = "spine0"};

    if (!w || !ib_watch_cable(w, &a, &b) || !ib_watch_cable(w, &c, &d))
        abort();
    return w;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ib_watch *w = make();
    uint64_t version;
    size_t n;
    int64_t now = 0;

    for (; size > 0; now += 5000) {
        uint8_t mad[SMP_SIZE] = {0};
        size_t take = size < sizeof(mad) ? size : sizeof(mad);
        struct pma_counters counters;
        struct smp_port_info info;
        uint8_t routes[SMP_BLOCK];
        enum pma_attr attr;
        uint32_t tid;

        memcpy(mad, data, take);
        data += take;
        size -= take;
        ib_watch_begin(w);
        if (smp_port_info(mad, &info)) {
            ib_watch_port(w, 1, 1 + (mad[0] & 1), &info);
            ib_watch_port(w, 2, 1, &info);
        }
        if (pma_parse(mad, &attr, &tid)) {
            if (pma_is_wide(mad))
                attr = PMA_COUNTERS_WIDE;
            if (pma_counters(mad, attr, mad[65], &counters))
                ib_watch_counters(w, 1, 1, &counters, now);
        }
        smp_forwarding(mad, routes);
        ib_watch_routes(w, mad[0] & 1 ? 1 : 3, mad[2] << 8 | mad[3], routes);
        ib_watch_end(w);
        free(ib_watch_records(w, &n, &version));
    }
    ib_watch_free(w);
    return 0;
}
