/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Capabilities for tests, of a layout or of nodes and tasks.
 */
#ifndef SF_TESTS_CAPABILITY_UTIL_H
#define SF_TESTS_CAPABILITY_UTIL_H

#include "elan/capability.h"
#include "elan_util.h"

#define LOW 0x400

static const struct elan_userkey key = {{0x01020304, 5, 6, 0xfffffff7}};

static inline struct elan_capability build(const struct elan_layout *l,
                                           uint32_t ncontexts)
{
    struct elan_capability_spec spec = {l, 0, LOW, ncontexts, key, false};
    struct elan_capability cap;
    struct errbuf err = {""};

    memset(&cap, 0xff, sizeof(cap));
    if (elan_capability_build(&cap, &spec, &err) < 0)
        fail_msg("build: %s", err.text);
    assert_int_equal(elan_capability_validate(&cap, &err), 0);
    return cap;
}

static inline struct elan_capability build_of(uint32_t nnodes,
                                              const uint32_t *ids,
                                              const uint16_t *tasks,
                                              bool cyclic)
{
    struct elan_layout l = layout_of(nnodes, ids, tasks, cyclic, NULL);
    struct elan_capability cap = build(&l, l.max_tasks);

    elan_layout_free(&l);
    return cap;
}

#endif
