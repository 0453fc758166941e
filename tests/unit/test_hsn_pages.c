/* SPDX-License-Identifier: BSD-3-Clause
 * The pages that messages arrive in, and what is copied.
 */
#include "hsn/pages.h"
#include "hsn_pair.h"

/* Case 1, page-in: a client with 4 KB buffers gets a page from the server. */
static void hs_12_13_16_page_in_of_4k_is_not_copied(void **state)
{
    struct pair p = pair(4096, &page_module);
    const struct hsn_delivery *d;

    p.to->client.keep_pages = true;
    say(p.from, HSN_MODULE_CLIENT, 4096, sizeof(head), 1);
    pass(p.from, 0, p.to);
    wake(p.to);
    expect(&p.to->client, 0, 4096, sizeof(head), 1);
    d = &p.to->client.got[0].d;
    assert_true(aligned(d->page[0], 4096));
    assert_ptr_equal(d->data[0].iov_base, d->page[0]);
    assert_ptr_equal(d->header.iov_base, d->page[1]); /* all headers there */
    assert_int_equal(COUNT(p.to, copied_data), 0);
    assert_int_equal(COUNT(p.to, copied_header), 0);
    hsn_engine_page_free(p.to->e, d->page[0]);
    hsn_engine_page_free(p.to->e, d->page[1]);
    p.to->client.pages_kept = 0;
    pair_free(&p);
}

/* Case 1, page-out: the server keeps two client pages in one of its own. */
static void hs_17_page_out_of_4k_is_copied_to_the_second_half_only(void **state)
{
    struct pair p = pair(8192, &page_module);
    uint8_t *cache;
    void *got[2];

    p.to->server.keep_pages = true;
    for (unsigned i = 0; i < 2; i++)
        say(p.from, HSN_MODULE_SERVER, 4096, sizeof(head), i);
    pass(p.from, 0, p.to);
    wake(p.to);
    got[0] = p.to->server.got[0].d.page[0];
    got[1] = p.to->server.got[1].d.page[0];
    assert_null(p.to->server.got[0].d.page[1]); /* one buffer holds all */
    cache = hsn_engine_place(p.to->e, NULL, 0, got[0], 4096);
    assert_ptr_equal(cache, got[0]);
    assert_int_equal(COUNT(p.to, copied_data), 0);
    assert_ptr_equal(hsn_engine_place(p.to->e, cache, 1, got[1], 4096), cache);
    assert_int_equal(COUNT(p.to, copied_data), 4096);
    fill(page, 4096, 0);
    assert_memory_equal(cache, page, 4096);
    fill(page, 4096, 1);
    assert_memory_equal(cache + 4096, page, 4096);
    hsn_engine_page_free(p.to->e, cache);
    say(p.from, HSN_MODULE_SERVER, 4096, 0, 2); /* the second half first */
    pass(p.from, 2, p.to);
    wake(p.to);
    cache =
        hsn_engine_place(p.to->e, NULL, 1, p.to->server.got[2].d.page[0], 4096);
    assert_int_equal(COUNT(p.to, copied_data), 2 * 4096);
    fill(page, 4096, 2);
    assert_memory_equal(cache + 4096, page, 4096);
    hsn_engine_page_free(p.to->e, cache);
    p.to->server.pages_kept = 0;
    pair_free(&p);
}

/* Case 2, both directions. */
static void hs_25_27_page_of_8k_is_copied_by_half(void **state)
{
    static const uint16_t module[] = {HSN_MODULE_CLIENT, HSN_MODULE_SERVER};

    for (int way = 0; way < 2; way++) {
        struct pair p = pair(8192, &page_module);

        say(p.from, module[way], 8192, sizeof(head), 1);
        pass(p.from, 0, p.to);
        wake(p.to);
        expect(way ? &p.to->server : &p.to->client, 0, 8192, sizeof(head), 1);
        assert_int_equal(COUNT(p.to, copied_data), 4096);
        assert_int_equal(COUNT(p.to, copied_header), sizeof(head));
        pair_free(&p);
    }
}

static void copying_modules_cost_no_copy(void **state)
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

static void headers_across_two_buffers_come_in_one_piece(void **state)
{
    struct pair p = pair(4096, &page_module);

    say(p.from, HSN_MODULE_CLIENT, 4090, sizeof(head), 1);
    pass(p.from, 0, p.to);
    wake(p.to);
    expect(&p.to->client, 0, 4090, sizeof(head), 1);
    assert_int_equal(COUNT(p.to, copied_data), 0);
    pair_free(&p);
}

static void pages_larger_than_ours_are_counted(void **state)
{
    struct pair p = pair(4096, &page_module);

    say(p.from, HSN_MODULE_CLIENT, 8000, 0, 1);
    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 1);
    pass(p.from, 0, p.to);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 0);
    assert_int_equal(COUNT(p.to, page_size), 3);
    pair_free(&p);
}

static void hs_30_buffers_have_the_page_size(void **state)
{
    for (size_t size = 4096; size <= 8192; size *= 2) {
        struct pair p = pair(size, &page_module);

        p.to->client.keep_pages = true;
        say(p.from, HSN_MODULE_CLIENT, 64, 9, 1);
        pass(p.from, 0, p.to);
        wake(p.to);
        assert_true(aligned(p.to->client.got[0].d.page[0], size));
        hsn_engine_page_free(p.to->e, p.to->client.got[0].d.page[0]);
        p.to->client.pages_kept = 0;
        pair_free(&p);
    }
}

static void hs_13_30_pages_are_4k_or_8k_and_aligned(void **state)
{
    static const size_t wrong[] = {0, 1000, 2048, 5000, 12288, 16384};
    struct hsn_memory own = {NULL};
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

static void hs_31_32_33_pages_belong_to_the_module(void **state)
{
    struct pair p = pair(8192, &page_module);
    struct hsn_levels l = levels(p.to);
    uint64_t pool = l.pages_allocated;

    p.to->server.keep_pages = true;    /* a cache that keeps all of them */
    for (unsigned i = 0; i < 200; i++) /* every second one in two pages */
        say(p.from, HSN_MODULE_SERVER, i % 2 ? 8192 : 4096, 9, i);
    pass(p.from, 0, p.to);
    while (wake(p.to))
        ;
    l = levels(p.to);
    assert_int_equal(p.to->server.ngot, 200);
    assert_true(l.pages_allocated == pool + l.pages_delivered);
    assert_int_equal(l.pages_delivered, 300);
    assert_int_equal(l.rx_filled, 64);
    hsn_engine_stop(p.to->e); /* does not want them back */
    assert_int_equal(p.to->pages_out, 300);
    for (int i = 0; i < 200; i++) {
        fill(page, 4096, (unsigned)i);
        assert_memory_equal(p.to->server.got[i].d.page[0], page, 4096);
        for (int k = 0; k < 2; k++)
            hsn_engine_page_free(p.to->e, p.to->server.got[i].d.page[k]);
    }
    p.to->server.pages_kept = 0;
    pair_free(&p);
}

static void hs_34_no_memory_drops_counts_and_tries_again(void **state)
{
    struct pair p = pair(8192, &page_module);

    p.to->fail_pages = true;
    say(p.from, HSN_MODULE_CLIENT, 64, 9, 1);
    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 2);
    pass(p.from, 0, p.to);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 0);
    assert_int_equal(COUNT(p.to, no_memory), 3);
    assert_int_equal(levels(p.to).rx_filled, 64);
    p.to->fail_pages = false;
    say(p.from, HSN_MODULE_CLIENT, 64, 9, 3);
    pass(p.from, 3, p.to);
    wake(p.to);
    expect(&p.to->client, 0, 64, 9, 3);
    pair_free(&p);
}

static void hs_34_memory_for_one_page_of_two(void **state)
{
    struct pair p = pair(4096, &page_module);

    p.to->fail_pages = true;
    p.to->pages_left = 1;
    say(p.from, HSN_MODULE_CLIENT, 4096, 9, 1);
    pass(p.from, 0, p.to);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 0);
    assert_int_equal(COUNT(p.to, no_memory), 1);
    assert_int_equal(levels(p.to).rx_filled, 64);
    pair_free(&p); /* with all pages */
}

static void lent_packets_reach_both_kinds_of_modules(void **state)
{
    static const struct hsn_module_ops *const kinds[] = {&page_module,
                                                         &copy_module};

    for (int k = 0; k < 2; k++) {
        struct pair p = pair(8192, kinds[k]);

        p.to->nic.lend = true;
        say(p.from, HSN_MODULE_CLIENT, 100, 9, 1);
        say(p.from, HSN_MODULE_CLIENT, 8192, 9, 2);
        pass(p.from, 0, p.to);
        wake(p.to);
        expect(&p.to->client, 0, 100, 9, 1);
        expect(&p.to->client, 1, 8192, 9, 2);
        assert_int_equal(COUNT(p.to, copied_data), k ? 0 : 100 + 12288);
        assert_int_equal(p.to->nic.releases, 1);
        pair_free(&p);
    }
}

/* 'A' is the first half of message 0, 'a' its second; 'd' is all of message
 * 3.  at: where the messages begin. */
static size_t packet_of(const size_t at[4], char c)
{
    unsigned k = (unsigned)(c < 'a' ? c - 'A' : c - 'a') % 4;

    return at[k] + (c >= 'a' && c < 'd');
}

/* Halves that are lent together go to a module that copies from where they
 * lie; others wait in pages as ever. */
static void hs_12_lent_halves_are_not_copied(void **state)
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
        cmocka_unit_test(hs_12_13_16_page_in_of_4k_is_not_copied),
        cmocka_unit_test(
            hs_17_page_out_of_4k_is_copied_to_the_second_half_only),
        cmocka_unit_test(hs_25_27_page_of_8k_is_copied_by_half),
        cmocka_unit_test(copying_modules_cost_no_copy),
        cmocka_unit_test(headers_across_two_buffers_come_in_one_piece),
        cmocka_unit_test(pages_larger_than_ours_are_counted),
        cmocka_unit_test(hs_30_buffers_have_the_page_size),
        cmocka_unit_test(hs_13_30_pages_are_4k_or_8k_and_aligned),
        cmocka_unit_test(hs_31_32_33_pages_belong_to_the_module),
        cmocka_unit_test(hs_34_no_memory_drops_counts_and_tries_again),
        cmocka_unit_test(hs_34_memory_for_one_page_of_two),
        cmocka_unit_test(lent_packets_reach_both_kinds_of_modules),
        cmocka_unit_test(hs_12_lent_halves_are_not_copied),
    };

    return cmocka_run_group_tests_name("hsn_pages", tests, NULL, NULL);
}
