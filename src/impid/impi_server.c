/* SPDX-License-Identifier: BSD-3-Clause
 *
 * impi-server: started by srun's plugin with a socket as fd 3.
 */
#include "impid/impi_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/daemon_args.h"
#include "base/log.h"

#define LINE_MAX_SIZE 4096

/* The first line, byte by byte: nothing else has been sent yet. */
static int read_line(char *line, size_t size)
{
    size_t len = 0;

    while (len + 1 < size) {
        ssize_t n = read(SERVER_CONTROL_FD, line + len, 1);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        if (line[len] == '\n') {
            line[len] = '\0';
            return 0;
        }
        len++;
    }
    return -1;
}

static void tick(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct server *s = w->data;

    if (!s->start.world)
        server_agents_tick(s);
    server_presence_tick(s);
    server_worlds_tick(s);
}

static int start(struct server *s, struct errbuf *err)
{
    char line[LINE_MAX_SIZE];
    int rc;

    if (read_line(line, sizeof(line)) < 0)
        return errprintf(err, "no start line on fd 3");
    rc = server_start_parse(&s->start, line, err);
    explicit_bzero(line, sizeof(line));
    if (rc < 0)
        return -1;
    s->loop = ev_loop_new(EVFLAG_AUTO);
    if (!s->loop)
        return errprintf(err, "no event loop");
    s->address = server_net_choose(&s->start);
    LIST_INIT(&s->worlds);
    TAILQ_INIT(&s->agents);
    TAILQ_INIT(&s->presences);
    server_spawn_begin(s);
    server_control_start(s);
    if (server_presence_start(s, err) < 0)
        return -1;
    if (!s->start.world)
        return server_agents_start(s, err);
    return server_world_get(s, 0, s->start.world, err) ? 0 : -1;
}

static void run(struct server *s)
{
    char text[NETADDR_TEXT_MAX];
    struct netaddr at;

    ev_timer_init(&s->tick, tick, 1., 1.);
    s->tick.data = s;
    ev_timer_start(s->loop, &s->tick);
    if (s->start.world)
        s->port = LIST_FIRST(&s->worlds)->port;
    at = (struct netaddr){s->address, s->port};
    netaddr_print(text, &at);
    server_control_line(s, "ready %s", text);
    ev_run(s->loop, 0);
}

static void stop(struct server *s)
{
    server_spawn_stop(s);
    server_worlds_stop(s);
    server_credential_stop(s);
    server_presence_stop(s);
    if (!s->start.world)
        server_agents_stop(s);
    chunk_release(s->kill);
    bytebuf_free(&s->control_out);
    explicit_bzero(&s->start, sizeof(s->start));
    ev_loop_destroy(s->loop);
}

static const struct daemon_program program = {
    .name = "impi-server",
    .what = "impi-server is started by srun for a step with mpi/impi."};

int main(int argc, char **argv)
{
    static const struct log_options log = {"impi-server", LOG_LEVEL_WARN,
                                           false};
    struct server s = {.fd = -1};
    struct errbuf err;

    if (daemon_args_asked(&program, argc, argv))
        return 0;
    if (argc > 1) {
        fprintf(stderr, "%s\n", program.what);
        return 2;
    }
    log_open(&log);
    signal(SIGPIPE, SIG_IGN);
#ifndef __SANITIZE_ADDRESS__
    prctl(PR_SET_DUMPABLE, 0); /* the secret is in memory */
#endif
    accept_room();
    if (start(&s, &err) < 0) {
        dprintf(SERVER_CONTROL_FD, "error %s\n", err.text);
        return 1;
    }
    run(&s);
    stop(&s);
    return 0;
}
