/* SPDX-License-Identifier: BSD-3-Clause
 * A real hsnd: who may open and load what, how much one user may have, and what
 * wrong calls are told.
 */
#include "hsnd_counter.h"

#include <sys/prctl.h>

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
        cmocka_unit_test(an_endpoint_is_one_process_only_until_it_closes),
        cmocka_unit_test(wrong_calls_say_so),
    };

    return cmocka_run_group_tests_name("hsnd_rights", tests, NULL, NULL);
}
