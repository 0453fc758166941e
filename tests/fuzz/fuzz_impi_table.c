/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The image of a world's table, edits of one of ours: what is accepted leads
 * nowhere outside.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/table.h"

#define N_PROCS 5

/* Two clients on three hosts. */
static int make(struct impi_world *w)
{
    static const uint32_t client[] = {0, 1, 1}, host[N_PROCS] = {0, 1, 2, 1, 0};

    *w = (struct impi_world){.nclients = 2};
    if (impi_world_alloc(w, 3, N_PROCS) < 0)
        return -1;
    for (uint32_t i = 0; i < N_PROCS; i++) {
        w->hosts[host[i]].client = client[host[i]];
        w->hosts[host[i]].nprocs++;
        w->procs[i] = (struct impi_proc){
            .client = client[host[i]],
            .host = host[i],
            .pid = 100 + i,
            .addr = {[15] = (uint8_t)host[i]},
            .hostid = {[15] = (uint8_t)host[i]},
            .cpus = 2,
        };
    }
    return 0;
}

static void look(struct impi_world *w, const struct impi_table *t)
{
    const int *native = impi_table_native(t, 1);
    const struct impi_group *g = &t->group;
    uint32_t sum = 0;

    w->table = t;
    for (uint32_t i = 0; i < w->nprocs; i++) {
        struct impi_proc p = impi_world_proc(w, i);

        if (p.client >= w->nclients || impi_world_client(w, i) != p.client)
            abort();
        sum += impi_world_host(w, p.host)->addr[15];
        sum += (uint32_t)(native ? native[i] : 0);
        sum += impi_group_local_master_rank(g, i);
        sum += g->locals[i] + impi_table_place(t, i)->neighbours;
    }
    for (uint32_t n = 0; n < g->nmasters; n++)
        sum += impi_group_locals_to_master(g, n)[0];
    if (sum == UINT32_MAX) /* all was read */
        w->nclients = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t clients[] = {1, 0};
    struct impi_world w, head;
    struct impi_table t;
    struct errbuf err;
    uint8_t *image, *other;
    size_t len;

    if (make(&w) < 0)
        return 0;
    head = w;
    head.hosts = NULL;
    head.procs = NULL;
    if (impi_table_open(&t, &head, data, size, &err) == 0)
        look(&head, &t);
    if (impi_table_build(&image, &len, &w, clients, 2) == 0) {
        other = fuzz_edit(image, &len, data, size);
        if (impi_table_open(&t, &head, other, len, &err) == 0)
            look(&head, &t);
        free(other);
        free(image);
    }
    impi_world_free(&w);
    return 0;
}
