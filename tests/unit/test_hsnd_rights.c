/* SPDX-License-Identifier: BSD-3-Clause
 * A real hsnd: who may open and load what, how much one user may have, and what
 * wrong calls are told.
 */
#include "hsnd_counter.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "base/ring_priv.h"
#include "hsn/libhsn_priv.h"

#define A 0x400

static uint8_t page[8192];

static int try_raw(void *socket)
{
    struct hsn *h = hsn_raw_open(socket, HSN_TYPE_MAPPER);

    return h ? 0 : errno;
}

static int try_low_module(void *socket)
{
    return hsn_dgram_open(socket, HSN_MODULE_SERVER) ? 0 : errno;
}

static int try_high_module(void *socket)
{
    return hsn_dgram_open(socket, 0x500) ? 0 : errno;
}

static int try_routes(void *socket)
{
    struct hsn *h = hsn_open(socket);

    return h && hsn_load_routes(h, 1, 0, true, NULL, 0) == 0 ? 0 : errno;
}

static void raw_types_and_low_modules_need_privilege(void **state)
{
    struct hsnd_process *d = hsnd_new("RawGroup=daemon\n");

    if (getuid() != 0)
        skip();
    assert_int_equal(as_user(65534, try_raw, d->socket), EPERM);
    assert_int_equal(as_user(65534, try_low_module, d->socket), EPERM);
    assert_int_equal(as_user(65534, try_routes, d->socket), EPERM);
    assert_int_equal(as_user(65534, try_high_module, d->socket), 0);
    assert_int_equal(as_user(1, try_raw, d->socket), 0); /* daemon */
    assert_int_equal(as_user(0, try_low_module, d->socket), 0);
    hsnd_free(d);
}

static int try_board(void *socket)
{
    struct hsn *h = hsn_open(socket);
    struct hsn_board_info info;

    return h && hsn_board(h, &info) == 0 ? 0 : errno;
}

/* A process of that user that opens what it can, says how much to the pipe,
 * and keeps it until somebody writes into the other one. */
static pid_t greedy(uid_t uid, const char *socket, int say, int wait)
{
    pid_t pid = fork();
    int n = 0;

    if (pid != 0)
        return pid;
    if (setgid(uid) < 0 || setuid(uid) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        _exit(1);
    while (n < 1000 && try_board((void *)(uintptr_t)socket) == 0)
        n++;
    _exit(write(say, &n, sizeof(n)) < 0 || read(wait, &n, 1) < 0);
}

/* hsnd with 256 descriptors: 64 connections for each user. */
static void one_user_can_not_keep_others_out(void **state)
{
    struct hsnd_process *d;
    int say[2], wait[2], n, status;
    pid_t pid;

    if (getuid() != 0)
        skip();
    hsnd_files = 256;
    d = hsnd_new("");
    hsnd_files = 0;
    assert_int_equal(pipe(say) | pipe(wait), 0);
    pid = greedy(65534, d->socket, say[1], wait[0]);
    assert_int_equal(read(say[0], &n, sizeof(n)), sizeof(n));
    assert_int_equal(n, 64);
    assert_int_equal(as_user(65534, try_high_module, d->socket), ECONNRESET);
    assert_int_equal(as_user(65533, try_high_module, d->socket), 0);
    assert_int_equal(as_user(0, try_raw, d->socket), 0);
    assert_true(counter(d, "refused_share") >= 2);
    assert_int_equal(write(wait[1], "", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    for (int i = 0; as_user(65534, try_high_module, d->socket) != 0; i++)
        assert_true(i < 1000);
    for (int i = 0; i < 2; i++) {
        close(say[i]);
        close(wait[i]);
    }
    hsnd_free(d);
}

/* Connections that are answered, until there is no descriptor for another. */
static size_t take_all(struct hsn **idle, size_t most, void *socket)
{
    struct hsn_board_info info;
    size_t n = 0;

    while (n < most && (idle[n] = hsn_open(socket))) {
        if (hsn_board(idle[n], &info) < 0)
            break;
        n++;
    }
    hsn_close(idle[n]);
    return n;
}

/* With so few descriptors left that not all can be had: each number of them was
 * answered but the one that gave half of the rings, where the connection broke.
 */
static void an_endpoint_without_descriptors_is_told_so(void **state)
{
    struct hsn *idle[300], *h;
    struct hsnd_process *d;
    size_t n;

    if (getuid() != 0)
        skip();
    hsnd_files = 256;
    d = hsnd_new("");
    hsnd_files = 0;
    n = take_all(idle, 299, d->socket);
    assert_true(n > 100 && n < 299);
    for (int left = 1; left <= 3; left++) {
        hsn_close(idle[--n]); /* hsnd hears of that soon */
        h = NULL;
        for (int i = 0; i < 2000 && !h; i++) {
            h = hsn_dgram_open(d->socket, A);
            if (!h && errno != ECONNRESET)
                break;
        }
        assert_null(h);
        assert_int_equal(errno, EMFILE);
    }
    while (n > 0)
        hsn_close(idle[--n]);
    hsnd_free(d);
}

#define BREAKS 300

static int break_rings(void *socket)
{
    for (int i = 0; i < BREAKS; i++) {
        struct hsn *h = hsn_dgram_open(socket, 0x500);
        char c;

        if (!h)
            return errno;
        atomic_store(&h->to.shared->tail, UINT64_MAX / 2);
        ring_bell(h->bell);
        while (recv(h->bell, &c, 1, 0) > 0) /* until hsnd hangs up */
            ;
        hsn_close(h);
    }
    return 0;
}

static int be_refused(void *socket)
{
    for (int i = 0; i < BREAKS; i++)
        if (hsn_dgram_open(socket, HSN_MODULE_SERVER))
            return 1;
    return 0;
}

static unsigned lines_with(const char *path, const char *what)
{
    FILE *f = fopen(path, "r");
    char line[512];
    unsigned n = 0;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        n += strstr(line, what) != NULL;
    fclose(f);
    return n;
}

static int64_t seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* A line in a second for each cause, and counters that lose nothing. */
static void no_user_fills_the_log(void **state)
{
    char log[] = "/tmp/hsndlogXXXXXX";
    struct hsnd_process *d;
    int64_t begin;
    unsigned n, most;

    if (getuid() != 0)
        skip();
    close(mkstemp(log));
    hsnd_log = log;
    d = hsnd_new("");
    hsnd_log = NULL;
    begin = seconds_now();
    assert_int_equal(as_user(65534, break_rings, d->socket), 0);
    assert_int_equal(as_user(65534, be_refused, d->socket), 0);
    most = (unsigned)(seconds_now() - begin) + 2;
    assert_int_equal(counter(d, "broken_rings"), BREAKS);
    assert_int_equal(counter(d, "refused_port"), BREAKS);
    hsnd_free(d);
    n = lines_with(log, "of uid 65534 broke its ring");
    assert_true(n > 0 && n <= most);
    n = lines_with(log, "uid 65534 may not open");
    assert_true(n > 0 && n <= most);
    unlink(log);
}

static void an_endpoint_is_one_process_only_until_it_closes(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = hsn_raw_open(d->socket, HSN_TYPE_MAPPER), *b;

    assert_non_null(a);
    assert_null(hsn_raw_open(d->socket, HSN_TYPE_MAPPER));
    assert_int_equal(errno, EBUSY);
    assert_null(hsn_raw_open(d->socket, HSN_TYPE));
    assert_int_equal(errno, EINVAL);
    assert_null(hsn_dgram_open(d->socket, HSN_MODULE_ELAN));
    assert_int_equal(errno, EINVAL);
    hsn_close(a);
    for (int i = 0; !(b = hsn_raw_open(d->socket, HSN_TYPE_MAPPER)); i++) {
        assert_true(i < 1000);
        poll(NULL, 0, 10);
    }
    hsn_close(b);
    hsnd_free(d);
}

static void wrong_calls_say_so(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *raw = hsn_raw_open(d->socket, HSN_TYPE_MAPPER);
    struct hsn *a = hsn_dgram_open(d->socket, A);
    struct hsn_raw packet = {.route = (const uint8_t *)"\x43",
                             .route_len = 1,
                             .payload = page,
                             .len = 10};
    struct hsn_message m = {.data = page, .data_len = HSN_DATA_MAX + 1};
    uint8_t route[HSN_ROUTE_MAX + 1];

    memset(route, 0x81, sizeof(route));
    assert_int_equal(hsn_raw_send(raw, &packet), -1);
    assert_int_equal(errno, EINVAL);
    packet.route = route;
    packet.route_len = sizeof(route);
    assert_int_equal(hsn_raw_send(raw, &packet), -1);
    assert_int_equal(errno, EMSGSIZE);
    packet.route_len = HSN_ROUTE_MAX;
    assert_int_equal(hsn_raw_send(raw, &packet), 0);
    packet.len = HSN_MTU + 1;
    assert_int_equal(hsn_raw_send(raw, &packet), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_int_equal(hsn_send(a, &m), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_int_equal(hsn_send(raw, &m), -1);
    assert_int_equal(errno, EOPNOTSUPP);
    assert_int_equal(hsn_raw_send(a, &packet), -1);
    assert_int_equal(errno, EOPNOTSUPP);
    assert_null(hsn_open("/nonexistent/socket"));
    assert_int_equal(errno, ENOENT);
    hsn_close(a);
    hsn_close(raw);
    hsn_close(NULL);
    hsnd_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_types_and_low_modules_need_privilege),
        cmocka_unit_test(one_user_can_not_keep_others_out),
        cmocka_unit_test(an_endpoint_without_descriptors_is_told_so),
        cmocka_unit_test(no_user_fills_the_log),
        cmocka_unit_test(an_endpoint_is_one_process_only_until_it_closes),
        cmocka_unit_test(wrong_calls_say_so),
    };

    return cmocka_run_group_tests_name("hsnd_rights", tests, NULL, NULL);
}
