/* SPDX-License-Identifier: BSD-3-Clause
 * Receive queue, fragment queue, delivery, copies.
 */
#include "hsn/pages.h"
#include "hsn_util.h"

static uint8_t page[8192];
static const char head[] = "header of the module";

/* Board 1 sends one message to module `module` of board 2; where its packets
 * are: n->nic.out[returned ..]. */
static size_t say(struct node *n, uint16_t module, size_t data_len,
                  size_t header_len, unsigned seed)
{
    size_t at = n->nic.nout;

    fill(page, sizeof(page), seed);
    assert_int_equal(send_to(n, module, 2, page, data_len, head, header_len, 0),
                     0);
    return at;
}

struct pair {
    struct node *from, *to;
};

static struct pair pair(size_t page_size, const struct hsn_module_ops *module)
{
    return (struct pair){node_new(1, 8192, &page_module),
                         node_new(2, page_size, module)};
}

static void pair_free(struct pair *p)
{
    node_free(p->from);
    node_free(p->to);
}

static struct hsn_levels levels(struct node *n)
{
    struct hsn_levels l;

    hsn_engine_levels(n->e, &l);
    return l;
}

static void expect(const struct inbox *box, size_t i, size_t data_len,
                   size_t header_len, unsigned seed)
{
    static uint8_t wanted[8192];
    const struct got *g = &box->got[i];

    fill(wanted, sizeof(wanted), seed);
    assert_int_equal(g->data_len, data_len);
    assert_int_equal(g->header_len, header_len);
    assert_memory_equal(g->data, wanted, data_len);
    if (header_len)
        assert_memory_equal(g->header, head, header_len);
    assert_true(g->d.from == 1);
}

static bool aligned(const void *p, size_t size)
{
    return p && (uintptr_t)p % size == 0;
}

static void hs_02_03_two_modules_at_once_by_one_interface(void **state)
{
    struct pair p = pair(8192, &page_module);

    for (unsigned i = 0; i < 10; i++) {
        say(p.from, HSN_MODULE_CLIENT, 100, 5, i);
        say(p.from, HSN_MODULE_SERVER, 8192, 7, 100 + i);
    }
    pass(p.from, 0, p.to);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 10);
    assert_int_equal(p.to->server.ngot, 10);
    for (unsigned i = 0; i < 10; i++) {
        expect(&p.to->client, i, 100, 5, i);
        expect(&p.to->server, i, 8192, 7, 100 + i);
    }
    pair_free(&p);
}

static void hs_04_unknown_module_is_dropped_and_counted(void **state)
{
    struct pair p = pair(8192, &page_module);

    hsn_engine_open(p.from->e, 999, &page_module, &p.from->raw);
    say(p.from, 999, 100, 0, 1);
    pass(p.from, 0, p.to);
    wake(p.to);
    assert_int_equal(COUNT(p.to, no_module), 1);
    assert_int_equal(
        hsn_engine_open(p.to->e, HSN_MODULE_CLIENT, &page_module, NULL), -1);
    assert_int_equal(errno, EBUSY);
    pair_free(&p);
}

static void hs_08_25_26_halves_become_one_message(void **state)
{
    struct pair p = pair(8192, &page_module);
    const struct hsn_delivery *d;

    p.to->server.keep_pages = true;
    say(p.from, HSN_MODULE_SERVER, 8192, sizeof(head), 1);
    arrive(p.to, &p.from->nic.out[0]);
    wake(p.to);
    assert_int_equal(levels(p.to).halves, 1);
    assert_int_equal(p.to->server.ngot, 0);
    arrive(p.to, &p.from->nic.out[1]);
    wake(p.to);
    assert_int_equal(levels(p.to).halves, 0);
    expect(&p.to->server, 0, 8192, sizeof(head), 1);
    d = &p.to->server.got[0].d;
    assert_true(aligned(d->page[0], 4096));
    assert_ptr_equal(d->data[0].iov_base, d->page[0]); /* contiguous */
    assert_int_equal(d->ndata, 1);
    assert_ptr_equal(d->header.iov_base, d->page[1]);
    free(d->page[0]);
    free(d->page[1]);
    p.to->pages_out -= 2;
    p.to->server.pages_kept = 0;
    p.to->server.keep_pages = false;
    say(p.from, HSN_MODULE_SERVER, 8192, 0, 2);
    pass(p.from, 2, p.to);
    wake(p.to);
    expect(&p.to->server, 1, 8192, 0, 2);
    assert_null(p.to->server.got[1].d.page[1]); /* no header, no buffer */
    pair_free(&p);
}

static void hs_11_modules_notice_nothing_of_fragments(void **state)
{
    struct pair p = pair(8192, &page_module);
    static const size_t size[][2] = {{8192, 0}, {8192, 16}, {8192, 21},
                                     {8152, 0}, {8153, 0},  {8100, 21},
                                     {0, 0},    {0, 21},    {4096, 21}};

    for (unsigned i = 0; i < 9; i++)
        say(p.from, HSN_MODULE_CLIENT, size[i][0], size[i][1], i);
    pass(p.from, 0, p.to);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 9);
    for (unsigned i = 0; i < 9; i++)
        expect(&p.to->client, i, size[i][0], size[i][1], i);
    pair_free(&p);
}

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

static void hs_19_45_halves_apart_and_in_either_order(void **state)
{
    struct pair p = pair(8192, &page_module);
    size_t a = say(p.from, HSN_MODULE_CLIENT, 8192, 9, 1);
    size_t b = say(p.from, HSN_MODULE_CLIENT, 8192, 9, 2);
    size_t c = say(p.from, HSN_MODULE_CLIENT, 100, 9, 3);

    arrive(p.to, &p.from->nic.out[a + 1]); /* second half first */
    arrive(p.to, &p.from->nic.out[b]);
    arrive(p.to, &p.from->nic.out[c]);
    arrive(p.to, &p.from->nic.out[b + 1]);
    arrive(p.to, &p.from->nic.out[a]);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 3);
    expect(&p.to->client, 0, 100, 9, 3);
    expect(&p.to->client, 1, 8192, 9, 2);
    expect(&p.to->client, 2, 8192, 9, 1);
    pair_free(&p);
}

static void try_receive_queue(size_t size)
{
    struct pair p = pair(size, &page_module);

    assert_int_equal(levels(p.to).rx_filled, 64);
    p.to->client.keep_pages = true;
    for (unsigned i = 0; i < 300; i++) {
        size_t at = say(p.from, HSN_MODULE_CLIENT, size, 9, i);

        pass(p.from, at, p.to);
        p.from->nic.nout = 0;
        wake(p.to);
        assert_int_equal(levels(p.to).rx_filled, levels(p.to).rx_slots);
        p.to->nic.nin = p.to->nic.next_in = 0;
        assert_int_equal(p.to->client.ngot, 1);
        for (int k = 0; k < 2; k++)
            hsn_engine_page_free(p.to->e, p.to->client.got[0].d.page[k]);
        p.to->client.ngot = p.to->client.pages_kept = 0;
    }
    pair_free(&p);
}

/* Each message takes two pages. */
static void hs_07_29_36_receive_queue_is_always_filled(void **state)
{
    try_receive_queue(4096);
    try_receive_queue(8192);
}

static void hs_29_burst_of_the_pool_size_loses_none(void **state)
{
    struct pair p = pair(8192, &page_module);

    for (unsigned i = 0; i < 64; i++)
        say(p.from, HSN_MODULE_CLIENT, 4096, 9, i);
    pass(p.from, 0, p.to);
    wake(p.to);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 64);
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
            got[i] = hsn_page_get(&pages);
            assert_true(aligned(got[i], size));
        }
        for (int i = 0; i < 16; i++)
            hsn_page_put(&pages, got[i]);
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

static void hs_38_39_handler_takes_the_first_few(void **state)
{
    struct pair p = pair(8192, &page_module);

    for (unsigned i = 0; i < 1000; i++)
        say(p.from, HSN_MODULE_CLIENT, 8, 0, i);
    pass(p.from, 0, p.to);
    for (unsigned i = 0; i < 1000; i += 32) {
        assert_int_equal(p.to->client.ngot, i);
        assert_int_equal(wake(p.to), 1000 - i < 32 ? 1000 - i : 32);
    }
    assert_int_equal(wake(p.to), 0);
    assert_int_equal(p.to->client.ngot, 1000);
    assert_int_equal(COUNT(p.to, received), 1000);
    assert_int_equal(p.to->nic.recv_most, 32);
    p.to->nic.next_in = 0; /* once more, from an interface that gives few */
    p.to->client.ngot = 0;
    p.to->nic.recv_limit = 20;
    assert_int_equal(wake(p.to), 32);
    assert_int_equal(p.to->client.ngot, 32);
    pair_free(&p);
}

static void hs_44_header_of_the_driver_is_gone(void **state)
{
    struct pair p = pair(8192, &page_module);

    say(p.from, HSN_MODULE_CLIENT, 333, 21, 1);
    pass(p.from, 0, p.to);
    wake(p.to);
    expect(&p.to->client, 0, 333, 21, 1);
    assert_int_equal(p.to->client.got[0].d.module, HSN_MODULE_CLIENT);
    pair_free(&p);
}

static void hs_46_47_half_expires_by_its_own_timer(void **state)
{
    struct pair p = pair(8192, &page_module);
    int64_t pages = p.to->pages_out;

    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 1);
    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 2);
    arrive(p.to, &p.from->nic.out[0]);
    wake(p.to);
    p.to->now += 400000000;
    arrive(p.to, &p.from->nic.out[3]);
    wake(p.to);
    assert_true(hsn_engine_deadline(p.to->e) == 1000 + 1000000000);
    p.to->now = 1000 + 999999999;
    wake(p.to);
    assert_int_equal(levels(p.to).halves, 2); /* not before */
    p.to->now++;
    wake(p.to);
    assert_int_equal(levels(p.to).halves, 1);
    assert_int_equal(COUNT(p.to, fragment_expired), 1);
    p.to->now += 400000000;
    wake(p.to);
    assert_int_equal(levels(p.to).halves, 0);
    assert_int_equal(p.to->pages_out, pages);
    assert_true(hsn_engine_deadline(p.to->e) == UINT64_MAX);
    pair_free(&p);
}

static void hs_47_the_time_is_settable(void **state)
{
    struct pair p = pair(8192, &page_module);
    struct hsn_engine_options o = {
        .board = 2, .page_size = 8192, .fragment_ns = 5000};

    hsn_engine_free(p.to->e);
    p.to->e = hsn_engine_new(&o, &fake_ops, &p.to->nic);
    assert_non_null(p.to->e);
    hsn_engine_open(p.to->e, HSN_MODULE_CLIENT, &page_module, &p.to->client);
    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 1);
    arrive(p.to, &p.from->nic.out[0]);
    wake(p.to);
    p.to->now += 4999;
    wake(p.to);
    assert_int_equal(levels(p.to).halves, 1);
    p.to->now++;
    wake(p.to);
    assert_int_equal(levels(p.to).halves, 0);
    pair_free(&p);
}

static void hs_48_duplicate_half(void **state)
{
    struct pair p = pair(8192, &page_module);

    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 1);
    arrive(p.to, &p.from->nic.out[0]);
    arrive(p.to, &p.from->nic.out[0]);
    arrive(p.to, &p.from->nic.out[1]);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 1);
    expect(&p.to->client, 0, 8192, 9, 1);
    assert_int_equal(COUNT(p.to, fragment_duplicate), 1);
    pair_free(&p);
}

static void hs_48_partner_after_expiry(void **state)
{
    struct pair p = pair(8192, &page_module);

    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 1);
    arrive(p.to, &p.from->nic.out[0]);
    wake(p.to);
    p.to->now += 1000000000;
    wake(p.to);
    arrive(p.to, &p.from->nic.out[1]);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 0);
    assert_int_equal(levels(p.to).halves, 1);
    pair_free(&p);
}

static void hs_48_same_sequence_of_two_hosts(void **state)
{
    struct pair p = pair(8192, &page_module);
    struct node *other = node_new(3, 8192, &page_module);
    struct hsn_engine_options o = {.board = 3,
                                   .incarnation = 0x11220001, /* as board 1 */
                                   .sequence = 7,
                                   .page_size = 8192};

    hsn_engine_free(other->e);
    other->e = hsn_engine_new(&o, &fake_ops, &other->nic);
    assert_non_null(other->e);
    hsn_engine_open(other->e, HSN_MODULE_CLIENT, &page_module, &other->client);
    node_routes(other);
    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 1);
    say(other, HSN_MODULE_CLIENT, 8192, 9, 2);
    arrive(p.to, &p.from->nic.out[0]);
    arrive(p.to, &other->nic.out[1]);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 0);
    arrive(p.to, &p.from->nic.out[1]);
    wake(p.to);
    expect(&p.to->client, 0, 8192, 9, 1);
    node_free(other);
    pair_free(&p);
}

/* Two halves that name the same message but were never one. */
static void try_contradiction(uint16_t module, size_t data_len,
                              size_t header_len)
{
    struct pair p = pair(8192, &page_module);
    struct node *twin = node_new(1, 8192, &page_module);

    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 1);
    say(twin, module, data_len, header_len, 2);
    arrive(p.to, &p.from->nic.out[0]);
    arrive(p.to, &twin->nic.out[1]);
    wake(p.to);
    assert_int_equal(p.to->client.ngot + p.to->server.ngot, 0);
    assert_int_equal(COUNT(p.to, fragment_mismatch), 1);
    node_free(twin);
    pair_free(&p);
}

static void hs_48_halves_that_contradict_each_other(void **state)
{
    try_contradiction(HSN_MODULE_CLIENT, 8192, 10);
    try_contradiction(HSN_MODULE_CLIENT, 8191, 9);
    try_contradiction(HSN_MODULE_SERVER, 8192, 9);
}

static void hs_09_full_fragment_queue_lets_the_oldest_go(void **state)
{
    struct pair p = pair(8192, &page_module);
    struct node *other = node_new(3, 8192, &page_module);

    say(other, HSN_MODULE_CLIENT, 8192, 9, 500);
    arrive(p.to, &other->nic.out[0]);
    for (unsigned i = 0; i < 1000; i++) { /* one who sends halves only */
        say(p.from, HSN_MODULE_CLIENT, 8192, 9, i);
        arrive(p.to, &p.from->nic.out[2 * i]);
    }
    while (wake(p.to))
        ;
    assert_int_equal(levels(p.to).halves, 65); /* its share, and the other's */
    assert_int_equal(COUNT(p.to, fragment_evicted), 1000 - 64);
    arrive(p.to, &other->nic.out[1]);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 1);
    node_free(other);
    pair_free(&p);
}

/* Five hosts, none beyond its share, fill the queue. */
static void hs_09_of_all_halves_the_oldest_go(void **state)
{
    struct node *to = node_new(2, 8192, &page_module), *from[5];

    for (unsigned h = 0; h < 5; h++) {
        from[h] = node_new(h + 3, 8192, &page_module);
        for (unsigned i = 0; i < 60; i++) {
            say(from[h], HSN_MODULE_CLIENT, 8192, 9, i);
            arrive(to, &from[h]->nic.out[2 * i]);
        }
    }
    while (wake(to))
        ;
    assert_int_equal(levels(to).halves, 256);
    assert_int_equal(COUNT(to, fragment_evicted), 5 * 60 - 256);
    arrive(to, &from[0]->nic.out[2 * 43 + 1]); /* the 44th */
    wake(to);
    assert_int_equal(to->client.ngot, 0);
    arrive(to, &from[0]->nic.out[2 * 45 + 1]);
    arrive(to, &from[4]->nic.out[2 * 59 + 1]);
    wake(to);
    assert_int_equal(to->client.ngot, 2);
    for (unsigned h = 0; h < 5; h++)
        node_free(from[h]);
    node_free(to);
}

static void hs_01_broken_and_foreign_packets_are_counted(void **state)
{
    struct pair p = pair(8192, &page_module);
    struct fake_packet *out = p.from->nic.out;

    say(p.from, HSN_MODULE_CLIENT, 100, 9, 1);
    send_to(p.from, HSN_MODULE_CLIENT, 3, page, 10, NULL, 0, 0);
    say(p.from, HSN_MODULE_CLIENT, 100, 9, 2);
    out[0].bytes[50] ^= 4;
    arrive(p.to, &out[0]);
    arrive(p.to, &out[1]); /* of board 3, on a wrong route */
    out[2].len = 20;
    arrive(p.to, &out[2]);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 0);
    assert_int_equal(COUNT(p.to, bad_checksum), 1);
    assert_int_equal(COUNT(p.to, foreign), 1);
    assert_int_equal(COUNT(p.to, bad_short), 1);
    assert_true(hsn_counts_lost(hsn_engine_counts(p.to->e)) == 3);
    pair_free(&p);
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

/* Two halves that are lent together but were never one message. */
static void hs_48_lent_halves_that_contradict_each_other(void **state)
{
    struct pair p = pair(8192, &copy_module);
    struct node *twin = node_new(1, 8192, &page_module);

    p.to->nic.lend = true;
    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 1);
    say(twin, HSN_MODULE_CLIENT, 8192, 10, 2);
    arrive(p.to, &p.from->nic.out[0]);
    arrive(p.to, &twin->nic.out[1]);
    arrive(p.to, &p.from->nic.out[1]);
    wake(p.to);
    assert_int_equal(COUNT(p.to, fragment_mismatch), 1);
    assert_int_equal(p.to->client.ngot, 1);
    expect(&p.to->client, 0, 8192, 9, 1);
    node_free(twin);
    pair_free(&p);
}

static void messages_to_the_own_board_loop_back(void **state)
{
    static const struct hsn_module_ops *const kinds[] = {&page_module,
                                                         &copy_module};

    for (int k = 0; k < 2; k++) {
        struct node *n = node_new(1, 8192, kinds[k]);

        fill(page, sizeof(page), 4);
        assert_int_equal(
            send_to(n, HSN_MODULE_CLIENT, 1, page, 8192, head, 9, 3), 0);
        assert_int_equal(n->nic.nout, 0);
        assert_int_equal(n->client.ndone, 1);
        expect(&n->client, 0, 8192, 9, 4);
        node_free(n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hs_01_broken_and_foreign_packets_are_counted),
        cmocka_unit_test(hs_02_03_two_modules_at_once_by_one_interface),
        cmocka_unit_test(hs_04_unknown_module_is_dropped_and_counted),
        cmocka_unit_test(hs_07_29_36_receive_queue_is_always_filled),
        cmocka_unit_test(hs_08_25_26_halves_become_one_message),
        cmocka_unit_test(hs_09_full_fragment_queue_lets_the_oldest_go),
        cmocka_unit_test(hs_09_of_all_halves_the_oldest_go),
        cmocka_unit_test(hs_11_modules_notice_nothing_of_fragments),
        cmocka_unit_test(hs_12_13_16_page_in_of_4k_is_not_copied),
        cmocka_unit_test(
            hs_17_page_out_of_4k_is_copied_to_the_second_half_only),
        cmocka_unit_test(hs_19_45_halves_apart_and_in_either_order),
        cmocka_unit_test(hs_25_27_page_of_8k_is_copied_by_half),
        cmocka_unit_test(hs_29_burst_of_the_pool_size_loses_none),
        cmocka_unit_test(hs_30_buffers_have_the_page_size),
        cmocka_unit_test(hs_13_30_pages_are_4k_or_8k_and_aligned),
        cmocka_unit_test(hs_31_32_33_pages_belong_to_the_module),
        cmocka_unit_test(hs_34_no_memory_drops_counts_and_tries_again),
        cmocka_unit_test(hs_34_memory_for_one_page_of_two),
        cmocka_unit_test(hs_38_39_handler_takes_the_first_few),
        cmocka_unit_test(hs_44_header_of_the_driver_is_gone),
        cmocka_unit_test(hs_46_47_half_expires_by_its_own_timer),
        cmocka_unit_test(hs_47_the_time_is_settable),
        cmocka_unit_test(hs_48_duplicate_half),
        cmocka_unit_test(hs_48_partner_after_expiry),
        cmocka_unit_test(hs_48_same_sequence_of_two_hosts),
        cmocka_unit_test(hs_48_halves_that_contradict_each_other),
        cmocka_unit_test(copying_modules_cost_no_copy),
        cmocka_unit_test(headers_across_two_buffers_come_in_one_piece),
        cmocka_unit_test(pages_larger_than_ours_are_counted),
        cmocka_unit_test(lent_packets_reach_both_kinds_of_modules),
        cmocka_unit_test(hs_12_lent_halves_are_not_copied),
        cmocka_unit_test(hs_48_lent_halves_that_contradict_each_other),
        cmocka_unit_test(messages_to_the_own_board_loop_back),
    };

    return cmocka_run_group_tests_name("hsn_receive", tests, NULL, NULL);
}
