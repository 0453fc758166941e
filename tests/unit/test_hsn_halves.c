/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of two packets: the fragment queue.
 */
#include "hsn/fragq.h"
#include "hsn_pair.h"

static void halves_become_one_message(void **state)
{
    struct pair p = pair(8192, &copy_module);
    const struct hsn_delivery *d;

    say(p.from, HSN_MODULE_SERVER, 8192, sizeof(head), 1);
    arrive(p.to, &p.from->nic.out[0]);
    wake(p.to);
    assert_int_equal(levels(p.to).halves, 1);
    assert_int_equal(p.to->server.ngot, 0);
    arrive(p.to, &p.from->nic.out[1]);
    wake(p.to);
    assert_int_equal(levels(p.to).halves, 0);
    assert_int_equal(p.to->server.ngot, 1);
    expect(&p.to->server, 0, 8192, sizeof(head), 1);
    d = &p.to->server.got[0].d;
    assert_int_equal(d->ndata, 2); /* without the first one's HSN header */
    assert_int_equal(d->data[0].iov_len, HSN_FRAGMENT);
    assert_int_equal(d->data[1].iov_len, HSN_FRAGMENT);
    say(p.from, HSN_MODULE_SERVER, 8192, 0, 2);
    pass(p.from, 2, p.to);
    wake(p.to);
    expect(&p.to->server, 1, 8192, 0, 2);
    pair_free(&p);
}

static void modules_notice_nothing_of_fragments(void **state)
{
    struct pair p = pair(8192, &copy_module);
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

static void halves_apart_and_in_either_order(void **state)
{
    struct pair p = pair(8192, &copy_module);
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

static void half_expires_by_its_own_timer(void **state)
{
    struct pair p = pair(8192, &copy_module);
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

static void the_time_is_settable(void **state)
{
    struct pair p = pair(8192, &copy_module);
    struct hsn_engine_options o = {
        .board = 2, .page_size = 8192, .fragment_ns = 5000};

    hsn_engine_free(p.to->e);
    p.to->e = hsn_engine_new(&o, &fake_ops, &p.to->nic);
    assert_non_null(p.to->e);
    hsn_engine_open(p.to->e, HSN_MODULE_CLIENT, &copy_module, &p.to->client);
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

static void duplicate_half(void **state)
{
    struct pair p = pair(8192, &copy_module);

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

static void partner_after_expiry(void **state)
{
    struct pair p = pair(8192, &copy_module);

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

/* Another driver on the wire, of that board and incarnation. */
static struct node *impostor(uint64_t board, uint32_t incarnation)
{
    struct node *n = node_new(board, 8192, &copy_module);
    struct hsn_engine_options o = {.board = board,
                                   .incarnation = incarnation,
                                   .sequence = 7,
                                   .page_size = 8192};

    hsn_engine_free(n->e);
    n->e = hsn_engine_new(&o, &fake_ops, &n->nic);
    assert_non_null(n->e);
    hsn_engine_open(n->e, HSN_MODULE_CLIENT, &copy_module, &n->client);
    node_routes(n);
    return n;
}

/* The first half of one message, the second of another that has its sequence
 * number, then the true second half.  Lent halves are joined where they lie,
 * others in the fragment queue. */
static void try_strangers(uint64_t board, uint32_t incarnation, bool lend)
{
    struct pair p = pair(8192, &copy_module);
    struct node *other = impostor(board, incarnation);

    p.to->nic.lend = lend;
    say(p.from, HSN_MODULE_CLIENT, 8192, 9, 1);
    say(other, HSN_MODULE_CLIENT, 8192, 9, 2);
    arrive(p.to, &p.from->nic.out[0]);
    arrive(p.to, &other->nic.out[1]);
    arrive(p.to, &p.from->nic.out[1]);
    wake(p.to);
    assert_int_equal(p.to->client.ngot, 1);
    expect(&p.to->client, 0, 8192, 9, 1);
    node_free(other);
    pair_free(&p);
}

static void same_sequence_of_two_hosts(void **state)
{
    try_strangers(3, 0x11220001, false);
    try_strangers(3, 0x11220001, true);
}

static void same_sequence_of_two_incarnations(void **state)
{
    try_strangers(1, 0x11220002, false);
    try_strangers(1, 0x11220002, true);
}

/* A queue so small that most strangers share its bucket. */
static void nothing_but_the_same_message_is_found(void **state)
{
    struct hsn_half half = {
        .frame = {
            .host = 1, .incarnation = 5, .sequence = 9, .data_len = 8192}};
    struct hsn_frame f;
    struct hsn_fragq q;

    assert_int_equal(hsn_fragq_init(&q, 4), 0);
    hsn_fragq_add(&q, &half);
    assert_int_equal(hsn_fragq_find(&q, &half.frame), 0);
    for (uint32_t i = 1; i < 1000; i++) {
        f = half.frame;
        f.host += i;
        assert_int_equal(hsn_fragq_find(&q, &f), HSN_FRAGQ_NONE);
        f = half.frame;
        f.incarnation += i;
        assert_int_equal(hsn_fragq_find(&q, &f), HSN_FRAGQ_NONE);
        f = half.frame;
        f.sequence += i;
        assert_int_equal(hsn_fragq_find(&q, &f), HSN_FRAGQ_NONE);
    }
    hsn_fragq_take(&q, 0);
    hsn_fragq_free(&q);
}

/* Two halves that name the same message but were never one. */
static void try_contradiction(uint16_t module, size_t data_len,
                              size_t header_len)
{
    struct pair p = pair(8192, &copy_module);
    struct node *twin = node_new(1, 8192, &copy_module);

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

static void halves_that_contradict_each_other(void **state)
{
    try_contradiction(HSN_MODULE_CLIENT, 8192, 10);
    try_contradiction(HSN_MODULE_CLIENT, 8191, 9);
    try_contradiction(HSN_MODULE_SERVER, 8192, 9);
}

/* Two halves that are lent together but were never one message. */
static void lent_halves_that_contradict_each_other(void **state)
{
    struct pair p = pair(8192, &copy_module);
    struct node *twin = node_new(1, 8192, &copy_module);

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

static void full_fragment_queue_lets_the_oldest_go(void **state)
{
    struct pair p = pair(8192, &copy_module);
    struct node *other = node_new(3, 8192, &copy_module);

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
static void of_all_halves_the_oldest_go(void **state)
{
    struct node *to = node_new(2, 8192, &copy_module), *from[5];

    for (unsigned h = 0; h < 5; h++) {
        from[h] = node_new(h + 3, 8192, &copy_module);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_become_one_message),
        cmocka_unit_test(modules_notice_nothing_of_fragments),
        cmocka_unit_test(halves_apart_and_in_either_order),
        cmocka_unit_test(half_expires_by_its_own_timer),
        cmocka_unit_test(the_time_is_settable),
        cmocka_unit_test(duplicate_half),
        cmocka_unit_test(partner_after_expiry),
        cmocka_unit_test(same_sequence_of_two_hosts),
        cmocka_unit_test(same_sequence_of_two_incarnations),
        cmocka_unit_test(nothing_but_the_same_message_is_found),
        cmocka_unit_test(halves_that_contradict_each_other),
        cmocka_unit_test(lent_halves_that_contradict_each_other),
        cmocka_unit_test(full_fragment_queue_lets_the_oldest_go),
        cmocka_unit_test(of_all_halves_the_oldest_go),
    };

    return cmocka_run_group_tests_name("hsn_halves", tests, NULL, NULL);
}
