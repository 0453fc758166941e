/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mac.h"
#include "base/netaddr.h"
#include "impid/server_proc.h"

/* ---- lines ---------------------------------------------------------------*/

/* Take "key=value " from the front; NULL: another key. */
static char *take(char **pos, const char *key)
{
    size_t len = strlen(key);
    char *value = *pos + len + 1, *blank;

    if (strncmp(*pos, key, len) != 0 || (*pos)[len] != '=')
        return NULL;
    blank = strchr(value, ' ');
    if (blank)
        *blank = '\0';
    *pos = blank ? blank + 1 : value + strlen(value);
    return value;
}

static int32_t take_number(char **pos, const char *key, int32_t otherwise)
{
    const char *value = take(pos, key);

    return value ? (int32_t)strtol(value, NULL, 10) : otherwise;
}

static void parse_abort(struct server_line *out, char *pos)
{
    const char *node;

    out->kind = SERVER_LINE_ABORT;
    out->code = take_number(&pos, "code", 1);
    out->rank = take_number(&pos, "rank", -1);
    node = take(&pos, "node");
    out->node = node ? node : "";
    out->client = take_number(&pos, "client", -1);
    out->lost = take_number(&pos, "lost", 0) != 0;
    out->text = strncmp(pos, "text=", 5) == 0 ? pos + 5 : pos;
}

void server_line_parse(struct server_line *out, char *line)
{
    char *rest = strchr(line, ' ');

    *out =
        (struct server_line){.rank = -1, .client = -1, .node = "", .text = ""};
    if (!rest)
        return;
    *rest++ = '\0';
    if (strcmp(line, "abort") == 0) {
        parse_abort(out, rest);
    } else if (strcmp(line, "ready") == 0) {
        out->kind = SERVER_LINE_READY;
        out->text = rest;
    } else if (strcmp(line, "error") == 0) {
        out->kind = SERVER_LINE_ABORT;
        out->code = 1;
        out->lost = true;
        out->text = rest;
    } else if (strcmp(line, "note") == 0) {
        out->kind = SERVER_LINE_NOTE;
        out->text = rest;
    } else if (strcmp(line, "end") == 0) {
        out->kind = SERVER_LINE_END;
        out->code = take_number(&rest, "code", 0);
    }
}

#define LINES_FIRST 6

/* ---- start ---------------------------------------------------------------*/

/* What the server inherits: 3, 4 and 5 (-1: none), and the lines from 6 on.
 * All are above 9. */
struct inherited {
    int control, listener, presence;
    const struct server_lines *lines;
    bool stdio; /* our output and standard error, behind the lines */
};

static int nlines(const struct inherited *fd)
{
    return fd->lines ? (int)fd->lines->n : 0;
}

/* In the order of their numbers none is overwritten before its turn. */
static int add_lines(posix_spawn_file_actions_t *fa, const struct inherited *fd)
{
    int rc = 0;

    for (int i = 0; i < nlines(fd) && rc == 0; i++)
        rc = posix_spawn_file_actions_adddup2(fa, fd->lines->line[i].fd,
                                              LINES_FIRST + i);
    return rc;
}

static int add_stdio(posix_spawn_file_actions_t *fa, const struct inherited *fd)
{
    int out = LINES_FIRST + nlines(fd);
    int rc = posix_spawn_file_actions_adddup2(fa, STDOUT_FILENO, out);

    return rc ? rc
              : posix_spawn_file_actions_adddup2(fa, STDERR_FILENO, out + 1);
}

/* The first that is not its own. */
static int first_free(const struct inherited *fd)
{
    if (fd->stdio)
        return LINES_FIRST + nlines(fd) + 2;
    return fd->presence >= 0 ? LINES_FIRST + nlines(fd) : 5;
}

/* 2: the log or nothing; all else closed. */
static int file_actions(posix_spawn_file_actions_t *fa,
                        const struct inherited *fd,
                        const struct server_options *o)
{
    char log[4096] = "/dev/null";

    if (o->log && access(o->log, W_OK | X_OK) == 0)
        snprintf(log, sizeof(log), "%s/impi-server.%u.%u", o->log, o->job,
                 o->step);
    return posix_spawn_file_actions_adddup2(fa, fd->control, 3) ||
           posix_spawn_file_actions_adddup2(fa, fd->listener, 4) ||
           (fd->presence >= 0 &&
            posix_spawn_file_actions_adddup2(fa, fd->presence, 5)) ||
           add_lines(fa, fd) || (fd->stdio && add_stdio(fa, fd)) ||
           posix_spawn_file_actions_addopen(fa, 0, "/dev/null", O_RDWR, 0) ||
           posix_spawn_file_actions_addopen(fa, 1, "/dev/null", O_RDWR, 0) ||
           posix_spawn_file_actions_addopen(
               fa, 2, log,
               O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0600) ||
           posix_spawn_file_actions_addclosefrom_np(fa, first_free(fd));
}

static int spawn(const struct inherited *fd, const struct server_options *o)
{
    char *const argv[] = {"impi-server", NULL};
    posix_spawn_file_actions_t fa;
    pid_t pid;
    int rc;

    posix_spawn_file_actions_init(&fa);
    rc = file_actions(&fa, fd, o) ? ENOMEM : 0;
    if (rc == 0)
        rc = child_spawn(&pid, o->path, &fa, argv, o->env ? o->env : environ);
    posix_spawn_file_actions_destroy(&fa);
    errno = rc;
    return rc ? -1 : 0;
}

static int say_start(int fd, const struct server_options *o,
                     const struct inherited *has)
{
    char presence[48] = "", fanout[24] = "", *line;
    ssize_t n, len;

    if (has->presence >= 0)
        snprintf(presence, sizeof(presence), " presence=5 lines=%d",
                 nlines(has));
    if (o->fanout)
        snprintf(fanout, sizeof(fanout), " fanout=%u", o->fanout);
    len =
        asprintf(&line,
                 "start secret=%s job=%u step=%u agents=%u tasks=%u bind=%s "
                 "advertise=%s ports=%u-%u munge=%s world=%u auth=%s "
                 "listener=4%s%s%s%s\n",
                 o->secret, o->job, o->step, o->agents, o->tasks, o->bind,
                 o->advertise, o->port_lo, o->port_hi, o->munge, o->world,
                 o->auth ? o->auth : "", presence, has->stdio ? " stdio=1" : "",
                 o->withhold ? " withhold=1" : "", fanout);

    if (len < 0)
        return -1;
    n = send(fd, line, (size_t)len, MSG_NOSIGNAL);
    explicit_bzero(line, (size_t)len);
    free(line);
    return n == len ? 0 : -1;
}

/* A descriptor that neither 3 nor 4 will overwrite. */
static int out_of_the_way(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 10);

    close(fd);
    return high;
}

/* We listen ourselves: the address is known at once. */
int server_listen(const struct server_options *o,
                  char address[SERVER_ADDRESS_MAX], struct errbuf *err)
{
    struct in6_addr at = IN6ADDR_ANY_INIT;
    struct netaddr told;
    int fd;

    if (strcmp(o->bind, "any") != 0 && netaddr_parse_ip(&at, o->bind) < 0)
        return errprintf(err, "%s is not an address", o->bind);
    if (netaddr_parse_ip(&told.ip, o->advertise) < 0)
        return errprintf(err, "%s is not an address", o->advertise);
    fd = netaddr_listen(&at, o->port_lo, o->port_hi, &told.port);
    if (fd < 0)
        return errprintf(err, "SF-E220: cannot listen at %s, ports %u-%u: %s",
                         o->bind, o->port_lo, o->port_hi, strerror(errno));
    netaddr_print(address, &told);
    return out_of_the_way(fd);
}

int server_spawn(const struct server_options *o, int listener, int presence,
                 const struct server_lines *lines, struct errbuf *err)
{
    struct inherited fd = {
        .listener = listener, .presence = presence, .lines = lines};

    int pair[2], rc = -1;

    fd.stdio = o->stdio && fcntl(STDOUT_FILENO, F_GETFD) >= 0 &&
               fcntl(STDERR_FILENO, F_GETFD) >= 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return errprintf(err, "socketpair: %s", strerror(errno));
    fd.control = out_of_the_way(pair[1]);
    if (fd.control < 0 || spawn(&fd, o) < 0)
        errprintf(err, "%s: %s", o->path, strerror(errno));
    else if (say_start(pair[0], o, &fd) < 0)
        errprintf(err, "impi-server: %s", strerror(errno));
    else
        rc = pair[0];
    if (fd.control >= 0)
        close(fd.control);
    if (rc < 0)
        close(pair[0]);
    return rc;
}

int server_secret(char secret[SERVER_SECRET_SIZE])
{
    uint8_t bytes[(SERVER_SECRET_SIZE - 1) / 2];

    if (mac_random(bytes, sizeof(bytes)) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
    explicit_bzero(bytes, sizeof(bytes));
    return 0;
}

int server_start(const struct server_options *o,
                 char address[SERVER_ADDRESS_MAX], struct errbuf *err)
{
    int listener = server_listen(o, address, err), control;

    if (listener < 0)
        return -1;
    control = server_spawn(o, listener, -1, NULL, err);
    close(listener);
    return control;
}
