/* SPDX-License-Identifier: BSD-3-Clause
 * From native worlds to the one world.  When all local processes of a client
 * listen, their records go to the client's first host, the speaker, which
 * joins the clients (impid_speaker.c) and spreads the world.
 *
 * Key "join.G.C", by host: u16 port for other hosts, or 0; then per process
 * u32 rank, u32 pid, 16 bytes address, u16 port, u16 processors.  Key
 * "world.G.C": the world from the speaker, nothing from others. Key "fini.G.C":
 * all local processes of a host have finished.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "impid/impid_relay.h"

static struct impid *agent(const struct impid_client *c)
{
    return c->round->impid;
}

static void client_put(struct impid_client *c, const char *what,
                       const void *blob, size_t len, impid_got_f *got)
{
    char key[64];

    snprintf(key, sizeof(key), "%s.%u.%u", what, c->round->generation,
             c->number);
    impid_link_put(&agent(c)->link, key, c->host, c->nhosts, blob, len, got, c);
}

/* Most processes of other clients that any process may talk to. */
static uint32_t count_peers(const struct impi_clients *all)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < all->nclients; i++)
        if (all->nprocs - all->clients[i].nprocs > most)
            most = all->nprocs - all->clients[i].nprocs;
    return most;
}

/* Only hosts are connected: with an IMPI of others always, else where there
 * are more processes than each may have connections.  All hosts come to the
 * same; if their limits differ, the world tells (impid_relay_start). */
static bool wants_relay(const struct impid_client *c)
{
    const struct impid_conf *conf = &agent(c)->conf;

    return conf->foreign.port != 0 ||
           count_peers(&c->round->clients) > conf->direct_max;
}

/* Each process gets a socket to us in place of ways to all others. */
static int start_relay(struct impid_client *c, const struct agent_blob *world)
{
    struct errbuf err = {""};
    int *fds = calloc(c->nlocal, sizeof(*fds)), rc = -1;

    for (uint32_t i = 0; fds && i < c->nlocal; i++)
        fds[i] = -1;
    if (fds)
        rc = impid_relay_start(c, world->data, world->len, fds, &err);
    if (rc < 0)
        impid_fail(agent(c), 322, 1, NULL, "%s",
                   fds ? err.text : strerror(errno));
    for (uint32_t i = 0; fds && i < c->nlocal; i++) {
        if (rc == 0 && c->procs[i])
            impid_proc_send_relay(c->procs[i], fds[i]);
        if (fds[i] >= 0)
            close(fds[i]);
    }
    free(fds);
    return rc;
}

static void on_world(void *arg, const struct agent_blob *blobs, uint32_t n)
{
    struct impid_client *c = arg;

    if (n > 0 && c->relay && start_relay(c, &blobs[0]) < 0)
        return;
    for (uint32_t i = 0; n > 0 && i < c->nlocal; i++)
        if (c->procs[i])
            impid_proc_send(c->procs[i], TASK_WORLD, blobs[0].data,
                            blobs[0].len);
}

void impid_join_spread(struct impid_client *c, const void *world, size_t len)
{
    struct agent_blob blob = {world, (uint32_t)len};

    if (c->nhosts == 1)
        on_world(c, &blob, 1);
    else
        client_put(c, "world", world, len, on_world);
}

static void on_records(void *arg, const struct agent_blob *blobs, uint32_t n)
{
    struct impid_client *c = arg;

    if (c->host == 0)
        impid_speaker_start(c, blobs, n);
    else
        client_put(c, "world", NULL, 0, on_world);
}

/* The pid as this node counts: processes of different namespaces may all call
 * themselves 1.  (What the kernel cannot see from here it calls 0.) */
static uint32_t pid_here(const struct impid_proc *p, const struct task_join *j)
{
    return p && p->pid > 0 ? (uint32_t)p->pid : j->pid;
}

static void put_records(struct impid_client *c)
{
    struct errbuf err = {""};
    struct bytebuf blob;
    struct agent_blob own;
    uint16_t port = 0;

    if (wants_relay(c) && impid_relay_listen(c, &port, &err) < 0) {
        impid_fail(agent(c), 322, 1, NULL, "%s", err.text);
        return;
    }
    bytebuf_init(&blob, SF_AGENT_BLOB_MAX);
    bytebuf_add16(&blob, port);
    for (uint32_t i = 0; i < c->nlocal; i++) {
        const struct task_join *j = &c->joins[i];

        bytebuf_add32(&blob, c->procs[i] ? c->procs[i]->task->rank : 0);
        bytebuf_add32(&blob, pid_here(c->procs[i], j));
        bytebuf_add(&blob, j->addr, sizeof(j->addr));
        bytebuf_add16(&blob, j->port);
        bytebuf_add16(&blob, j->cpus);
    }
    own =
        (struct agent_blob){bytebuf_data(&blob), (uint32_t)bytebuf_len(&blob)};
    if (c->nhosts == 1)
        on_records(c, &own, 1);
    else
        client_put(c, "join", own.data, own.len, on_records);
    bytebuf_free(&blob);
}

void impid_join_add(struct impid_proc *p, const struct task_join *join)
{
    struct impid_client *c = p->client;

    c->joins[p->local] = *join;
    if (++c->njoined == c->nlocal)
        put_records(c);
}

static void on_all_finished(void *arg, const struct agent_blob *blobs,
                            uint32_t n)
{
    struct impid_client *c = arg;

    impid_speaker_fini(c);
}

void impid_join_finished(struct impid_client *c)
{
    if (c->round->clients.nclients == 1 && !c->relay)
        return;
    if (c->nhosts == 1)
        on_all_finished(c, NULL, 0);
    else
        client_put(c, "fini", NULL, 0, on_all_finished);
}
