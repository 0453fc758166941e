/* SPDX-License-Identifier: BSD-3-Clause
 * The buffers that messages arrive in, and what is copied.
 */
#include "hsn/pages.h"
#include "hsn_pair.h"

static void messages_lie_where_they_came(void **state)
{
    static const size_t sizes[] = {4096, 8192};

    for (int i = 0; i < 2; i++) {
        struct pair p = pair(sizes[i], &copy_module);
        size_t at;

        say(p.from, HSN_MODULE_CLIENT, 8192, sizeof(head), 1);
        say(p.from, HSN_MODULE_CLIENT, 8000, sizeof(head), 2);
        say(p.from, HSN_MODULE_CLIENT, 100, sizeof(head), 3);
        pass(p.from, 0, p.to);
        wake(p.to);
        expect(&p.to->client, 0, 8192, sizeof(head), 1);
        expect(&p.to->client, 1, 8000, sizeof(head), 2);
        expect(&p.to->client, 2, 100, sizeof(head), 3);
        at = say(p.from, HSN_MODULE_CLIENT, 8192, sizeof(head), 4);
        arrive(p.to, &p.from->nic.out[at + 1]); /* that with the header */
        arrive(p.to, &p.from->nic.out[at]);
        wake(p.to);
        expect(&p.to->client, 3, 8192, sizeof(head), 4);
        assert_int_equal(COUNT(p.to, copied_data), 0);
        pair_free(&p); /* with all pages */
    }
}

/* The page size is each side's own. */
static void pages_of_4k_and_8k_reach_each_other(void **state)
{
    static const size_t sizes[] = {0, 100, 4096, 4097, 8152, 8192};
    enum { N = sizeof(sizes) / sizeof(sizes[0]) };
    struct node *small = node_new(1, 4096, &copy_module);
    struct node *large = node_new(2, 8192, &copy_module);

    for (unsigned i = 0; i < N; i++) {
        say(small, HSN_MODULE_CLIENT, sizes[i], sizeof(head), i);
        say_to(large, 1, HSN_MODULE_SERVER, sizes[i], sizeof(head), 50 + i);
    }
    pass(small, 0, large);
    pass(large, 0, small);
    wake(small);
    wake(large);
    for (unsigned i = 0; i < N; i++) {
        expect(&large->client, i, sizes[i], sizeof(head), i);
        expect_from(2, &small->server, i, sizes[i], sizeof(head), 50 + i);
    }
    node_free(small);
    node_free(large);
}

static void headers_across_two_buffers_come_in_one_piece(void **state)
{
    struct pair p = pair(4096, &copy_module);

    say(p.from, HSN_MODULE_CLIENT, 4090, sizeof(head), 1);
    pass(p.from, 0, p.to);
    wake(p.to);
    expect(&p.to->client, 0, 4090, sizeof(head), 1);
    assert_int_equal(COUNT(p.to, copied_data), 0);
    pair_free(&p);
}

static void pages_are_4k_or_8k_and_aligned(void **state)
{
    static const size_t wrong[] = {0, 1000, 2048, 5000, 12288, 16384};
    struct hsn_memory own = {0};
    struct hsn_pages pages;
    void *got[16];

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct hsn_engine_options o = {.page_size = wrong[i]};

        assert_null(hsn_engine_new(&o, &fake_ops, NULL));
        assert_int_equal(errno, EINVAL);
    }
    for (size_t size = 4096; size <= 8192; size *= 2) {
        hsn_pages_init(&pages, size, &own); /* those of the driver itself */
        for (int i = 0; i < 16; i++) {
            got[i] = hsn_pages_get(&pages);
            assert_true(aligned(got[i], size));
        }
        for (int i = 0; i < 16; i++)
            hsn_pages_put(&pages, got[i]);
    }
}

/* A half that has to wait takes pages with it, which must be replaced. */
static void no_memory_drops_counts_and_tries_again(void **state)
{
    struct pair p = pair(8192, &copy_module);

    p.to->fail_pages = true;
    say(p.from, HSN_MODULE_CLIENT, 64, 9, 1);
    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 2);
    pass(p.from, 0, p.to);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 1); /* nothing waits for this one */
    assert_int_equal(COUNT(p.to, no_memory), 2);
    assert_int_equal(levels(p.to).halves, 0);
    assert_int_equal(levels(p.to).rx_filled, 64);
    p.to->fail_pages = false;
    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 3);
    pass(p.from, 3, p.to);
    wake(p.to);
    expect(&p.to->client, 1, 8192, 9, 3);
    pair_free(&p);
}

static void memory_for_one_page_of_two(void **state)
{
    struct pair p = pair(4096, &copy_module);

    p.to->fail_pages = true;
    p.to->pages_left = 1;
    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 1);
    arrive(p.to, &p.from->nic.out[1]); /* with the header: two pages */
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 0);
    assert_int_equal(COUNT(p.to, no_memory), 1);
    assert_int_equal(levels(p.to).rx_filled, 64);
    pair_free(&p); /* with all pages */
}

static void lent_packets_are_given_back(void **state)
{
    struct pair p = pair(8192, &copy_module);

    p.to->nic.lend = true;
    say(p.from, HSN_MODULE_CLIENT, 100, 9, 1);
    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 2);
    pass(p.from, 0, p.to);
    wake(p.to);
    expect(&p.to->client, 0, 100, 9, 1);
    expect(&p.to->client, 1, 8192, 9, 2);
    assert_int_equal(COUNT(p.to, copied_data), 0);
    assert_int_equal(p.to->nic.releases, 1);
    pair_free(&p);
}

/* 'A' is the first half of message 0, 'a' its second; 'd' is all of message
 * 3.  at: where the messages begin. */
static size_t packet_of(const size_t at[4], char c)
{
    unsigned k = (unsigned)(c < 'a' ? c - 'A' : c - 'a') % 4;

    return at[k] + (c >= 'a' && c < 'd');
}

/* Halves that are lent together are delivered from where they lie; others wait
 * in pages of ours. */
static void lent_halves_are_not_copied(void **state)
{
    static const struct {
        const char *packets; /* of four messages; ' ': the handler runs */
        const char *got;     /* messages in their order */
        uint64_t copied;
    } cases[] = {
        {"Aa", "a", 0},       {"aA", "a", 0},        {"AaBbCc", "abc", 0},
        {"AdaBb", "dab", 0},  {"A a", "a", 4096},    {"a A", "a", 4096},
        {"ABab", "ab", 8192}, {"AB ab", "ab", 8192}, {"A Bba", "ba", 4096},
        {"AAa", "a", 4096},   {"AaA a", "aa", 4096}, {"aaA", "a", 4096},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pair p = pair(8192, &copy_module);
        size_t at[4];

        p.to->nic.lend = true;
        for (unsigned k = 0; k < 4; k++)
            at[k] = say(p.from, HSN_MODULE_CLIENT, k < 3 ? 8192 : 64, 9, k);
        for (const char *c = cases[i].packets; *c; c++)
            if (*c == ' ')
                wake(p.to);
            else
                arrive(p.to, &p.from->nic.out[packet_of(at, *c)]);
        wake(p.to);
        assert_int_equal(p.to->client.ngot, strlen(cases[i].got));
        for (unsigned k = 0; cases[i].got[k]; k++) {
            unsigned which = (unsigned)(cases[i].got[k] - 'a');

            expect(&p.to->client, k, which < 3 ? 8192 : 64, 9, which);
        }
        assert_int_equal(COUNT(p.to, copied_data), cases[i].copied);
        pair_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_lie_where_they_came),
        cmocka_unit_test(pages_of_4k_and_8k_reach_each_other),
        cmocka_unit_test(headers_across_two_buffers_come_in_one_piece),
        cmocka_unit_test(pages_are_4k_or_8k_and_aligned),
        cmocka_unit_test(no_memory_drops_counts_and_tries_again),
        cmocka_unit_test(memory_for_one_page_of_two),
        cmocka_unit_test(lent_packets_are_given_back),
        cmocka_unit_test(lent_halves_are_not_copied),
    };

    return cmocka_run_group_tests_name("hsn_pages", tests, NULL, NULL);
}
