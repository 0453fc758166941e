/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An encoded world, or edits of one of ours; what is accepted encodes to the
 * same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/world.h"

static void decode(const uint8_t *data, size_t size)
{
    struct impi_world w;
    struct errbuf err;
    uint8_t *again, ipv4[4];
    size_t len;

    if (impi_world_decode(&w, data, size, &err) < 0)
        return;
    if (impi_world_encode(&w, &again, &len) < 0 || len != size ||
        memcmp(again, data, len) != 0)
        abort();
    for (uint32_t i = 0; i < w.nprocs; i++) {
        bool v4 = impi_hostid_get_ipv4(ipv4, w.procs[i].addr);

        if (!impi_hostid_equal(w.procs[i].addr, w.procs[i].addr))
            abort();
        if (v4) {
            uint8_t id[IMPI_HOSTID_SIZE];

            impi_hostid_set_ipv4(id, ipv4);
            if (!impi_hostid_equal(id, w.procs[i].addr))
                abort();
        }
        impi_hostid_equal(w.procs[i].addr, w.procs[i].hostid);
    }
    free(again);
    impi_world_free(&w);
}

/* Two clients, on one and two hosts, with four processes. */
static void edited(const uint8_t *data, size_t size)
{
    static const uint32_t client[] = {0, 1, 1}, host[] = {0, 1, 2, 1};
    struct impi_world w = {
        .maxdatalen = IMPI_OWN_MAXDATALEN,
        .tagub = INT32_MAX,
        .coll_xsize = 1024,
        .coll_maxlinear = 4,
        .ackmark = IMPI_OWN_ACKMARK,
        .hiwater = IMPI_OWN_HIWATER,
        .nclients = 2,
    };
    uint8_t *buf;
    size_t len;

    if (impi_world_alloc(&w, 3, 4) < 0)
        return;
    for (uint32_t i = 0; i < 3; i++)
        w.hosts[i] = (struct impi_host){.client = client[i], .nprocs = 1};
    w.hosts[1].nprocs = 2;
    for (uint32_t i = 0; i < 4; i++) {
        w.procs[i] = (struct impi_proc){
            .client = client[host[i]],
            .host = host[i],
            .pid = 100 + i,
            .addr = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 2},
            .cpus = 2,
        };
        impi_hostid_set_ipv4(w.procs[i].hostid, w.procs[i].addr + 12);
    }
    if (impi_world_encode(&w, &buf, &len) == 0) {
        uint8_t *other = fuzz_edit(buf, &len, data, size);

        decode(other, len);
        free(other);
        free(buf);
    }
    impi_world_free(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == FUZZ_EDITS)
        edited(data + 1, size - 1);
    else
        decode(data, size);
    return 0;
}
