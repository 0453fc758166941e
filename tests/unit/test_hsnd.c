/* SPDX-License-Identifier: BSD-3-Clause
 * A real hsnd and its clients, on a board without a cable.
 */
#include "hsnd_counter.h"

#include <signal.h>
#include <sys/time.h>

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
        cmocka_unit_test(a_wait_that_a_signal_ends_says_so),
        cmocka_unit_test(hsnd_is_never_bypassed),
        cmocka_unit_test(page_is_copied_once_for_another_process),
        cmocka_unit_test(clients_notice_that_hsnd_ends_and_come_back),
        cmocka_unit_test(losses_are_counted_by_cause),
        cmocka_unit_test(metrics_are_prometheus_text),
    };

    return cmocka_run_group_tests_name("hsnd", tests, NULL, NULL);
}
