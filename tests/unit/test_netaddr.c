/* SPDX-License-Identifier: BSD-3-Clause
 * Addresses, ports and networks.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/netaddr.h"

static void netaddr_listens_inside_its_range(void **state)
{
    uint16_t any = 0, port = 0;
    struct in6_addr loopback;
    int first, second;

    assert_int_equal(netaddr_parse_ip(&loopback, "127.0.0.1"), 0);
    first = netaddr_listen(&loopback, 0, 0, &any);
    assert_true(first >= 0);
    assert_int_equal(netaddr_port(first), any);
    /* a range of the one port that is taken */
    assert_int_equal(netaddr_listen(&loopback, any, any, &port), -1);
    assert_int_equal(errno, EADDRINUSE);
    close(first);
    second = netaddr_listen(&loopback, any, any, &port);
    assert_true(second >= 0);
    assert_int_equal(port, any);
    close(second);
    assert_int_equal(netaddr_port(-1), 0);
}

static void netaddr_reads_both_versions(void **state)
{
    static const char *const good[] = {"10.0.0.1:80", "[::1]:65535",
                                       "[fd00::a:1]:1", "0.0.0.0:4000"};
    static const char *const bad[] = {
        "",
        ":",
        "10.0.0.1",
        "10.0.0.1:",
        "::1:80",
        "[::1]",
        "[::1]:",
        "[::1]80",
        "[10.0.0.1]:80",
        "[::1]:0",
        "[::1]:65536",
        "[::1]: 1",
        "[::1%lo]:1",
        "[fe80::1:1",
        "host:80",
        "10.0.0.1:80x",
        "[]:1",
        "]:1",
        "[:1",
        "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:1"};
    struct sockaddr_storage ss;
    char text[NETADDR_TEXT_MAX];
    struct netaddr a, b;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(netaddr_parse(&a, good[i]), 0);
        netaddr_print(text, &a);
        assert_string_equal(text, good[i]);
        netaddr_to_socket(&ss, &a);
        assert_int_equal(ss.ss_family, good[i][0] == '[' ? AF_INET6 : AF_INET);
        b = netaddr_from_socket((void *)&ss);
        assert_memory_equal(&a.ip, &b.ip, sizeof(a.ip));
        assert_int_equal(a.port, b.port);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        errno = 0;
        assert_int_equal(netaddr_parse(&a, bad[i]), -1);
        assert_int_equal(errno, EINVAL);
    }
}

/* Whoever listens at :: hears both versions. */
static void netaddr_any_hears_both_versions(void **state)
{
    static const char *const ips[] = {"127.0.0.1", "::1"};
    uint16_t port = 0;
    int fd = netaddr_listen(&in6addr_any, 0, 0, &port);

    assert_true(fd >= 0);
    for (size_t i = 0; i < 2; i++) {
        struct netaddr to = {.port = port};
        int caller;

        netaddr_parse_ip(&to.ip, ips[i]);
        caller = netaddr_open(&to.ip);
        if (caller < 0 && errno == EAFNOSUPPORT)
            continue; /* a kernel without IPv6 */
        assert_true(caller >= 0);
        if (netaddr_connect(caller, &to) < 0 && errno != EINPROGRESS)
            assert_int_equal(errno, EADDRNOTAVAIL); /* no ::1 */
        close(caller);
    }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(netaddr_listens_inside_its_range),
        cmocka_unit_test(netaddr_reads_both_versions),
        cmocka_unit_test(netaddr_any_hears_both_versions),
    };

    return cmocka_run_group_tests_name("netaddr", tests, NULL, NULL);
}
