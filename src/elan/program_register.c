/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/sitedir.h"
#include "elan/capability.h"
#include "elan/program_register.h"

/* Between two looks for a driver that is not there. */
#define PAUSE_FIRST_MS 100
#define PAUSE_LAST_MS 5000

size_t program_register_put(void *buf, const struct program_registration *r)
{
    struct be_writer w;

    be_writer_init(&w, buf, PROGRAM_REGISTER_MAX);
    be_put32(&w, PROGRAM_REGISTER_MAGIC);
    be_put32(&w, r->number);
    be_put32(&w, r->uid);
    be_put8(&w, r->own);
    be_put_str(&w, r->path);
    be_put64(&w, r->dev);
    be_put64(&w, r->ino);
    elan_capability_put(&w, &r->cap);
    return w.bad ? 0 : w.len;
}

int program_register_get(struct program_registration *r, const void *buf,
                         size_t len)
{
    struct be_reader in;

    be_reader_init(&in, buf, len);
    if (be_get32(&in) != PROGRAM_REGISTER_MAGIC)
        return -1;
    r->number = be_get32(&in);
    r->uid = be_get32(&in);
    r->own = be_get8(&in);
    be_get_str(&in, r->path, sizeof(r->path));
    r->dev = be_get64(&in);
    r->ino = be_get64(&in);
    if (in.bad || r->number == 0 || r->number > INT32_MAX || r->own > 1 ||
        elan_capability_get(&in, &r->cap, NULL) < 0)
        return -1;
    return be_reader_done(&in) ? 0 : -1;
}

void program_drivers_init(struct program_drivers *d, const char *rundir)
{
    for (int i = 0; i < SF_PROGRAM_CAPS_MAX; i++)
        d->fd[i] = -1;
    d->pause_ms = PAUSE_FIRST_MS;
    snprintf(d->rundir, sizeof(d->rundir), "%s", rundir);
}

static void drop(struct program_drivers *d, int i)
{
    close(d->fd[i]);
    d->fd[i] = -1;
    d->asked[i] = false;
}

void program_drivers_close(struct program_drivers *d)
{
    for (int i = 0; i < SF_PROGRAM_CAPS_MAX; i++)
        if (d->fd[i] >= 0)
            drop(d, i);
}

/* Is it a yes? */
static bool take_answer(int fd)
{
    uint8_t answer[8];

    return recv(fd, answer, sizeof(answer), MSG_DONTWAIT) ==
               (ssize_t)sizeof(answer) &&
           be_load32(answer) == PROGRAM_REGISTER_MAGIC &&
           be_load32(answer + 4) == 0;
}

void program_drivers_hear(struct program_drivers *d, int fd)
{
    for (int i = 0; i < SF_PROGRAM_CAPS_MAX; i++) {
        if (d->fd[i] != fd)
            continue;
        if (d->asked[i] && take_answer(fd)) {
            d->asked[i] = false;
            return;
        }
        if (!d->asked[i]) /* it was there, and may soon be again */
            d->pause_ms = PAUSE_FIRST_MS;
        drop(d, i);
        return;
    }
}

static int connect_to(const char *dir, int rail)
{
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    int n = snprintf(path, sizeof(path), "%s/hsnd-%d", dir, rail);

    if (n < 0 || (size_t)n >= sizeof(path))
        return -1;
    return local_connect(path, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
}

/* hsnd's socket is beside the node's directory, or in it.  (A holder sees
 * nothing of slurmd's environment, so it goes by where it was told to be.) */
static int connect_hsnd(const char *rundir, int rail)
{
    const char *slash = strrchr(rundir, '/');
    char above[sizeof(((struct sockaddr_un *)0)->sun_path)];
    int fd = connect_to(rundir, rail);

    if (fd < 0 && slash && slash > rundir &&
        (size_t)(slash - rundir) < sizeof(above)) {
        snprintf(above, sizeof(above), "%.*s", (int)(slash - rundir), rundir);
        fd = connect_to(above, rail);
    }
    return fd >= 0 ? fd : connect_to(SITEDIR_RUN(""), rail);
}

/* A connection on which it was said, or -1. */
static int register_one(const struct program_drivers *d,
                        const struct program_held *held,
                        const struct elan_capability *cap)
{
    int rail = __builtin_ctz(cap->RailMask ? cap->RailMask : 1);
    struct program_registration *r = calloc(1, sizeof(*r));
    uint8_t *buf = malloc(PROGRAM_REGISTER_MAX);
    int fd = connect_hsnd(d->rundir, rail);
    bool said = false;
    size_t len;

    if (fd >= 0 && r && buf) {
        r->number = (uint32_t)held->program.number;
        r->uid = held->program.uid;
        r->own = held->group.own;
        snprintf(r->path, sizeof(r->path), "%s", held->group.path);
        r->dev = held->group.dev;
        r->ino = held->group.ino;
        r->cap = *cap;
        len = program_register_put(buf, r);
        said = len > 0 && send(fd, buf, len, MSG_NOSIGNAL) > 0;
        explicit_bzero(buf, PROGRAM_REGISTER_MAX);
        explicit_bzero(r, sizeof(*r));
    }
    free(buf);
    free(r);
    if (fd >= 0 && !said) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void program_drivers_look(struct program_drivers *d,
                          const struct program_held *held)
{
    for (int i = 0; i < held->program.ncaps; i++)
        if (d->fd[i] < 0 && held->program.caps[i]) {
            d->fd[i] = register_one(d, held, held->program.caps[i]);
            d->asked[i] = d->fd[i] >= 0;
        }
    if (d->pause_ms < PAUSE_LAST_MS)
        d->pause_ms *= 2;
}

/* Those that have not answered yet. */
static nfds_t poll_asked(const struct program_drivers *d, struct pollfd *p)
{
    nfds_t n = 0;

    for (int i = 0; i < SF_PROGRAM_CAPS_MAX; i++)
        if (d->asked[i])
            p[n++] = (struct pollfd){.fd = d->fd[i], .events = POLLIN};
    return n;
}

void program_drivers_await(struct program_drivers *d, int ms)
{
    struct pollfd p[SF_PROGRAM_CAPS_MAX];
    int64_t end = clock_ms() + ms, left;
    nfds_t n;

    while ((n = poll_asked(d, p)) > 0 && (left = end - clock_ms()) > 0) {
        if (poll(p, n, (int)left) <= 0)
            continue;
        for (nfds_t i = 0; i < n; i++)
            if (p[i].revents)
                program_drivers_hear(d, p[i].fd);
    }
}

int program_drivers_missing(const struct program_drivers *d,
                            const struct program_held *held)
{
    for (int i = 0; i < held->program.ncaps; i++)
        if (d->fd[i] < 0 && held->program.caps[i])
            return 1;
    return 0;
}
