/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small helpers of the tests of src/elan.
 */
#ifndef SF_TESTS_ELAN_UTIL_H
#define SF_TESTS_ELAN_UTIL_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elan/layout.h"

#define N_OF(a) ((uint32_t)(sizeof(a) / sizeof((a)[0])))

/* xorshift32: the same numbers in every run. */
static inline uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* One rail; tids NULL: in block or cyclic order. */
static inline struct elan_layout layout_of(uint32_t nnodes, const uint32_t *ids,
                                           const uint16_t *tasks, bool cyclic,
                                           uint32_t *const *tids)
{
    struct elan_layout_spec spec = {
        .nnodes = nnodes,
        .nrails = 1,
        .ids = ids,
        .tasks = tasks,
        .tids = tids,
        .cyclic = cyclic,
    };
    struct elan_layout l;
    struct errbuf err = {""};

    if (elan_layout_make(&l, &spec, &err) < 0)
        fail_msg("layout: %s", err.text);
    return l;
}

/* Nodes first, first + 1, ... with the same number of tasks each. */
static inline struct elan_layout even_layout(uint32_t nnodes, uint32_t first,
                                             uint16_t tasks, bool cyclic)
{
    uint32_t *ids = calloc(nnodes, sizeof(*ids));
    uint16_t *counts = calloc(nnodes, sizeof(*counts));
    struct elan_layout l;

    for (uint32_t n = 0; n < nnodes; n++) {
        ids[n] = first + n;
        counts[n] = tasks;
    }
    l = layout_of(nnodes, ids, counts, cyclic, NULL);
    free(ids);
    free(counts);
    return l;
}

static inline void assert_same_layout(const struct elan_layout *a,
                                      const struct elan_layout *b)
{
    assert_int_equal(a->nnodes, b->nnodes);
    assert_int_equal(a->nrails, b->nrails);
    assert_int_equal(a->nprocs, b->nprocs);
    assert_int_equal(a->max_tasks, b->max_tasks);
    assert_int_equal(a->cyclic, b->cyclic);
    assert_memory_equal(a->ids, b->ids, 4 * a->nrails * a->nnodes);
    assert_memory_equal(a->first, b->first, 4 * (a->nnodes + 1));
    assert_memory_equal(a->procs, b->procs, 4 * a->nprocs);
}

#endif
