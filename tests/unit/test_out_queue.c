/* SPDX-License-Identifier: BSD-3-Clause
 * Queues of shared chunks, and those that may pass others.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "impid/out_queue.h"

static void add(struct out_queue *q, const char *text, bool urgent)
{
    struct chunk *c = chunk_new(text, strlen(text));

    assert_non_null(c);
    assert_int_equal(urgent ? out_add_urgent(q, c) : out_add(q, c), 0);
    chunk_release(c);
}

static void assert_written(struct out_queue *q, const char *want)
{
    char got[64] = "";
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(out_flush(q, pair[0]), 0);
    assert_true(read(pair[1], got, sizeof(got) - 1) >= 0);
    assert_string_equal(got, want);
    close(pair[0]);
    close(pair[1]);
}

static void in_order(void **state)
{
    struct out_queue q;

    out_init(&q, 100);
    add(&q, "one ", false);
    add(&q, "two ", false);
    assert_int_equal(q.bytes, 8);
    assert_written(&q, "one two ");
    assert_int_equal(q.bytes, 0);
    out_free(&q);
}

static void urgent_ones_pass_in_their_order(void **state)
{
    struct out_queue q;

    out_init(&q, 100);
    add(&q, "a", false);
    add(&q, "1", true);
    add(&q, "b", false);
    add(&q, "2", true);
    assert_written(&q, "12ab");
    out_free(&q);
}

static void nothing_passes_what_is_half_sent(void **state)
{
    struct out_queue q;

    out_init(&q, 100);
    add(&q, "xya", false);
    add(&q, "b", false);
    q.sent = 2; /* "xy" is out */
    q.bytes -= 2;
    add(&q, "1", true);
    add(&q, "2", true);
    assert_written(&q, "a12b");
    out_free(&q);
}

static void a_full_queue_says_so(void **state)
{
    struct chunk *c = chunk_new("123456", 6);
    struct out_queue q;

    out_init(&q, 10);
    assert_int_equal(out_add(&q, c), 0);
    assert_int_equal(out_add(&q, c), -1);
    assert_int_equal(errno, ENOBUFS);
    assert_int_equal(out_add_urgent(&q, c), -1);
    chunk_release(c);
    out_free(&q);
    assert_int_equal(q.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(urgent_ones_pass_in_their_order),
        cmocka_unit_test(nothing_passes_what_is_half_sent),
        cmocka_unit_test(a_full_queue_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
