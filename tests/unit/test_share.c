/* SPDX-License-Identifier: BSD-3-Clause
 * Shared memory between processes of one machine: how it is agreed upon, and
 * how it is found and proved.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "impi/chan_share.h"
#include "libimpi/share.h"

/* ---- agreeing ---- */

static struct errbuf err;

/* What one side has to say, in pieces, to the other. */
static void move(struct impi_chan_share *from, struct impi_chan_share *to,
                 size_t piece)
{
    const uint8_t *out;
    size_t n;

    while ((n = impi_chan_share_output(from, &out)) > 0) {
        n = n < piece ? n : piece;
        assert_true(n <= impi_chan_share_want(to));
        assert_int_equal(impi_chan_share_input(to, out, n, &err), 0);
        impi_chan_share_sent(from, n);
    }
}

static const struct impi_chan_offer some_offer = {
    .pid = 77, .fd_out = 5, .fd_in = 6, .token = "0123456789abcdef"};

static void offer_is_judged_and_answered(void **state)
{
    for (int yes = 0; yes < 2; yes++) {
        struct impi_chan_share a, b;

        impi_chan_share_offer(&a, &some_offer);
        impi_chan_share_await(&b);
        move(&a, &b, 7);
        assert_true(impi_chan_share_asked(&b));
        assert_int_equal(impi_chan_share_want(&b), 0);
        assert_int_equal(b.offer.pid, 77);
        assert_int_equal(b.offer.fd_out, 5);
        assert_int_equal(b.offer.fd_in, 6);
        assert_memory_equal(b.offer.token, some_offer.token, 32);
        impi_chan_share_answer(&b, yes);
        assert_false(impi_chan_share_done(&b)); /* not yet said */
        move(&b, &a, 1);
        assert_true(impi_chan_share_done(&a) && impi_chan_share_done(&b));
        assert_int_equal(a.agreed, yes);
        assert_int_equal(b.agreed, yes);
    }
}

/* Data follow at once: to another machine this costs no round trip. */
static void no_offer_waits_for_no_answer(void **state)
{
    struct impi_chan_share a, b;

    impi_chan_share_offer(&a, NULL);
    impi_chan_share_await(&b);
    move(&a, &b, 48);
    assert_true(impi_chan_share_done(&a) && impi_chan_share_done(&b));
    assert_false(a.agreed || b.agreed);
    assert_int_equal(impi_chan_share_want(&a), 0);
    assert_int_equal(impi_chan_share_want(&b), 0);
}

static void nonsense_is_no_offer_and_no_answer(void **state)
{
    uint8_t junk[IMPI_SHARE_OFFER_SIZE];
    struct impi_chan_share a, b;

    memset(junk, 0xee, sizeof(junk));
    impi_chan_share_await(&b);
    assert_int_equal(impi_chan_share_input(&b, junk, sizeof(junk), &err), -1);
    assert_int_equal(errno, EPROTO);
    assert_int_equal(impi_chan_share_want(&b), 0);
    assert_false(impi_chan_share_done(&b));
    impi_chan_share_offer(&a, &some_offer);
    assert_int_equal(impi_chan_share_input(&a, junk, 1, &err), -1); /* early */
    impi_chan_share_offer(&a, &some_offer);
    impi_chan_share_sent(&a, IMPI_SHARE_OFFER_SIZE);
    assert_int_equal(impi_chan_share_input(&a, junk, 4, &err), -1);
    assert_false(a.agreed);
}

/* ---- finding and proving ---- */

static void put(struct share *s, const void *data, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)data, len};
    bool ring;

    assert_int_equal(ring_stream_write(&s->stream, &iov, 1, NULL, NULL, &ring),
                     len);
}

static void expect(struct share *s, const void *data, size_t len)
{
    uint8_t got[64];
    struct iovec iov = {got, sizeof(got)};
    bool ring;

    assert_int_equal(ring_stream_read(&s->stream, &iov, 1, &ring), len);
    assert_memory_equal(got, data, len);
}

static void memory_is_found_by_its_offer_and_proved_both_ways(void **state)
{
    struct impi_chan_offer offer;
    struct share *a = share_create(&offer), *b;

    assert_non_null(a);
    b = share_open(&offer);
    assert_non_null(b);
    assert_true(share_confirm(a));
    put(a, "to b", 4);
    put(b, "to a", 4);
    expect(b, "to b", 4);
    expect(a, "to a", 4);
    share_free(a);
    expect(b, "", 0);
    share_free(b);
    share_free(NULL);
}

static void offers_of_anything_else_are_refused(void **state)
{
    struct impi_chan_offer good, bad;
    struct share *a = share_create(&good);
    int file = open("/dev/null", O_RDWR), wrong;

    assert_non_null(a);
    bad = good;
    bad.token[31] ^= 1; /* another memory in that place */
    assert_null(share_open(&bad));
    bad = good;
    bad.pid = 0x7fffffff; /* another pid namespace, or gone */
    assert_null(share_open(&bad));
    bad = good;
    bad.fd_out = (uint32_t)file;
    assert_null(share_open(&bad));
    wrong = ring_create(2 * SF_SHARE_RING, &err); /* of another size */
    bad = good;
    bad.fd_in = (uint32_t)wrong;
    assert_null(share_open(&bad));
    close(wrong);
    close(file);
    assert_false(share_confirm(a)); /* nobody has proved itself */
    share_free(a);
}

/* Or SIGXFSZ would end the program. */
static void limit_of_file_size_is_kept(void **state)
{
    struct impi_chan_offer offer;
    struct rlimit old, r;

    getrlimit(RLIMIT_FSIZE, &old);
    r = old;
    r.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &r);
    assert_null(share_create(&offer));
    setrlimit(RLIMIT_FSIZE, &old);
}

static void one_machine_is_told_by_addresses(void **state)
{
    struct sockaddr_in sin = {.sin_family = AF_INET};
    socklen_t len = sizeof(sin);
    int a = socket(AF_INET, SOCK_STREAM, 0),
        b = socket(AF_INET, SOCK_STREAM, 0);

    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(a, (struct sockaddr *)&sin, sizeof(sin)), 0);
    assert_int_equal(listen(a, 1), 0);
    getsockname(a, (struct sockaddr *)&sin, &len);
    assert_false(share_is_near(b));
    assert_int_equal(connect(b, (struct sockaddr *)&sin, sizeof(sin)), 0);
    assert_true(share_is_near(b));
    close(a);
    close(b);
}

/* ---- areas ---- */

static void an_area_is_the_same_memory_for_who_opens_it(void **state)
{
    struct share_area a, b;
    uint32_t own = (uint32_t)getpid(), fd;

    (void)state;
    assert_int_equal(share_area_make(&a, 12345), 0);
    fd = (uint32_t)a.fd;
    assert_int_equal(a.at[12344], 0);
    a.at[12344] = 7;
    assert_int_equal(share_area_open(&b, own, fd, 12345, NULL), 0);
    assert_ptr_not_equal(a.at, b.at);
    assert_int_equal(b.at[12344], 7);
    b.at[0] = 9;
    assert_int_equal(a.at[0], 9);
    share_area_free(&b);
    assert_null(b.at);
    /* nobody makes it shorter below us */
    assert_int_equal(ftruncate(a.fd, 1), -1);
    share_area_close(&a);
    assert_int_equal(share_area_open(&b, own, fd, 12345, NULL), -1);
    a.at[0] = 1;
    share_area_free(&a);
}

static void what_is_no_area_is_not_opened(void **state)
{
    uint32_t own = (uint32_t)getpid();
    struct share_area a, b;
    int ring = ring_create(4096 * 16, &err), file;
    struct rlimit r, less;

    (void)state;
    assert_int_equal(share_area_make(&a, 8192), 0);
    assert_int_equal(share_area_open(&b, own, (uint32_t)a.fd, 8191, NULL), -1);
    assert_int_equal(share_area_open(&b, own, (uint32_t)a.fd, 1 << 20, NULL),
                     -1);
    assert_int_equal(share_area_open(&b, 0, (uint32_t)a.fd, 8192, NULL), -1);
    assert_int_equal(share_area_open(&b, own, UINT32_MAX, 8192, NULL), -1);
    assert_int_equal(share_area_open(&b, own, (uint32_t)ring, 4096 * 17, NULL),
                     -1);
    file = open("/proc/self/exe", O_RDONLY);
    assert_int_equal(share_area_open(&b, own, (uint32_t)file, 8192, NULL), -1);
    assert_null(b.at);
    close(file);
    close(ring);
    share_area_free(&a);
    /* a limit that would end the program is not run into */
    getrlimit(RLIMIT_FSIZE, &r);
    less = r;
    less.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &less);
    assert_int_equal(share_area_make(&a, 8192), -1);
    setrlimit(RLIMIT_FSIZE, &r);
}

static void who_has_ended_is_gone(void **state)
{
    pid_t child = fork();
    siginfo_t info;

    (void)state;
    if (child == 0)
        _exit(0);
    assert_false(share_is_gone((uint32_t)getpid()));
    /* a zombie, then none */
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_true(share_is_gone((uint32_t)child));
    waitpid(child, NULL, 0);
    assert_true(share_is_gone((uint32_t)child));
    assert_true(share_machine() != 0);
    assert_true(share_machine() == share_machine());
}

static void *end_with_the_process(void *arg)
{
    char c;

    if (read(*(int *)arg, &c, 1) >= 0)
        _exit(0);
    return NULL;
}

/* Its first thread ends; the other one does when the pipe is closed. */
static void leave_a_thread(int pipe[2])
{
    pthread_t other;

    close(pipe[1]);
    if (pthread_create(&other, NULL, end_with_the_process, &pipe[0]) == 0)
        pthread_exit(NULL);
    _exit(1);
}

/* Has the kernel called it a zombie? */
static bool is_zombie(pid_t pid)
{
    char path[64], text[256] = "", *end;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    end = strrchr(text, ')');
    return end && end[2] == 'Z';
}

static void who_has_another_thread_is_not_gone(void **state)
{
    siginfo_t info;
    int fds[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    child = fork();
    if (child == 0)
        leave_a_thread(fds);
    while (!is_zombie(child))
        sched_yield();
    assert_false(share_is_gone((uint32_t)child));
    close(fds[1]);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_true(share_is_gone((uint32_t)child));
    waitpid(child, NULL, 0);
    close(fds[0]);
}

static void setting_switches_it_off(void **state)
{
    setenv("IMPI_SHM", "0", 1);
    assert_true(share_is_off());
    setenv("IMPI_SHM", "1", 1);
    assert_false(share_is_off());
    unsetenv("IMPI_SHM");
    assert_false(share_is_off());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offer_is_judged_and_answered),
        cmocka_unit_test(no_offer_waits_for_no_answer),
        cmocka_unit_test(nonsense_is_no_offer_and_no_answer),
        cmocka_unit_test(memory_is_found_by_its_offer_and_proved_both_ways),
        cmocka_unit_test(offers_of_anything_else_are_refused),
        cmocka_unit_test(limit_of_file_size_is_kept),
        cmocka_unit_test(one_machine_is_told_by_addresses),
        cmocka_unit_test(an_area_is_the_same_memory_for_who_opens_it),
        cmocka_unit_test(what_is_no_area_is_not_opened),
        cmocka_unit_test(who_has_ended_is_gone),
        cmocka_unit_test(who_has_another_thread_is_not_gone),
        cmocka_unit_test(setting_switches_it_off),
    };

    return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
