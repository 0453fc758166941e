/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The relay of one client on this node.  The engine (impi/relay.h) decides,
 * this moves: packets of processes to hosts, of hosts to processes.
 */
#define _GNU_SOURCE
#include "impid/impid_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

static struct impid *agent(const struct impid_relay *r)
{
    return r->client->round->impid;
}

void impid_relay_fail(struct impid_relay *r, const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    if (r->failed)
        return;
    r->failed = true;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    impid_fail(agent(r), 322, 1, NULL, "%s", text);
}

/* ---- packets ---- */

static void broken(struct impid_port *p, const char *why)
{
    if (p->is_host)
        impid_relay_fail(p->relay, "host %u (client %u) broke the protocol: %s",
                         p->index, p->relay->world.hosts[p->index].client, why);
    else
        impid_relay_fail(p->relay, "process %u: %s", p->index, why);
    impid_port_close(p);
}

int impid_relay_packet(struct impid_port *p, const struct impi_packet *pk,
                       const uint8_t *data, size_t len)
{
    struct impid_relay *r = p->relay;
    struct errbuf err = {""};
    int64_t to = p->is_host
                     ? impi_relay_from_host(r->engine, p->index, pk, &err)
                     : impi_relay_from_proc(r->engine, p->index, pk, &err);
    struct impid_port *port;

    if (to == IMPI_RELAY_TAKEN)
        return 0;
    if (to < 0) {
        broken(p, err.text);
        return -1;
    }
    port = p->is_host ? &r->procs[to] : &r->hosts[to];
    if (p->is_host && port->fd < 0)
        return 0; /* the process has left: an acknowledgement too late */
    if (impid_port_send(port, data, len, impi_relay_is_urgent(pk)) == 0)
        return 0;
    impid_relay_fail(r, "packets for %s %lld pile up: %s",
                     p->is_host ? "process" : "host", (long long)to,
                     strerror(errno));
    impid_port_close(p);
    return -1;
}

void impid_relay_gone(struct impid_port *p, int error)
{
    struct impid_relay *r = p->relay;
    bool done = p->is_host ? impi_relay_host_done(r->engine, p->index) : true;

    impid_port_close(p);
    /* What became of a process shows elsewhere. */
    if (!done && !agent(r)->stopping)
        impid_relay_fail(r, "lost host %u (client %u): %s", p->index,
                         r->world.hosts[p->index].client,
                         error ? strerror(error) : "closed without FINI");
}

/* ---- when much waits ---- */

static void pause_procs(struct impid_relay *r, bool pause)
{
    r->paused = pause;
    for (uint32_t i = 0; i < impi_relay_nprocs(r->engine); i++)
        impid_port_pause(&r->procs[i], pause);
}

static bool all_below(const struct impid_relay *r, size_t mark)
{
    for (uint32_t h = 0; h < r->world.nhosts; h++)
        if (r->hosts[h].out.bytes > mark)
            return false;
    return true;
}

/* A host of others may wait for us to go on: there flow control has to do. */
void impid_relay_balance(struct impid_port *p)
{
    struct impid_relay *r = p->relay;

    if (!r->proved)
        return;
    if (!r->paused && p->out.bytes > RELAY_PAUSE)
        pause_procs(r, true);
    else if (r->paused && p->out.bytes <= RELAY_RESUME &&
             all_below(r, RELAY_RESUME))
        pause_procs(r, false);
}

/* ---- the end ---- */

static void send_fini(struct impid_port *ports, uint32_t n,
                      const struct impid_relay *r)
{
    uint8_t data[IMPI_PACKET_SIZE];
    struct impi_packet pk = {.type = IMPI_PK_FINI};

    impi_packet_encode(data, &pk);
    for (uint32_t i = 0; i < n; i++)
        if (ports[i].is_host ? impi_relay_wants(r->engine, i)
                             : ports[i].fd >= 0)
            impid_port_send(&ports[i], data, sizeof(data), false);
}

static bool hosts_flushed(const struct impid_relay *r)
{
    for (uint32_t h = 0; h < r->world.nhosts; h++)
        if (r->hosts[h].out.bytes > 0)
            return false;
    return true;
}

/* FINIs that have fallen due.  Processes get theirs last of all, so nothing of
 * theirs is lost when they end. */
static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
    struct impid_relay *r = w->data;

    if (!r->told_hosts && impi_relay_procs_done(r->engine)) {
        r->told_hosts = true;
        send_fini(r->hosts, r->world.nhosts, r);
    }
    if (r->told_hosts && !r->told_procs && impi_relay_hosts_done(r->engine) &&
        hosts_flushed(r)) {
        r->told_procs = true;
        send_fini(r->procs, impi_relay_nprocs(r->engine), r);
    }
}

/* ---- life ---- */

int impid_relay_listen(struct impid_client *c, uint16_t *port,
                       struct errbuf *err)
{
    struct impid_relay *r = calloc(1, sizeof(*r));

    if (!r)
        return errprintf(err, "%s", strerror(errno));
    r->client = c;
    r->listener = -1;
    r->proved = agent(r)->conf.foreign.port == 0;
    c->relay = r;
    if (r->proved)
        log_info("more processes of other clients than connections (%u): "
                 "hosts pass packets on",
                 agent(r)->conf.direct_max);
    if (impid_dance_listen(r, err) < 0)
        return -1;
    *port = r->port;
    return 0;
}

/* The place of this node among all hosts of the world. */
static int find_host(struct impid_relay *r, struct errbuf *err)
{
    const struct impi_world *w = &r->world;
    uint32_t client = impid_client_number(r->client);

    for (uint32_t h = 0; h < w->nhosts; h++)
        if (w->hosts[h].client == client) {
            r->host = h + r->client->host;
            return r->host < w->nhosts ? 0 : -1;
        }
    return errprintf(err, "client %u is not in the joined world", client);
}

static int make_ports(struct impid_relay *r)
{
    uint32_t nprocs = impi_relay_nprocs(r->engine);

    r->hosts = calloc(r->world.nhosts, sizeof(*r->hosts));
    r->procs = calloc(nprocs, sizeof(*r->procs));
    if (!r->hosts || !r->procs)
        return -1;
    for (uint32_t h = 0; h < r->world.nhosts; h++)
        impid_port_init(&r->hosts[h], r, true, h);
    for (uint32_t i = 0; i < nprocs; i++)
        impid_port_init(&r->procs[i], r, false, i);
    return 0;
}

static int set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static int open_procs(struct impid_relay *r, int *fds)
{
    int pair[2];

    for (uint32_t i = 0; i < r->client->nlocal; i++) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
            return -1;
        fds[i] = pair[1];
        if (set_nonblocking(pair[0]) < 0) {
            close(pair[0]);
            return -1;
        }
        impid_port_open(&r->procs[i], pair[0]);
    }
    return 0;
}

/* A host that takes no calls stands for processes that do. */
static bool is_direct(const struct impi_world *w)
{
    for (uint32_t h = 0; h < w->nhosts; h++)
        if ((w->flags & IMPI_WORLD_EXTENDED) && w->hosts[h].port == 0)
            return true;
    return false;
}

int impid_relay_start(struct impid_client *c, const void *world, size_t len,
                      int *fds, struct errbuf *err)
{
    struct impid_relay *r = c->relay;

    if (impi_world_decode(&r->world, world, len, err) < 0)
        return -1;
    if (is_direct(&r->world)) {
        impid_relay_free(c);
        return 1;
    }
    if (find_host(r, err) < 0)
        return -1;
    r->engine = impi_relay_create(&r->world, r->host);
    if (!r->engine || impi_relay_nprocs(r->engine) != c->nlocal ||
        make_ports(r) < 0 || open_procs(r, fds) < 0)
        return errprintf(err, "%s", strerror(errno));
    ev_prepare_init(&r->flush, on_prepare);
    r->flush.data = r;
    ev_prepare_start(agent(r)->loop, &r->flush);
    return impid_dance_start(r, err);
}

bool impid_relay_active(const struct impid_client *c)
{
    return c->relay && c->relay->engine && !hosts_flushed(c->relay);
}

void impid_relay_free(struct impid_client *c)
{
    struct impid_relay *r = c->relay;

    if (!r)
        return;
    c->relay = NULL;
    impid_dance_stop(r);
    ev_prepare_stop(agent(r)->loop, &r->flush);
    for (uint32_t h = 0; r->hosts && h < r->world.nhosts; h++)
        impid_port_close(&r->hosts[h]);
    for (uint32_t i = 0; r->procs && i < impi_relay_nprocs(r->engine); i++)
        impid_port_close(&r->procs[i]);
    free(r->hosts);
    free(r->procs);
    impi_relay_destroy(r->engine);
    impi_world_free(&r->world);
    free(r);
}
