/* SPDX-License-Identifier: BSD-3-Clause
 * Parts of impid that need no Slurm: what it is told, keys, what impi-server
 * says to srun.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/netaddr.h"
#include "impi/derive.h"
#include "impid/impid_conf.h"
#include "impid/server_proc.h"
#include "impid/task_proc.h"

#define SECRET                                                                 \
    "000102030405060708090a0b0c0d0e0f"                                         \
    "101112131415161718191a1b1c1d1e1f"
#define RECORDS                                                                \
    "server=127.0.0.1:4000\0secret=" SECRET "\0tasks=0-1;2,4;3\0"              \
    "nodes=n0,n1,n2\0step=17.3\0dir=/tmp\0pmix_module=/x.so\0"                 \
    "conf=/nonexistent\0component=1\0offset=2\0ntasks=3\0nodeid=1\0"

static int parse(struct impid_conf *conf, const char *text, size_t len,
                 struct errbuf *err)
{
    return impid_conf_parse(conf, text, len, err);
}

static void impid_finds_itself_in_the_task_map(void **state)
{
    static const char text[] = RECORDS "clients=node";
    struct impid_conf conf;
    char name[32];

    assert_int_equal(parse(&conf, text, sizeof(text), NULL), 0);
    assert_int_equal(conf.server.port, 4000);
    assert_int_equal(conf.secret[31], 0x1f);
    assert_int_equal(conf.job, 17);
    assert_int_equal(conf.stepid, 3);
    assert_int_equal(conf.node, 2); /* the component's second node */
    assert_true(conf.by_node);
    assert_false(conf.watch);
    impid_conf_node_name(&conf, 2, name, sizeof(name));
    assert_string_equal(name, "n2");
    impid_conf_node_name(&conf, 3, name, sizeof(name));
    assert_string_equal(name, "node3");
    impid_conf_free(&conf);
}

/* A list that is too long for the environment comes in ranges. */
static void nodes_in_ranges_have_their_names(void **state)
{
    static const char text[] = RECORDS "nodes=long-name-[0-2047],gate";
    struct impid_conf conf;
    char name[32];

    assert_int_equal(parse(&conf, text, sizeof(text), NULL), 0);
    impid_conf_node_name(&conf, 1999, name, sizeof(name));
    assert_string_equal(name, "long-name-1999");
    impid_conf_node_name(&conf, 2048, name, sizeof(name));
    assert_string_equal(name, "gate");
    impid_conf_node_name(&conf, 2049, name, sizeof(name));
    assert_string_equal(name, "node2049");
    impid_conf_free(&conf);
}

static void refused(const char *text, size_t len, const char *why)
{
    struct impid_conf conf;
    struct errbuf err = {""};

    assert_int_equal(parse(&conf, text, len, &err), -1);
    assert_non_null(strstr(err.text, why));
}

static uint32_t direct_max_of(const char *value)
{
    char text[sizeof(RECORDS) + 64];
    struct impid_conf conf;
    struct errbuf err;
    uint32_t n;
    size_t len;

    memcpy(text, RECORDS, sizeof(RECORDS) - 1);
    len = sizeof(RECORDS) - 1;
    len += (size_t)snprintf(text + len, 64, "direct=%s", value) + 1;
    assert_int_equal(impid_conf_parse(&conf, text, len, &err), 0);
    n = conf.direct_max;
    impid_conf_free(&conf);
    return n;
}

static void connections_of_a_process_are_limited(void **state)
{
    struct rlimit old, low = {100, 1024};

    assert_int_equal(direct_max_of("17"), 17);
    assert_int_equal(direct_max_of("0"), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    if (old.rlim_max < 1024)
        skip();
    low.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    /* What a process may raise its limit to, less what else it needs. */
    assert_int_equal(direct_max_of(""), low.rlim_max >= UINT32_MAX
                                            ? UINT32_MAX
                                            : low.rlim_max - 256);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

static void impid_names_what_is_wrong_in_its_configuration(void **state)
{
#define REFUSED(text, why) refused(text, sizeof(text), why)
    REFUSED("colour=red", "unknown key 'colour'");
    REFUSED("nonsense", "not a record");
    REFUSED("server=127.0.0.1", "bad value of server");
    REFUSED("server=here:1", "bad value of server");
    REFUSED("server=127.0.0.1:65536", "bad value of server");
    REFUSED("secret=0011", "bad value of secret");
    REFUSED("tasks=1", "a rank is missing");
    REFUSED("ntasks=-1", "bad value of ntasks");
    {
        static const char many[] = RECORDS "direct=many";

        refused(many, sizeof(many), "bad value of SLURM_IMPI_DIRECT");
    }
    REFUSED("step=1.0", "(missing)");
    refused("step=1.0", 8, "does not end");
    {
        static const char other[] = RECORDS "nodeid=2";

        refused(other, sizeof(other), "not in the task map");
    }
#undef REFUSED
}

static void agents_take_both_versions_of_ip(void **state)
{
    static const char text[] = RECORDS "foreign=[::1]:4000";
    static const char bare[] = "foreign=::1:4000";
    struct impid_conf conf;

    assert_int_equal(parse(&conf, text, sizeof(text), NULL), 0);
    assert_int_equal(conf.foreign.port, 4000);
    assert_true(netaddr_is_loopback(&conf.foreign.ip));
    assert_false(netaddr_is_ipv4(&conf.foreign.ip));
    assert_true(netaddr_is_ipv4(&conf.server.ip));
    impid_conf_free(&conf);
    refused(bare, sizeof(bare), "bad value of foreign");
}

static void processes_get_another_key_in_each_generation(void **state)
{
    uint8_t secret[IMPI_SECRET_SIZE] = {1, 2, 3};
    uint8_t a[IMPI_SECRET_SIZE], b[IMPI_SECRET_SIZE];

    assert_int_equal(impi_derive_channel(a, secret, 0), 0);
    assert_int_equal(impi_derive_channel(b, secret, 1), 0);
    assert_memory_not_equal(a, b, sizeof(a));
    assert_memory_not_equal(a, secret, sizeof(a));
    assert_int_equal(impi_derive_channel(b, secret, 0), 0);
    assert_memory_equal(a, b, sizeof(a));
}

static struct server_line line_of(const char *text, char *buf)
{
    struct server_line line;

    strcpy(buf, text);
    server_line_parse(&line, buf);
    return line;
}

static void lines_of_the_server(void **state)
{
    char buf[256];
    struct server_line l = line_of(
        "abort code=42 rank=3 node=n1 client=1 text=rank 3 text=x", buf);

    assert_int_equal(l.kind, SERVER_LINE_ABORT);
    assert_int_equal(l.code, 42);
    assert_int_equal(l.rank, 3);
    assert_string_equal(l.node, "n1");
    assert_int_equal(l.client, 1);
    assert_string_equal(l.text, "rank 3 text=x");
    assert_false(l.lost);
    l = line_of("abort code=1 rank=-1 node=n1 client=-1 lost=1 text=x", buf);
    assert_true(l.lost);
    assert_string_equal(l.text, "x");
    l = line_of("abort code=1 rank=-1 node=n1 client=-1 text=lost=1", buf);
    assert_false(l.lost); /* it is for a flag to say so, not for a text */
    l = line_of("note two words", buf);
    assert_int_equal(l.kind, SERVER_LINE_NOTE);
    assert_string_equal(l.text, "two words");
    l = line_of("end code=7", buf);
    assert_int_equal(l.kind, SERVER_LINE_END);
    assert_int_equal(l.code, 7);
    assert_int_equal(line_of("hello", buf).kind, SERVER_LINE_UNKNOWN);
    assert_int_equal(line_of("", buf).kind, SERVER_LINE_UNKNOWN);
    l = line_of("abort text=", buf);
    assert_int_equal(l.rank, -1);
    assert_string_equal(l.text, "");
}

static void variables_of_another_launcher_are_found(void **state)
{
    char *const env[] = {"PMIX",      "PMI_",  "PMIX_NO_VALUE",
                         "XPMI_FD=4", "A=B",   "PMI_FD=3",
                         "PMI2_X=",   "PMIX_", NULL};
    char name[8] = "";

    assert_true(task_proc_foreign(env, name, sizeof(name)));
    assert_string_equal(name, "PMI_FD");
    assert_true(task_proc_foreign(env + 6, name, sizeof(name)));
    assert_string_equal(name, "PMI2_X");
    assert_false(task_proc_foreign(env + 7, name, sizeof(name)));
    assert_false(task_proc_foreign(env, name, 6)); /* no room: left alone */
    assert_false(task_proc_foreign(NULL, name, sizeof(name)));
}

static void secret_is_another_each_time(void **state)
{
    char a[SERVER_SECRET_SIZE], b[SERVER_SECRET_SIZE];

    assert_int_equal(server_secret(a), 0);
    assert_int_equal(server_secret(b), 0);
    assert_int_equal(strspn(a, "0123456789abcdef"), 64);
    assert_string_not_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impid_finds_itself_in_the_task_map),
        cmocka_unit_test(nodes_in_ranges_have_their_names),
        cmocka_unit_test(connections_of_a_process_are_limited),
        cmocka_unit_test(impid_names_what_is_wrong_in_its_configuration),
        cmocka_unit_test(agents_take_both_versions_of_ip),
        cmocka_unit_test(processes_get_another_key_in_each_generation),
        cmocka_unit_test(lines_of_the_server),
        cmocka_unit_test(variables_of_another_launcher_are_found),
        cmocka_unit_test(secret_is_another_each_time),
    };

    return cmocka_run_group_tests_name("impid", tests, NULL, NULL);
}
