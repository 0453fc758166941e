/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/taskmap.h"

/* Written again it is the same map; Slurm counts a node's tasks in 16 bits. */
#define TASKS_MAX 1000
static void use(const struct taskmap *map)
{
    uint16_t *tasks = calloc(map->nnodes, sizeof(*tasks));
    uint32_t **ids = calloc(map->nnodes, sizeof(*ids));
    struct taskmap again;
    char *text;

    for (uint32_t n = 0; tasks && ids && n < map->nnodes; n++)
        ids[n] = calloc(map->ntasks, sizeof(**ids));
    for (uint32_t i = 0; i < map->ntasks; i++)
        ids[map->node[i]][tasks[map->node[i]]++] = i;
    text = taskmap_format(map->nnodes, tasks, ids);
    if (!text || taskmap_parse(&again, text, NULL) < 0 ||
        again.nnodes != map->nnodes || again.ntasks != map->ntasks ||
        memcmp(again.node, map->node, map->ntasks * sizeof(*map->node)) != 0)
        abort();
    taskmap_free(&again);
    free(text);
    for (uint32_t n = 0; n < map->nnodes; n++) {
        text = taskmap_format_ranks(ids[n], tasks[n]);
        free(text);
        free(ids[n]);
    }
    taskmap_component_node(map, 1, 2, map->nnodes - 1);
    free(ids);
    free(tasks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct taskmap map;

    if (text && taskmap_parse(&map, text, NULL) == 0) {
        if (map.ntasks <= TASKS_MAX && map.nnodes <= TASKS_MAX)
            use(&map);
        taskmap_free(&map);
    }
    free(text);
    return 0;
}
