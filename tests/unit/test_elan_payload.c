/* SPDX-License-Identifier: BSD-3-Clause
 * The sealed payload and the ladder of checks that a node makes.
 */
#include "elan/payload.h"
#include "elan_util.h"

static const struct elan_check good_check = {
    .encoder_uid = 64030,
    .slurm_uid = 64030,
    .job_id = 42,
    .step_id = 7,
    .het_comp = 1,
    .uid = 1000,
    .node_id = 11,
    .run = 2,
    .nodeid = 1,
    .now = 5000,
    .max_age = 3600,
};

static struct elan_payload sample(bool cyclic)
{
    struct elan_payload p = {.job_id = 42,
                             .step_id = 7,
                             .het_comp = 1,
                             .uid = 1000,
                             .run = 2,
                             .prognum = 17,
                             .issued = 4990};
    struct elan_capability_spec spec = {.layout = &p.layout,
                                        .low_context = 0x400,
                                        .ncontexts = 2,
                                        .key = {{1, 2, 3, 4}}};

    p.layout = even_layout(3, 10, 2, cyclic);
    p.ncaps = 1;
    p.caps = calloc(1, sizeof(*p.caps));
    assert_int_equal(elan_capability_build(p.caps, &spec, NULL), 0);
    return p;
}

static void *encode(const struct elan_payload *p, size_t *len)
{
    void *buf;

    assert_int_equal(elan_payload_encode(p, &buf, len, NULL), 0);
    return buf;
}

static void payload_round_trip(void **state)
{
    struct elan_payload p = sample(true), got;
    size_t len;
    void *buf = encode(&p, &len);

    assert_int_equal(elan_payload_open(&got, buf, len, &good_check, NULL), 0);
    assert_int_equal(got.prognum, 17);
    assert_int_equal(got.uid, 1000);
    assert_int_equal(got.run, 2);
    assert_int_equal(got.issued, 4990);
    assert_same_layout(&got.layout, &p.layout);
    assert_int_equal(got.ncaps, 1);
    assert_memory_equal(got.caps, p.caps, sizeof(*p.caps));
    elan_payload_free(&got);
    elan_payload_free(&p);
    free(buf);
}

static void held_nodes_are_told(void **state)
{
    struct elan_payload p = sample(false), got;
    size_t len;
    void *buf;

    p.hold = (struct elan_hold){20, 2, {0, 2}};
    buf = encode(&p, &len);
    assert_int_equal(elan_payload_open(&got, buf, len, &good_check, NULL), 0);
    assert_int_equal(got.hold.seconds, 20);
    assert_int_equal(got.hold.n, 2);
    assert_int_equal(got.hold.nodes[0], 0);
    assert_int_equal(got.hold.nodes[1], 2);
    elan_payload_free(&got);
    elan_payload_free(&p);
    free(buf);
}

static void what_is_held_wrongly_is_refused(void **state)
{
    static const struct elan_hold bad[] = {
        {20, 1, {3}},    /* of three nodes */
        {20, 2, {1, 1}}, /* twice */
        {20, 2, {2, 1}}, /* not ascending */
        {86401, 1, {0}}, /* for longer than anybody waits */
    };
    struct elan_payload p = sample(false), got;
    struct errbuf err;
    size_t len;
    char *buf;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        p.hold = bad[i];
        buf = encode(&p, &len);
        assert_int_equal(elan_payload_open(&got, buf, len, &good_check, &err),
                         -1);
        assert_int_equal(errno, EPROTO);
        free(buf);
    }
    p.hold = (struct elan_hold){20, 2, {0, 2}};
    buf = encode(&p, &len);
    for (size_t cut = 1; cut < 4 + 1 + 8; cut++)
        assert_int_equal(
            elan_payload_open(&got, buf, len - cut, &good_check, &err), -1);
    buf[len - 9] = 17; /* more nodes than a hold has */
    assert_int_equal(elan_payload_open(&got, buf, len, &good_check, &err), -1);
    free(buf);
    elan_payload_free(&p);
}

static struct elan_payload two_rails(const struct elan_layout_spec *ls)
{
    struct elan_payload p = {.prognum = 1, .ncaps = 2};

    assert_int_equal(elan_layout_make(&p.layout, ls, NULL), 0);
    p.caps = calloc(2, sizeof(*p.caps));
    for (uint32_t rail = 0; rail < 2; rail++) {
        struct elan_capability_spec spec = {&p.layout, rail,     0x400,
                                            2,         {{rail}}, false};

        assert_int_equal(elan_capability_build(&p.caps[rail], &spec, NULL), 0);
    }
    return p;
}

static void expect_undecoded(const struct elan_payload *p)
{
    struct elan_payload got;
    size_t len;
    void *buf = encode(p, &len);

    assert_int_equal(elan_payload_decode(&got, buf, len, NULL), -1);
    free(buf);
}

static void two_rails_two_capabilities(void **state)
{
    const uint32_t ids[] = {0, 1, 1, 0};
    const uint16_t tasks[] = {1, 2};
    struct elan_layout_spec ls = {2, 2, ids, tasks, NULL, false};
    struct elan_payload p = two_rails(&ls), got;
    size_t len;
    void *buf;

    buf = encode(&p, &len);
    assert_int_equal(elan_payload_decode(&got, buf, len, NULL), 0);
    assert_int_equal(got.caps[0].RailMask, 1);
    assert_int_equal(got.caps[1].RailMask, 2);
    assert_int_equal(got.caps[1].UserKey.Values[0], 1);
    elan_payload_free(&got);
    /* The second speaks of other contexts: not one program. */
    p.caps[1].LowContext++;
    p.caps[1].HighContext++;
    free(buf);
    expect_undecoded(&p);
    elan_payload_free(&p);
}

/* On one node the bitmap is the same for any range. */
static void rails_have_the_same_contexts(void **state)
{
    const uint32_t ids[] = {0, 0};
    const uint16_t tasks[] = {1};
    struct elan_layout_spec ls = {1, 2, ids, tasks, NULL, false};
    struct elan_payload p = two_rails(&ls), got;
    size_t len;
    void *buf = encode(&p, &len);

    assert_int_equal(elan_payload_decode(&got, buf, len, NULL), 0);
    elan_payload_free(&got);
    free(buf);
    p.caps[1].HighContext++;
    expect_undecoded(&p);
    p.caps[1].HighContext--;
    p.caps[1].LowContext--;
    expect_undecoded(&p);
    elan_payload_free(&p);
}

static void expect_refused(const void *buf, size_t len,
                           const struct elan_check *check, int code,
                           const char *text)
{
    struct elan_payload got;
    struct errbuf err = {""};

    errno = 0;
    assert_int_equal(elan_payload_open(&got, buf, len, check, &err), -1);
    assert_string_equal(err.text, text);
    assert_int_equal(errno, code);
    assert_null(got.caps);
    assert_null(got.layout.procs);
}

static void each_check_names_itself(void **state)
{
    struct elan_payload p = sample(false);
    struct elan_check c = good_check;
    size_t len;
    void *buf = encode(&p, &len);

    c.encoder_uid = 1000;
    expect_refused(buf, len, &c, EPERM,
                   "encoder uid: sealed by uid 1000, not by SlurmUser 64030");
    c = good_check;
    c.job_id = 43;
    expect_refused(buf, len, &c, EPERM, "job: made for job 42, this is job 43");
    c = good_check;
    c.step_id = 8;
    expect_refused(buf, len, &c, EPERM,
                   "step: made for step 7, this is step 8");
    c = good_check;
    c.het_comp = 0;
    expect_refused(buf, len, &c, EPERM,
                   "component: made for component 1, this is 0");
    c = good_check;
    c.uid = 1001;
    expect_refused(buf, len, &c, EPERM,
                   "uid: made for uid 1000, the job's is 1001");
    c = good_check;
    c.run = 3;
    expect_refused(buf, len, &c, EPERM,
                   "run: made for run 2 of the job, this is run 3");
    c = good_check;
    c.node_id = 13;
    expect_refused(buf, len, &c, EPERM, "node set: Elan id 13 is not in it");
    c = good_check;
    c.nodeid = 2;
    expect_refused(buf, len, &c, EPERM,
                   "node set: Elan id 11 is not node 2 of it");
    c.nodeid = 99;
    expect_refused(buf, len, &c, EPERM,
                   "node set: Elan id 11 is not node 99 of it");
    c = good_check;
    c.now = 4990 + 3601;
    expect_refused(buf, len, &c, EPERM, "age: 3601 s old, limit 3600 s");
    c.now = 4990 - 301;
    expect_refused(buf, len, &c, EPERM, "age: made 301 s in the future");
    c = good_check;
    c.expired = true;
    expect_refused(buf, len, &c, EPERM, "age: the seal's time to live is over");
    free(buf);
    elan_payload_free(&p);
}

static void clocks_may_differ(void **state)
{
    struct elan_payload p = sample(false), got;
    struct elan_check c = good_check;
    size_t len;
    void *buf = encode(&p, &len);

    c.now = 4990 - 300;
    assert_int_equal(elan_payload_open(&got, buf, len, &c, NULL), 0);
    elan_payload_free(&got);
    c.now = 4990 + 3600;
    assert_int_equal(elan_payload_open(&got, buf, len, &c, NULL), 0);
    elan_payload_free(&got);
    free(buf);
    elan_payload_free(&p);
}

/* The first rung that fails is the one that is named. */
static void checks_come_in_their_order(void **state)
{
    struct elan_payload p = sample(false);
    struct elan_check c = {.encoder_uid = 1, .expired = true};
    static const char *const names[] = {
        "encoder uid:", "job:", "step:",    "component:",
        "uid:",         "run:", "node set", "age:"};
    struct elan_check fix[] = {c, c, c, c, c, c, c, c};
    struct errbuf err;

    for (uint32_t i = 1; i < N_OF(fix); i++) {
        fix[i] = fix[i - 1];
        if (i == 1)
            fix[i].encoder_uid = 0;
        if (i == 2)
            fix[i].job_id = 42;
        if (i == 3)
            fix[i].step_id = 7;
        if (i == 4)
            fix[i].het_comp = 1;
        if (i == 5)
            fix[i].uid = 1000;
        if (i == 6)
            fix[i].run = 2;
        if (i == 7)
            fix[i].node_id = 10;
    }
    for (uint32_t i = 0; i < N_OF(fix); i++) {
        assert_int_equal(elan_payload_check(&p, &fix[i], &err), -1);
        assert_memory_equal(err.text, names[i], strlen(names[i]));
    }
    elan_payload_free(&p);
}

static void cut_or_foreign_payload_is_refused(void **state)
{
    struct elan_payload p = sample(false), got;
    size_t len;
    uint8_t *encoded = encode(&p, &len), *buf = malloc(len + 1);
    struct errbuf err;

    memcpy(buf, encoded, len);
    free(encoded);
    for (size_t cut = 0; cut < len; cut++) {
        assert_int_equal(elan_payload_decode(&got, buf, cut, &err), -1);
        assert_memory_equal(err.text, "decode: ", 8);
    }
    buf[len] = 0;
    expect_refused(buf, len + 1, &good_check, EPROTO,
                   "decode: bytes after the payload");
    buf[5] = 9;
    expect_refused(buf, len, &good_check, EPROTONOSUPPORT,
                   "decode: payload version 9, this is 2");
    buf[1] = 'x';
    expect_refused(buf, len, &good_check, EPROTO,
                   "magic: 0x53784550 is not a payload of ours");
    free(buf);
    elan_payload_free(&p);
}

static void one_changed_bit_never_reads_past_the_end(void **state)
{
    struct elan_payload p = sample(false), got;
    size_t len;
    uint8_t *buf = encode(&p, &len);

    for (size_t bit = 0; bit < len * 8; bit++) {
        buf[bit / 8] ^= 1 << (bit % 8);
        if (elan_payload_decode(&got, buf, len, NULL) == 0)
            elan_payload_free(&got);
        buf[bit / 8] ^= 1 << (bit % 8);
    }
    free(buf);
    elan_payload_free(&p);
}

static void capability_of_another_layout_is_refused(void **state)
{
    struct elan_payload p = sample(false), other = sample(false);
    struct elan_capability_spec spec = {&other.layout,  0,    0x400, 2,
                                        {{1, 2, 3, 4}}, false};
    struct elan_payload got;
    struct errbuf err;
    size_t len;
    void *buf;

    elan_layout_free(&other.layout);
    other.layout = even_layout(3, 20, 2, false);
    assert_int_equal(elan_capability_build(p.caps, &spec, NULL), 0);
    buf = encode(&p, &len);
    assert_int_equal(elan_payload_decode(&got, buf, len, &err), -1);
    assert_string_equal(err.text, "decode: capability 0 is of another layout");
    free(buf);
    elan_payload_free(&p);
    elan_payload_free(&other);
}

static void payload_of_5000_nodes_is_small(void **state)
{
    struct elan_payload p = sample(false), got;
    struct elan_capability_spec spec = {&p.layout,      0,    0x400, 3,
                                        {{1, 2, 3, 4}}, false};
    size_t len;
    void *buf;

    elan_layout_free(&p.layout);
    p.layout = even_layout(5000, 1, 3, true);
    assert_int_equal(elan_capability_build(p.caps, &spec, NULL), 0);
    buf = encode(&p, &len);
    assert_in_range(len, 1875, 2048);
    assert_int_equal(elan_payload_decode(&got, buf, len, NULL), 0);
    elan_payload_free(&got);
    free(buf);
    elan_payload_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payload_round_trip),
        cmocka_unit_test(held_nodes_are_told),
        cmocka_unit_test(what_is_held_wrongly_is_refused),
        cmocka_unit_test(two_rails_two_capabilities),
        cmocka_unit_test(rails_have_the_same_contexts),
        cmocka_unit_test(each_check_names_itself),
        cmocka_unit_test(clocks_may_differ),
        cmocka_unit_test(checks_come_in_their_order),
        cmocka_unit_test(cut_or_foreign_payload_is_refused),
        cmocka_unit_test(one_changed_bit_never_reads_past_the_end),
        cmocka_unit_test(capability_of_another_layout_is_refused),
        cmocka_unit_test(payload_of_5000_nodes_is_small),
    };

    return cmocka_run_group_tests_name("elan_payload", tests, NULL, NULL);
}
