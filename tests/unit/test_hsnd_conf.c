/* SPDX-License-Identifier: BSD-3-Clause
 * hsn.conf: what is wrong in it is said, wherever the file lies.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hsnd/hsnd.h"

static char said[1024];

static void collect(const char *text, void *arg)
{
    size_t n = strlen(said);

    snprintf(said + n, sizeof(said) - n, "%s\n", text);
}

/* As it is read when nobody named it, which is how the service starts. */
static int read_text(struct hsnd_conf *c, const char *text)
{
    char path[] = "/tmp/test_hsnd_conf.XXXXXX";
    int fd = mkstemp(path), rc;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    said[0] = '\0';
    hsnd_conf_default(c);
    rc = hsnd_conf_read(c, path, false, collect, NULL);
    unlink(path);
    return rc;
}

static void a_broken_file_is_refused_though_nobody_named_it(void **state)
{
    struct hsnd_conf c;

    assert_int_equal(read_text(&c, "PageSize=4096\nColour=red\n"), -1);
    assert_non_null(strstr(said, ":2: Colour: no such key"));
    hsnd_conf_free(&c);
}

static void a_file_that_is_not_there_leaves_the_defaults(void **state)
{
    struct hsnd_conf c;

    said[0] = '\0';
    hsnd_conf_default(&c);
    assert_int_equal(hsnd_conf_read(&c, "/nonexistent/f", false, collect, NULL),
                     0);
    assert_string_equal(said, "");
    assert_int_equal(c.page_size, 8192);
    assert_int_equal(hsnd_conf_read(&c, "/nonexistent/f", true, collect, NULL),
                     -1);
    assert_non_null(strstr(said, "/nonexistent/f"));
    hsnd_conf_free(&c);
}

static void what_keys_mean_together_is_checked(void **state)
{
    struct hsnd_conf c;

    assert_int_equal(read_text(&c, "Nic=Ethernet\nPageSize=5000\n"), -1);
    assert_non_null(strstr(said, ":1: Nic: ethernet needs TrustedSegment=yes"));
    assert_non_null(strstr(said, ":1: Nic: ethernet needs Interface"));
    assert_non_null(strstr(said, ":2: PageSize: not 4096 or 8192"));
    hsnd_conf_free(&c);
    assert_int_equal(read_text(&c, "\nNic=udp\n"), -1); /* no line of it */
    assert_null(strstr(said, ":2:"));
    assert_non_null(strstr(said, ": Fabric: is missing"));
    hsnd_conf_free(&c);
    assert_int_equal(read_text(&c, "Nic=Udp\nFabric=127.0.0.1:4000\n"), 0);
    assert_string_equal(c.nic, "udp");
    hsnd_conf_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_file_is_refused_though_nobody_named_it),
        cmocka_unit_test(a_file_that_is_not_there_leaves_the_defaults),
        cmocka_unit_test(what_keys_mean_together_is_checked),
    };

    return cmocka_run_group_tests_name("hsnd_conf", tests, NULL, NULL);
}
