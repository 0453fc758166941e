/* SPDX-License-Identifier: BSD-3-Clause
 * A round: the g-th MPI program of all tasks.  When it is known who is in it
 * (impid_family.c), the clients of this node are set up and their processes
 * get their environment.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "impid/impid_relay.h"

static struct impid_round *round_new(struct impid *a, uint32_t generation)
{
    struct impid_round *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->procs = calloc(a->ntasks ? a->ntasks : 1, sizeof(struct impid_proc *));
    if (!r->procs) {
        free(r);
        return NULL;
    }
    r->impid = a;
    r->generation = generation;
    SLIST_INSERT_HEAD(&a->rounds, r, link);
    return r;
}

uint32_t impid_client_number(const struct impid_client *c)
{
    const struct impid_conf *conf = &c->round->impid->conf;

    return conf->foreign.port ? conf->client : c->number;
}

static void client_clear(struct impid_client *c)
{
    impid_relay_free(c);
    impid_speaker_free(c);
    impid_pmi_stop(c);
    impid_link_forget(&c->round->impid->link, c);
    free(c->procs);
    free(c->joins);
    c->procs = NULL;
    c->joins = NULL;
    c->nlocal = 0;
}

static void round_free(struct impid_round *r)
{
    impid_link_forget(&r->impid->link, r);
    for (uint32_t i = 0; i < r->nlocal; i++)
        client_clear(&r->local[i]);
    for (uint32_t i = 0; i < r->nnodes && r->node_names; i++)
        free(r->node_names[i]);
    free(r->node_names);
    if (r->formed)
        impi_clients_free(&r->clients);
    free(r->local);
    free(r->procs);
    free(r);
}

/* Every local process has come and gone, and the speaker's part is done. */
static bool round_is_over(const struct impid_round *r)
{
    for (uint32_t i = 0; i < r->nlocal; i++)
        if (r->local[i].ngone < r->local[i].nlocal ||
            impid_speaker_active(&r->local[i]) ||
            impid_relay_active(&r->local[i]))
            return false;
    return r->formed && r->nlocal > 0;
}

static void drop_old_rounds(struct impid *a)
{
    struct impid_round *r = SLIST_FIRST(&a->rounds), *next;

    for (; r; r = next) {
        next = SLIST_NEXT(r, link);
        if (!round_is_over(r))
            continue;
        SLIST_REMOVE(&a->rounds, r, impid_round, link);
        round_free(r);
    }
}

struct impid_round *impid_round_get(struct impid *a, uint32_t generation)
{
    struct impid_round *r;

    SLIST_FOREACH(r, &a->rounds, link)
    if (r->generation == generation)
        return r;
    drop_old_rounds(a);
    return round_new(a, generation);
}

static uint32_t native_local(const struct impid_round *r, uint32_t number,
                             struct impid_proc **procs)
{
    const struct impid *a = r->impid;
    uint32_t n = 0;

    for (uint32_t i = 0; i < a->ntasks; i++)
        if (r->clients.client[a->tasks[i].rank] == number)
            procs[n++] = r->procs[i];
    return n;
}

static int client_init(struct impid_round *r, uint32_t number, int64_t host)
{
    const struct impi_client_info *info = &r->clients.clients[number];
    struct impid_client *c = &r->local[r->nlocal++];
    uint32_t n = r->clients.hosts[host].nprocs;

    c->round = r;
    c->number = number;
    c->family = info->family;
    c->host = (uint32_t)host - info->first_host;
    c->nhosts = info->nhosts;
    c->nlocal = n;
    c->procs = calloc(n, sizeof(struct impid_proc *));
    c->joins = calloc(n, sizeof(*c->joins));
    if (!c->procs || !c->joins)
        return -1;
    native_local(r, number, c->procs);
    for (uint32_t i = 0; i < n; i++) {
        c->procs[i]->client = c;
        c->procs[i]->local = i;
    }
    return 0;
}

static int form_local(struct impid_round *r)
{
    r->local = calloc(r->clients.nclients, sizeof(*r->local));
    if (!r->local)
        return -1;
    for (uint32_t k = 0; k < r->clients.nclients; k++) {
        int64_t host =
            impi_clients_host_on(&r->clients, k, r->impid->conf.node);

        if (host >= 0 && client_init(r, k, host) < 0)
            return -1;
    }
    return 0;
}

static uint32_t count_env(char **env)
{
    uint32_t n = 0;

    while (env[n])
        n++;
    return n;
}

/* One: nothing to join.  How many there are elsewhere is not known yet. */
static uint32_t count_clients(const struct impid_round *r)
{
    return r->impid->conf.foreign.port ? SF_IMPI_CLIENTS_MAX
                                       : r->clients.nclients;
}

static int send_env(struct impid_proc *p, struct errbuf *err)
{
    const struct impid_round *r = p->round;
    const struct impid_conf *conf = &r->impid->conf;
    const struct impi_client_info *info =
        &r->clients.clients[p->client->number];
    struct task_env env = {.generation = r->generation,
                           .nclients = count_clients(r),
                           .client = impid_client_number(p->client),
                           .native_rank = r->clients.native[p->task->rank],
                           .native_size = info->nprocs,
                           .world_size = r->clients.nprocs,
                           .port_lo = conf->site.port_lo,
                           .port_hi = conf->site.port_hi};
    int pass_fd = -1;

    memcpy(env.host_addr, r->impid->host_addr, sizeof(env.host_addr));
    env.env = impid_pmi_env(p, &pass_fd, err);
    if (!env.env)
        return -1;
    env.nenv = count_env(env.env);
    impid_proc_send_env(p, &env, pass_fd);
    if (pass_fd >= 0)
        close(pass_fd);
    impid_pmi_free_env(env.env);
    return 0;
}

static int start_client(struct impid_client *c, struct errbuf *err)
{
    if (impid_pmi_start(c, err) < 0)
        return -1;
    for (uint32_t i = 0; i < c->nlocal; i++)
        if (!c->procs[i]->lost && send_env(c->procs[i], err) < 0)
            return -1;
    return 0;
}

static void tell_holds(const struct impid_round *r)
{
    struct agent_msg msg;

    impid_holds(&msg, r->impid, r);
    impid_link_send(&r->impid->link, &msg);
}

int impid_round_form(struct impid_round *r, const struct impi_member *members,
                     uint32_t nworld, struct errbuf *err)
{
    if (impi_clients_form(&r->clients, members, nworld, r->impid->conf.by_node,
                          err) < 0)
        return -1;
    r->formed = true;
    if (r->impid->conf.foreign.port && r->clients.nclients != 1)
        return errprintf(err,
                         "this is one client of a job with others, so all of "
                         "its tasks have to use one MPI library, not %u",
                         r->clients.nclients);
    if (form_local(r) < 0)
        return errprintf(err, "%s", strerror(errno));
    log_debug("program %u: %u clients", r->generation + 1, r->clients.nclients);
    tell_holds(r);
    for (uint32_t i = 0; i < r->nlocal; i++)
        if (start_client(&r->local[i], err) < 0)
            return -1;
    return 0;
}

void impid_round_finished(struct impid_round *r, struct impid_proc *p)
{
    if (++p->client->nfinished == p->client->nlocal)
        impid_join_finished(p->client);
}

/* The process management of a client is not needed when its last local
 * process is gone; the speaker's connection to the server may be. */
void impid_round_proc_gone(struct impid_round *r, struct impid_proc *p)
{
    struct impid_client *c = p->client;

    for (uint32_t i = 0; i < r->impid->ntasks; i++)
        if (r->procs[i] == p)
            r->procs[i] = NULL;
    if (!c)
        return;
    if (c->procs)
        c->procs[p->local] = NULL;
    if (++c->ngone == c->nlocal)
        impid_pmi_stop(c);
}

void impid_rounds_free(struct impid *a)
{
    struct impid_round *r;

    while ((r = SLIST_FIRST(&a->rounds))) {
        SLIST_REMOVE_HEAD(&a->rounds, link);
        round_free(r);
    }
}
