/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the processes of a program are: its nodes in the order of the step
 * (node index 0, 1, ... is RMS_NODEID), the Elan id of each node on each rail,
 * and which process sits in which slot of a node.  A slot is a process' place
 * on its node, 0, 1, ...; it is the task's local id and its context index.
 *
 * The layout is what the step says, never what a distribution's name
 * suggests, so that no distribution can misplace a task.
 */
#ifndef SF_ELAN_LAYOUT_H
#define SF_ELAN_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/be.h"
#include "base/errbuf.h"

struct elan_layout {
    uint32_t nnodes;
    uint32_t nrails;
    uint32_t nprocs;
    uint32_t max_tasks; /* most processes on one node */
    bool cyclic;        /* what the step asked for; see capability.h */
    uint32_t *ids;      /* [nrails][nnodes], Elan id */
    uint32_t *first;    /* [nnodes + 1], into procs */
    uint32_t *procs;    /* [nprocs]: slot s of node n is procs[first[n] + s] */
};

/* What a layout is made from; all borrowed. */
struct elan_layout_spec {
    uint32_t nnodes;
    uint32_t nrails;
    const uint32_t *ids;   /* [nrails][nnodes] */
    const uint16_t *tasks; /* [nnodes], processes per node; 0 is allowed */
    /* [nnodes][tasks[n]], process numbers; NULL: in the order `cyclic` says */
    uint32_t *const *tids;
    bool cyclic;
};

/* Fill *l (free with elan_layout_free()).  Returns 0, or -1 with errno and
 * text: EINVAL no node, no process, an Elan id out of range or twice on a
 * rail, task ids that are not 0..nprocs-1 each once; E2BIG more nodes, rails
 * or processes than the limits allow; ENOMEM. */
int elan_layout_make(struct elan_layout *l, const struct elan_layout_spec *spec,
                     struct errbuf *err);

/* Free what *l holds (not l itself) and clear it.  A cleared one is fine. */
void elan_layout_free(struct elan_layout *l);

uint32_t elan_layout_id(const struct elan_layout *l, uint32_t rail,
                        uint32_t node);
uint32_t elan_layout_tasks(const struct elan_layout *l, uint32_t node);
/* Number of the process in a slot; node and slot must exist. */
uint32_t elan_layout_proc(const struct elan_layout *l, uint32_t node,
                          uint32_t slot);
/* Index of the node with this Elan id on rail 0, or -1. */
int32_t elan_layout_find(const struct elan_layout *l, uint32_t id);

/* Node indexes in ascending order of their Elan id on a rail: allocated,
 * free() it; NULL with ENOMEM. */
uint32_t *elan_layout_by_id(const struct elan_layout *l, uint32_t rail);

/* Codec; the form is in doc/jobinfo-wire.md. */
size_t elan_layout_size(const struct elan_layout *l);
void elan_layout_put(struct be_writer *w, const struct elan_layout *l);
/* As elan_layout_make(), and EPROTO when malformed. */
int elan_layout_get(struct be_reader *r, struct elan_layout *l,
                    struct errbuf *err);

#endif
