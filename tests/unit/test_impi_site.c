/* SPDX-License-Identifier: BSD-3-Clause
 * impi.conf, its ranges of ports, its networks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/netaddr.h"
#include "base/limits.h"
#include "impi/site.h"

static int read_site(struct impi_site *site, const char *text,
                     struct errbuf *err)
{
    char path[] = "/tmp/test_impid.XXXXXX";
    int fd = mkstemp(path), rc;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    rc = impi_site_read(site, path, err);
    unlink(path);
    return rc;
}

static void impi_conf_is_read(void **state)
{
    struct impi_site site;

    assert_int_equal(impi_site_read(&site, "/nonexistent/impi.conf", NULL), 0);
    assert_int_equal(site.port_lo, 0);
    assert_int_equal(site.direct_max, -1);
    assert_int_equal(site.fanout, SF_AGENT_FANOUT);
    assert_true(site.shared_memory);
    impi_site_free(&site);
    assert_int_equal(
        read_site(&site, "SharedMemory=no\nDirectMax=64\nFanOut=2\n", NULL), 0);
    assert_false(site.shared_memory);
    assert_int_equal(site.direct_max, 64);
    assert_int_equal(site.fanout, 2);
    assert_null(site.fabric);
    impi_site_free(&site);
    assert_int_equal(read_site(&site, "Fabric=verbs,tcp\n", NULL), 0);
    assert_string_equal(site.fabric, "verbs,tcp");
    impi_site_free(&site);
    assert_int_equal(read_site(&site,
                               "# ports\nPortRange=4000-4100\n"
                               "Network=10.0.0.0/8\nAdvertise=10.1.2.3\n",
                               NULL),
                     0);
    assert_int_equal(site.port_lo, 4000);
    assert_int_equal(site.port_hi, 4100);
    assert_string_equal(site.network, "10.0.0.0/8");
    assert_string_equal(site.advertise, "10.1.2.3");
    impi_site_free(&site);
}

static void impi_conf_errors_name_the_key(void **state)
{
    struct impi_site site;
    struct errbuf err;

    assert_int_equal(read_site(&site, "#\nPortRange=9-8\n", &err), -1);
    assert_non_null(strstr(err.text, ":2: PortRange: '9-8'"));
    assert_int_equal(read_site(&site, "\nColour=red\n", &err), -1);
    assert_non_null(strstr(err.text, ":2: Colour: no such key"));
    /* Of several the first. */
    assert_int_equal(read_site(&site, "Hue=red\nColour=red\n", &err), -1);
    assert_non_null(strstr(err.text, ":1: Hue: no such key"));
}

static void port_ranges(void **state)
{
    const char *bad[] = {
        "",      "-",       "4000",        "4000-",          "-1",
        "0-10",  "10-9",    "1-65536",     "1-100000000000", "a-b",
        "1-2-3", "1-65537", "1-4294967300"};
    uint16_t lo, hi;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(impi_port_range_parse(&lo, &hi, bad[i], NULL), -1);
    assert_int_equal(impi_port_range_parse(&lo, &hi, "1-65535", NULL), 0);
    assert_int_equal(hi, 65535);
}

static void networks_are_read_back(void **state)
{
    const char *bad[] = {"",
                         "10.0.0",
                         "10.0.0.0/",
                         "10.0.0.0/33",
                         "10.0.0.0/x",
                         "10.0.0.0/-1",
                         "host",
                         "fd00::/129",
                         "fd00::1:2:3:4:5:6:7:8"};
    struct in6_addr net, addr;
    struct errbuf err;
    unsigned bits;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(netaddr_parse_network(&net, &bits, bad[i], NULL), -1);
    assert_int_equal(netaddr_parse_network(&net, &bits, "10.1.0.0/16", NULL),
                     0);
    assert_int_equal(bits, 96 + 16);
    assert_int_equal(netaddr_parse_network(&net, &bits, "0.0.0.0/0", NULL), 0);
    assert_int_equal(bits, 96);
    assert_int_equal(netaddr_parse_network(&net, &bits, "fd00:1::/47", NULL),
                     0);
    assert_int_equal(bits, 47);
    assert_int_equal(netaddr_in_network(&addr, "127.0.0.0/8", &err), 0);
    assert_true(netaddr_is_loopback(&addr));
    assert_int_equal(netaddr_in_network(&addr, "126.0.0.0/7", &err), 0);
    assert_true(netaddr_is_loopback(&addr));
    assert_int_equal(netaddr_in_network(&addr, "203.0.113.0/24", &err), -1);
    assert_int_equal(errno, ENODEV);
    assert_int_equal(netaddr_in_network(&addr, "2001:db8::/33", &err), -1);
    assert_int_equal(errno, ENODEV);
}

static void interface_is_found_by_its_name(void **state)
{
    struct in6_addr addr;
    struct errbuf err;

    assert_int_equal(netaddr_of_interface(&addr, "lo", &err), 0);
    assert_true(netaddr_is_loopback(&addr));
    assert_int_equal(netaddr_of_interface(&addr, "lo:", &err), -1);
    assert_int_equal(errno, ENODEV);
    assert_string_equal(err.text, "no interface lo: is up with an address");
}

static void own_address_towards_a_peer(void **state)
{
    struct in6_addr peer, own;

    netaddr_parse_ip(&peer, "127.0.0.1");
    assert_int_equal(netaddr_towards(&own, &peer, NULL), 0);
    assert_memory_equal(&own, &peer, sizeof(own));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impi_conf_is_read),
        cmocka_unit_test(impi_conf_errors_name_the_key),
        cmocka_unit_test(port_ranges),
        cmocka_unit_test(networks_are_read_back),
        cmocka_unit_test(interface_is_found_by_its_name),
        cmocka_unit_test(own_address_towards_a_peer),
    };

    return cmocka_run_group_tests_name("impi_site", tests, NULL, NULL);
}
