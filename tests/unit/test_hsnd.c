/* SPDX-License-Identifier: BSD-3-Clause
 * A real hsnd and its clients, on a board without a cable.
 */
#include "hsnd_util.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>

#include "base/ctl.h"

#define A 0x400
#define B 0x401

static uint8_t page[8192];

static int send_to(struct hsn *h, uint64_t board, size_t data_len,
                   const char *header)
{
    struct hsn_message m = {.board = board,
                            .data = page,
                            .data_len = data_len,
                            .header = header,
                            .header_len = strlen(header)};

    return hsn_send(h, &m);
}

static uint64_t own_board(struct hsn *h)
{
    struct hsn_board_info info;

    assert_int_equal(hsn_board(h, &info), 0);
    return info.address;
}

static uint64_t counter(struct hsnd_process *d, const char *name)
{
    struct json_object *reply, *counters, *value;
    struct errbuf err;
    uint64_t n;

    assert_int_equal(ctl_ask(d->control, "counters", &reply, 60000, &err), 0);
    assert_true(json_object_object_get_ex(reply, "counters", &counters));
    assert_true(json_object_object_get_ex(counters, name, &value));
    n = json_object_get_uint64(value);
    json_object_put(reply);
    return n;
}

static void datagrams_go_through_hsnd(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = hsn_dgram_open(d->socket, A);
    struct hsn_message m;

    assert_non_null(a);
    for (size_t i = 0; i < sizeof(page); i++)
        page[i] = (uint8_t)(i * 7);
    assert_int_equal(hsn_recv(a, &m), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(send_to(a, 0x0200000000a1, 8192, "to myself"), 0);
    receive(a, &m);
    assert_true(m.board == 0x0200000000a1);
    assert_int_equal(m.module, A);
    assert_int_equal(m.data_len, 8192);
    assert_memory_equal(m.data, page, 8192);
    assert_memory_equal(m.header, "to myself", 9);
    assert_true(own_board(a) == 0x0200000000a1);
    hsn_close(a);
    hsnd_free(d);
}

static void fd_becomes_readable_after_eagain(void **state)
{
    struct hsnd_process *d = hsnd_new("SpinTime=0\n");
    struct hsn *a = hsn_dgram_open(d->socket, A);
    struct pollfd p = {.fd = hsn_fd(a), .events = POLLIN};
    struct hsn_message m;

    for (int i = 0; i < 50; i++) {
        assert_int_equal(hsn_recv(a, &m), -1);
        assert_int_equal(poll(&p, 1, 0), 0);
        assert_int_equal(send_to(a, 0x0200000000a1, 64, "x"), 0);
        assert_int_equal(poll(&p, 1, 60000), 1);
        assert_int_equal(hsn_recv(a, &m), 0);
    }
    hsn_close(a);
    hsnd_free(d);
}

static void many_messages_none_lost_while_there_is_room(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = hsn_dgram_open(d->socket, A);
    struct hsn_message m;
    uint32_t sent = 0, got = 0, number;

    while (got < 20000) {
        for (; sent < 20000 && sent - got < 100; sent++) {
            struct hsn_message out = {
                .board = 0x0200000000a1, .header = &sent, .header_len = 4};

            assert_int_equal(hsn_send(a, &out), 0);
        }
        receive(a, &m);
        memcpy(&number, m.header, 4);
        assert_int_equal(number, got); /* in order */
        got++;
    }
    hsn_close(a);
    hsnd_free(d);
}

static void client_and_server_reach_each_other(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *client = hsn_dgram_open(d->socket, A);
    struct hsn *server = hsn_dgram_open(d->socket, B);
    struct hsn_message out = {.board = 0x0200000000a1,
                              .module = B,
                              .header = "page-in",
                              .header_len = 7},
                       m;

    assert_int_equal(hsn_send(client, &out), 0);
    receive(server, &m);
    assert_int_equal(m.module, B);
    assert_memory_equal(m.header, "page-in", 7);
    out.module = A;
    assert_int_equal(hsn_send(server, &out), 0);
    receive(client, &m);
    assert_int_equal(m.module, A);
    out.module = HSN_MODULE_SERVER; /* not for everybody */
    assert_int_equal(hsn_send(client, &out), 0);
    out.module = HSN_MODULE_ELAN; /* for nobody */
    assert_int_equal(hsn_send(client, &out), 0);
    for (int i = 0; counter(d, "port_malformed") != 2; i++)
        assert_true(i < 6000);
    hsn_close(client);
    hsn_close(server);
    hsnd_free(d);
}

static void on_alarm(int signo)
{
    (void)signo;
}

/* It said that nothing was there. */
static void a_wait_that_a_signal_ends_says_so(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = hsn_dgram_open(d->socket, A);
    struct sigaction alarm = {.sa_handler = on_alarm}, before;
    const struct itimerval often = {{0, 10000}, {0, 10000}}, never = {0};

    sigaction(SIGALRM, &alarm, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    assert_int_equal(hsn_wait(a, 600000), -1);
    assert_int_equal(errno, EINTR);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    hsn_close(a);
    hsnd_free(d);
}

/* Waits until hsnd has really stopped, or goes on. */
static void hold_hsnd(struct hsnd_process *d, bool hold)
{
    int status;

    assert_int_equal(kill(d->pid, hold ? SIGSTOP : SIGCONT), 0);
    assert_int_equal(waitpid(d->pid, &status, hold ? WUNTRACED : WCONTINUED),
                     d->pid);
    assert_true(hold ? WIFSTOPPED(status) : WIFCONTINUED(status));
}

/* Two processes of one node, or two endpoints of one, share no memory but with
 * hsnd: while it does nothing, nothing arrives. */
static void hsnd_is_never_bypassed(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = hsn_dgram_open(d->socket, A);
    struct hsn *b = hsn_dgram_open(d->socket, B);
    struct hsn_message out = {.board = 0x0200000000a1,
                              .module = B,
                              .header = "by hsnd",
                              .header_len = 7},
                       m;

    hold_hsnd(d, true);
    for (int i = 0; i < 10; i++)
        assert_int_equal(hsn_send(a, &out), 0);
    assert_true(hsn_wait(b, 20) == 0 || errno == EINTR);
    assert_int_equal(hsn_try_recv(b, &m), -1);
    assert_int_equal(errno, EAGAIN);
    hold_hsnd(d, false);
    for (int i = 0; i < 10; i++) {
        receive(b, &m);
        assert_memory_equal(m.header, "by hsnd", 7);
    }
    hsn_close(a);
    hsn_close(b);
    hsnd_free(d);
}

/* The driver itself copies nothing, and a page goes into the receiver's ring
 * once, where the receiver looks at it. */
static void page_is_copied_once_for_another_process(void **state)
{
    enum { PAGES = 20 };
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = hsn_dgram_open(d->socket, A);
    struct hsn *b = hsn_dgram_open(d->socket, B);
    struct hsn_message out = {.board = 0x0200000000a1,
                              .module = B,
                              .data = page,
                              .data_len = sizeof(page)},
                       m;

    for (int i = 0; i < PAGES; i++) {
        assert_int_equal(hsn_send(a, &out), 0);
        receive(b, &m);
        assert_int_equal(m.data_len, sizeof(page));
    }
    assert_int_equal(counter(d, "port_copied"), PAGES * sizeof(page));
    assert_int_equal(counter(d, "copied_data"), 0);
    hsn_close(a);
    hsn_close(b);
    hsnd_free(d);
}

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

static void routes_are_loaded_whole_or_not_at_all(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *h = hsn_open(d->socket);
    struct hsn_peer *peers = calloc(5000, sizeof(*peers)), one;
    struct hsn_board_info info;

    for (int i = 0; i < 5000; i++) {
        peers[i].address = (uint64_t)i + 1;
        peers[i].nroutes = 8;
        for (int k = 0; k < 8; k++) {
            peers[i].route[k].len = 5;
            memset(peers[i].route[k].byte, 0x81 + k, 5);
        }
    }
    assert_int_equal(hsn_load_routes(h, 77, 3, true, peers, 5000), 0);
    assert_int_equal(hsn_board(h, &info), 0);
    assert_int_equal(info.map_version, 77);
    assert_int_equal(info.host_type, 3);
    assert_int_equal(info.npeers, 5000);
    assert_true(info.configured);
    assert_string_equal(info.node, "n1");
    assert_int_equal(hsn_peer_routes(h, 4711, &one), 0);
    assert_memory_equal(&one, &peers[4710], sizeof(one));
    peers[4000].address = 1;
    assert_int_equal(hsn_load_routes(h, 78, 3, true, peers, 5000), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hsn_board(h, &info), 0);
    assert_int_equal(info.map_version, 77);
    assert_int_equal(hsn_peer_routes(h, 60000, &one), -1);
    assert_int_equal(errno, EHOSTUNREACH);
    hsn_close(h);
    free(peers);
    hsnd_free(d);
}

static struct hsn_peer peer_by(uint64_t address, int first)
{
    struct hsn_peer p = {.address = address, .nroutes = 1};

    p.route[0].len = 1;
    p.route[0].byte[0] = (uint8_t)(0x80 + first);
    return p;
}

static void routes_are_changed_where_they_are_said_to(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *h = hsn_open(d->socket), *other = hsn_open(d->socket);
    struct hsn_peer all[100], some[3], one;
    struct hsn_board_info info;

    for (int i = 0; i < 100; i++)
        all[i] = peer_by((uint64_t)i + 1, 1);
    some[0] = peer_by(7, 2);    /* another route */
    some[1] = peer_by(1000, 3); /* a new peer */
    some[2] = peer_by(9, 1);    /* gone */
    some[2].nroutes = 0;
    /* there is nothing to change yet */
    assert_int_equal(hsn_change_routes(h, 0, 5, 3, true, some, 3), -1);
    assert_int_equal(errno, ESTALE);
    assert_int_equal(hsn_load_routes(h, 77, 3, true, all, 100), 0);
    /* of another version, of another client */
    assert_int_equal(hsn_change_routes(h, 76, 78, 3, true, some, 3), -1);
    assert_int_equal(errno, ESTALE);
    assert_int_equal(hsn_change_routes(other, 77, 78, 3, true, some, 3), -1);
    assert_int_equal(errno, ESTALE);
    assert_int_equal(hsn_change_routes(h, 77, 78, 3, false, some, 3), 0);
    assert_int_equal(hsn_board(h, &info), 0);
    assert_int_equal(info.map_version, 78);
    assert_int_equal(info.npeers, 100);
    assert_false(info.configured);
    assert_int_equal(hsn_peer_routes(h, 7, &one), 0);
    assert_memory_equal(&one, &some[0], sizeof(one));
    assert_int_equal(hsn_peer_routes(h, 1000, &one), 0);
    assert_int_equal(hsn_peer_routes(h, 9, &one), -1);
    assert_int_equal(hsn_peer_routes(h, 8, &one), 0);
    assert_memory_equal(&one, &all[7], sizeof(one));
    /* what is refused changes nothing */
    some[1].address = 7;
    assert_int_equal(hsn_change_routes(h, 78, 79, 3, true, some, 2), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hsn_board(h, &info), 0);
    assert_int_equal(info.map_version, 78);
    /* somebody else's routes: all of them again */
    assert_int_equal(hsn_load_routes(other, 80, 3, true, all, 10), 0);
    assert_int_equal(hsn_change_routes(h, 80, 81, 3, true, some, 1), -1);
    assert_int_equal(errno, ESTALE);
    hsn_close(other);
    hsn_close(h);
    hsnd_free(d);
}

static void clients_notice_that_hsnd_ends_and_come_back(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct hsn *a = hsn_dgram_open(d->socket, A);
    struct hsn_message m;

    hsnd_stop(d, SIGKILL, SIGKILL);
    assert_int_equal(hsn_wait(a, 20000), -1);
    assert_int_equal(errno, ECONNRESET);
    assert_int_equal(hsn_recv(a, &m), -1);
    assert_int_equal(errno, ECONNRESET);
    assert_int_equal(send_to(a, 1, 1, ""), -1);
    assert_int_equal(errno, ECONNRESET);
    hsn_close(a);
    hsnd_start(d); /* over the socket that was left */
    a = hsn_dgram_open(d->socket, A);
    assert_non_null(a);
    assert_int_equal(send_to(a, 0x0200000000a1, 1, ""), 0);
    receive(a, &m);
    hsn_close(a);
    hsnd_free(d);
}

static void losses_are_counted_by_cause(void **state)
{
    struct hsnd_process *d = hsnd_new("RingSize=64\n");
    struct hsn *a = hsn_dgram_open(d->socket, A);
    struct hsn *b = hsn_dgram_open(d->socket, B);
    struct hsn_message m = {
        .board = 0x0200000000a1, .data = page, .data_len = 8192};

    assert_int_equal(send_to(a, 0xdead, 1, ""), 0);
    for (int i = 0; counter(d, "no_route") != 1; i++)
        assert_true(i < 1000);
    for (int i = 0; i < 100; i++) /* nobody reads */
        while (hsn_send(a, &m) < 0)
            assert_int_equal(errno, EAGAIN);
    for (int i = 0; counter(d, "port_full") == 0; i++)
        assert_true(i < 1000);
    hsn_close(a);
    hsn_close(b);
    hsnd_free(d);
}

static void metrics_are_prometheus_text(void **state)
{
    struct hsnd_process *d = hsnd_new("");
    struct json_object *reply, *text;
    struct errbuf err;

    assert_int_equal(ctl_ask(d->control, "metrics", &reply, 60000, &err), 0);
    assert_true(json_object_object_get_ex(reply, "text", &text));
    assert_non_null(strstr(json_object_get_string(text),
                           "\nslurm_fabric_nic_link_up{node=\"n1\","
                           "rail=\"0\"} 0\n"));
    json_object_put(reply);
    assert_int_equal(ctl_ask(d->control, "status", &reply, 60000, &err), 0);
    json_object_put(reply);
    hsnd_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(datagrams_go_through_hsnd),
        cmocka_unit_test(fd_becomes_readable_after_eagain),
        cmocka_unit_test(many_messages_none_lost_while_there_is_room),
        cmocka_unit_test(client_and_server_reach_each_other),
        cmocka_unit_test(raw_types_and_low_modules_need_privilege),
        cmocka_unit_test(one_user_can_not_keep_others_out),
        cmocka_unit_test(an_endpoint_is_one_process_only_until_it_closes),
        cmocka_unit_test(a_wait_that_a_signal_ends_says_so),
        cmocka_unit_test(hsnd_is_never_bypassed),
        cmocka_unit_test(page_is_copied_once_for_another_process),
        cmocka_unit_test(wrong_calls_say_so),
        cmocka_unit_test(routes_are_loaded_whole_or_not_at_all),
        cmocka_unit_test(routes_are_changed_where_they_are_said_to),
        cmocka_unit_test(clients_notice_that_hsnd_ends_and_come_back),
        cmocka_unit_test(losses_are_counted_by_cause),
        cmocka_unit_test(metrics_are_prometheus_text),
    };

    return cmocka_run_group_tests_name("hsnd", tests, NULL, NULL);
}
