/* SPDX-License-Identifier: BSD-3-Clause
 * Who is at the other end of a TCP connection.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/netaddr.h"
#include "base/tcp_peer.h"

#define STRANGER 65534

/* A connection over loopback; the caller's end stands for the peer. */
static int connect_here(const char *ip, int *accepted)
{
    struct netaddr to;
    int listener, fd;

    assert_int_equal(netaddr_parse_ip(&to.ip, ip), 0);
    listener = netaddr_listen(&to.ip, 0, 0, &to.port);
    if (listener < 0)
        return -1;
    fd = socket(netaddr_is_ipv4(&to.ip) ? AF_INET : AF_INET6, SOCK_STREAM, 0);
    assert_int_equal(netaddr_connect(fd, &to), 0);
    *accepted = accept(listener, NULL, NULL);
    assert_true(*accepted >= 0);
    close(listener);
    return fd;
}

/* A kernel may have no sock_diag. */
static void need_answer(const struct guest_source *s)
{
    if (s->kind == GUEST_UNKNOWN)
        skip();
}

static void own_user(const char *ip)
{
    struct guest_source s;
    int netlink = 0, accepted = -1, fd = connect_here(ip, &accepted);

    if (fd < 0)
        skip(); /* no IPv6 here */
    tcp_peer_ask(accepted, &netlink, &s);
    need_answer(&s);
    assert_int_equal(s.kind, GUEST_OWN);
    assert_int_equal(s.uid, getuid());
    close(fd);
    tcp_peer_ask(accepted, &netlink, &s); /* root's, says the kernel */
    assert_int_equal(s.kind, GUEST_UNKNOWN);
    close(accepted);
    tcp_peer_close(&netlink);
    assert_int_equal(netlink, 0);
}

static void own_user_is_known(void **state)
{
    own_user("127.0.0.1");
}

static void own_user_is_known_by_ipv6(void **state)
{
    own_user("::1");
}

/* The socket is a stranger's, for he has made it. */
static void other_user_is_known(void **state)
{
    struct guest_source s;
    struct netaddr to;
    int netlink = 0, listener, fd, status, hold[2];
    pid_t pid;
    char c;

    if (getuid() != 0)
        skip();
    assert_int_equal(netaddr_parse_ip(&to.ip, "127.0.0.1"), 0);
    listener = netaddr_listen(&to.ip, 0, 0, &to.port);
    assert_true(listener >= 0 && pipe(hold) == 0);
    pid = fork();
    if (pid == 0) {
        close(hold[1]);
        if (setuid(STRANGER) < 0)
            _exit(1);
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (netaddr_connect(fd, &to) < 0)
            _exit(1);
        _exit(read(hold[0], &c, 1) == 0 ? 0 : 1);
    }
    close(hold[0]);
    do /* it does not block */
        fd = accept(listener, NULL, NULL);
    while (fd < 0 && waitpid(pid, &status, WNOHANG) == 0);
    assert_true(fd >= 0);
    tcp_peer_ask(fd, &netlink, &s);
    close(hold[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(fd);
    close(listener);
    tcp_peer_close(&netlink);
    need_answer(&s);
    assert_int_equal(s.kind, GUEST_OTHER_USER);
    assert_int_equal(s.uid, STRANGER);
}

static void what_is_no_connection_is_unknown(void **state)
{
    struct guest_source s;
    int netlink = 0, pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    tcp_peer_ask(pair[0], &netlink, &s);
    assert_int_equal(s.kind, GUEST_UNKNOWN);
    tcp_peer_ask(-1, &netlink, &s);
    assert_int_equal(s.kind, GUEST_UNKNOWN);
    close(pair[0]);
    close(pair[1]);
    tcp_peer_close(&netlink);
}

/* The older of two silent ones stays, for it is of this user. */
static void own_guest_stays(void **state)
{
    struct guests guests = {0};
    struct guest own, unknown;
    struct guest_source s;
    int netlink = 0, accepted = -1, fd = connect_here("127.0.0.1", &accepted);

    tcp_peer_ask(accepted, &netlink, &s);
    need_answer(&s);
    assert_int_equal(guests_enter(&guests, &own, accepted), 0);
    assert_int_equal(guests_enter(&guests, &unknown, -1), 0);
    assert_ptr_equal(tcp_peer_choose(&guests, &netlink), &unknown);
    guests_free(&guests);
    close(fd);
    close(accepted);
    tcp_peer_close(&netlink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_user_is_known),
        cmocka_unit_test(own_user_is_known_by_ipv6),
        cmocka_unit_test(other_user_is_known),
        cmocka_unit_test(what_is_no_connection_is_unknown),
        cmocka_unit_test(own_guest_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
