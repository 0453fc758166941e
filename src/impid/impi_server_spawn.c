/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Steps that processes of this one ask for (impi/spawn.h): each is an srun of
 * its own, as images of containers have none and Slurm adds no tasks to a step.
 * It has the environment of the srun that started us and writes where that one
 * writes.  Its standard error passes through here: the first error in it is
 * what the process hears when nobody connects.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/log.h"
#include "impi/spawn.h"
#include "impid/impi_server.h"

#define PIECE 4096 /* what a pipe takes at once, when it takes anything */
#define LINE 320

struct spawned {
    LIST_ENTRY(spawned) next;
    struct server *server;
    uint32_t agent, rank, number; /* whom to tell */
    pid_t pid;
    int pidfd, error; /* its end; its standard error */
    ev_io ended, read, write;
    char piece[PIECE];
    size_t len, written;
    char line[LINE];
    size_t nline;
    char why[LINE]; /* the first error */
};

/* ---- what it says ---- */

static void take_line(struct spawned *c)
{
    c->line[c->nline] = '\0';
    if (!c->why[0] && strstr(c->line, "error:"))
        memcpy(c->why, c->line, sizeof(c->why));
    c->nline = 0;
}

static void take_text(struct spawned *c)
{
    for (size_t i = 0; i < c->len; i++) {
        if (c->piece[i] == '\n')
            take_line(c);
        else if (c->nline + 1 < sizeof(c->line))
            c->line[c->nline++] = c->piece[i];
    }
}

/* As much as goes now; what nobody reads any more is gone. */
static void pass_on(struct spawned *c)
{
    int to = c->server->err_fd;
    struct pollfd p = {.fd = to, .events = POLLOUT};
    struct ev_loop *loop = c->server->loop;

    while (c->written < c->len && to >= 0 && poll(&p, 1, 0) == 1) {
        ssize_t n = write(to, c->piece + c->written, c->len - c->written);

        if (n < 0 && errno != EINTR) {
            c->written = c->len;
            break;
        }
        c->written += n > 0 ? (size_t)n : 0;
    }
    if (to < 0)
        c->written = c->len;
    if (c->written < c->len) {
        ev_io_stop(loop, &c->read);
        ev_io_start(loop, &c->write);
        return;
    }
    ev_io_stop(loop, &c->write);
    if (c->error >= 0)
        ev_io_start(loop, &c->read);
}

/* False: there is no more now. */
static bool read_piece(struct spawned *c)
{
    ssize_t n = read(c->error, c->piece, sizeof(c->piece));

    if (n > 0) {
        c->len = (size_t)n;
        c->written = 0;
        take_text(c);
        pass_on(c);
        return true;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    ev_io_stop(c->server->loop, &c->read);
    close(c->error);
    c->error = -1;
    return false;
}

static void on_read(struct ev_loop *loop, ev_io *w, int revents)
{
    read_piece(w->data);
}

static void on_write(struct ev_loop *loop, ev_io *w, int revents)
{
    pass_on(w->data);
}

/* ---- its end ---- */

static void tell(struct server *s, uint32_t agent, uint32_t rank,
                 uint32_t number, const char *why)
{
    struct agent_msg msg = {.type = AGENT_SPAWNED, .spawn = {.rank = rank}};
    struct bytebuf b;

    bytebuf_init(&b, SF_AGENT_TEXT_MAX + 64);
    impi_spawned_encode(&b, number, why);
    msg.spawn.blob.data = bytebuf_data(&b);
    msg.spawn.blob.len = (uint32_t)bytebuf_len(&b);
    if (!b.bad)
        server_agent_tell(s, agent, &msg);
    bytebuf_free(&b);
}

static void forget(struct spawned *c)
{
    struct server *s = c->server;

    ev_io_stop(s->loop, &c->ended);
    ev_io_stop(s->loop, &c->read);
    ev_io_stop(s->loop, &c->write);
    if (c->error >= 0)
        close(c->error);
    if (c->pidfd >= 0)
        close(c->pidfd);
    LIST_REMOVE(c, next);
    free(c);
    s->nspawned--;
}

static void on_ended(struct ev_loop *loop, ev_io *w, int revents)
{
    struct spawned *c = w->data;
    struct server *s = c->server;
    char why[LINE + 64];
    int status = 0;

    while (c->error >= 0 && c->written == c->len && read_piece(c))
        ;
    if (c->nline > 0)
        take_line(c);
    if (waitpid(c->pid, &status, WNOHANG) != c->pid)
        status = 0;
    if (c->why[0])
        snprintf(why, sizeof(why), "%s", c->why);
    else if (WIFSIGNALED(status))
        snprintf(why, sizeof(why), "its srun was killed by signal %d",
                 WTERMSIG(status));
    else
        snprintf(why, sizeof(why),
                 "its step ended with code %d and its processes had not "
                 "connected",
                 WEXITSTATUS(status));
    log_debug("a spawned step has ended: %s", why);
    tell(s, c->agent, c->rank, c->number, why);
    forget(c);
    if (s->nspawned == 0)
        server_spawned_all(s);
}

void server_spawn_kill(struct server *s)
{
    struct spawned *c;

    LIST_FOREACH(c, &s->spawned, next)
    kill(c->pid, SIGTERM);
}

void server_spawn_stop(struct server *s)
{
    struct spawned *c;

    while ((c = LIST_FIRST(&s->spawned)))
        forget(c);
}

/* ---- its start ---- */

/* The command itself, where the info key `path` has it. */
static int find_command(struct impi_spawn_command *c)
{
    char *dirs = strdup(c->path), *save = NULL, *dir, *found = NULL;

    if (!dirs)
        return -1;
    for (dir = strtok_r(dirs, ":", &save); dir && !strchr(c->argv[0], '/');
         dir = strtok_r(NULL, ":", &save)) {
        if (asprintf(&found, "%s/%s", dir, c->argv[0]) < 0) {
            free(dirs);
            return -1;
        }
        if (access(found, X_OK) == 0) {
            free(c->argv[0]);
            c->argv[0] = found;
            break;
        }
        free(found);
    }
    free(dirs);
    return 0;
}

/* What is there on the nodes only is theirs to find. */
static int find_places(struct impi_spawn *s)
{
    if (access(s->cwd, X_OK) < 0)
        s->cwd[0] = '\0';
    for (uint32_t i = 0; i < s->ncommands; i++)
        if (find_command(&s->commands[i]) < 0)
            return -1;
    return 0;
}

static int file_actions(posix_spawn_file_actions_t *fa, const struct server *s,
                        int error)
{
    int rc = posix_spawn_file_actions_adddup2(fa, error, 2);

    if (rc == 0)
        rc = s->out_fd >= 0 ? posix_spawn_file_actions_adddup2(fa, s->out_fd, 1)
                            : posix_spawn_file_actions_addopen(
                                  fa, 1, "/dev/null", O_WRONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_addopen(fa, 0, "/dev/null", O_RDONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_addclosefrom_np(fa, 3);
    return rc;
}

/* argv and env are freed by the caller. */
static int start_srun(struct spawned *c, char **argv, char **env)
{
    posix_spawn_file_actions_t fa;
    int pair[2], rc;

    if (pipe2(pair, O_CLOEXEC) < 0)
        return errno;
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    posix_spawn_file_actions_init(&fa);
    rc = file_actions(&fa, c->server, pair[1]);
    if (rc == 0)
        rc = child_spawn(&c->pid, c->server->srun, &fa, argv, env);
    posix_spawn_file_actions_destroy(&fa);
    close(pair[1]);
    if (rc != 0)
        close(pair[0]);
    else
        c->error = pair[0];
    return rc;
}

static int start(struct spawned *c, struct impi_spawn *request,
                 struct errbuf *err)
{
    char **argv = NULL, **env = NULL;
    int rc = ENOMEM;

    if (!c->server->srun[0])
        return errprintf(err, "only srun's steps can start others");
    if (find_places(request) < 0)
        return errprintf(err, "no memory");
    argv = impi_spawn_argv(request, c->server->start.job, err);
    if (!argv)
        return -1;
    env = impi_spawn_env(request, environ);
    if (env)
        rc = start_srun(c, argv, env);
    impi_strings_free(argv);
    impi_strings_free(env);
    if (rc != 0)
        return errprintf(err, "%s: %s", c->server->srun, strerror(rc));
    c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    if (c->pidfd < 0)
        return errprintf(err, "pidfd: %s", strerror(errno));
    return 0;
}

static void watch(struct spawned *c)
{
    struct ev_loop *loop = c->server->loop;

    ev_io_init(&c->ended, on_ended, c->pidfd, EV_READ);
    ev_io_init(&c->read, on_read, c->error, EV_READ);
    ev_io_init(&c->write, on_write,
               c->server->err_fd >= 0 ? c->server->err_fd : c->error, EV_WRITE);
    c->ended.data = c->read.data = c->write.data = c;
    ev_io_start(loop, &c->ended);
    ev_io_start(loop, &c->read);
}

void server_spawn_step(struct server *s, uint32_t agent,
                       const struct agent_spawn *m)
{
    struct spawned *c = calloc(1, sizeof(*c));
    struct impi_spawn request;
    struct errbuf err = {""};

    if (impi_spawn_decode(&request, m->blob.data, m->blob.len, &err) < 0 ||
        !c) {
        impi_spawn_free(&request);
        free(c);
        return; /* impid has looked at it */
    }
    c->server = s;
    c->agent = agent;
    c->rank = m->rank;
    c->number = request.number;
    c->pidfd = c->error = -1;
    if (s->nspawned >= SF_IMPI_SPAWNED_MAX)
        errprintf(&err, "%u steps that were spawned are running already",
                  s->nspawned);
    else
        start(c, &request, &err);
    impi_spawn_free(&request);
    LIST_INSERT_HEAD(&s->spawned, c, next);
    s->nspawned++;
    if (*err.text) {
        tell(s, agent, c->rank, c->number, err.text);
        forget(c);
        return;
    }
    log_debug("rank %u has had a step started: process %d", c->rank,
              (int)c->pid);
    watch(c);
}

/* ---- where srun is ---- */

void server_spawn_begin(struct server *s)
{
    char link[64], path[sizeof(s->srun)];
    const char *name;
    ssize_t n;

    LIST_INIT(&s->spawned);
    s->out_fd = s->err_fd = -1;
    snprintf(link, sizeof(link), "/proc/%d/exe", (int)getppid());
    n = readlink(link, path, sizeof(path) - 1);
    if (n <= 0)
        return;
    path[n] = '\0';
    name = strrchr(path, '/');
    if (name && strcmp(name, "/srun") == 0)
        memcpy(s->srun, path, sizeof(path));
    if (s->start.stdio) {
        s->out_fd = SERVER_LINES_FD + (int)s->start.lines;
        s->err_fd = s->out_fd + 1;
    }
}
