/* SPDX-License-Identifier: BSD-3-Clause
 * The clear job info.
 */
#include "base/limits.h"
#include "elan/jobinfo.h"
#include "elan_util.h"

static struct elan_jobinfo sample(void)
{
    static const uint32_t nodes[] = {3, 4, 5, 9};
    struct elan_jobinfo info;

    elan_jobinfo_init(&info, 42, 7, 0xfffffffe);
    info.prognum = 1000;
    info.low_context = 0x400;
    info.ncontexts = 4;
    info.nnodes = N_OF(nodes);
    info.nodes = malloc(sizeof(nodes));
    memcpy(info.nodes, nodes, sizeof(nodes));
    info.sealed = strdup("MUNGE:AwQDAAA=:");
    return info;
}

static void assert_same(const struct elan_jobinfo *a,
                        const struct elan_jobinfo *b)
{
    assert_int_equal(a->job_id, b->job_id);
    assert_int_equal(a->step_id, b->step_id);
    assert_int_equal(a->het_comp, b->het_comp);
    assert_int_equal(a->prognum, b->prognum);
    assert_int_equal(a->low_context, b->low_context);
    assert_int_equal(a->ncontexts, b->ncontexts);
    assert_int_equal(a->nnodes, b->nnodes);
    if (a->nnodes > 0)
        assert_memory_equal(a->nodes, b->nodes, 4 * a->nnodes);
    if (a->sealed)
        assert_string_equal(a->sealed, b->sealed);
    else
        assert_null(b->sealed);
}

static void round_trip(const struct elan_jobinfo *info)
{
    struct elan_jobinfo got;
    void *buf;
    size_t len;

    assert_int_equal(elan_jobinfo_encode(info, &buf, &len, NULL), 0);
    assert_int_equal(elan_jobinfo_decode(&got, buf, len, NULL), 0);
    assert_same(info, &got);
    elan_jobinfo_free(&got);
    free(buf);
}

static void jobinfo_round_trip(void **state)
{
    struct elan_jobinfo info = sample(), never;

    round_trip(&info);
    free(info.sealed);
    info.sealed = NULL;
    round_trip(&info);
    elan_jobinfo_init(&never, 1, 2, 3);
    round_trip(&never);
    elan_jobinfo_free(&info);
}

static void null_is_one_never_built(void **state)
{
    struct elan_jobinfo got;
    void *buf;
    size_t len;

    assert_int_equal(elan_jobinfo_encode(NULL, &buf, &len, NULL), 0);
    assert_int_equal(elan_jobinfo_decode(&got, buf, len, NULL), 0);
    assert_int_equal(got.prognum, 0);
    assert_null(got.nodes);
    elan_jobinfo_free(&got);
    free(buf);
}

static void jobinfo_copy_is_deep(void **state)
{
    struct elan_jobinfo info = sample(), copy;

    assert_int_equal(elan_jobinfo_copy(&copy, &info), 0);
    assert_same(&info, &copy);
    assert_ptr_not_equal(info.nodes, copy.nodes);
    assert_ptr_not_equal(info.sealed, copy.sealed);
    elan_jobinfo_free(&info);
    elan_jobinfo_free(&copy);
    elan_jobinfo_free(&copy);
}

static void expect_refused(const void *buf, size_t len, int code,
                           const char *text)
{
    struct elan_jobinfo got;
    struct errbuf err = {""};

    errno = 0;
    assert_int_equal(elan_jobinfo_decode(&got, buf, len, &err), -1);
    assert_int_equal(errno, code);
    assert_string_equal(err.text, text);
    assert_null(got.nodes);
    assert_null(got.sealed);
}

static void cut_foreign_or_newer_is_refused(void **state)
{
    struct elan_jobinfo info = sample();
    uint8_t *bytes;
    void *buf;
    size_t len;

    assert_int_equal(elan_jobinfo_encode(&info, &buf, &len, NULL), 0);
    for (size_t cut = 0; cut < len; cut++)
        expect_refused(buf, cut, EPROTO,
                       cut < 6 ? "job info: not ours"
                               : "job info: malformed or cut");
    bytes = buf;
    bytes = realloc(bytes, len + 1);
    bytes[len] = 0;
    expect_refused(bytes, len + 1, EPROTO, "job info: malformed or cut");
    bytes[5] = 2;
    expect_refused(bytes, len, EPROTONOSUPPORT,
                   "job info: version 2, this is 1");
    bytes[0] = 'X';
    expect_refused(bytes, len, EPROTO, "job info: not ours");
    expect_refused(bytes, SF_ELAN_JOBINFO_MAX + 1, EMSGSIZE,
                   "job info of 1048577 bytes, limit 1048576");
    free(bytes);
    elan_jobinfo_free(&info);
}

static void encode_and_refuse(const struct elan_jobinfo *info, const char *text)
{
    void *buf;
    size_t len;

    assert_int_equal(elan_jobinfo_encode(info, &buf, &len, NULL), 0);
    expect_refused(buf, len, EPROTO, text);
    free(buf);
}

static void jobinfo_with_senseless_members_is_refused(void **state)
{
    struct elan_jobinfo good = sample(), info = good;

    info.prognum = 0x80000000;
    encode_and_refuse(&info, "job info: program number 2147483648");
    info.prognum = 0;
    encode_and_refuse(&info, "job info: contents without a program");
    info = good;
    info.ncontexts = 4096;
    encode_and_refuse(&info, "job info: 4096 contexts from 1024 on");
    info.ncontexts = 0;
    encode_and_refuse(&info, "job info: 0 contexts from 1024 on");
    info = good;
    info.nnodes = 0;
    encode_and_refuse(&info, "job info: node list");
    info = good;
    info.nodes[2] = SF_ELAN_NODE_ID_MAX + 1;
    encode_and_refuse(&info, "job info: node list");
    elan_jobinfo_free(&good);
}

static void jobinfo_longer_than_the_limit_is_not_made(void **state)
{
    struct elan_jobinfo info = sample();
    void *buf = NULL;
    size_t len;

    free(info.sealed);
    info.sealed = malloc(SF_ELAN_JOBINFO_MAX + 1);
    memset(info.sealed, 'x', SF_ELAN_JOBINFO_MAX);
    info.sealed[SF_ELAN_JOBINFO_MAX] = '\0';
    assert_int_equal(elan_jobinfo_encode(&info, &buf, &len, NULL), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_null(buf);
    elan_jobinfo_free(&info);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobinfo_round_trip),
        cmocka_unit_test(null_is_one_never_built),
        cmocka_unit_test(jobinfo_copy_is_deep),
        cmocka_unit_test(cut_foreign_or_newer_is_refused),
        cmocka_unit_test(jobinfo_with_senseless_members_is_refused),
        cmocka_unit_test(jobinfo_longer_than_the_limit_is_not_made),
    };

    return cmocka_run_group_tests_name("elan_jobinfo", tests, NULL, NULL);
}
