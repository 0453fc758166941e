/* SPDX-License-Identifier: BSD-3-Clause
 * The n-th allocation fails, for every n: ENOMEM, nothing leaked, nothing
 * half done.  The linker sends every allocation of the engines through here.
 */
#include "base/host_names.h"
#include "base/limits.h"
#include "elan/elanhosts.h"
#include "elan/partition.h"
#include "elan_util.h"
#include "nomem.h"

/* Call `attempt` with the first, the second ... allocation failing until it
 * succeeds; it returns 0 or -1. */
static void try_all(int (*attempt)(void))
{
    for (long n = 0; n < 1000; n++) {
        int rc, code;

        left = n;
        errno = 0;
        rc = attempt();
        code = errno;
        left = -1;
        if (rc == 0) {
            assert_true(n > 0);
            return;
        }
        assert_int_equal(code, ENOMEM);
    }
    fail_msg("never succeeds");
}

static uint32_t ids[] = {3, 9, 5};
static uint16_t tasks[] = {2, 1, 3};
static uint32_t t0[] = {5, 0}, t1[] = {3}, t2[] = {1, 2, 4};
static uint32_t *const tids[] = {t0, t1, t2};
static const struct elan_layout_spec spec = {3, 1, ids, tasks, tids, false};

static struct {
    struct elan_partition *pm;
    void *buf;
    size_t len;
    struct elan_jobinfo info;
} with;

static int make_layout(void)
{
    struct elan_layout l;

    if (elan_layout_make(&l, &spec, NULL) < 0) {
        assert_null(l.ids);
        return -1;
    }
    elan_layout_free(&l);
    return 0;
}

static int make_manager(void)
{
    struct elan_site site;
    struct elan_partition *pm;

    elan_site_defaults(&site);
    pm = elan_partition_create(&site, 1, NULL);
    if (!pm)
        return -1;
    elan_partition_destroy(pm);
    return 0;
}

/* One step on a fresh manager: nothing stays taken when it fails. */
static int build_step(void)
{
    long saved = left;
    struct elan_userkey key = {{1, 2, 3, 4}};
    struct elan_step step = {.options = {1, 0}, .keys = &key};
    struct elan_site site;
    struct elan_partition *pm;
    struct elan_layout l;
    struct elan_jobinfo info;
    struct elan_payload payload;
    int rc, code;

    left = -1;
    elan_site_defaults(&site);
    pm = elan_partition_create(&site, 1, NULL);
    assert_int_equal(elan_layout_make(&l, &spec, NULL), 0);
    elan_jobinfo_init(&info, 1, 2, 3);
    left = saved;
    rc = elan_partition_build(pm, &step, &l, &info, &payload, NULL);
    code = errno;
    left = -1;
    assert_int_equal(elan_partition_programs(pm), rc == 0);
    assert_int_equal(elan_partition_contexts(pm), rc == 0 ? 9 : 0);
    assert_int_equal(info.prognum != 0, rc == 0);
    elan_partition_release(pm, &info);
    elan_jobinfo_free(&info);
    elan_payload_free(&payload);
    elan_layout_free(&l);
    elan_partition_destroy(pm);
    errno = code;
    return rc;
}

static int recover_step(void)
{
    long saved = left;
    struct elan_site site;
    struct elan_partition *pm;
    int rc, code;

    left = -1;
    elan_site_defaults(&site);
    pm = elan_partition_create(&site, 1, NULL);
    left = saved;
    rc = elan_partition_recover(pm, &with.info, NULL);
    code = errno;
    left = -1;
    assert_int_equal(elan_partition_contexts(pm),
                     rc == 0 ? with.info.nnodes * with.info.ncontexts : 0);
    elan_partition_destroy(pm);
    errno = code;
    return rc;
}

static int copy_info(void)
{
    struct elan_jobinfo copy;

    if (elan_jobinfo_copy(&copy, &with.info) < 0)
        return -1;
    elan_jobinfo_free(&copy);
    return 0;
}

static int encode_info(void)
{
    void *buf;
    size_t len;

    if (elan_jobinfo_encode(&with.info, &buf, &len, NULL) < 0)
        return -1;
    free(buf);
    return 0;
}

static int decode_info(void)
{
    struct elan_jobinfo got;

    if (elan_jobinfo_decode(&got, with.buf, with.len, NULL) < 0)
        return -1;
    elan_jobinfo_free(&got);
    return 0;
}

static int decode_payload(void)
{
    struct elan_payload got;

    if (elan_payload_decode(&got, with.buf, with.len, NULL) < 0)
        return -1;
    elan_payload_free(&got);
    return 0;
}

static int expand_names(void)
{
    struct host_names names;

    if (host_names_expand(&names, "n[0-40]", SF_ELAN_NODES_MAX, NULL) < 0)
        return -1;
    host_names_free(&names);
    return 0;
}

static int parse_table(void)
{
    const char *text = "NodeName=n[0-20] ElanId=0-20 ElanId1=20,0-19 "
                       "Board=1-15\nNodeName=m ElanId=30\n";
    struct elanhosts *h = elanhosts_parse("f", text, strlen(text), NULL, NULL);

    if (!h)
        return -1;
    elanhosts_destroy(h);
    return 0;
}

static int layout_by_name(void)
{
    const struct elan_step_layout step = {"n[1-3]", 3, tasks, tids, false};
    struct elanhosts *h = elanhosts_natural();
    struct elan_layout l;
    int rc;

    if (!h)
        return -1;
    rc = elanhosts_layout(h, &l, &step, 2, NULL);
    elan_layout_free(&l);
    elanhosts_destroy(h);
    return rc;
}

static int parse_options(void)
{
    struct elan_site site;

    return elan_site_parse(&site, "rails=2,base_context=7", NULL);
}

static void nth_allocation_fails_everywhere(void **state)
{
    try_all(make_layout);
    try_all(make_manager);
    try_all(build_step);
    try_all(expand_names);
    try_all(parse_table);
    try_all(layout_by_name);
    try_all(parse_options);
}

static void nth_allocation_fails_in_the_job_info(void **state)
{
    elan_jobinfo_init(&with.info, 1, 2, 3);
    with.info.prognum = 7;
    with.info.ncontexts = 4;
    with.info.nnodes = 3;
    with.info.nodes = malloc(sizeof(ids));
    memcpy(with.info.nodes, ids, sizeof(ids));
    with.info.sealed = strdup("sealed");
    assert_int_equal(
        elan_jobinfo_encode(&with.info, &with.buf, &with.len, NULL), 0);
    try_all(copy_info);
    try_all(encode_info);
    try_all(decode_info);
    try_all(recover_step);
    free(with.buf);
    elan_jobinfo_free(&with.info);
}

static void nth_allocation_fails_in_the_payload(void **state)
{
    struct elan_capability_spec cap = {.low_context = 4, .ncontexts = 3};
    struct elan_payload p = {.prognum = 1, .ncaps = 1};

    assert_int_equal(elan_layout_make(&p.layout, &spec, NULL), 0);
    p.caps = calloc(1, sizeof(*p.caps));
    cap.layout = &p.layout;
    assert_int_equal(elan_capability_build(p.caps, &cap, NULL), 0);
    assert_int_equal(elan_payload_encode(&p, &with.buf, &with.len, NULL), 0);
    try_all(decode_payload);
    free(with.buf);
    elan_payload_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nth_allocation_fails_everywhere),
        cmocka_unit_test(nth_allocation_fails_in_the_job_info),
        cmocka_unit_test(nth_allocation_fails_in_the_payload),
    };

    return cmocka_run_group_tests_name("elan_nomem", tests, NULL, NULL);
}
