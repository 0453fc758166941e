/* SPDX-License-Identifier: BSD-3-Clause
 * Context ranges, against a model that keeps a list and tries everything.
 */
#include "base/limits.h"
#include "elan/contexts.h"
#include "elan/elanvp.h"
#include "elan_util.h"

#define NODES(...)                                                             \
    ((struct elan_nodes){(const uint32_t[]){__VA_ARGS__},                      \
                         N_OF(((const uint32_t[]){__VA_ARGS__}))})

static struct elan_contexts *pool(uint32_t base, uint32_t top)
{
    struct errbuf err = {""};
    struct elan_contexts *c = elan_contexts_create(base, top, &err);

    if (!c)
        fail_msg("%s", err.text);
    return c;
}

/* First context, or -errno. */
static int alloc(struct elan_contexts *c, struct elan_nodes nodes,
                 uint32_t width)
{
    uint32_t low;

    errno = 0;
    return elan_contexts_alloc(c, nodes, width, &low, NULL) < 0 ? -errno
                                                                : (int)low;
}

static void both_ends_are_used(void **state)
{
    struct elan_contexts *c =
        pool(ELAN_RMS_BASE_CONTEXT_NUM, ELAN_RMS_TOP_CONTEXT_NUM);

    for (int i = 0x400; i <= 0x7fe; i++)
        assert_int_equal(alloc(c, NODES(1), 1), i);
    assert_int_equal(alloc(c, NODES(1), 1), -EBUSY);
    assert_int_equal(elan_contexts_used(c), 0x3ff);
    elan_contexts_destroy(c);
}

static void range_is_contiguous_and_as_wide_as_asked(void **state)
{
    struct elan_contexts *c = pool(0, 9);

    assert_int_equal(alloc(c, NODES(1, 2), 4), 0);
    assert_int_equal(alloc(c, NODES(1), 4), 4);
    /* 8 and 9 are left: no 4 in a row. */
    assert_int_equal(alloc(c, NODES(1), 4), -EBUSY);
    assert_int_equal(alloc(c, NODES(1), 2), 8);
    elan_contexts_destroy(c);
}

static void range_is_free_on_every_node(void **state)
{
    struct elan_contexts *c = pool(0, 7);

    assert_int_equal(alloc(c, NODES(1), 3), 0);
    assert_int_equal(alloc(c, NODES(2), 2), 3);
    assert_int_equal(elan_contexts_release(c, NODES(1), 0, 3), 0);
    elan_contexts_set_cursor(c, 0);
    /* Node 2 has 3 and 4: 0..2 is free on both, 4 wide only... nowhere. */
    assert_int_equal(alloc(c, NODES(1, 2), 4), -EBUSY);
    assert_int_equal(alloc(c, NODES(1, 2), 3), 0);
    elan_contexts_destroy(c);
}

static void next_fit_upward_then_wrap(void **state)
{
    struct elan_contexts *c = pool(10, 19);

    assert_int_equal(alloc(c, NODES(1), 4), 10);
    assert_int_equal(elan_contexts_release(c, NODES(1), 10, 4), 0);
    assert_int_equal(alloc(c, NODES(1), 4), 14);
    assert_int_equal(elan_contexts_release(c, NODES(1), 14, 4), 0);
    assert_int_equal(elan_contexts_cursor(c), 18);
    /* 18 and 19 are too few: wrap. */
    assert_int_equal(alloc(c, NODES(1), 4), 10);
    elan_contexts_destroy(c);
}

static void shared_only_without_a_common_node(void **state)
{
    struct elan_contexts *c = pool(0, 3);

    assert_int_equal(alloc(c, NODES(1, 2), 4), 0);
    assert_int_equal(alloc(c, NODES(3, 4), 4), 0);
    assert_int_equal(alloc(c, NODES(2, 3), 1), -EBUSY);
    assert_int_equal(alloc(c, NODES(5), 4), 0);
    /* Between 1 and 5 but on neither: the set counts, not its range. */
    assert_int_equal(elan_contexts_release(c, NODES(3, 4), 0, 4), 0);
    assert_int_equal(alloc(c, NODES(3), 4), 0);
    elan_contexts_destroy(c);
}

static void busy_and_never_are_told_apart(void **state)
{
    struct elan_contexts *c = pool(0, 3);
    struct errbuf err;
    uint32_t low;

    assert_int_equal(elan_contexts_alloc(c, NODES(1), 5, &low, &err), -1);
    assert_int_equal(errno, E2BIG);
    assert_string_equal(err.text, "5 contexts a node, the range has only 4");
    assert_int_equal(alloc(c, NODES(1), 3), 0);
    assert_int_equal(elan_contexts_alloc(c, NODES(1), 2, &low, &err), -1);
    assert_int_equal(errno, EBUSY);
    assert_string_equal(err.text, "no 2 contexts are free on all of 1 nodes");
    assert_int_equal(alloc(c, NODES(1), 0), -EINVAL);
    assert_int_equal(alloc(c, (struct elan_nodes){NULL, 0}, 1), -EINVAL);
    assert_int_equal(alloc(c, NODES(SF_ELAN_NODE_ID_MAX + 1), 1), -EINVAL);
    assert_int_equal(elan_contexts_used(c), 3);
    elan_contexts_destroy(c);
}

static void only_ranges_within_the_adapter(void **state)
{
    struct errbuf err;
    struct elan_contexts *c;

    assert_null(elan_contexts_create(4000, 4096, &err));
    assert_int_equal(errno, EINVAL);
    assert_string_equal(err.text,
                        "contexts 4000 to 4096: not a range within 0 to 4095");
    assert_null(elan_contexts_create(5, 4, &err));
    c = pool(4000, 4095);
    for (int i = 4000; i <= 4095; i++)
        assert_int_equal(alloc(c, NODES(0), 1), i);
    assert_int_equal(alloc(c, NODES(0), 1), -EBUSY);
    elan_contexts_destroy(c);
}

static void release_of_what_is_not_taken_changes_nothing(void **state)
{
    struct elan_contexts *c = pool(0, 63);

    assert_int_equal(alloc(c, NODES(1, 2), 4), 0);
    assert_int_equal(elan_contexts_release(c, NODES(1, 2), 0, 5), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(elan_contexts_release(c, NODES(1, 3), 0, 4), -1);
    assert_int_equal(elan_contexts_release(c, NODES(1, 9999), 0, 4), -1);
    assert_int_equal(elan_contexts_release(c, NODES(1), 4095, 4), -1);
    assert_int_equal(elan_contexts_used(c), 8);
    assert_int_equal(elan_contexts_release(c, NODES(1, 2), 0, 4), 0);
    assert_int_equal(elan_contexts_release(c, NODES(1, 2), 0, 4), -1);
    assert_int_equal(elan_contexts_used(c), 0);
    elan_contexts_destroy(c);
}

static void claim_takes_what_was_recovered(void **state)
{
    struct elan_contexts *c = pool(0x400, 0x40f);
    struct errbuf err;

    assert_int_equal(elan_contexts_claim(c, NODES(1, 2), 0x404, 4, &err), 0);
    assert_int_equal(elan_contexts_claim(c, NODES(2, 3), 0x407, 1, &err), -1);
    assert_int_equal(errno, EEXIST);
    assert_string_equal(err.text,
                        "contexts 1031 to 1031 are taken on Elan id 2");
    /* Outside the configured range: it was configured otherwise before. */
    assert_int_equal(elan_contexts_claim(c, NODES(1), 0x10, 4, &err), 0);
    assert_int_equal(elan_contexts_claim(c, NODES(1), 4094, 4, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(alloc(c, NODES(1), 4), 0x400);
    assert_int_equal(alloc(c, NODES(1), 4), 0x408);
    assert_int_equal(elan_contexts_release(c, NODES(1), 0x10, 4), 0);
    elan_contexts_destroy(c);
}

static void range_may_change_while_programs_live(void **state)
{
    struct elan_contexts *c = pool(0, 7);

    assert_int_equal(alloc(c, NODES(1), 8), 0);
    assert_int_equal(elan_contexts_set_range(c, 100, 107, NULL), 0);
    assert_int_equal(elan_contexts_cursor(c), 100);
    assert_int_equal(alloc(c, NODES(1), 8), 100);
    assert_int_equal(elan_contexts_set_range(c, 9, 5, NULL), -1);
    assert_int_equal(elan_contexts_release(c, NODES(1), 0, 8), 0);
    assert_int_equal(elan_contexts_release(c, NODES(1), 100, 8), 0);
    assert_int_equal(elan_contexts_used(c), 0);
    elan_contexts_destroy(c);
}

/* ---- the model: a list of what is live ------------------------------------
 */

#define MODEL_NODES 12
#define MODEL_LIVE 400

struct live {
    uint32_t nodes[MODEL_NODES];
    uint32_t n, low, width;
};

struct model {
    struct live live[MODEL_LIVE];
    uint32_t n;
    uint32_t base, top, cursor;
};

static bool share_a_node(const struct live *a, const struct live *b)
{
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t j = 0; j < b->n; j++)
            if (a->nodes[i] == b->nodes[j])
                return true;
    return false;
}

static bool free_in_model(const struct model *m, const struct live *want)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const struct live *l = &m->live[i];

        if (want->low < l->low + l->width && l->low < want->low + want->width &&
            share_a_node(want, l))
            return false;
    }
    return true;
}

/* Every start from the cursor up, then every start from base. */
static bool fit_in_model(struct model *m, struct live *want)
{
    uint32_t from =
        m->cursor >= m->base && m->cursor <= m->top ? m->cursor : m->base;

    for (want->low = from; want->low + want->width <= m->top + 1; want->low++)
        if (free_in_model(m, want))
            return true;
    for (want->low = m->base; want->low + want->width <= m->top + 1;
         want->low++)
        if (free_in_model(m, want))
            return true;
    return false;
}

static void random_request(struct live *want, uint32_t *seed)
{
    want->n = 0;
    want->width = next_random(seed) % 9 + 1;
    for (uint32_t node = 0; node < MODEL_NODES; node++)
        if (next_random(seed) % 4 == 0)
            want->nodes[want->n++] = node;
    if (want->n == 0)
        want->nodes[want->n++] = next_random(seed) % MODEL_NODES;
}

static void random_mix_agrees_with_the_model(void **state)
{
    static struct model m;
    uint32_t seed = 4711, low, busy = 0;

    for (int world = 0; world < 4; world++) {
        struct elan_contexts *c;

        m = (struct model){.base = 60 + 3 * world, .top = 140 + world};
        c = pool(m.base, m.top);
        m.cursor = m.base;
        for (int round = 0; round < 5000; round++) {
            struct live want;
            struct elan_nodes nodes;
            bool fits;

            if (m.n > 0 && next_random(&seed) % 2) {
                uint32_t i = next_random(&seed) % m.n;
                struct live *l = &m.live[i];

                nodes = (struct elan_nodes){l->nodes, l->n};
                assert_int_equal(
                    elan_contexts_release(c, nodes, l->low, l->width), 0);
                *l = m.live[--m.n];
                continue;
            }
            random_request(&want, &seed);
            nodes = (struct elan_nodes){want.nodes, want.n};
            fits = fit_in_model(&m, &want);
            assert_int_equal(
                elan_contexts_alloc(c, nodes, want.width, &low, NULL),
                fits ? 0 : -1);
            busy += !fits;
            if (!fits)
                continue;
            assert_int_equal(low, want.low);
            m.cursor = low + want.width;
            m.live[m.n++] = want;
        }
        elan_contexts_destroy(c);
    }
    assert_true(busy > 50);
}

static void the_pool_is_empty_after_10000_steps(void **state)
{
    struct elan_contexts *c = pool(0x400, 0x7fe);
    struct {
        uint32_t first, n, low, width;
    } live[500] = {{0}};
    uint32_t ids[1024], seed = 5;

    for (uint32_t i = 0; i < 1024; i++)
        ids[i] = i;
    for (int step = 0; step < 10000; step++) {
        uint32_t i = next_random(&seed) % 500;

        if (live[i].n > 0)
            assert_int_equal(
                elan_contexts_release(
                    c, (struct elan_nodes){ids + live[i].first, live[i].n},
                    live[i].low, live[i].width),
                0);
        live[i].first = next_random(&seed) % 1000;
        live[i].n = next_random(&seed) % 24 + 1;
        live[i].width = next_random(&seed) % 16 + 1;
        assert_int_equal(
            elan_contexts_alloc(
                c, (struct elan_nodes){ids + live[i].first, live[i].n},
                live[i].width, &live[i].low, NULL),
            0);
    }
    for (uint32_t i = 0; i < 500; i++)
        if (live[i].n > 0)
            elan_contexts_release(
                c, (struct elan_nodes){ids + live[i].first, live[i].n},
                live[i].low, live[i].width);
    assert_int_equal(elan_contexts_used(c), 0);
    elan_contexts_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_are_used),
        cmocka_unit_test(range_is_contiguous_and_as_wide_as_asked),
        cmocka_unit_test(range_is_free_on_every_node),
        cmocka_unit_test(next_fit_upward_then_wrap),
        cmocka_unit_test(shared_only_without_a_common_node),
        cmocka_unit_test(busy_and_never_are_told_apart),
        cmocka_unit_test(only_ranges_within_the_adapter),
        cmocka_unit_test(release_of_what_is_not_taken_changes_nothing),
        cmocka_unit_test(claim_takes_what_was_recovered),
        cmocka_unit_test(range_may_change_while_programs_live),
        cmocka_unit_test(random_mix_agrees_with_the_model),
        cmocka_unit_test(the_pool_is_empty_after_10000_steps),
    };

    return cmocka_run_group_tests_name("elan_contexts", tests, NULL, NULL);
}
