/* SPDX-License-Identifier: BSD-3-Clause
 * Pages between a real hsnd and its clients, by libhsn: whose they are, what is
 * copied, and what a process gains that lies about them.
 */
#include "hsnd_counter.h"

#include "hsn/libhsn_priv.h"
#include "hsn/page_pool.h"

#define BOARD 0x0200000000a1
#define A 0x400
#define B 0x401

static bool aligned(const void *p, size_t to)
{
    return (uintptr_t)p % to == 0;
}

static struct hsn *open_with_pages(struct hsnd_process *d, uint16_t module)
{
    struct hsn *h = hsn_dgram_open(d->socket, module);

    assert_non_null(h);
    assert_int_equal(hsn_pages_open(h), 0);
    return h;
}

/* The next page that is not in use, waited for. */
static uint8_t *get_page(struct hsn *h)
{
    uint8_t *page;
    int rc;

    while (!(page = hsn_page_get(h))) {
        assert_int_equal(errno, EAGAIN);
        rc = hsn_wait_send(h, 60000);
        assert_true(rc == 1 || (rc < 0 && errno == EINTR));
    }
    return page;
}

/* A page of ours whose bytes all depend on seed. */
static void *filled(struct hsn *h, unsigned seed)
{
    uint8_t *page = get_page(h);

    for (size_t i = 0; i < hsn_page_size(h); i++)
        page[i] = (uint8_t)(i * 7 + i / 256 + seed);
    return page;
}

static void assert_filled(const void *data, size_t len, unsigned seed)
{
    const uint8_t *page = data;

    for (size_t i = 0; i < len; i++)
        assert_int_equal(page[i], (uint8_t)(i * 7 + i / 256 + seed));
}

static int send_page(struct hsn *h, uint16_t module, void *page, size_t len)
{
    struct hsn_message m = {.board = BOARD,
                            .module = module,
                            .data = page,
                            .data_len = len,
                            .header = "header",
                            .header_len = 6};

    return hsn_send_page(h, &m);
}

/* The page fills one buffer of the receiver, aligned; the header comes apart
 * from it. Between hsnd and the process nothing is copied: the one copy is what
 * an interface does that puts a packet into memory. */
static void a_4k_page_fills_a_page_headers_another(void **state)
{
    struct hsnd_process *d = hsnd_new("PageSize=4096\n");
    struct hsn *a = open_with_pages(d, A), *b = open_with_pages(d, B);
    struct hsn_message m;

    assert_int_equal(hsn_page_size(b), 4096);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(send_page(a, B, filled(a, i), 4096), 0);
        receive(b, &m);
        assert_int_equal(m.data_len, 4096);
        assert_true(aligned(m.data, 4096));
        assert_filled(m.data, 4096, i);
        assert_int_equal(m.header_len, 6);
        assert_memory_equal(m.header, "header", 6);
        assert_true((uintptr_t)m.header - (uintptr_t)m.data >= 4096);
    }
    assert_int_equal(counter(d, "page_copied"), 10 * 4096);
    assert_int_equal(counter(d, "port_copied"), 0);
    assert_int_equal(counter(d, "copied_data"), 0);
    hsn_close(a);
    hsn_close(b);
    hsnd_free(d);
}

/* With pages of 4 KB on its side, what is larger comes by the ring. */
static void data_larger_than_a_page_comes_by_the_ring(void **state)
{
    struct hsnd_process *d = hsnd_new("PageSize=4096\n");
    struct hsn *a = open_with_pages(d, A), *b = open_with_pages(d, B);
    static uint8_t data[8192];
    struct hsn_message out = {.board = BOARD,
                              .module = B,
                              .data = memset(data, 0x5a, sizeof(data)),
                              .data_len = sizeof(data)},
                       m;

    assert_int_equal(hsn_send(a, &out), 0);
    receive(b, &m);
    assert_int_equal(m.data_len, sizeof(data));
    assert_memory_equal(m.data, data, sizeof(data));
    assert_null(hsn_page_keep(b));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(counter(d, "page_copied"), 0);
    hsn_close(a);
    hsn_close(b);
    hsnd_free(d);
}

/* Two client pages in one of the cache: the first stays where it came, the
 * second is copied behind it. */
static void page_out_of_4k_is_copied_to_the_second_half_only(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = open_with_pages(d, A), *b = open_with_pages(d, B);
    void *got[2], *cache;
    struct hsn_message m;

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(send_page(a, B, filled(a, i), 4096), 0);
        receive(b, &m);
        got[i] = hsn_page_keep(b);
        assert_ptr_equal(got[i], m.data);
    }
    assert_null(hsn_page_place(b, NULL, 2, got[0], 4096));
    assert_int_equal(errno, EINVAL);
    assert_null(hsn_page_place(b, NULL, 0, (uint8_t *)got[0] + 1, 4096));
    cache = hsn_page_place(b, NULL, 0, got[0], 4096);
    assert_ptr_equal(cache, got[0]);
    assert_null(hsn_page_place(b, cache, 1, cache, 4096));
    assert_null(hsn_page_place(b, cache, 1, got[1], 4097));
    assert_ptr_equal(hsn_page_place(b, cache, 1, got[1], 4096), cache);
    assert_filled(cache, 4096, 0);
    assert_filled((uint8_t *)cache + 4096, 4096, 1);
    assert_int_equal(hsn_page_free(b, got[1]), -1); /* it was given back */
    assert_int_equal(hsn_page_free(b, cache), 0);
    assert_int_equal(send_page(a, B, filled(a, 9), 4096), 0);
    receive(b, &m);
    got[0] = hsn_page_keep(b); /* the second half first */
    cache = hsn_page_place(b, NULL, 1, got[0], 4096);
    assert_non_null(cache);
    assert_ptr_not_equal(cache, got[0]);
    assert_filled((uint8_t *)cache + 4096, 4096, 9);
    hsn_close(a);
    hsn_close(b);
    hsnd_free(d);
}

/* Who keeps all that comes gets no more pages, and still every message; with
 * pages given back it goes on as before. */
static void pages_are_kept_and_given_back(void **state)
{
    enum { N = 400, ROOM = HSN_PAGES_MOST - HSN_PAGES_GRANTED };
    struct hsnd_process *d = hsnd_new("RingSize=1024\n");
    struct hsn *a = open_with_pages(d, A), *b = open_with_pages(d, B);
    void *kept[N], *got;
    struct hsn_message m;
    unsigned n = 0;

    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(send_page(a, B, filled(a, i), 8192), 0);
        receive(b, &m);
        assert_filled(m.data, 8192, i);
        if ((got = hsn_page_keep(b))) /* aligned, and the whole of it */
            kept[n++] = got;
    }
    assert_int_equal(n, ROOM);
    assert_int_equal(counter(d, "port_copied"), (N - ROOM) * 8192);
    assert_int_equal(counter(d, "page_short"), (N - ROOM) * 8192);
    for (unsigned i = 0; i < n; i++) {
        assert_filled(kept[i], 8192, i); /* nobody has touched it */
        assert_int_equal(hsn_page_free(b, kept[i]), 0);
        assert_int_equal(hsn_page_free(b, kept[i]), -1);
        assert_int_equal(errno, EINVAL);
    }
    for (unsigned i = 0; i < 10 * N; i++) {
        assert_int_equal(send_page(a, B, filled(a, i), 8192), 0);
        receive(b, &m);
        assert_filled(m.data, 8192, i);
        assert_true(aligned(m.data, 8192));
    }
    assert_int_equal(counter(d, "port_copied"), (N - ROOM) * 8192);
    hsn_close(a);
    hsn_close(b);
    hsnd_free(d);
}

/* Data that waits in the ring has its pages, too: who does not look for long
 * gets the rest by the ring, which is counted, and pages again afterwards. */
static void who_does_not_look_runs_out_of_pages(void **state)
{
    enum { N = 150, ROOM = HSN_PAGES_MOST - HSN_PAGES_GRANTED };
    struct hsnd_process *d = hsnd_new("RingSize=1024\n");
    struct hsn *a = open_with_pages(d, A), *b = open_with_pages(d, B);
    struct hsn_message m;

    for (unsigned i = 0; i < N; i++)
        assert_int_equal(send_page(a, B, filled(a, i), 8192), 0);
    counted(d, "delivered", N); /* all of them before b looks */
    for (unsigned i = 0; i < N; i++) {
        receive(b, &m);
        assert_filled(m.data, 8192, i);
    }
    assert_int_equal(counter(d, "page_short"), (N - ROOM) * 8192);
    assert_int_equal(counter(d, "port_copied"), (N - ROOM) * 8192);
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(send_page(a, B, filled(a, i), 8192), 0);
        receive(b, &m);
        assert_true(aligned(m.data, 8192));
    }
    assert_int_equal(counter(d, "page_short"), (N - ROOM) * 8192);
    hsn_close(a);
    hsn_close(b);
    hsnd_free(d);
}

/* Within one piece of memory a page changes hands and nothing is copied. */
static void a_page_to_the_same_pool_is_not_copied(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = open_with_pages(d, A);
    struct hsn_message m;
    void *page;

    for (unsigned i = 0; i < 1000; i++) {
        page = filled(a, i);
        assert_int_equal(send_page(a, A, page, 8192), 0);
        receive(a, &m);
        assert_ptr_equal(m.data, page);
        assert_filled(m.data, 8192, i);
        if (i % 3 == 0)
            assert_int_equal(hsn_page_free(a, hsn_page_keep(a)), 0);
    }
    assert_int_equal(counter(d, "page_passed"), 1000 * 8192);
    assert_int_equal(counter(d, "page_copied"), 0);
    assert_int_equal(counter(d, "port_copied"), 0);
    assert_int_equal(counter(d, "port_malformed"), 0);
    hsn_close(a);
    hsnd_free(d);
}

/* Pages that are sent come back, also to who sleeps until then; also from
 * messages that reach nobody. */
static void pages_that_were_sent_come_back(void **state)
{
    struct hsnd_process *d = hsnd_new("SpinTime=0\n");
    struct hsn *a = open_with_pages(d, A);
    void *page[HSN_PAGES_GRANTED];

    for (unsigned i = 0; i < HSN_PAGES_GRANTED; i++)
        page[i] = filled(a, i);
    assert_null(hsn_page_get(a));
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(hsn_wait_send(a, 10), 0);
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < HSN_PAGES_GRANTED; i++)
            assert_int_equal(send_page(a, B, page[i], 8192), 0); /* nobody */
        for (unsigned i = 0; i < HSN_PAGES_GRANTED; i++)
            page[i] = get_page(a);
    }
    assert_null(hsn_page_get(a));
    assert_true(counter(d, "no_module") >= 5 * HSN_PAGES_GRANTED);
    hsn_close(a);
    hsnd_free(d);
}

/* Who asked for no pages gets the same data by the ring. */
static void pages_reach_who_asked_for_none(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = open_with_pages(d, A);
    struct hsn *b = hsn_dgram_open(d->socket, B);
    struct hsn *raw = hsn_raw_open(d->socket, HSN_TYPE_MAPPER);
    struct hsn_message m;

    assert_int_equal(send_page(a, B, filled(a, 3), 8192), 0);
    receive(b, &m);
    assert_filled(m.data, 8192, 3);
    assert_null(hsn_page_keep(b));
    assert_null(hsn_page_get(b));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_int_equal(hsn_page_size(b), 0);
    assert_int_equal(send_page(a, B, filled(a, 4), HSN_PAGES_LEAST - 1), 0);
    receive(b, &m);
    assert_filled(m.data, HSN_PAGES_LEAST - 1, 4);
    if (raw)
        assert_int_equal(hsn_pages_open(raw), -1);
    assert_int_equal(hsn_pages_open(a), -1);
    assert_int_equal(errno, EBUSY);
    hsn_close(raw);
    hsn_close(a);
    hsn_close(b);
    hsnd_free(d);
}

/* A record as no libhsn writes it. */
static void put_record(struct hsn *h, struct hsn_record r, const void *data)
{
    struct hsn_record *to;

    while (!(to = ring_reserve(&h->to, sizeof(r) + r.data_len)))
        assert_int_equal(errno, EAGAIN);
    *to = r;
    if (data)
        memcpy(to + 1, data, r.data_len);
    ring_commit(&h->to, sizeof(r) + (r.page ? 0 : r.data_len));
    if (ring_must_wake(&h->to))
        ring_bell(h->bell);
}

static void wait_for_counter(struct hsnd_process *d, const char *name,
                             uint64_t n)
{
    for (int i = 0; counter(d, name) < n; i++) {
        assert_true(i < 6000);
        poll(NULL, 0, 10);
    }
    assert_int_equal(counter(d, name), n);
}

/* Pages that do not exist, that are not its own, that it has given back: all
 * are refused and counted, and nobody else is disturbed. */
static void lies_about_pages_are_refused_and_counted(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = open_with_pages(d, A), *b = hsn_dgram_open(d->socket, B);
    struct hsn_record r = {.board = BOARD, .module = A, .data_len = 4096};
    struct hsn_record freed = {.type = HSN_RECORD_FREE, .data_len = 4};
    const uint32_t wrong[] = {HSN_PAGES_GRANTED, HSN_PAGES_MOST, 1000000,
                              UINT32_MAX - 1};
    uint32_t once = 0;
    uint64_t bad = 0;
    struct hsn_message m;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        r.page = wrong[i] + 1;
        put_record(a, r, NULL);
        put_record(a, freed, &wrong[i]);
        wait_for_counter(d, "port_malformed", bad += 2);
    }
    put_record(a, freed, &once); /* it was granted */
    put_record(a, freed, &once); /* and is gone */
    wait_for_counter(d, "port_malformed", ++bad);
    r.page = once + 1;
    put_record(a, r, NULL);
    wait_for_counter(d, "port_malformed", ++bad);
    freed.data_len = 3;
    put_record(a, freed, &once);
    wait_for_counter(d, "port_malformed", ++bad);
    r.page = 2;
    r.data_len = 4096;
    put_record(b, r, NULL); /* it has no pages */
    freed.data_len = 4;
    put_record(b, freed, &once);
    wait_for_counter(d, "port_malformed", bad += 2);
    assert_int_equal(send_page(a, A, filled(a, 1), 8192), 0); /* still works */
    receive(a, &m);
    assert_filled(m.data, 8192, 1);
    hsn_close(a);
    hsn_close(b);
    hsnd_free(d);
}

/* What stands in the shared memory besides data is nothing to hsnd: it is
 * scribbled over, and pages come and go. */
static void scribbled_grants_harm_the_scribbler_only(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = open_with_pages(d, A), *b = open_with_pages(d, B);
    void *page = filled(a, 0);
    struct hsn_grants *g =
        (struct hsn_grants *)((uintptr_t)page - 8192 * HSN_PAGES_GRANTED);
    struct hsn_message m;

    assert_int_equal(atomic_load(&g->tail), HSN_PAGES_GRANTED);
    for (int round = 0; round < 50; round++) {
        memset(g, round * 37, sizeof(*g));
        assert_int_equal(send_page(b, B, filled(b, 5), 8192), 0);
        receive(b, &m);
        assert_filled(m.data, 8192, 5);
        put_record(a,
                   (struct hsn_record){.board = BOARD,
                                       .module = A,
                                       .data_len = 8192,
                                       .page = 1 + (uint32_t)round},
                   NULL);
        while (hsn_recv(a, &m) == 0)
            ;
    }
    hsn_close(a);
    hsn_close(b);
    hsnd_free(d);
}

static int child_opens(struct hsn *h)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(hsn_pages_open(h) == 0 ? 0 : errno);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void pages_are_for_the_process_that_opened(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = hsn_dgram_open(d->socket, A);

    assert_int_equal(child_opens(a), EPERM);
    assert_int_equal(hsn_pages_open(a), 0);
    hsn_close(a);
    hsnd_free(d);
}

static int opens_many(void *socket)
{
    int n = 0;

    for (; n < SF_HSN_POOL_USER_MAX + 10; n++) {
        struct hsn *h = hsn_dgram_open(socket, (uint16_t)(0x500 + n));

        if (!h || hsn_pages_open(h) < 0)
            break;
    }
    return n == SF_HSN_POOL_USER_MAX && errno == ENOSPC ? 0 : 1;
}

static void one_user_can_not_take_all_memory(void **state)
{
    struct hsnd_process *d;

    if (getuid() != 0)
        skip();
    d = hsnd_new("");
    assert_int_equal(as_user(65534, opens_many, d->socket), 0);
    hsnd_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_4k_page_fills_a_page_headers_another),
        cmocka_unit_test(data_larger_than_a_page_comes_by_the_ring),
        cmocka_unit_test(page_out_of_4k_is_copied_to_the_second_half_only),
        cmocka_unit_test(pages_are_kept_and_given_back),
        cmocka_unit_test(who_does_not_look_runs_out_of_pages),
        cmocka_unit_test(a_page_to_the_same_pool_is_not_copied),
        cmocka_unit_test(pages_that_were_sent_come_back),
        cmocka_unit_test(pages_reach_who_asked_for_none),
        cmocka_unit_test(lies_about_pages_are_refused_and_counted),
        cmocka_unit_test(scribbled_grants_harm_the_scribbler_only),
        cmocka_unit_test(pages_are_for_the_process_that_opened),
        cmocka_unit_test(one_user_can_not_take_all_memory),
    };

    return cmocka_run_group_tests_name("hsnd_pages", tests, NULL, NULL);
}
