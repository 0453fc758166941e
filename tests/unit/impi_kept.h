/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a node and a rank keep of a step that impi_step.h has started, by the
 * engines' own structures.  For test_impi_scale and bench/impi_tree.
 */
#ifndef SF_TESTS_IMPI_KEPT_H
#define SF_TESTS_IMPI_KEPT_H

#include <malloc.h>

#include "impi/clients.h"
#include "impi/p2p.h"
#include "impi/table.h"
#include "impi/taskmap.h"
#include "impi_step.h"

/* Bytes. */
struct kept {
    size_t table; /* read by all ranks of the node */
    size_t agent; /* impid's own: the task map, clients, names of nodes */
    size_t rank;  /* touched by a rank's message engine */
};

static inline size_t kept_heap(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

/* Bytes of this process's own memory that it has touched. */
static inline size_t kept_touched(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    size_t kb = 0;

    must(f != NULL);
    while (fgets(line, sizeof(line), f) &&
           sscanf(line, "Anonymous: %zu kB", &kb) != 1)
        continue;
    fclose(f);
    return kb * 1024;
}

/* What the message engine of one rank takes before it talks. */
static inline size_t kept_by_rank(const struct impi_world *w,
                                  const struct impi_table *t)
{
    static const struct impi_p2p_ops ops;
    struct impi_world view = *w;
    struct impi_p2p *p2p;
    size_t before = kept_touched(), after;

    view.hosts = NULL;
    view.procs = NULL;
    view.table = t;
    p2p = impi_p2p_create(&view, 7, &ops, NULL);
    must(p2p != NULL);
    after = kept_touched();
    impi_p2p_destroy(p2p);
    return after - before;
}

/* As the launcher says it: each node's ranks. */
static inline char *kept_task_map(const struct impi_world *w)
{
    uint32_t n = w->nhosts, each = RANKS / n;
    bool turns = w->procs[1].host == 1;
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    must(f != NULL);
    for (uint32_t h = 0; h < n; h++) {
        fputs(h ? ";" : "", f);
        if (turns)
            fprintf(f, "%u-%u:%u", h, h + (each - 1) * n, n);
        else
            fprintf(f, "%u-%u", h * each, (h + 1) * each - 1);
    }
    must(fclose(f) == 0);
    return text;
}

static inline size_t kept_by_agent(const struct impi_world *w)
{
    struct impi_member *members = calloc(w->nprocs, sizeof(*members));
    char *text = kept_task_map(w), **names;
    struct impi_clients clients;
    struct taskmap map;
    size_t before, after;

    must(members != NULL);
    for (uint32_t r = 0; r < w->nprocs; r++)
        members[r].family = 1 + w->procs[r].client;
    before = kept_heap();
    must(taskmap_parse(&map, text, NULL) == 0);
    must(impi_clients_form(&clients, members, map.node, w->nprocs, false,
                           NULL) == 0);
    names = calloc(w->nhosts, sizeof(*names));
    must(names != NULL);
    for (uint32_t h = 0; h < w->nhosts; h++) {
        names[h] = strdup("node00000");
        must(names[h] != NULL);
    }
    after = kept_heap();
    for (uint32_t h = 0; h < w->nhosts; h++)
        free(names[h]);
    free(names);
    impi_clients_free(&clients);
    taskmap_free(&map);
    free(text);
    free(members);
    return after - before;
}

/* By a node with processes of one client. */
static inline struct kept step_kept(const struct step *s)
{
    const uint32_t client = 0;
    struct impi_table t;
    struct kept k;
    uint8_t *image;

    must(impi_table_build(&image, &k.table, &s->world, &client, 1) == 0);
    must(impi_table_open(&t, &s->world, image, k.table, NULL) == 0);
    k.rank = kept_by_rank(&s->world, &t);
    free(image);
    k.agent = kept_by_agent(&s->world);
    return k;
}

#endif
