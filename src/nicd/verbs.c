/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "nicd/verbs.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd_pass.h"
#include "base/log.h"

#define AT_A_TIME 64   /* events, of a device */
#define WAIT_MOST 512  /* lists, until one that refused is tried again */
#define SLOW_LISTS 2   /* it opens for so long: that is said */
#define STEADY_LISTS 6 /* it was listened to for so long: all is well */
#define DESCRIPTORS 2  /* of a context: the device's, and that of events */
#define WHY_SIZE 256   /* why a device does not open */
#define EVENT_BYTES 16 /* __u64 element, __u32 event_type, __u32 reserved */

enum state { OPENING, LISTENED_TO, CLOSED };

struct known {
    struct verbs *of;
    struct sysfs_rdma is;
    enum state state;
    bool there, told; /* among those listed now; said that it does not open */
    unsigned lists;   /* in this state */
    unsigned wait;    /* lists, when it is CLOSED */
    int device;       /* the descriptor that keeps the context */
    ev_io io;         /* of the answer, then of events */
};

struct verbs {
    struct verbs_options o;
    struct known known[SF_NIC_PORTS_MAX];
    size_t n;
};

/* ---- what the kernel writes ---------------------------------------------- */

/* enum ib_event_type: those of a device and of ports. */
static const struct {
    uint32_t type;
    bool port; /* element is its number */
    const char *what;
} words[] = {
    {8, false, "fatal error"},    {9, true, "active"},
    {10, true, "error"},          {11, true, "new LID"},
    {12, true, "new keys"},       {13, true, "new subnet manager"},
    {17, true, "registers anew"}, {18, true, "new GID"},
};

bool verbs_event_text(char text[VERBS_EVENT_TEXT], const void *events,
                      size_t len)
{
    const unsigned char *at = events;
    bool any = false;

    for (; len >= EVENT_BYTES; at += EVENT_BYTES, len -= EVENT_BYTES) {
        uint64_t element;
        uint32_t type;

        memcpy(&element, at, sizeof(element));
        memcpy(&type, at + sizeof(element), sizeof(type));
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            if (words[i].type != type)
                continue;
            any = true;
            if (words[i].port)
                snprintf(text, VERBS_EVENT_TEXT, "port %u: %s",
                         (unsigned)element, words[i].what);
            else
                snprintf(text, VERBS_EVENT_TEXT, "%s", words[i].what);
        }
    }
    return any;
}

/* ---- open and close ------------------------------------------------------ */

int verbs_open_by_program(const char *device, void *arg)
{
    char program[] = SF_LIBEXECDIR "/nicd-verbs", name[SF_NIC_NAME_MAX];
    char *argv[] = {program, name, NULL}, *env[] = {NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t usual;
    pid_t pid;
    int pair[2], rc;

    (void)arg;
    snprintf(name, sizeof(name), "%s", device);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   pair) < 0)
        return -1;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGCHLD);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attr, &usual);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, pair[1], STDIN_FILENO);
    rc = posix_spawn(&pid, program, &files, &attr, argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    close(pair[1]);
    if (rc == 0)
        return pair[0];
    close(pair[0]);
    errno = rc;
    return -1;
}

static void close_known(struct known *k)
{
    if (k->state == CLOSED)
        return;
    ev_io_stop(k->of->o.loop, &k->io);
    close(k->io.fd);
    if (k->device >= 0)
        close(k->device);
    k->device = -1;
    k->state = CLOSED;
    k->lists = 0;
}

static void say(struct known *k, const char *why)
{
    if (!k->told)
        log_info("events of %s are not heard, it is looked at as often as "
                 "ever: %s",
                 k->is.device, why);
    k->told = true;
}

static void try_later(struct known *k)
{
    close_known(k);
    if (k->wait < WAIT_MOST)
        k->wait = k->wait ? 2 * k->wait : 1;
}

static void refused(struct known *k, const char *why)
{
    try_later(k);
    say(k, why);
}

static void on_events(struct ev_loop *loop, ev_io *io, int revents)
{
    struct known *k = io->data;
    struct verbs *v = k->of;
    char events[AT_A_TIME * EVENT_BYTES], text[VERBS_EVENT_TEXT];
    bool any = false;
    ssize_t n = 1;

    (void)revents;
    for (int i = 0; i < AT_A_TIME && n > 0; i++) {
        n = read(io->fd, events, sizeof(events)); /* of the kernel: one */
        any |= n > 0 && verbs_event_text(text, events, (size_t)n);
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        snprintf(text, sizeof(text), "its driver is removing it");
        any = true;
        try_later(k);
    } else {
        ev_io_stop(loop, io);
    }
    if (any)
        v->o.event(k->is.device, text, v->o.arg);
    else if (k->state == LISTENED_TO)
        ev_io_start(loop, io);
}

static void listen_to(struct known *k, const int fds[DESCRIPTORS])
{
    ev_io_stop(k->of->o.loop, &k->io);
    close(k->io.fd);
    k->device = fds[0];
    k->state = LISTENED_TO;
    k->lists = 0;
    ev_io_init(&k->io, on_events, fds[1], EV_READ);
    ev_io_start(k->of->o.loop, &k->io);
    k->told = false;
    log_info("events of %s are heard", k->is.device);
}

static void on_answer(struct ev_loop *loop, ev_io *io, int revents)
{
    struct known *k = io->data;
    char why[WHY_SIZE];
    int fds[DESCRIPTORS];
    ssize_t n = fd_pass_receive(io->fd, why, sizeof(why) - 1, fds, DESCRIPTORS,
                                NULL, 0);

    (void)loop;
    (void)revents;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (fds[DESCRIPTORS - 1] >= 0) {
        listen_to(k, fds);
        return;
    }
    for (size_t i = 0; i < DESCRIPTORS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    why[n > 0 ? n : 0] = '\0';
    for (char *c = why; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
            *c = '?';
    refused(k, why[0] ? why : "nicd-verbs ended without an answer");
}

static void open_known(struct known *k)
{
    struct verbs *v = k->of;
    int fd = v->o.open(k->is.device, v->o.arg);

    k->lists = 0;
    if (fd < 0) {
        char why[WHY_SIZE];

        snprintf(why, sizeof(why), "%s: %s", SF_LIBEXECDIR "/nicd-verbs",
                 strerror(errno));
        refused(k, why);
        return;
    }
    k->state = OPENING;
    ev_io_init(&k->io, on_answer, fd, EV_READ);
    k->io.data = k;
    ev_io_start(v->o.loop, &k->io);
}

/* ---- the devices --------------------------------------------------------- */

static bool same(const struct sysfs_rdma *a, const struct sysfs_rdma *b)
{
    return strcmp(a->device, b->device) == 0 && strcmp(a->verbs, b->verbs) == 0;
}

static struct known *find(struct verbs *v, const struct sysfs_rdma *is)
{
    for (size_t i = 0; i < SF_NIC_PORTS_MAX; i++)
        if (v->known[i].of && same(&v->known[i].is, is))
            return &v->known[i];
    return NULL;
}

static struct known *add(struct verbs *v, const struct sysfs_rdma *is)
{
    for (size_t i = 0; i < SF_NIC_PORTS_MAX; i++) {
        struct known *k = &v->known[i];

        if (k->of)
            continue;
        *k = (struct known){.of = v, .is = *is, .state = CLOSED, .device = -1};
        return k;
    }
    return NULL;
}

static void goes_on(struct known *k)
{
    k->lists++;
    if (k->state == CLOSED && k->lists >= k->wait)
        open_known(k);
    else if (k->state == LISTENED_TO && k->lists >= STEADY_LISTS)
        k->wait = 0;
    else if (k->state == OPENING && k->lists == SLOW_LISTS)
        say(k, "it has not been opened yet");
}

void verbs_devices(struct verbs *v, const struct sysfs_rdma *rdma, size_t n)
{
    for (size_t i = 0; i < SF_NIC_PORTS_MAX; i++)
        v->known[i].there = false;
    for (size_t i = 0; i < n; i++) {
        struct known *k = find(v, &rdma[i]);

        if (k)
            k->there = true;
    }
    for (size_t i = 0; i < SF_NIC_PORTS_MAX; i++) {
        struct known *k = &v->known[i];

        if (!k->of || k->there)
            continue;
        close_known(k);
        k->of = NULL;
    }
    for (size_t i = 0; i < n; i++) {
        struct known *k = find(v, &rdma[i]);

        if (!k)
            k = add(v, &rdma[i]);
        if (k)
            goes_on(k);
    }
}

void verbs_listen(struct verbs *v)
{
    for (size_t i = 0; i < SF_NIC_PORTS_MAX; i++)
        if (v->known[i].of && v->known[i].state != CLOSED)
            ev_io_start(v->o.loop, &v->known[i].io);
}

struct verbs *verbs_new(const struct verbs_options *options)
{
    struct verbs *v = calloc(1, sizeof(*v));

    if (v)
        v->o = *options;
    return v;
}

void verbs_free(struct verbs *v)
{
    if (!v)
        return;
    verbs_devices(v, NULL, 0);
    free(v);
}
