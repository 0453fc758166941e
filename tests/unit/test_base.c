/* SPDX-License-Identifier: BSD-3-Clause
 * The small tools of src/base.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/accept.h"
#include "base/be.h"
#include "base/conf.h"
#include "base/errbuf.h"
#include "base/mac.h"
#include "base/local.h"
#include "base/netaddr.h"

static void errprintf_keeps_a_line_one_line(void **state)
{
    struct errbuf err;

    errprintf(&err, "no such word: %s", "x\n[now] error: y\033[2J");
    assert_string_equal(err.text, "no such word: x?[now] error: y?[2J");
}

static void errprintf_fills_and_keeps_errno(void **state)
{
    struct errbuf err;

    errno = ENOSPC;
    assert_int_equal(errprintf(&err, "rail %d", 3), -1);
    assert_string_equal(err.text, "rail 3");
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(errprintf(NULL, "nobody listens"), -1);
}

static void be_round_trip_every_width(void **state)
{
    uint8_t buf[64];
    char str[8];
    struct be_writer w;
    struct be_reader r;

    be_writer_init(&w, buf, sizeof(buf));
    be_put8(&w, 0x01);
    be_put16(&w, 0x0203);
    be_put32(&w, 0x04050607);
    be_put64(&w, 0x08090a0b0c0d0e0fULL);
    be_put_str(&w, "elan");
    assert_false(w.bad);
    for (int i = 0; i < 15; i++)
        assert_int_equal(buf[i], i + 1);
    be_reader_init(&r, buf, w.len);
    assert_int_equal(be_get8(&r), 0x01);
    assert_int_equal(be_get16(&r), 0x0203);
    assert_int_equal(be_get32(&r), 0x04050607);
    assert_true(be_get64(&r) == 0x08090a0b0c0d0e0fULL);
    be_get_str(&r, str, sizeof(str));
    assert_string_equal(str, "elan");
    assert_true(be_reader_done(&r));
}

static void be_reader_is_sticky_past_the_end(void **state)
{
    const uint8_t buf[3] = {1, 2, 3};
    struct be_reader r;

    be_reader_init(&r, buf, sizeof(buf));
    assert_int_equal(be_get32(&r), 0);
    assert_true(r.bad);
    assert_int_equal(be_get8(&r), 0);
    assert_null(be_get_bytes(&r, 1));
}

static void be_writer_never_passes_its_end(void **state)
{
    uint8_t buf[4] = {0, 0, 0, 0xee};
    struct be_writer w;

    be_writer_init(&w, buf, 3);
    be_put16(&w, 1);
    be_put16(&w, 2);
    assert_true(w.bad);
    be_put8(&w, 9);
    assert_int_equal(buf[3], 0xee);
    assert_int_equal(w.len, 2);
}

static void be_string_too_long_or_with_nul_is_bad(void **state)
{
    const uint8_t longer[] = {0, 4, 'a', 'b', 'c', 'd'};
    const uint8_t nul[] = {0, 3, 'a', 0, 'c'};
    char str[4];
    struct be_reader r;

    be_reader_init(&r, longer, sizeof(longer));
    be_get_str(&r, str, sizeof(str));
    assert_true(r.bad);
    be_reader_init(&r, nul, sizeof(nul));
    be_get_str(&r, str, sizeof(str));
    assert_true(r.bad);
}

/* RFC 4231, test case 2. */
static void mac_matches_rfc4231(void **state)
{
    static const uint8_t want[MAC_SIZE] = {
        0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24,
        0x26, 0x08, 0x95, 0x75, 0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27,
        0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
    const struct mac_part parts[] = {{"what do ya want ", 16},
                                     {"for nothing?", 12}};
    uint8_t got[MAC_SIZE];

    assert_int_equal(mac_sign(got, "Jefe", 4, parts, 2), 0);
    assert_memory_equal(got, want, MAC_SIZE);
    assert_true(mac_equal(got, want, MAC_SIZE));
    got[31] ^= 1;
    assert_false(mac_equal(got, want, MAC_SIZE));
}

static void mac_hashes_a_long_key_first(void **state)
{
    static const uint8_t want[MAC_SIZE] = {
        0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f, 0x0d, 0x8a, 0x26,
        0xaa, 0xcb, 0xf5, 0xb7, 0x7f, 0x8e, 0x0b, 0xc6, 0x21, 0x37, 0x28,
        0xc5, 0x14, 0x05, 0x46, 0x04, 0x0f, 0x0e, 0xe3, 0x7f, 0x54};
    static const char text[] =
        "Test Using Larger Than Block-Size Key - Hash Key First";
    const struct mac_part part = {text, sizeof(text) - 1};
    uint8_t key[131], got[MAC_SIZE];

    memset(key, 0xaa, sizeof(key));
    assert_int_equal(mac_sign(got, key, sizeof(key), &part, 1), 0);
    assert_memory_equal(got, want, MAC_SIZE);
}

struct site {
    bool on;
    long rails;
    char *name;
};

static const struct conf_key site_keys[] = {
    {"On", CONF_BOOL, offsetof(struct site, on), 0, 0},
    {"Rails", CONF_INT, offsetof(struct site, rails), 1, 8},
    {"Name", CONF_STRING, offsetof(struct site, name), 0, 0},
};
#define N_SITE_KEYS (sizeof(site_keys) / sizeof(site_keys[0]))

struct complaints {
    int n;
    char text[8][SF_ERRBUF_SIZE];
};

static void collect(const char *text, void *arg)
{
    struct complaints *c = arg;

    assert_in_range(c->n, 0, 7);
    strcpy(c->text[c->n++], text);
}

static void conf_reads_each_type(void **state)
{
    struct site site = {.rails = 1};
    struct complaints c = {0};

    assert_int_equal(conf_parse("f", "# site\non=yes\nRails=0x2\nName=a b\n",
                                site_keys, N_SITE_KEYS, &site, collect, &c),
                     0);
    assert_true(site.on);
    assert_int_equal(site.rails, 2);
    assert_string_equal(site.name, "a b");
    conf_free(site_keys, N_SITE_KEYS, &site);
    assert_null(site.name);
}

static void conf_names_file_line_and_key_of_all_errors(void **state)
{
    struct site site = {.rails = 1};
    struct complaints c = {0};

    assert_int_equal(conf_parse("site.conf",
                                "On=maybe\nRails=9\nColour=red\nRails=2\n",
                                site_keys, N_SITE_KEYS, &site, collect, &c),
                     -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(c.n, 4);
    assert_string_equal(c.text[0], "site.conf:1: On: not yes or no");
    assert_string_equal(c.text[1],
                        "site.conf:2: Rails: 9 is not between 1 and 8");
    assert_string_equal(c.text[2], "site.conf:3: Colour: no such key");
    assert_string_equal(c.text[3], "site.conf:4: Rails: given twice");
    conf_free(site_keys, N_SITE_KEYS, &site);
}

/* Values behind blanks, remarks behind values; inih would take the second line
 * for more of the first. */
static void conf_lines_may_be_indented_and_have_remarks(void **state)
{
    struct site site = {.rails = 1};
    struct complaints c = {0};

    assert_int_equal(conf_parse("f",
                                "    On=yes\n    Rails=2 # both\n\t# none\n"
                                "Name=a#b\t#c",
                                site_keys, N_SITE_KEYS, &site, collect, &c),
                     0);
    assert_true(site.on);
    assert_int_equal(site.rails, 2);
    assert_string_equal(site.name, "a#b");
    conf_free(site_keys, N_SITE_KEYS, &site);
}

/* The rest of such a line is none of its own, whatever it looks like. */
static void conf_names_a_line_that_is_too_long(void **state)
{
    struct site site = {.rails = 1};
    struct complaints c = {0};
    char text[700], fits[200];

    memset(fits, 'x', sizeof(fits));
    memcpy(fits, "Name=", 5);
    fits[199] = '\0';
    snprintf(text, sizeof(text), "# %s\n%sRails=2\nOn=yes # %s\n", fits, fits,
             fits);
    assert_int_equal(
        conf_parse("f", text, site_keys, N_SITE_KEYS, &site, collect, &c), -1);
    assert_int_equal(c.n, 1);
    assert_string_equal(c.text[0],
                        "f:2: Name: the line is longer than 199 bytes");
    assert_int_equal(site.rails, 1);
    assert_true(site.on);

    memset(&c, 0, sizeof(c));
    assert_int_equal(
        conf_parse("f", fits, site_keys, N_SITE_KEYS, &site, collect, &c), 0);
    assert_int_equal(strlen(site.name), 199 - 5);
    conf_free(site_keys, N_SITE_KEYS, &site);
}

static void conf_missing_file_is_named(void **state)
{
    struct site site = {0};
    struct complaints c = {0};

    assert_int_equal(conf_read("/nonexistent/f", false, site_keys, N_SITE_KEYS,
                               &site, collect, &c),
                     0);
    assert_int_equal(c.n, 0);
    assert_int_equal(conf_read("/nonexistent/f", true, site_keys, N_SITE_KEYS,
                               &site, collect, &c),
                     -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(c.text[0], "/nonexistent/f: No such file or directory");
}

static void conf_a_directory_is_no_good_configuration(void **state)
{
    struct site site = {0};
    struct complaints c = {0};

    assert_int_equal(
        conf_read("/tmp", true, site_keys, N_SITE_KEYS, &site, collect, &c),
        -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(c.n, 1);
    assert_string_equal(c.text[0], "/tmp: cannot be read; is it a file?");
}

/* A path left behind is taken, that of somebody who listens is not. */
static void a_local_path_belongs_to_who_listens(void **state)
{
    char dir[] = "/tmp/localXXXXXX", path[64], long_path[200];
    int first, second, call;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/s", dir);
    assert_int_equal(local_connect(path, SOCK_STREAM, 0), -1);
    assert_int_equal(errno, ENOENT);
    first = local_listen(path, SOCK_STREAM);
    assert_true(first >= 0);
    assert_int_equal(local_listen(path, SOCK_STREAM), -1);
    assert_int_equal(errno, EADDRINUSE);
    call = local_connect(path, SOCK_STREAM, 60);
    assert_true(call >= 0);
    close(call);
    close(first);
    assert_int_equal(local_connect(path, SOCK_STREAM, 0), -1);
    assert_int_equal(errno, ECONNREFUSED);
    second = local_listen(path, SOCK_STREAM);
    assert_true(second >= 0);
    close(second);
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(local_connect(long_path, SOCK_STREAM, 0), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    assert_int_equal(local_listen(long_path, SOCK_STREAM), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    unlink(path);
    rmdir(dir);
}

/* One listener after the other, in a process that then stops and keeps them. */
static void listen_often(const char *path)
{
    for (int i = 0; i < 200; i++) {
        unlink(path);
        if (local_listen(path, SOCK_STREAM) < 0)
            _exit(1);
    }
    raise(SIGSTOP);
    _exit(1);
}

/* A path that is there, but not yet heard, refused who came too early. */
static void who_finds_a_local_path_is_heard(void **state)
{
    char dir[] = "/tmp/localXXXXXX", path[64];
    int first, call, status;
    pid_t pid;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/s", dir);
    first = local_listen(path, SOCK_STREAM);
    pid = fork();
    if (pid == 0)
        listen_often(path);
    do {
        call = local_connect(path, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (call < 0) /* not there, or its queue is full */
            assert_true(errno == ENOENT || errno == EAGAIN);
        else
            close(call);
    } while (waitpid(pid, &status, WNOHANG | WUNTRACED) == 0);
    assert_true(WIFSTOPPED(status));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(first);
    unlink(path);
    assert_int_equal(rmdir(dir), 0);
}

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

/* ---- accept without descriptors ---- */

static int local_listener(struct sockaddr_un *at, socklen_t *len)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    *len = sizeof(*at);
    assert_int_equal(bind(fd, (void *)at, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (void *)at, len), 0);
    return fd;
}

static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

/* The listener would stay readable for ever: who comes is turned away. */
static void accept_without_descriptors_turns_callers_away(void **state)
{
    struct sockaddr_un at;
    socklen_t len;
    struct rlimit old, none;
    int listener = local_listener(&at, &len), spare = 0, fd;
    int call[2] = {socket(AF_UNIX, SOCK_STREAM, 0),
                   socket(AF_UNIX, SOCK_STREAM, 0)};
    char c;

    assert_int_equal(accept_or_shed(listener, &spare), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(connect(call[0], (void *)&at, len), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){.rlim_cur = (rlim_t)spare + 1,
                           .rlim_max = old.rlim_max};
    fd = dup(0);
    while (fd >= 0 && fd <= spare) /* no number below the limit is free */
        fd = dup(0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(accept_or_shed(listener, &spare), -1);
    assert_int_equal(errno, EMFILE);
    assert_false(readable(listener));
    assert_true(spare > 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(recv(call[0], &c, 1, 0), 0);
    assert_int_equal(connect(call[1], (void *)&at, len), 0);
    fd = accept_or_shed(listener, &spare);
    assert_true(fd >= 0);
    close(fd);
    close(call[0]);
    close(call[1]);
    close(listener);
    accept_spare_close(&spare);
    assert_int_equal(spare, 0);
}

static void listener_rests_when_descriptors_are_used_up(void **state)
{
    struct accept_rest r = {0};

    assert_false(accept_resting(&r, 100));
    accept_rest_begin(&r, EAGAIN, 100);
    accept_rest_begin(&r, ECONNABORTED, 100);
    assert_false(accept_resting(&r, 100));
    accept_rest_begin(&r, EMFILE, 100);
    assert_true(accept_resting(&r, 100));
    assert_true(accept_resting(&r, 101));
    assert_false(accept_resting(&r, 102));
    accept_rest_begin(&r, ENFILE, 102);
    assert_true(accept_resting(&r, 102));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errprintf_fills_and_keeps_errno),
        cmocka_unit_test(errprintf_keeps_a_line_one_line),
        cmocka_unit_test(be_round_trip_every_width),
        cmocka_unit_test(be_reader_is_sticky_past_the_end),
        cmocka_unit_test(be_writer_never_passes_its_end),
        cmocka_unit_test(be_string_too_long_or_with_nul_is_bad),
        cmocka_unit_test(mac_matches_rfc4231),
        cmocka_unit_test(mac_hashes_a_long_key_first),
        cmocka_unit_test(conf_reads_each_type),
        cmocka_unit_test(conf_names_file_line_and_key_of_all_errors),
        cmocka_unit_test(conf_lines_may_be_indented_and_have_remarks),
        cmocka_unit_test(conf_names_a_line_that_is_too_long),
        cmocka_unit_test(conf_missing_file_is_named),
        cmocka_unit_test(conf_a_directory_is_no_good_configuration),
        cmocka_unit_test(a_local_path_belongs_to_who_listens),
        cmocka_unit_test(who_finds_a_local_path_is_heard),
        cmocka_unit_test(netaddr_listens_inside_its_range),
        cmocka_unit_test(netaddr_reads_both_versions),
        cmocka_unit_test(netaddr_any_hears_both_versions),
        cmocka_unit_test(accept_without_descriptors_turns_callers_away),
        cmocka_unit_test(listener_rests_when_descriptors_are_used_up),
    };

    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
