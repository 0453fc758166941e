/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An encoded world, or edits of one of ours; what is accepted and encoded again
 * is the same world.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/world.h"

static void look(const struct impi_world *w)
{
    uint8_t ipv4[4], id[IMPI_HOSTID_SIZE];

    for (uint32_t i = 0; i < w->nprocs; i++) {
        struct impi_proc p = impi_world_proc(w, i);

        if (impi_world_client(w, i) != p.client ||
            impi_world_host(w, p.host)->client != p.client)
            abort();
        if (impi_hostid_get_ipv4(ipv4, p.addr)) {
            uint8_t again[4];

            impi_hostid_set_ipv4(id, ipv4);
            if (!impi_hostid_get_ipv4(again, id) || memcmp(again, ipv4, 4) != 0)
                abort();
        }
    }
}

/* Ours: the shortest form, which comes back as it is. */
static void encode_twice(const struct impi_world *w, size_t size)
{
    struct impi_world again;
    uint8_t *first, *second;
    size_t len, len2;

    if (impi_world_encode(w, &first, &len) < 0 || len > size ||
        impi_world_decode(&again, first, len, NULL) < 0 ||
        impi_world_encode(&again, &second, &len2) < 0 || len2 != len ||
        memcmp(first, second, len) != 0)
        abort();
    for (uint32_t i = 0; i < w->nprocs; i++) {
        struct impi_proc a = w->procs[i], b = again.procs[i];

        if (a.pid != b.pid || a.port != b.port || a.cpus != b.cpus ||
            a.host != b.host || memcmp(a.addr, b.addr, sizeof(a.addr)) != 0)
            abort();
    }
    free(first);
    free(second);
    impi_world_free(&again);
}

static void decode(const uint8_t *data, size_t size)
{
    struct impi_world w;
    struct errbuf err;

    if (impi_world_decode_head(&w, data, size, &err) == 0 && w.procs)
        abort();
    if (impi_world_decode(&w, data, size, &err) < 0)
        return;
    look(&w);
    encode_twice(&w, size);
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
