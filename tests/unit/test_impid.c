/* SPDX-License-Identifier: BSD-3-Clause
 * Parts of impid and of its plugin that need no Slurm: what impid is told,
 * impi.conf, what impi-server says to srun, addresses, step directories.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/netaddr.h"
#include "impi/derive.h"
#include "impi/site.h"
#include "impid/impid_conf.h"
#include "impi/status_wire.h"
#include "impid/server_proc.h"
#include "impid/task_proc.h"
#include "plugins/mpi_impi/keeper.h"
#include "plugins/mpi_impi/stepdir.h"

/* ---- impid's configuration ----------------------------------------------*/

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

static void im_021_agents_take_both_versions_of_ip(void **state)
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

/* ---- impi.conf -----------------------------------------------------------*/

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

static void sl_18_impi_conf_is_read(void **state)
{
    struct impi_site site;

    assert_int_equal(impi_site_read(&site, "/nonexistent/impi.conf", NULL), 0);
    assert_int_equal(site.port_lo, 0);
    assert_int_equal(site.direct_max, -1);
    assert_true(site.shared_memory);
    impi_site_free(&site);
    assert_int_equal(read_site(&site, "SharedMemory=no\nDirectMax=64\n", NULL),
                     0);
    assert_false(site.shared_memory);
    assert_int_equal(site.direct_max, 64);
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

static void sl_18_impi_conf_errors_name_the_key(void **state)
{
    struct impi_site site;
    struct errbuf err;

    assert_int_equal(read_site(&site, "PortRange=9-8\n", &err), -1);
    assert_non_null(strstr(err.text, "PortRange"));
    assert_int_equal(read_site(&site, "\nColour=red\n", &err), -1);
    assert_non_null(strstr(err.text, ":2: Colour: no such key"));
}

static void port_ranges(void **state)
{
    const char *bad[] = {"",     "-",    "4000",    "4000-",          "-1",
                         "0-10", "10-9", "1-65536", "1-100000000000", "a-b",
                         "1-2-3"};
    uint16_t lo, hi;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(impi_port_range_parse(&lo, &hi, bad[i], NULL), -1);
    assert_int_equal(impi_port_range_parse(&lo, &hi, "1-65535", NULL), 0);
    assert_int_equal(hi, 65535);
}

/* ---- addresses -----------------------------------------------------------*/

static void sl_18_networks(void **state)
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

static void sl_18_own_address_towards_a_peer(void **state)
{
    struct in6_addr peer, own;

    netaddr_parse_ip(&peer, "127.0.0.1");
    assert_int_equal(netaddr_towards(&own, &peer, NULL), 0);
    assert_memory_equal(&own, &peer, sizeof(own));
}

/* ---- keys ----------------------------------------------------------------*/

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

/* ---- what impi-server says -----------------------------------------------*/

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

/* ---- how a task ended ----------------------------------------------------*/

/* Slurm's record in the place of slurmabi's: 400 is never reaped. */
int slurmabi_stepd_task_status(const struct slurmabi_stepd *step, pid_t pid)
{
    static int looks;

    if (pid == 400)
        return -1;
    return looks++ < 3 ? -1 : SIGKILL; /* it takes Slurm a while */
}

static int reply_for(int fd, pid_t pid)
{
    struct impi_status_request q = {pid};
    struct impi_status_reply r;

    assert_int_equal(send(fd, &q, sizeof(q), 0), sizeof(q));
    assert_int_equal(recv(fd, &r, sizeof(r), 0), sizeof(r));
    assert_int_equal(r.pid, pid);
    return r.status;
}

/* In the place of impid: what the keeper starts. */
struct stand_in {
    int fd; /* its end of the socket */
    bool deaf, refused;
    pid_t pid;
    int started[2]; /* a pipe: a byte for each start */
};

static pid_t make_child(bool deaf)
{
    int ready[2];
    char c;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        sigset_t none;

        sigemptyset(&none); /* the keeper's thread has all blocked */
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGTERM, deaf ? SIG_IGN : SIG_DFL);
        (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static int start_stand_in(void *arg, int *status, pid_t *pid)
{
    struct stand_in *s = arg;
    int pair[2];

    assert_int_equal(write(s->started[1], "x", 1), 1);
    if (s->refused)
        return -1;
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    s->fd = pair[0];
    *status = pair[1];
    *pid = s->pid = make_child(s->deaf);
    return 0;
}

static int keep(struct stand_in *s, int listener, int presence, bool now)
{
    struct impi_keeper_options o = {.start = start_stand_in,
                                    .arg = s,
                                    .now = now,
                                    .grace_ms = s->deaf ? 20 : 20000,
                                    .listener = listener,
                                    .presence = presence};
    int stop;

    s->fd = -1;
    assert_int_equal(pipe(s->started), 0);
    stop = impi_keeper_begin(&o);
    assert_true(stop >= 0);
    return stop;
}

static void await_start(struct stand_in *s)
{
    char c;

    assert_int_equal(read(s->started[0], &c, 1), 1);
}

static char ask_to_end(int stop)
{
    char c = 0;

    assert_int_equal(send(stop, "", 1, 0), 1);
    assert_int_equal(recv(stop, &c, 1, 0), 1);
    return c;
}

static void done(struct stand_in *s)
{
    impi_keeper_end();
    if (s->fd >= 0)
        close(s->fd);
    close(s->started[0]);
    close(s->started[1]);
}

static void stepd_tells_how_a_task_ended(void **state)
{
    struct stand_in s = {0};
    int stop = keep(&s, -1, -1, true);

    assert_int_equal(send(s.fd, "junk that is longer", 19, 0), 19);
    assert_int_equal(reply_for(s.fd, 300), SIGKILL);
    assert_int_equal(reply_for(s.fd, 400), -1);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_GONE);
    assert_int_equal(waitpid(s.pid, NULL, 0), -1); /* reaped already */
    done(&s);
}

static void stepd_that_ends_waits_for_no_task(void **state)
{
    struct impi_status_request q = {400};
    struct stand_in s = {0};

    keep(&s, -1, -1, true);
    assert_int_equal(send(s.fd, &q, sizeof(q), 0), sizeof(q));
    impi_keeper_end();
    assert_int_equal(waitpid(s.pid, NULL, 0), -1);
    done(&s);
}

/* A step without MPI has no impid, and ends at once. */
static void impid_that_nobody_needs_is_not_started(void **state)
{
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), stop;
    struct sockaddr_un at = {.sun_family = AF_UNIX}; /* any name */
    struct stand_in s = {0};
    struct pollfd p = {.events = POLLIN};

    assert_int_equal(bind(listener, (void *)&at, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(listener, 4), 0);
    stop = keep(&s, listener, -1, false);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_GONE);
    p.fd = s.started[0];
    assert_int_equal(poll(&p, 1, 0), 0);
    assert_int_equal(fcntl(listener, F_GETFD), -1); /* who comes is refused */
    done(&s);
}

static int local_listener(struct sockaddr_un *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    socklen_t len = sizeof(*at);

    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    assert_int_equal(bind(fd, (void *)at, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (void *)at, &len), 0);
    return fd;
}

static int call(const struct sockaddr_un *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    size_t len = 2;

    while (len < sizeof(*at) && (len == 2 || ((const char *)at)[len]))
        len++;
    assert_int_equal(connect(fd, (const void *)at, (socklen_t)len), 0);
    return fd;
}

static void first_call_of_mpi_starts_impid(void **state)
{
    struct sockaddr_un at;
    struct stand_in s = {.deaf = true};
    int listener = local_listener(&at), stop = keep(&s, listener, -1, false);
    int fd = call(&at);

    await_start(&s);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_KILLED);
    assert_int_equal(waitpid(s.pid, NULL, 0), -1);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_GONE); /* again: nothing */
    close(fd);
    done(&s);
}

static void impid_that_does_not_start_leaves_nobody_waiting(void **state)
{
    struct sockaddr_un at;
    struct stand_in s = {.refused = true};
    int listener = local_listener(&at), stop = keep(&s, listener, -1, false);
    int fd = call(&at);
    char c;

    assert_true(recv(fd, &c, 1, 0) <= 0);
    assert_int_equal(ask_to_end(stop), IMPI_KEEPER_GONE);
    close(fd);
    done(&s);
}

/* Another node calls MPI, srun ends, or it cannot be reached. */
static void what_comes_on_the_line_starts_impid(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};

    for (int i = 0; i < 3; i++) {
        int line = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), far = -1;
        int listener = socket(AF_INET, SOCK_STREAM, 0), waiting;
        struct stand_in s = {0};
        struct sockaddr_un local;
        socklen_t len = sizeof(at);

        at.sin_port = 0;
        assert_int_equal(bind(listener, (void *)&at, sizeof(at)), 0);
        assert_int_equal(getsockname(listener, (void *)&at, &len), 0);
        if (i < 2)
            assert_int_equal(listen(listener, 1), 0);
        waiting = local_listener(&local);
        keep(&s, waiting, line, false);
        connect(line, (void *)&at, sizeof(at));
        if (i < 2) {
            far = accept(listener, NULL, NULL);
            assert_true(far >= 0);
        }
        if (i == 0)
            assert_int_equal(send(far, "", 1, 0), 1);
        else if (i == 1)
            close(far);
        await_start(&s);
        done(&s);
        close(line);
        close(listener);
        if (i == 0)
            close(far);
    }
}

/* ---- step directories ----------------------------------------------------*/

static char parent[64];

static int make_parent(void **state)
{
    strcpy(parent, "/tmp/test_stepdir.XXXXXX");
    return mkdtemp(parent) && chmod(parent, 0755) == 0 ? 0 : -1;
}

static int remove_parent(void **state)
{
    return rmdir(parent); /* fails if a test left something */
}

static int step_dir; /* the last one's descriptor */

static int make(char *path, const char *name, struct errbuf *err)
{
    return stepdir_make(path, parent, name, getuid(), getgid(), &step_dir, err);
}

/* A child with another's ids could not: there is none. */
static void step_directory_with_its_socket_alone_needs_no_child(void **state)
{
    char path[STEPDIR_PATH_MAX];
    int fd = make(path, "1.0.0-1", NULL);

    assert_true(fd >= 0);
    close(fd);
    stepdir_remove(path, 65534, 65534, step_dir);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(fcntl(step_dir, F_GETFD), -1);
}

/* What has taken the name of the socket is left to the child. */
static void directory_in_place_of_the_socket_is_removed(void **state)
{
    char path[STEPDIR_PATH_MAX], sub[STEPDIR_PATH_MAX + 16];
    int fd = make(path, "1.0.0-1", NULL);

    assert_true(fd >= 0);
    close(fd);
    snprintf(sub, sizeof(sub), "%s/sock", path);
    assert_int_equal(unlink(sub), 0);
    assert_int_equal(mkdir(sub, 0700), 0);
    stepdir_remove(path, getuid(), getgid(), step_dir);
    assert_int_equal(access(path, F_OK), -1);
}

static void step_directory_is_made_and_removed_with_all_in_it(void **state)
{
    char path[STEPDIR_PATH_MAX], bait[STEPDIR_PATH_MAX], deep[256], link[256];
    struct stat st;
    int fd = make(path, "1.0.0-1", NULL);

    assert_true(fd >= 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    close(fd);
    snprintf(bait, sizeof(bait), "%s/bait", parent);
    assert_int_equal(mkdir(bait, 0700), 0);
    snprintf(deep, sizeof(deep), "%s/a", path);
    assert_int_equal(mkdir(deep, 0700), 0);
    snprintf(link, sizeof(link), "%s/a/link", path);
    assert_int_equal(symlink(bait, link), 0);
    stepdir_remove(path, getuid(), getgid(), step_dir);
    assert_int_equal(stat(path, &st), -1);
    assert_int_equal(rmdir(bait), 0); /* not followed */
}

static void step_directory_in_a_foreign_parent_is_refused(void **state)
{
    char path[STEPDIR_PATH_MAX];
    struct errbuf err;

    assert_int_equal(chmod(parent, 0777), 0);
    assert_int_equal(make(path, "1.0.0-1", &err), -1);
    assert_non_null(strstr(err.text, "not a directory of root's own"));
    assert_int_equal(chmod(parent, 0755), 0);
}

static void step_directory_with_too_long_a_path_is_refused(void **state)
{
    char path[STEPDIR_PATH_MAX], name[STEPDIR_PATH_MAX];
    struct errbuf err;

    memset(name, '1', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(make(path, name, &err), -1);
    assert_non_null(strstr(err.text, "too long"));
}

static void sweep_takes_only_what_dead_processes_left(void **state)
{
    char dead[STEPDIR_PATH_MAX], live[STEPDIR_PATH_MAX], name[64];
    struct stat st;
    int a, b;

    a = make(dead, "1.0.0-999999999", NULL);
    snprintf(name, sizeof(name), "2.0.0-%d", (int)getpid());
    b = make(live, name, NULL);
    assert_true(a >= 0 && b >= 0);
    close(a);
    close(b);
    stepdir_sweep(parent);
    assert_int_equal(stat(dead, &st), -1);
    assert_int_equal(stat(live, &st), 0);
    stepdir_remove(live, getuid(), getgid(), -1);
}

/* A mount of the user's own that never answers. */
static void sweep_does_not_wait_for_ever(void **state)
{
    char path[STEPDIR_PATH_MAX], dead[256], options[64];
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), fd;

    if (fuse < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        skip();
    fd = make(path, "1.0.0-999999999", NULL);
    assert_true(fd >= 0);
    close(fd);
    snprintf(dead, sizeof(dead), "%s/dead", path);
    assert_int_equal(mkdir(dead, 0700), 0);
    snprintf(options, sizeof(options),
             "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
    assert_int_equal(mount("dead", dead, "fuse", 0, options), 0);
    stepdir_sweep(parent);
    assert_int_equal(umount2(dead, MNT_DETACH), 0);
    close(fuse);
    stepdir_sweep(parent);
    assert_int_equal(access(path, F_OK), -1);
}

/* On an overlay (a container's root) files and directories are of different
 * devices. */
static void step_directory_on_an_overlay_is_removed(void **state)
{
    char dir[256], options[1024], sub[STEPDIR_PATH_MAX + 8];
    char path[STEPDIR_PATH_MAX];
    struct errbuf err;
    int fd;

    if (unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("layers", parent, "tmpfs", 0, NULL) < 0)
        skip();
    for (const char *name = "low\0up\0work\0"; *name;
         name += strlen(name) + 1) {
        snprintf(dir, sizeof(dir), "%s/%s", parent, name);
        assert_int_equal(mkdir(dir, 0755), 0);
    }
    snprintf(options, sizeof(options),
             "lowerdir=/usr/lib,upperdir=%s/up,workdir=%s/work", parent,
             parent);
    snprintf(dir, sizeof(dir), "%s/low", parent);
    if (mount("overlay", dir, "overlay", 0, options) < 0) {
        umount2(parent, MNT_DETACH);
        skip();
    }
    fd =
        stepdir_make(path, dir, "1.0.0-1", getuid(), getgid(), &step_dir, &err);
    assert_true(fd >= 0);
    close(fd);
    snprintf(sub, sizeof(sub), "%s/sub", path);
    assert_int_equal(mkdir(sub, 0700), 0);
    stepdir_remove(path, getuid(), getgid(), step_dir);
    assert_int_equal(access(path, F_OK), -1);
    umount2(dir, MNT_DETACH);
    umount2(parent, MNT_DETACH);
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
        cmocka_unit_test(connections_of_a_process_are_limited),
        cmocka_unit_test(impid_names_what_is_wrong_in_its_configuration),
        cmocka_unit_test(im_021_agents_take_both_versions_of_ip),
        cmocka_unit_test(sl_18_impi_conf_is_read),
        cmocka_unit_test(sl_18_impi_conf_errors_name_the_key),
        cmocka_unit_test(port_ranges),
        cmocka_unit_test(sl_18_networks),
        cmocka_unit_test(sl_18_own_address_towards_a_peer),
        cmocka_unit_test(processes_get_another_key_in_each_generation),
        cmocka_unit_test(lines_of_the_server),
        cmocka_unit_test(variables_of_another_launcher_are_found),
        cmocka_unit_test(secret_is_another_each_time),
        cmocka_unit_test(stepd_tells_how_a_task_ended),
        cmocka_unit_test(stepd_that_ends_waits_for_no_task),
        cmocka_unit_test(impid_that_nobody_needs_is_not_started),
        cmocka_unit_test(first_call_of_mpi_starts_impid),
        cmocka_unit_test(impid_that_does_not_start_leaves_nobody_waiting),
        cmocka_unit_test(what_comes_on_the_line_starts_impid),
        cmocka_unit_test(step_directory_is_made_and_removed_with_all_in_it),
        cmocka_unit_test(step_directory_with_its_socket_alone_needs_no_child),
        cmocka_unit_test(directory_in_place_of_the_socket_is_removed),
        cmocka_unit_test(step_directory_in_a_foreign_parent_is_refused),
        cmocka_unit_test(step_directory_with_too_long_a_path_is_refused),
        cmocka_unit_test(sweep_takes_only_what_dead_processes_left),
        cmocka_unit_test(sweep_does_not_wait_for_ever),
        cmocka_unit_test(step_directory_on_an_overlay_is_removed),
    };

    return cmocka_run_group_tests_name("impid", tests, make_parent,
                                       remove_parent);
}
