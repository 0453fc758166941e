/* SPDX-License-Identifier: BSD-3-Clause
 * What elan-holder does: set up, loop, end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/fd_pass.h"
#include "base/limits.h"
#include "base/local.h"
#include "elan/program_client.h"
#include "elan/program_expect.h"
#include "elan/program_holder.h"
#include "elan/program_holder_priv.h"
#include "elan/program_read.h"
#include "elan/program_register.h"
#include "elan/program_serve.h"

/* First interval between two looks at the program; doubles up to the last. */
#define LOOK_FIRST_MS 100
#define LOOK_LAST_MS 10000
/* How long to wait for a driver on a busy machine: until it knows the program,
 * it refuses the tasks. */
#define DRIVER_MS 5000

struct holder {
    struct program_held held;
    struct program_expect expect;
    int lifeline, listener;
    struct program_kept *kept;
    int procs; /* until it was handed over */
    int spare; /* base/accept.h */
    int clients[SF_PROGRAM_CLIENTS_MAX];
    int nclients;
    int look_ms, waited_ms;
    struct program_drivers drivers;
    char socket[108];
    uint8_t request[PROGRAM_REQUEST_MAX + 1];
    uint8_t reply[PROGRAM_REPLY_MAX];
};

static void drop_client(struct holder *h, int i)
{
    close(h->clients[i]);
    h->nclients--;
    memmove(&h->clients[i], &h->clients[i + 1],
            (size_t)(h->nclients - i) * sizeof(h->clients[0]));
}

/* Closing a socket with something unread in it resets the connection, which
 * destroys our answer.  So first make sure that nothing more can come, and take
 * what has come. */
static void send_away(int fd)
{
    uint8_t buf[16];
    struct be_writer w;

    shutdown(fd, SHUT_RD);
    while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
        ;
    program_reply_begin(&w, buf, sizeof(buf), EPERM);
    (void)!send(fd, buf, w.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

/* Take one connection.  Strangers are sent away; when all places are taken
 * the oldest client loses its own. */
static void accept_client(struct holder *h)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);
    int fd = accept_or_shed(h->listener, &h->spare);

    if (fd < 0)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
        (cred.uid != 0 && cred.uid != h->held.program.uid)) {
        send_away(fd);
        return;
    }
    program_expect_end(&h->expect); /* a task comes here when it is in */
    if (h->nclients == SF_PROGRAM_CLIENTS_MAX)
        drop_client(h, 0);
    h->clients[h->nclients++] = fd;
}

static void tell_drivers(struct holder *h)
{
    program_drivers_look(&h->drivers, &h->held);
    program_drivers_await(&h->drivers, DRIVER_MS);
}

/* Read one request, answer it.  Returns false when the client is done. */
static bool serve_client(struct holder *h, int fd)
{
    struct program_peer peer;
    struct be_writer w;
    int size = PROGRAM_REPLY_MAX, ncaps = h->held.program.ncaps;
    ssize_t n = recv(fd, h->request, sizeof(h->request), 0);

    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    if (program_peer_find(&peer, fd,
                          program_verb_right(program_request_verb(
                              h->request, (size_t)n)) == PROGRAM_ROOT
                              ? NULL
                              : &h->held.group) < 0)
        return false;
    program_serve(&h->held, &peer, h->request, (size_t)n, &w, h->reply,
                  sizeof(h->reply));
    if (h->held.program.ncaps != ncaps) /* before anybody can use it */
        tell_drivers(h);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    n = send(fd, h->reply, w.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    explicit_bzero(h->request, sizeof(h->request));
    explicit_bzero(h->reply, w.len);
    return n > 0;
}

/* Time has passed with nothing to do. */
static void idle(struct holder *h, int ms)
{
    if (program_drivers_missing(&h->drivers, &h->held))
        program_drivers_look(&h->drivers, &h->held);
    h->waited_ms += ms;
    if (h->waited_ms < h->look_ms)
        return;
    h->waited_ms = 0;
    program_account_look(&h->held.account, &h->held.group,
                         PROGRAM_SKIP(&h->held));
    if (h->look_ms < LOOK_LAST_MS)
        h->look_ms *= 2;
}

#define DRIVERS 2 /* first of them in what is polled */
#define CLIENTS (DRIVERS + SF_PROGRAM_CAPS_MAX)

/* Wait for something; the first CLIENTS of p[] are fixed. */
static void wait_at(struct holder *h, struct pollfd *p)
{
    int ms = h->look_ms - h->waited_ms, move = program_expect_move(&h->expect);

    if (move >= 0 && move < ms)
        ms = move;
    if (program_drivers_missing(&h->drivers, &h->held) &&
        h->drivers.pause_ms < ms)
        ms = h->drivers.pause_ms;
    p[0] = (struct pollfd){.fd = h->lifeline, .events = POLLIN};
    p[1] = (struct pollfd){.fd = h->listener, .events = POLLIN};
    for (int i = 0; i < SF_PROGRAM_CAPS_MAX; i++)
        p[DRIVERS + i] =
            (struct pollfd){.fd = h->drivers.fd[i], .events = POLLIN};
    for (int i = 0; i < h->nclients; i++)
        p[CLIENTS + i] = (struct pollfd){.fd = h->clients[i], .events = POLLIN};
    if (poll(p, CLIENTS + (nfds_t)h->nclients, ms) == 0) {
        if (ms == move)
            h->waited_ms += ms;
        else
            idle(h, ms);
    }
    for (int i = 0; i < SF_PROGRAM_CAPS_MAX; i++)
        if (p[DRIVERS + i].fd >= 0 && p[DRIVERS + i].revents)
            program_drivers_hear(&h->drivers, p[DRIVERS + i].fd);
}

/* Serve until the program was destroyed or the lifeline closed. */
static void loop(struct holder *h)
{
    struct pollfd p[CLIENTS + SF_PROGRAM_CLIENTS_MAX] = {{0}};

    while (!h->held.done) {
        int n = h->nclients;

        wait_at(h, p);
        for (int i = n - 1; i >= 0 && !h->held.done; i--)
            if (p[CLIENTS + i].revents && !serve_client(h, h->clients[i]))
                drop_client(h, i);
        if (p[1].revents)
            accept_client(h);
        if (p[0].revents)
            return;
    }
}

/* The socket listens before it gets its name, so a name that nobody listens at
 * is known to be left over. */
static int listen_at(const char *path)
{
    char own[PATH_MAX];
    int fd, rc = -1, e;

    snprintf(own, sizeof(own), "%.*s/new-%d", (int)(strrchr(path, '/') - path),
             path, (int)getpid());
    unlink(own);
    fd = local_listen_new(own, SOCK_SEQPACKET);
    if (fd < 0)
        return -1;
    if (chmod(own, 0666) == 0)
        rc = link(own, path);
    if (rc < 0 && errno == EEXIST && program_socket_is_stale(path) &&
        unlink(path) == 0)
        rc = link(own, path);
    e = errno;
    unlink(own);
    if (rc < 0)
        close(fd);
    errno = e;
    return rc < 0 ? -1 : fd;
}

/* "number holder start starter start": read by the sweep. */
static int label_group(struct program_held *held, pid_t starter,
                       struct errbuf *err)
{
    struct program_process me, parent;
    char label[128];
    pid_t ppid;

    if (!held->group.own)
        return 0;
    if (program_read_process(getpid(), &me, &ppid) < 0 ||
        program_read_process(starter, &parent, &ppid) < 0)
        return errprintf(err, "the starter is gone");
    snprintf(label, sizeof(label), "%d %d %" PRIu64 " %d %" PRIu64,
             held->program.number, (int)me.pid, me.start, (int)parent.pid,
             parent.start);
    return program_cgroup_set_label(&held->group, label, err);
}

static int copy_of(int fd)
{
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static int make_group(struct holder *h, const struct program_spec *spec,
                      pid_t starter, struct errbuf *err)
{
    struct program_process root;
    char name[64];
    pid_t ppid;

    if (spec->descent && program_read_process(starter, &root, &ppid) == 0)
        return program_cgroup_descend(&h->held.group, &root, err);
    if (spec->descent)
        return errprintf(err, "the starter is gone");
    snprintf(name, sizeof(name), PROGRAM_GROUP_PREFIX "%d.%d", spec->number,
             (int)starter);
    return program_cgroup_make(&h->held.group, copy_of(h->kept->tree), name,
                               starter, err);
}

/* Group, label, socket.  An errno or 0. */
static int set_up(struct holder *h, const struct program_spec *spec,
                  pid_t starter, struct errbuf *err)
{
    program_init(&h->held.program, spec->number, spec->uid);
    program_agent_init(&h->held.agent, starter, spec->agent);
    h->listener = listen_at(h->socket);
    if (h->listener < 0) {
        int e = errno;

        errprintf(err, "%s: %s", h->socket, strerror(e));
        return e;
    }
    if (make_group(h, spec, starter, err) < 0 ||
        label_group(&h->held, starter, err) < 0) {
        int e = errno ? errno : EIO;

        program_cgroup_remove(&h->held.group, NULL);
        unlink(h->socket);
        return e;
    }
    return 0;
}

/* What the starter gives, which it may do at its leisure.  An errno or 0. */
static int take_caps(struct holder *h, int ncaps, struct errbuf *err)
{
    struct elan_capability cap;
    struct program_request q = {.cap = &cap};
    int error = 0;

    for (int i = 0; i < ncaps && error == 0; i++) {
        ssize_t n = recv(h->lifeline, h->request, sizeof(h->request), 0);

        if (n <= 0)
            error = ECHILD;
        else if (program_request_get(&q, h->request, (size_t)n) < 0 ||
                 q.verb != PROGRAM_ADDCAP)
            error = EPROTO;
        else
            error = program_add_cap(&h->held.program, q.a, &cap);
        if (error != 0)
            errprintf(err, "capability %d: %s", i, strerror(error));
    }
    explicit_bzero(h->request, sizeof(h->request));
    explicit_bzero(&cap, sizeof(cap));
    if (error == 0 && ncaps > 0)
        tell_drivers(h);
    return error;
}

/* Where tasks enter.  An errno or 0. */
static int open_entry(struct holder *h, struct errbuf *err)
{
    if (!h->held.group.own && !h->held.group.descent)
        return 0;
    h->procs = program_cgroup_open_procs(&h->held.group, err);
    return h->procs < 0 ? errno : 0;
}

/* The program is there, with its capabilities.  An errno or 0. */
static int create(struct holder *h, const struct program_spec *spec,
                  pid_t starter, struct errbuf *err)
{
    int error = set_up(h, spec, starter, err);

    if (error != 0)
        return error;
    error = take_caps(h, spec->ncaps, err);
    if (error == 0)
        error = open_entry(h, err);
    if (error != 0) {
        program_cgroup_remove(&h->held.group, NULL);
        unlink(h->socket);
    }
    return error;
}

/* One line back to the starter: errno, arrangement, path or text. */
static void report(int lifeline, int error, bool own, const char *text,
                   const int *fds, size_t nfds)
{
    char line[PROGRAM_REPORT_MAX];
    int n = snprintf(line, sizeof(line), "%d %d %s", error, own, text);

    (void)!fd_pass_send(lifeline, line, (size_t)n, fds, nfds, 0);
}

/* With the group's descriptors: only root can open them, which the starter
 * may not be when it reads this. */
static void report_created(struct holder *h)
{
    const struct program_cgroup *g = &h->held.group;
    const int fds[PROGRAM_REPORT_FDS] = {
        g->descent ? h->procs : g->tree, /* there is nothing to be sent */
        g->descent ? h->procs : g->dir, h->procs};

    report(h->lifeline, 0, g->own, g->path, fds, h->procs < 0 ? 2 : 3);
    if (h->procs >= 0)
        close(h->procs);
    h->procs = -1;
}

void program_holder_refuse(int lifeline, int error, const struct errbuf *err)
{
    report(lifeline, error, false, err->text, NULL, 0);
}

/* Nothing stays for the next program. */
static void clear(struct holder *h)
{
    while (h->nclients > 0)
        drop_client(h, h->nclients - 1);
    program_drivers_close(&h->drivers);
    program_expect_end(&h->expect);
    accept_spare_close(&h->spare);
    if (h->listener >= 0)
        close(h->listener);
    if (h->procs >= 0)
        close(h->procs);
    program_cgroup_close(&h->held.group);
    program_account_free(&h->held.account);
    program_clear(&h->held.program);
    free(h);
}

static struct holder *new_holder(int lifeline, struct program_kept *kept,
                                 const struct program_spec *spec)
{
    struct holder *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->lifeline = lifeline;
    h->kept = kept;
    h->listener = h->procs = -1;
    h->look_ms = LOOK_FIRST_MS;
    h->held.group = PROGRAM_CGROUP_NONE;
    program_expect_init(&h->expect);
    program_drivers_init(&h->drivers, spec->rundir);
    return h;
}

static void expect_tasks(struct holder *h)
{
    program_expect_begin(&h->expect, &h->held.group);
    if (h->kept->way >= 0)
        close(h->kept->way);
    h->kept->way = copy_of(h->expect.procs);
}

static void live(struct holder *h)
{
    expect_tasks(h);
    report_created(h);
    loop(h);
    program_drivers_close(&h->drivers);
    if (!h->held.done) {
        program_held_empty(&h->held);
        if (program_cgroup_remove(&h->held.group, NULL) < 0)
            return; /* by the socket that is left the next sweep sees it */
    }
    unlink(h->socket);
}

bool program_holder_run(int lifeline, const struct program_spec *spec,
                        pid_t starter, struct program_kept *kept)
{
    struct holder *h = new_holder(lifeline, kept, spec);
    struct errbuf err = {""};
    int error = ENOMEM;
    bool orderly;

    if (!h)
        return false;
    if (program_socket_path(h->socket, sizeof(h->socket), spec->rundir,
                            spec->number) == 0)
        error = create(h, spec, starter, &err);
    else
        errprintf(&err, "%s: path too long", spec->rundir);
    if (kept->tree < 0) { /* the first time */
        program_cgroup_leave_job();
        kept->tree = copy_of(h->held.group.tree);
    }
    if (error == 0)
        live(h);
    else
        program_holder_refuse(lifeline, error, &err);
    orderly = h->held.done;
    clear(h);
    return orderly;
}
