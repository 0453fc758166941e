/* SPDX-License-Identifier: BSD-3-Clause
 * Programs that their holders register.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "hsnd/hsnd.h"

static bool is_root(int fd)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
           cred.uid == 0;
}

void program_end(struct client_program *p)
{
    struct hsnd *d = p->d;
    struct client_program **at = &d->programs;

    for (struct port *port = d->ports; port; port = port->next)
        if (port->program == p) {
            port_end(port);
            port->program = NULL;
        }
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    log_debug("program %d is over", p->known->number);
    pages_program_ends(p);
    ev_io_stop(d->loop, &p->io);
    close(p->fd);
    program_cgroup_close(&p->group);
    hsn_program_remove(&d->contexts, p->known);
    free(p);
}

/* The holder has nothing more to say: it is gone, or withdraws. */
static void on_holder(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    program_end(io->data);
}

static struct client_program *find(struct hsnd *d, int number)
{
    for (struct client_program *p = d->programs; p; p = p->next)
        if (p->known->number == number)
            return p;
    return NULL;
}

/* Is the group what the holder says?  An errno or 0. */
static int open_group(struct program_cgroup *g,
                      const struct program_registration *r)
{
    struct errbuf err;

    *g = PROGRAM_CGROUP_NONE;
    if (program_cgroup_reopen(g, r->path, r->own, &err) < 0) {
        log_warn("SF-E812 program %u: %s", r->number, err.text);
        return ENOENT;
    }
    if ((uint64_t)g->dev == r->dev && (uint64_t)g->ino == r->ino)
        return 0;
    log_warn("SF-E812 program %u: %s is another group here", r->number,
             r->path);
    program_cgroup_close(g);
    return ESTALE;
}

static int enter(struct hsnd *d, const struct program_registration *r,
                 struct client_program **entered)
{
    struct client_program *old = find(d, (int)r->number), *p;
    int error;

    if (r->cap.RailMask != 1u << d->conf.rail)
        return EXDEV;
    if (old) /* its holder came back before we saw it leave */
        program_end(old);
    p = calloc(1, sizeof(*p));
    if (!p)
        return ENOMEM;
    p->d = d;
    error = open_group(&p->group, r);
    if (error == 0) {
        p->known =
            hsn_program_add(&d->contexts, (int)r->number, r->uid, &r->cap);
        if (!p->known) {
            error = errno;
            program_cgroup_close(&p->group);
        }
    }
    if (error) {
        free(p);
        return error;
    }
    p->known->owner = p;
    p->next = d->programs;
    d->programs = p;
    *entered = p;
    return 0;
}

bool program_register(struct conn *c, const void *buf, size_t len)
{
    struct hsnd *d = c->d;
    struct program_registration *r = malloc(sizeof(*r));
    struct client_program *p = NULL;
    uint8_t answer[8];
    int error = r ? EPROTO : ENOMEM;

    if (!is_root(c->fd))
        error = EPERM;
    else if (r && program_register_get(r, buf, len) == 0)
        error = enter(d, r, &p);
    if (r)
        explicit_bzero(r, sizeof(*r));
    free(r);
    be_store32(answer, PROGRAM_REGISTER_MAGIC);
    be_store32(answer + 4, (uint32_t)error);
    (void)!send(c->fd, answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (!p)
        return false;
    log_debug("program %d of uid %u is registered", p->known->number,
              (unsigned)p->known->uid);
    p->fd = c->fd;
    ev_io_init(&p->io, on_holder, p->fd, EV_READ);
    p->io.data = p;
    ev_io_start(d->loop, &p->io);
    return true;
}
