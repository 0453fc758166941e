/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A partition manager, and programs that it builds.
 */
#ifndef SF_TESTS_PARTITION_BED_H
#define SF_TESTS_PARTITION_BED_H

#include "base/mac.h"
#include "elan/partition.h"
#include "elan_util.h"

#define NO_COMPONENT 0xfffffffe

static inline struct elan_partition *manager(const char *site_text)
{
    struct elan_site site;
    struct errbuf err = {""};
    struct elan_partition *pm;

    assert_int_equal(elan_site_parse(&site, site_text, &err), 0);
    pm = elan_partition_create(&site, 999, &err);
    assert_non_null(pm);
    return pm;
}

struct program {
    struct elan_jobinfo info;
    struct elan_payload payload;
};

static inline void program_free(struct program *p)
{
    elan_jobinfo_free(&p->info);
    elan_payload_free(&p->payload);
}

/* 0 or errno.  Takes the layout. */
static inline int build_layout(struct elan_partition *pm, struct program *p,
                               uint32_t job, uint32_t step_id, uint32_t comp,
                               struct elan_layout l,
                               struct elan_options options)
{
    struct elan_userkey keys[8];
    struct elan_step step = {
        .uid = 1000, .now = 5000, .options = options, .keys = keys};
    struct errbuf err = {""};
    int rc;

    assert_int_equal(mac_random(keys, sizeof(keys)), 0);
    elan_jobinfo_init(&p->info, job, step_id, comp);
    errno = 0;
    rc = elan_partition_build(pm, &step, &l, &p->info, &p->payload, &err);
    if (rc < 0) {
        assert_true(err.text[0] != '\0');
        assert_int_equal(p->info.prognum, 0);
        assert_null(p->info.nodes);
        assert_null(p->payload.caps);
        assert_non_null(l.procs);
        rc = errno;
    }
    elan_layout_free(&l);
    return rc;
}

static inline int build(struct elan_partition *pm, struct program *p,
                        uint32_t job, uint32_t nnodes, uint32_t first,
                        uint16_t tasks)
{
    return build_layout(pm, p, job, 0, NO_COMPONENT,
                        even_layout(nnodes, first, tasks, false),
                        (struct elan_options){1, 0});
}

#endif
