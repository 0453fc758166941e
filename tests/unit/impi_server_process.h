/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program impi-server: the test plays srun (fd 3) and the agents.
 */
#ifndef SF_TESTS_IMPI_SERVER_PROCESS_H
#define SF_TESTS_IMPI_SERVER_PROCESS_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
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
#define PATIENCE_MS 60000 /* only a broken server makes us wait */

struct program {
    pid_t pid;
    int fd; /* srun's end */
    unsigned port;
    uint8_t secret[32];
};

/* The next server's fd 5, itself above 5; -1: none. */
static int presence_listener = -1;
/* Its stderr; -1: ours. */
static int log_of_server = -1;

struct player {
    int fd;
    struct bytebuf in;
    ssize_t last; /* bytes of the message handed out */
};

/* ---- the program ---- */

static inline void wait_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

/* One line from the server, without newline; "" at its end. */
static inline void read_line(struct program *s, char *line, size_t size)
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

static inline void expect_line(struct program *s, const char *want)
{
    char line[1024];

    read_line(s, line, sizeof(line));
    assert_string_equal(line, want);
}

static inline void spawn(struct program *s, const char *env)
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
        if (log_of_server >= 0)
            dup2(log_of_server, STDERR_FILENO);
        if (pair[1] != 3) {
            dup2(pair[1], 3);
            close(pair[1]);
        }
        if (presence_listener >= 0)
            dup2(presence_listener, 5);
        execve(path, argv, envp);
        _exit(127);
    }
    close(pair[1]);
    s->fd = pair[0];
    for (int i = 0; i < 32; i++)
        s->secret[i] = (uint8_t)i;
}

static inline void start_line(struct program *s, const char *line, char *answer,
                              size_t size)
{
    assert_int_equal(write(s->fd, line, strlen(line)), strlen(line));
    read_line(s, answer, size);
}

static inline void start_with(struct program *s, unsigned agents,
                              const char *env, const char *more)
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

static inline void start(struct program *s, unsigned agents)
{
    start_with(s, agents, "IMPI_AUTH_KEY=5678", "ports=0-0");
}

/* srun goes: the server must end by itself. */
static inline void stop(struct program *s)
{
    int status;

    close(s->fd);
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- agents ---- */

static inline int dial(unsigned port)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* as impid */
    return fd;
}

/* Open the channel.  Returns the verdict, 0 = accepted, -1 = hung up. */
static inline int open_channel(int fd, const uint8_t *secret, uint32_t index)
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

static inline void say(struct player *p, const struct agent_msg *m)
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
static inline bool hear(struct player *p, struct agent_msg *m)
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

static inline void join_silent(struct program *s, struct player *p,
                               uint32_t index)
{
    memset(p, 0, sizeof(*p));
    bytebuf_init(&p->in, SF_AGENT_FRAME_MAX + 70000);
    p->fd = dial(s->port);
    assert_int_equal(open_channel(p->fd, s->secret, index), 0);
}

static inline void join(struct program *s, struct player *p, uint32_t index,
                        uint32_t agents)
{
    struct agent_msg m = {.type = AGENT_JOB,
                          .job = {.agent = index, .agents = agents}};

    join_silent(s, p, index);
    snprintf(m.job.node, sizeof(m.job.node), "node%u", index);
    say(p, &m);
}

/* A server, and all its agents. */
static inline void start_joined(struct program *s, struct player *p,
                                uint32_t agents)
{
    start(s, agents);
    for (uint32_t i = 0; i < agents; i++)
        join(s, &p[i], i, agents);
}

static inline void leave(struct player *p)
{
    if (p->fd >= 0)
        close(p->fd);
    bytebuf_free(&p->in);
}

static inline void bye(struct player *p)
{
    say(p, &(struct agent_msg){.type = AGENT_BYE});
    leave(p);
}

static inline void put(struct player *p, const char *key, uint32_t index,
                       uint32_t expected, const void *data, uint32_t len)
{
    struct agent_msg m = {
        .type = AGENT_PUT,
        .put = {.index = index, .expected = expected, .blob = {data, len}}};

    strcpy(m.put.key, key);
    say(p, &m);
}

/* Wait until the server has all of them. */
static inline void all_are_known(struct player *p, uint32_t agents)
{
    struct agent_msg m;

    for (uint32_t i = 0; i < agents; i++)
        put(&p[i], "up", i, agents, NULL, 0);
    for (uint32_t i = 0; i < agents; i++)
        assert_true(hear(&p[i], &m));
}

static inline void expect_kill(struct player *p, int code)
{
    struct agent_msg m;

    assert_true(hear(p, &m));
    assert_int_equal(m.type, AGENT_KILL);
    assert_int_equal(m.abort.code, code);
}

#endif
