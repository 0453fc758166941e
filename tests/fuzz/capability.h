/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The capability of a small program, for targets that need one.
 */
#ifndef SF_TESTS_FUZZ_CAPABILITY_H
#define SF_TESTS_FUZZ_CAPABILITY_H

#include "elan/capability.h"
#include "elan/layout.h"

/* Two nodes, two processes on each. */
static inline int make_capability(struct elan_capability *cap)
{
    static const uint32_t ids[] = {3, 4};
    static const uint16_t tasks[] = {2, 2};
    const struct elan_layout_spec spec = {
        .nnodes = 2, .nrails = 1, .ids = ids, .tasks = tasks};
    struct elan_layout l;
    const struct elan_capability_spec wanted = {.layout = &l,
                                                .low_context = 0x400,
                                                .ncontexts = 2,
                                                .key = {{1, 2, 3, 4}}};
    struct errbuf err;
    int rc;

    if (elan_layout_make(&l, &spec, &err) < 0)
        return -1;
    rc = elan_capability_build(cap, &wanted, &err);
    elan_layout_free(&l);
    return rc;
}

#endif
