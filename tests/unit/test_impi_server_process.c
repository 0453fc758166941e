/* SPDX-License-Identifier: BSD-3-Clause
 * The program impi-server: this test plays srun (fd 3) and the agents.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mac.h"
#include "impi/agent_wire.h"
#include "impi/chan_open.h"
#include "impi/join.h"

#define SECRET                                                                 \
    "000102030405060708090a0b0c0d0e0f"                                         \
    "101112131415161718191a1b1c1d1e1f"
#define PATIENCE_MS 20000 /* only a broken server makes us wait */

struct program {
    pid_t pid;
    int fd; /* srun's end */
    unsigned port;
    uint8_t secret[32];
};

struct player {
    int fd;
    struct bytebuf in;
    ssize_t last; /* bytes of the message handed out */
};

/* ---- the program ---- */

static void wait_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

/* One line from the server, without newline; "" at its end. */
static void read_line(struct program *s, char *line, size_t size)
{
    size_t len = 0;

    for (;;) {
        ssize_t n;

        wait_readable(s->fd);
        n = read(s->fd, line + len, 1);
        if (n <= 0 || line[len] == '\n')
            break;
        assert_true(++len < size);
    }
    line[len] = '\0';
}

static void spawn(struct program *s, const char *env)
{
    char path[4096];
    int pair[2];

    snprintf(path, sizeof(path), "%s/src/impid/impi-server",
             getenv("SF_TOP_BUILDDIR") ? getenv("SF_TOP_BUILDDIR") : ".");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        char *const argv[] = {"impi-server", NULL};
        char *const envp[] = {(char *)env, NULL};

        close(pair[0]);
        if (pair[1] != 3) {
            dup2(pair[1], 3);
            close(pair[1]);
        }
        execve(path, argv, envp);
        _exit(127);
    }
    close(pair[1]);
    s->fd = pair[0];
    for (int i = 0; i < 32; i++)
        s->secret[i] = (uint8_t)i;
}

static void start_line(struct program *s, const char *line, char *answer,
                       size_t size)
{
    assert_int_equal(write(s->fd, line, strlen(line)), strlen(line));
    read_line(s, answer, size);
}

static void start_with(struct program *s, unsigned agents, const char *env,
                       const char *more)
{
    char line[512], answer[512];

    spawn(s, env);
    snprintf(line, sizeof(line),
             "start secret=" SECRET " job=7 step=1 agents=%u tasks=4 "
             "bind=127.0.0.1 advertise= munge= %s\n",
             agents, more);
    start_line(s, line, answer, sizeof(answer));
    assert_int_equal(sscanf(answer, "ready 127.0.0.1:%u", &s->port), 1);
}

static void start(struct program *s, unsigned agents)
{
    start_with(s, agents, "IMPI_AUTH_KEY=5678", "ports=0-0");
}

/* srun goes: the server must end by itself. */
static void stop(struct program *s)
{
    int status;

    close(s->fd);
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- agents ---- */

static int dial(unsigned port)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    return fd;
}

/* Open the channel.  Returns the verdict, 0 = accepted, -1 = hung up. */
static int open_channel(int fd, const uint8_t *secret, uint32_t index)
{
    const struct impi_chan_id id = {IMPI_CHAN_AGENT_SERVER, 0, index, 0};
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE], buf[IMPI_CHAN_REPLY_SIZE];
    struct impi_chan_open o;
    const uint8_t *data;
    struct errbuf err;
    size_t n;

    assert_int_equal(mac_random(nonce, sizeof(nonce)), 0);
    impi_chan_open_connect(&o, &id, secret, nonce);
    while (!impi_chan_open_done(&o)) {
        while ((n = impi_chan_open_output(&o, &data)) > 0) {
            assert_int_equal(send(fd, data, n, MSG_NOSIGNAL), n);
            impi_chan_open_sent(&o, n);
        }
        if (impi_chan_open_done(&o))
            break;
        wait_readable(fd);
        n = (size_t)recv(fd, buf, impi_chan_open_want(&o), 0);
        if (n == 0 || n > sizeof(buf))
            return -1;
        if (impi_chan_open_input(&o, buf, n, &err) < 0)
            return (int)o.verdict ? (int)o.verdict : -2;
    }
    return 0;
}

static void say(struct player *p, const struct agent_msg *m)
{
    struct bytebuf b;

    bytebuf_init(&b, SF_AGENT_FRAME_MAX + 8);
    assert_int_equal(agent_msg_encode(&b, m), 0);
    assert_int_equal(
        send(p->fd, bytebuf_data(&b), bytebuf_len(&b), MSG_NOSIGNAL),
        bytebuf_len(&b));
    bytebuf_free(&b);
}

/* Next message; false: the server hung up. */
static bool hear(struct player *p, struct agent_msg *m)
{
    struct errbuf err;

    bytebuf_consume(&p->in, (size_t)p->last);
    p->last = 0;
    for (;;) {
        ssize_t n = agent_msg_decode(m, bytebuf_data(&p->in),
                                     bytebuf_len(&p->in), &err);
        uint8_t *room;

        assert_true(n >= 0);
        if (n > 0) {
            p->last = n;
            return true;
        }
        wait_readable(p->fd);
        room = bytebuf_room(&p->in, 65536);
        n = recv(p->fd, room, 65536, 0);
        if (n <= 0)
            return false;
        bytebuf_grow(&p->in, (size_t)n);
    }
}

static void join_silent(struct program *s, struct player *p, uint32_t index)
{
    memset(p, 0, sizeof(*p));
    bytebuf_init(&p->in, SF_AGENT_FRAME_MAX + 70000);
    p->fd = dial(s->port);
    assert_int_equal(open_channel(p->fd, s->secret, index), 0);
}

static void join(struct program *s, struct player *p, uint32_t index,
                 uint32_t agents)
{
    struct agent_msg m = {.type = AGENT_JOB,
                          .job = {.agent = index, .agents = agents}};

    join_silent(s, p, index);
    snprintf(m.job.node, sizeof(m.job.node), "node%u", index);
    say(p, &m);
}

static void leave(struct player *p)
{
    if (p->fd >= 0)
        close(p->fd);
    bytebuf_free(&p->in);
}

static void bye(struct player *p)
{
    say(p, &(struct agent_msg){.type = AGENT_BYE});
    leave(p);
}

static void put(struct player *p, const char *key, uint32_t index,
                uint32_t expected, const void *data, uint32_t len)
{
    struct agent_msg m = {
        .type = AGENT_PUT,
        .put = {.index = index, .expected = expected, .blob = {data, len}}};

    strcpy(m.put.key, key);
    say(p, &m);
}

static void expect_kill(struct player *p, int code)
{
    struct agent_msg m;

    assert_true(hear(p, &m));
    assert_int_equal(m.type, AGENT_KILL);
    assert_int_equal(m.abort.code, code);
}

/* ---- cases ---- */

static void server_ends_when_srun_goes(void **state)
{
    struct program s;

    start(&s, 1);
    stop(&s);
}

static void server_tells_agents_to_kill_when_srun_dies(void **state)
{
    struct player a[2];
    struct program s;

    start(&s, 2);
    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    put(&a[0], "up", 0, 2, NULL, 0);
    put(&a[1], "up", 1, 2, NULL, 0);
    for (int i = 0; i < 2; i++) {
        struct agent_msg m;

        assert_true(hear(&a[i], &m)); /* both are known to the server now */
    }
    stop(&s);
    for (int i = 0; i < 2; i++) {
        expect_kill(&a[i], 137);
        leave(&a[i]);
    }
}

static void bad_start_lines_are_answered_with_error(void **state)
{
    static const char *const lines[] = {
        "begin\n",
        "start job=1\n",
        "start secret=12 job=1 step=0 agents=1 tasks=1\n",
        "start secret=" SECRET " job=x step=0 agents=1 tasks=1\n",
        "start secret=" SECRET " job=1 step=0 agents=0 tasks=1\n",
        "start secret=" SECRET " job=1 step=0 agents=1 tasks=1 ports=9-3\n",
        "start secret=" SECRET " job=1 step=0 agents=1 tasks=1 bind=host\n",
        "start secret=" SECRET " job=1 step=0 agents=1 tasks=1 colour=red\n",
        "start secret=" SECRET " job=1 job=1 step=0 agents=1 tasks=1\n",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct program s;
        char answer[512];
        int status;

        spawn(&s, "A=");
        start_line(&s, lines[i], answer, sizeof(answer));
        assert_memory_equal(answer, "error ", 6);
        close(s.fd);
        waitpid(s.pid, &status, 0);
        assert_int_equal(WEXITSTATUS(status), 1);
    }
}

static void ports_come_from_the_range(void **state)
{
    struct program one, two;
    char range[64];
    unsigned lo;

    /* a range around a port that was free a moment ago */
    start(&one, 1);
    lo = one.port > 60000 ? one.port - 20 : one.port;
    snprintf(range, sizeof(range), "ports=%u-%u", lo, lo + 20);
    start_with(&two, 1, "A=", range);
    assert_in_range(two.port, lo, lo + 20);
    assert_int_not_equal(two.port, one.port);
    stop(&two);
    stop(&one);
}

static void rendezvous_spreads_blobs_in_index_order(void **state)
{
    static const char *const blobs[] = {"zero", "", "two"};
    struct player a[3];
    struct program s;

    start(&s, 3);
    for (uint32_t i = 0; i < 3; i++)
        join(&s, &a[i], i, 3);
    for (uint32_t i = 3; i-- > 0;)
        put(&a[i], "family", i, 3, blobs[i], (uint32_t)strlen(blobs[i]));
    for (int i = 0; i < 3; i++) {
        struct agent_blob blob;
        struct agent_msg m;
        struct be_reader r;

        assert_true(hear(&a[i], &m));
        assert_int_equal(m.type, AGENT_GOT);
        assert_string_equal(m.got.key, "family");
        agent_blobs_init(&r, &m.got);
        for (int k = 0; k < 3; k++) {
            assert_true(agent_blobs_next(&r, &blob));
            assert_int_equal(blob.len, strlen(blobs[k]));
            assert_memory_equal(blob.data, blobs[k], blob.len);
        }
    }
    for (int i = 0; i < 3; i++)
        bye(&a[i]);
    stop(&s);
}

static void strangers_are_dropped_and_harm_nobody(void **state)
{
    uint8_t wrong[32] = {1};
    struct player a;
    struct program s;
    struct agent_msg m;
    char junk[200];
    int idle[8], fd;

    start(&s, 1);
    for (int i = 0; i < 8; i++)
        idle[i] = dial(s.port);
    fd = dial(s.port);
    assert_true(open_channel(fd, wrong, 0) < 0);
    close(fd);
    fd = dial(s.port);
    memset(junk, 'G', sizeof(junk));
    assert_int_equal(send(fd, junk, sizeof(junk), MSG_NOSIGNAL), 200);
    wait_readable(fd);
    assert_true(recv(fd, junk, sizeof(junk), 0) <= 0);
    close(fd);
    join(&s, &a, 0, 1);
    fd = dial(s.port);
    assert_true(open_channel(fd, s.secret, 0) != 0); /* agent 0 is here */
    close(fd);
    fd = dial(s.port);
    assert_true(open_channel(fd, s.secret, 9) != 0); /* no agent 9 */
    close(fd);
    put(&a, "k", 0, 1, "x", 1);
    assert_true(hear(&a, &m));
    assert_int_equal(m.type, AGENT_GOT);
    bye(&a);
    for (int i = 0; i < 8; i++)
        close(idle[i]);
    stop(&s);
}

static void first_abort_is_told_once_and_kills_all(void **state)
{
    struct agent_msg m = {.type = AGENT_ABORT,
                          .abort = {.code = 42,
                                    .rank = 3,
                                    .client = 1,
                                    .text = "MPI_Abort\nby rank 3"}};
    struct player a[2];
    struct program s;
    char line[1024];

    start(&s, 2);
    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    put(&a[0], "up", 0, 2, NULL, 0);
    put(&a[1], "up", 1, 2, NULL, 0);
    for (int i = 0; i < 2; i++) {
        struct agent_msg got;

        assert_true(hear(&a[i], &got));
    }
    say(&a[1], &m);
    for (int i = 0; i < 2; i++)
        expect_kill(&a[i], 42);
    m.abort.code = 9;
    say(&a[0], &m); /* a consequence, not a cause */
    bye(&a[0]);
    bye(&a[1]);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "abort code=42 rank=3 node=node1 client=1 "
                              "text=MPI_Abort by rank 3");
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "end code=42");
    stop(&s);
}

static void lost_agent_aborts_and_is_named(void **state)
{
    struct player a[2];
    struct program s;
    char line[1024];

    start(&s, 2);
    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    put(&a[0], "up", 0, 2, NULL, 0);
    put(&a[1], "up", 1, 2, NULL, 0);
    for (int i = 0; i < 2; i++) {
        struct agent_msg got;

        assert_true(hear(&a[i], &got));
    }
    leave(&a[1]);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "abort code=1 rank=-1 node=node1 client=-1 "
                              "text=SF-E221: lost the agent on node node1: "
                              "it hung up");
    expect_kill(&a[0], 1);
    leave(&a[0]);
    stop(&s);
}

static void end_carries_the_worst_exit_code(void **state)
{
    struct agent_msg m = {.type = AGENT_EXIT, .exit = {.count = 2}};
    struct bytebuf packed;
    struct player a[2];
    struct program s;
    char line[1024];

    start(&s, 2);
    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    bytebuf_init(&packed, 100);
    agent_exit_add(&packed, 0, 0);
    agent_exit_add(&packed, 1, 3 << 8);
    m.exit.packed.data = bytebuf_data(&packed);
    m.exit.packed.len = (uint32_t)bytebuf_len(&packed);
    say(&a[0], &m);
    say(&a[1], &(struct agent_msg){.type = AGENT_NOTE, .text = "hello"});
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "note hello");
    bye(&a[0]);
    bye(&a[1]);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "end code=3");
    bytebuf_free(&packed);
    stop(&s);
}

static void protocol_errors_abort_and_name_the_node(void **state)
{
    static const struct {
        struct agent_msg msg;
        const char *want;
    } cases[] = {
        {{.type = AGENT_PUT, .put = {.key = "k", .index = 2, .expected = 2}},
         "key \"k\": index 2 of 2"},
        {{.type = AGENT_JOB, .job = {0, 2, 0, "x"}}, "JOB twice"},
        {{.type = AGENT_KILL}, "frame 7 is the server's to send"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct player a;
        struct program s;
        char line[1024], want[512];

        start(&s, 2);
        join(&s, &a, 0, 2);
        say(&a, &cases[i].msg);
        read_line(&s, line, sizeof(line));
        snprintf(want, sizeof(want),
                 "abort code=1 rank=-1 node=node0 client=-1 text=SF-E221: "
                 "lost the agent on node node0: protocol error: %s",
                 cases[i].want);
        assert_string_equal(line, want);
        leave(&a);
        stop(&s);
    }
}

static void frames_before_job_are_refused(void **state)
{
    struct player a;
    struct program s;
    char line[1024];

    start(&s, 1);
    join_silent(&s, &a, 0);
    put(&a, "k", 0, 1, NULL, 0);
    read_line(&s, line, sizeof(line));
    assert_non_null(strstr(line, "frame 2 before JOB"));
    leave(&a);
    stop(&s);
}

/* 64 exchanges of 1 MB: far more than sockets hold. */
static void agent_that_does_not_read_blocks_nobody(void **state)
{
    enum { SIZE = 1 << 20, ROUNDS = 64 };
    uint8_t *blob = calloc(1, SIZE);
    struct player a[3];
    struct program s;
    struct agent_msg m;
    char key[16];

    start(&s, 3);
    for (uint32_t i = 0; i < 3; i++)
        join(&s, &a[i], i, 3);
    for (int round = 0; round < ROUNDS; round++) {
        snprintf(key, sizeof(key), "r%d", round);
        put(&a[0], key, 0, 3, NULL, 0); /* never reads */
        put(&a[1], key, 1, 3, blob, SIZE);
        put(&a[2], key, 2, 3, NULL, 0);
        assert_true(hear(&a[1], &m));
        assert_true(hear(&a[2], &m));
        assert_string_equal(m.got.key, key);
    }
    for (int i = 0; i < 3; i++)
        leave(&a[i]);
    free(blob);
    stop(&s);
}

/* ---- generations ---- */

static unsigned ask_world(struct player *p, uint32_t generation,
                          uint32_t nclients)
{
    struct agent_msg m = {.type = AGENT_WORLD, .world = {generation, nclients}};

    say(p, &m);
    assert_true(hear(p, &m));
    if (m.type == AGENT_ERROR) {
        assert_string_equal(m.text, "SF-E207: 33 clients: IMPI allows 1 to 32");
        return 0;
    }
    assert_int_equal(m.type, AGENT_WORLD_AT);
    assert_int_equal(m.world_at.generation, generation);
    return m.world_at.port;
}

static struct impi_join *make_join(uint32_t client, uint32_t nclients,
                                   struct impi_auth_method *key)
{
    static const uint8_t ipv4[4] = {127, 0, 0, 1};
    struct impi_join_host host = {.nprocs = 1};
    struct impi_join_proc proc = {.pid = 100 + client, .rank = client};
    struct impi_join_options o;
    struct impi_join *j;

    *key = impi_auth_key(5678);
    impi_hostid_set_ipv4(host.addr, ipv4);
    memcpy(proc.hostid, host.addr, 16);
    impi_join_defaults(&o);
    o.client = client;
    o.nclients = nclients;
    o.methods = key;
    o.nmethods = 1;
    o.hosts = &host;
    o.nhosts = 1;
    o.procs = &proc;
    o.nprocs = 1;
    j = impi_join_create(&o, NULL);
    assert_non_null(j);
    return j;
}

static void join_flush(struct impi_join *j, int fd)
{
    const uint8_t *data;
    size_t n = impi_join_output(j, &data);

    if (n == 0)
        return;
    assert_int_equal(send(fd, data, n, MSG_NOSIGNAL), n);
    impi_join_sent(j, n);
}

static void join_read(struct impi_join *j, int fd)
{
    struct errbuf err;
    uint8_t buf[4096];
    ssize_t n = recv(fd, buf, sizeof(buf), 0);

    assert_true(n > 0);
    assert_int_equal(impi_join_input(j, buf, (size_t)n, &err), 0);
    join_flush(j, fd);
}

/* Both clients, until both are done. */
static void drive(struct impi_join **j, const int *fd)
{
    struct pollfd p[2] = {{.fd = fd[0], .events = POLLIN},
                          {.fd = fd[1], .events = POLLIN}};

    join_flush(j[0], fd[0]);
    join_flush(j[1], fd[1]);
    while (!impi_join_done(j[0]) || !impi_join_done(j[1])) {
        assert_true(poll(p, 2, PATIENCE_MS) > 0);
        for (int i = 0; i < 2; i++)
            if (p[i].revents)
                join_read(j[i], fd[i]);
    }
}

static void two_generations_join_over_tcp(void **state)
{
    struct impi_auth_method key;
    struct player a[2];
    struct program s;
    char line[1024];

    start(&s, 2);
    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    assert_int_equal(ask_world(&a[0], 9, 33), 0);
    for (uint32_t g = 0; g < 2; g++) {
        unsigned port = ask_world(&a[0], g, 2);
        struct impi_join *j[2];
        uint8_t byte;
        int fd[2];

        assert_int_equal(ask_world(&a[1], g, 2), port);
        for (uint32_t c = 0; c < 2; c++) {
            j[c] = make_join(c, 2, &key);
            fd[c] = dial(port);
        }
        drive(j, fd);
        for (int c = 0; c < 2; c++) {
            struct impi_world w;

            impi_join_take_world(j[c], &w);
            assert_int_equal(w.nprocs, 2);
            assert_true(w.flags & IMPI_WORLD_EXTENDED);
            impi_world_free(&w);
            impi_join_fini(j[c]);
            join_flush(j[c], fd[c]);
            wait_readable(fd[c]);
            assert_int_equal(recv(fd[c], &byte, 1, 0), 0);
            close(fd[c]);
            impi_join_destroy(j[c]);
        }
    }
    bye(&a[0]);
    bye(&a[1]);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "end code=0");
    stop(&s);
}

static void im_97_client_lost_before_fini_aborts(void **state)
{
    struct impi_auth_method key;
    struct impi_join *j[2];
    struct player a;
    struct program s;
    char line[1024];
    unsigned port;
    int fd[2];

    start(&s, 1);
    join(&s, &a, 0, 1);
    port = ask_world(&a, 0, 2);
    for (uint32_t c = 0; c < 2; c++) {
        j[c] = make_join(c, 2, &key);
        fd[c] = dial(port);
    }
    drive(j, fd);
    close(fd[1]);
    read_line(&s, line, sizeof(line));
    assert_memory_equal(line,
                        "abort code=1 rank=-1 node=- client=1 text="
                        "SF-E205: client 1 (127.0.0.1:",
                        66);
    expect_kill(&a, 1);
    leave(&a);
    close(fd[0]);
    impi_join_destroy(j[0]);
    impi_join_destroy(j[1]);
    stop(&s);
}

static void im_55_wrong_key_over_tcp(void **state)
{
    struct impi_auth_method key;
    struct impi_join *j;
    struct errbuf err;
    struct player a;
    struct program s;
    uint8_t buf[64];
    ssize_t n = 1;
    int fd;

    start(&s, 1);
    join(&s, &a, 0, 1);
    j = make_join(0, 1, &key);
    key = impi_auth_key(1234);
    fd = dial(ask_world(&a, 0, 1));
    while (n > 0) {
        join_flush(j, fd);
        wait_readable(fd);
        n = recv(fd, buf, sizeof(buf), 0);
        if (n > 0)
            assert_int_equal(impi_join_input(j, buf, (size_t)n, &err), 0);
    }
    assert_int_equal(impi_join_eof(j, &err), -1);
    assert_string_equal(err.text, "SF-E210: Server disconnected (wrong "
                                  "authentication key?)");
    close(fd);
    impi_join_destroy(j);
    bye(&a);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_ends_when_srun_goes),
        cmocka_unit_test(server_tells_agents_to_kill_when_srun_dies),
        cmocka_unit_test(bad_start_lines_are_answered_with_error),
        cmocka_unit_test(ports_come_from_the_range),
        cmocka_unit_test(rendezvous_spreads_blobs_in_index_order),
        cmocka_unit_test(strangers_are_dropped_and_harm_nobody),
        cmocka_unit_test(first_abort_is_told_once_and_kills_all),
        cmocka_unit_test(lost_agent_aborts_and_is_named),
        cmocka_unit_test(end_carries_the_worst_exit_code),
        cmocka_unit_test(protocol_errors_abort_and_name_the_node),
        cmocka_unit_test(frames_before_job_are_refused),
        cmocka_unit_test(agent_that_does_not_read_blocks_nobody),
        cmocka_unit_test(two_generations_join_over_tcp),
        cmocka_unit_test(im_97_client_lost_before_fini_aborts),
        cmocka_unit_test(im_55_wrong_key_over_tcp),
    };

    return cmocka_run_group_tests_name("impi_server_process", tests, NULL,
                                       NULL);
}
