/* SPDX-License-Identifier: BSD-3-Clause */
#include "libimpi/foreign.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "libimpi/conns.h"
#include "libimpi/progress.h"
#include "libimpi/state.h"
#include "libimpi/win_wire.h"

static struct couple *couples;
static struct impi_comm *comms; /* with processes of other worlds */
static int64_t children_until;  /* they may take to leave */

/* ---- tables ---- */

static void *grown(void *p, size_t n, size_t size)
{
    p = realloc(p, n * size);
    if (!p)
        be_die(1, "SF-E403: no memory for the processes of another world");
    return p;
}

/* Clients of the other world by new numbers; each has one host. */
static uint32_t add_client(const struct impi_side_proc *p)
{
    struct impi_world *w = &impi_be.world;
    uint32_t n = w->nhosts - w->home_hosts;

    w->foreign_hosts = grown(w->foreign_hosts, n + 1, sizeof(struct impi_host));
    w->foreign_hosts[n] = (struct impi_host){.client = w->nclients};
    memcpy(w->foreign_hosts[n].addr, p->addr, IMPI_HOSTID_SIZE);
    w->nhosts++;
    return w->nclients++;
}

static void add_proc(const struct impi_side_proc *p, uint32_t client,
                     uint32_t host)
{
    struct impi_world *w = &impi_be.world;
    struct impi_proc *to = &w->foreign[w->nprocs - w->home];

    *to = (struct impi_proc){
        .client = client, .host = host, .pid = p->pid, .port = p->port};
    memcpy(to->hostid, p->hostid, sizeof(to->hostid));
    memcpy(to->addr, p->addr, sizeof(to->addr));
    w->nprocs++;
}

static void add_procs(const struct impi_side *side)
{
    struct {
        bool known;
        uint32_t client, host;
    } map[SF_IMPI_CLIENTS_MAX] = {0};
    struct impi_world *w = &impi_be.world;

    if (!w->foreign) {
        w->home = w->nprocs;
        w->home_hosts = w->nhosts;
    }
    w->foreign = grown(w->foreign, (size_t)(w->nprocs - w->home) + side->nprocs,
                       sizeof(struct impi_proc));
    for (uint32_t i = 0; i < side->nprocs; i++) {
        const struct impi_side_proc *p = &side->procs[i];

        if (!map[p->client].known) {
            map[p->client].known = true;
            map[p->client].host = w->nhosts;
            map[p->client].client = add_client(p);
        }
        add_proc(p, map[p->client].client, map[p->client].host);
    }
    if (impi_p2p_grow(impi_be.p2p, w) < 0 || conns_grow() < 0 || win_grow() < 0)
        be_die(1, "SF-E403: no memory for the processes of another world");
}

struct couple *foreign_add(const struct couple *like,
                           const struct impi_side *side)
{
    struct couple *c;

    if (foreign_find(like->number) ||
        side->nprocs >
            SF_IMPI_FOREIGN_MAX - (impi_be.world.nprocs - impi_be.home))
        return NULL;
    c = grown(NULL, 1, sizeof(*c));
    *c = *like;
    c->first = impi_be.world.nprocs;
    c->n = side->nprocs;
    c->comms = 0;
    c->can = grown(NULL, c->n, sizeof(*c->can));
    for (uint32_t i = 0; i < c->n; i++)
        c->can[i] = side->procs[i].can;
    add_procs(side);
    c->next = couples;
    couples = c;
    return c;
}

void foreign_know_group(const struct couple *c, const struct impi_side *group)
{
    for (uint32_t i = 0; i < c->ngroup; i++) {
        const struct impi_side_proc *p = &group->procs[i];
        struct impi_proc *to;

        if ((uint32_t)c->group[i] >= impi_be.home || i == c->own)
            continue;
        to = &impi_be.world.procs[c->group[i]];
        memcpy(to->addr, p->addr, sizeof(to->addr));
        memcpy(to->hostid, p->hostid, sizeof(to->hostid));
        to->pid = p->pid;
        to->port = p->port;
    }
}

struct couple *foreign_beside(uint32_t peer, uint32_t *rank)
{
    for (struct couple *c = couples; c; c = c->next) {
        for (*rank = 0; *rank < c->ngroup; ++*rank)
            if (c->group[*rank] == (int)peer)
                return c;
    }
    return NULL;
}

struct couple *foreign_of(uint32_t peer)
{
    if (peer < impi_be.home)
        return NULL;
    for (struct couple *c = couples; c; c = c->next) {
        if (peer - c->first < c->n)
            return c;
    }
    return NULL;
}

bool foreign_can(uint32_t peer, uint32_t what)
{
    const struct couple *c = foreign_of(peer);

    return c && (c->can[peer - c->first] & what) == what;
}

bool foreign_all_can(const struct impi_comm *c, uint32_t what)
{
    for (int i = 0; i < c->size; i++) {
        uint32_t peer = (uint32_t)c->world[i];

        if (foreign_of(peer) && !foreign_can(peer, what))
            return false;
    }
    return true;
}

struct couple *foreign_find(uint32_t number)
{
    struct couple *c = couples;

    while (c && c->number != number)
        c = c->next;
    return c;
}

/* ---- communicators ---- */

static bool has_some(const struct impi_comm *c, const struct couple *of)
{
    for (int i = 0; i < c->size; i++) {
        if ((uint32_t)c->world[i] - of->first < of->n)
            return true;
    }
    return false;
}

void foreign_hold(struct impi_comm *c)
{
    for (struct couple *i = couples; i; i = i->next)
        i->comms += has_some(c, i);
    c->next_foreign = comms;
    comms = c;
}

/* Its connections end when all is written, and the other side ends them,
 * too. */
static void end_couple(struct couple *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        conns_part(c->first + i);
}

void foreign_release(struct impi_comm *c)
{
    struct impi_comm **at = &comms;

    while (*at != c)
        at = &(*at)->next_foreign;
    *at = c->next_foreign;
    for (struct couple *i = couples; i; i = i->next) {
        if (has_some(c, i) && --i->comms == 0)
            end_couple(i);
    }
}

static bool has_parted(const struct couple *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (!conns_has_parted(c->first + i))
            return false;
    }
    return true;
}

/* A connection that was just being opened is ended when it is open. */
static bool part_all(void)
{
    bool all = true;

    for (struct couple *c = couples; c; c = c->next) {
        if (c->comms > 0)
            continue;
        end_couple(c);
        all = has_parted(c) && all;
    }
    return all;
}

static void forget(struct couple *c)
{
    free(c->group);
    free(c->can);
    explicit_bzero(c, sizeof(*c));
    free(c);
}

static void drop_parted(void)
{
    for (struct couple **at = &couples; *at;) {
        struct couple *c = *at;

        if (c->comms > 0) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        if (c->children)
            children_until = clock_ms() + SF_IMPI_SPAWN_WAIT * 1000;
        forget(c);
    }
}

bool foreign_children_leave(void)
{
    bool leave;

    be_lock();
    leave = clock_ms() < children_until;
    be_unlock();
    return leave;
}

void foreign_part(void)
{
    struct waiter w = {.native = false};

    be_lock();
    while (!part_all())
        progress_wait(&w);
    drop_parted();
    be_unlock();
}

void foreign_end(void)
{
    while (couples) {
        struct couple *c = couples;

        couples = c->next;
        forget(c);
    }
    comms = NULL;
}

/* ---- their end ---- */

/* Has nobody behind the communicator's ranks that can still send? */
static bool all_lost(const struct impi_comm *c)
{
    for (int i = 0; i < c->peers; i++) {
        int peer = c->world[c->peer + i];

        if (peer == impi_be.rank || !foreign_of((uint32_t)peer) ||
            !impi_p2p_peer_error(impi_be.p2p, (uint32_t)peer))
            return false;
    }
    return true;
}

bool foreign_await(const struct impi_comm *c, int source)
{
    int from = source == MPI_ANY_SOURCE ? c->peer : source;
    int end = source == MPI_ANY_SOURCE ? c->peer + c->peers : source + 1;

    if (!c->foreign)
        return true;
    if (source == MPI_ANY_SOURCE && c->abandoned)
        return false;
    for (int i = from; i < end; i++) {
        uint32_t peer = (uint32_t)c->world[i];

        if (!foreign_of(peer) || impi_p2p_peer_error(impi_be.p2p, peer))
            continue;
        conns_connect(NULL, peer);
        return true;
    }
    return source == MPI_ANY_SOURCE || !foreign_of((uint32_t)c->world[source]);
}

/* Most likely its whole world has ended: those that no connection tells of are
 * found out by one. */
static void look_for_others(const struct couple *c)
{
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        if (!impi_p2p_peer_error(impi_be.p2p, i))
            conns_connect(NULL, i);
}

void foreign_lost(uint32_t peer, const char *why)
{
    const struct couple *c = foreign_of(peer);
    struct netaddr at = listens_at(peer);
    char where[NETADDR_TEXT_MAX];

    netaddr_print(where, &at);
    if (strncmp(why, "rank ", 5) == 0 && strstr(why, ": "))
        why = strstr(why, ": ") + 2; /* it has another number there */
    if (c && c->comms > 0)
        be_say("SF-E515: lost rank %u of the other world that was met by a "
               "port (%s): %s",
               peer - c->first, where, why);
    impi_p2p_peer_fail(impi_be.p2p, peer, why);
    win_lost();
    for (struct impi_comm *i = comms; i; i = i->next_foreign) {
        i->abandoned = all_lost(i);
        if (i->abandoned)
            impi_p2p_fail_any(impi_be.p2p, i->cid);
    }
    if (c && c->comms > 0)
        look_for_others(c);
}
