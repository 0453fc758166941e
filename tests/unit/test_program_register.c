/* SPDX-License-Identifier: BSD-3-Clause
 * A holder and the driver of its node: a socket that this test listens at.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elan_util.h"

#include "base/local.h"
#include "elan/capability.h"
#include "elan/program_register.h"

#define LONG_MS 600000 /* a wait that ends before */

struct fixture {
    char dir[32], path[64];
    int listener, driver; /* what it accepted */
    struct program_drivers d;
    struct program_held held;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct elan_layout l = even_layout(1, 1, 1, false);
    struct elan_capability_spec cs = {
        .layout = &l, .low_context = 50, .ncontexts = 1, .key = {{9, 8, 7, 6}}};
    struct elan_capability cap;

    *state = f;
    assert_int_equal(elan_capability_build(&cap, &cs, NULL), 0);
    elan_layout_free(&l);
    strcpy(f->dir, "/tmp/sf-driver-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->path, sizeof(f->path), "%s/hsnd-%d", f->dir,
             __builtin_ctz(cap.RailMask));
    f->listener = local_listen(f->path, SOCK_SEQPACKET);
    assert_true(f->listener >= 0);
    fcntl(f->listener, F_SETFL, O_NONBLOCK);
    f->driver = -1;
    program_init(&f->held.program, 77, 1000);
    assert_int_equal(program_add_cap(&f->held.program, 0, &cap), 0);
    strcpy(f->held.group.path, "/group");
    program_drivers_init(&f->d, f->dir);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    program_drivers_close(&f->d);
    program_clear(&f->held.program);
    if (f->driver >= 0)
        close(f->driver);
    close(f->listener);
    unlink(f->path);
    rmdir(f->dir);
    free(f);
    return 0;
}

/* The driver wakes up and finds what was said to it. */
static void hear_registration(struct fixture *f)
{
    static struct program_registration r;
    uint8_t buf[PROGRAM_REGISTER_MAX];
    ssize_t n;

    f->driver = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK);
    assert_true(f->driver >= 0);
    n = recv(f->driver, buf, sizeof(buf), 0);
    assert_true(n > 0);
    assert_int_equal(program_register_get(&r, buf, (size_t)n), 0);
    assert_int_equal(r.number, 77);
}

static void answer(struct fixture *f, uint32_t error)
{
    uint8_t buf[8];

    be_store32(buf, PROGRAM_REGISTER_MAGIC);
    be_store32(buf + 4, error);
    assert_int_equal(send(f->driver, buf, sizeof(buf), 0), sizeof(buf));
}

/* Neither closed, nor anything more said. */
static void assert_open(struct fixture *f)
{
    char c;

    assert_int_equal(recv(f->driver, &c, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
}

static void assert_nobody_comes(struct fixture *f)
{
    assert_int_equal(accept4(f->listener, NULL, NULL, SOCK_NONBLOCK), -1);
    assert_int_equal(errno, EAGAIN);
}

static void the_answer_is_awaited(void **state)
{
    struct fixture *f = *state;

    assert_true(program_drivers_missing(&f->d, &f->held));
    program_drivers_look(&f->d, &f->held);
    hear_registration(f);
    answer(f, 0);
    program_drivers_await(&f->d, LONG_MS);
    assert_false(program_drivers_missing(&f->d, &f->held));
    assert_open(f);
}

/* The connection was closed after a quarter of a second: a driver that was
 * slower took the program in, then away from tasks that it had let in. */
static void a_late_answer_lost_tasks_their_contexts(void **state)
{
    struct fixture *f = *state;

    program_drivers_look(&f->d, &f->held);
    program_drivers_await(&f->d, 1);
    assert_false(program_drivers_missing(&f->d, &f->held));
    program_drivers_look(&f->d, &f->held);
    hear_registration(f);
    assert_nobody_comes(f);
    answer(f, 0);
    program_drivers_hear(&f->d, f->d.fd[0]);
    assert_open(f);
    program_drivers_await(&f->d, LONG_MS); /* nothing to wait for */
    assert_false(program_drivers_missing(&f->d, &f->held));
}

static void who_refuses_is_asked_less_often(void **state)
{
    struct fixture *f = *state;
    char c;
    int pause;

    program_drivers_look(&f->d, &f->held);
    hear_registration(f);
    answer(f, EPERM);
    pause = f->d.pause_ms;
    program_drivers_await(&f->d, LONG_MS);
    assert_true(program_drivers_missing(&f->d, &f->held));
    assert_int_equal(recv(f->driver, &c, 1, 0), 0);
    program_drivers_look(&f->d, &f->held);
    assert_true(f->d.pause_ms > pause);
}

static void a_driver_that_restarts_is_told_again(void **state)
{
    struct fixture *f = *state;
    int pause = f->d.pause_ms;

    program_drivers_look(&f->d, &f->held);
    hear_registration(f);
    answer(f, 0);
    program_drivers_await(&f->d, LONG_MS);
    close(f->driver);
    program_drivers_hear(&f->d, f->d.fd[0]);
    assert_true(program_drivers_missing(&f->d, &f->held));
    assert_int_equal(f->d.pause_ms, pause);
    program_drivers_look(&f->d, &f->held);
    hear_registration(f);
}

/* It ends before it has answered. */
static void a_driver_that_ends_is_not_waited_for(void **state)
{
    struct fixture *f = *state;

    program_drivers_look(&f->d, &f->held);
    hear_registration(f);
    close(f->driver);
    f->driver = -1;
    program_drivers_await(&f->d, LONG_MS);
    assert_true(program_drivers_missing(&f->d, &f->held));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(the_answer_is_awaited),
        CASE(a_late_answer_lost_tasks_their_contexts),
        CASE(who_refuses_is_asked_less_often),
        CASE(a_driver_that_restarts_is_told_again),
        CASE(a_driver_that_ends_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
