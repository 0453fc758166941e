/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the tasks of a step run, as text that fits into an environment
 * variable: per node the world ranks, nodes separated by ';', ranks as "3",
 * "3-7" or "3-15:4" (every 4th), separated by ','.
 */
#ifndef SF_IMPI_TASKMAP_H
#define SF_IMPI_TASKMAP_H

#include <stdint.h>

#include "base/errbuf.h"

struct taskmap {
    uint32_t nnodes;
    uint32_t ntasks;
    uint16_t *node; /* of each task */
};

/* Parse.  Every rank 0..ntasks-1 must be there once.  Returns 0, or -1 with
 * errno EINVAL (text tells), E2BIG (more than SF_AGENTS_MAX nodes or
 * SF_IMPI_PROCS_MAX tasks), ENOMEM; then *map is empty. */
int taskmap_parse(struct taskmap *map, const char *text, struct errbuf *err);
void taskmap_free(struct taskmap *map);

/* Write: task ids of each node, as Slurm's step layout has them.  Returns
 * allocated text, or NULL with errno ENOMEM. */
char *taskmap_format(uint32_t nnodes, const uint16_t *tasks,
                     uint32_t *const *ids);

/* The same for some ranks alone: "0-3,8".  NULL with errno ENOMEM. */
char *taskmap_format_ranks(const uint32_t *ids, uint32_t n);

/* The nodes that hold ranks of [first, first + count) are a component's:
 * the map's number of the component's node `nodeid`, or -1 (errno ENOENT). */
int64_t taskmap_component_node(const struct taskmap *map, uint32_t first,
                               uint32_t count, uint32_t nodeid);

#endif
