/* SPDX-License-Identifier: BSD-3-Clause
 * A round: the g-th MPI program of all tasks.  Every agent tells the others
 * which library each of its tasks uses (the family exchange); when all have,
 * each computes the same clients and gives its processes their environment.
 *
 * Family exchange, key "family.G", by agent index: str node name,
 * u32 component, then per task u32 rank, u32 family (0: ended without this
 * program, UNKNOWN: still running when another task was already missing).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/be.h"
#include "base/log.h"
#include "impid/impid.h"

#define UNKNOWN UINT32_MAX

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

static void client_clear(struct impid_client *c)
{
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
            impid_speaker_active(&r->local[i]))
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

/* ---- the exchange --------------------------------------------------------*/

static bool task_is_out(const struct impid_task *t, uint32_t generation)
{
    return t->ended && !t->proc && t->generation <= generation;
}

static uint32_t family_of(const struct impid_round *r, uint32_t i)
{
    if (r->procs[i])
        return r->procs[i]->family;
    return task_is_out(&r->impid->tasks[i], r->generation) ? 0 : UNKNOWN;
}

static void on_families(void *arg, const struct agent_blob *blobs, uint32_t n);

static void put_families(struct impid_round *r)
{
    struct impid *a = r->impid;
    struct bytebuf blob;
    char key[64];

    r->put = true;
    bytebuf_init(&blob, SF_AGENT_BLOB_MAX);
    bytebuf_add_str(&blob, a->node_name);
    bytebuf_add32(&blob, a->conf.component);
    for (uint32_t i = 0; i < a->ntasks; i++) {
        bytebuf_add32(&blob, a->tasks[i].rank);
        bytebuf_add32(&blob, family_of(r, i));
    }
    snprintf(key, sizeof(key), "family.%u", r->generation);
    impid_link_put(&a->link, key, a->conf.node, a->conf.map.nnodes,
                   bytebuf_data(&blob), bytebuf_len(&blob), on_families, r);
    bytebuf_free(&blob);
}

static void missing(struct impid *a, uint32_t rank, const char *node,
                    uint32_t generation, uint32_t waiting)
{
    impid_fail(a, 312, 1, NULL,
               "rank %u on node %s ended without calling MPI_Init in MPI "
               "program %u of the step, for which %u other rank%s wait%s (is "
               "it an MPI program, and not statically linked?)",
               rank, node, generation + 1, waiting, waiting == 1 ? "" : "s",
               waiting == 1 ? "s" : "");
}

/* A local task is out while another local one waits: no need to ask. */
static bool locally_impossible(struct impid_round *r)
{
    struct impid *a = r->impid;

    for (uint32_t i = 0; r->nhello > 0 && i < a->ntasks; i++) {
        if (family_of(r, i) != 0)
            continue;
        missing(a, a->tasks[i].rank, a->node_name, r->generation, r->nhello);
        return true;
    }
    return false;
}

static void consider(struct impid_round *r)
{
    struct impid *a = r->impid;
    bool any_out = false, all_known = true;

    if (locally_impossible(r) || r->put)
        return;
    for (uint32_t i = 0; i < a->ntasks; i++) {
        any_out = any_out || family_of(r, i) == 0;
        all_known = all_known && family_of(r, i) != UNKNOWN;
    }
    if (any_out || all_known)
        put_families(r);
}

void impid_round_hello(struct impid_round *r, struct impid_proc *p)
{
    r->procs[p->task - r->impid->tasks] = p;
    r->nhello++;
    consider(r);
}

void impid_round_task_gone(struct impid *a, struct impid_task *t)
{
    struct impid_round *r;

    if (a->failed || a->stopping)
        return;
    r = impid_round_get(a, t->generation);
    if (r)
        consider(r);
}

/* ---- forming -------------------------------------------------------------*/

struct exchange {
    struct impid_round *round;
    struct impi_member *members; /* by world rank */
    uint32_t nworld;
};

static int parse_agent(struct exchange *x, uint32_t agent,
                       const struct agent_blob *blob)
{
    char name[SF_AGENT_NODE_MAX];
    const struct taskmap *map = &x->round->impid->conf.map;
    struct be_reader r;
    uint32_t component;

    be_reader_init(&r, blob->data, blob->len);
    be_get_str(&r, name, sizeof(name));
    component = be_get32(&r);
    x->round->node_names[agent] = strdup(name);
    while (!r.bad && r.left > 0) {
        uint32_t rank = be_get32(&r);
        uint32_t family = be_get32(&r);

        if (r.bad || rank >= x->nworld || map->node[rank] != agent)
            return -1;
        x->members[rank] = (struct impi_member){component, family, agent};
    }
    return r.bad || !x->round->node_names[agent] ? -1 : 0;
}

static uint32_t count_waiting(const struct exchange *x)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->nworld; i++)
        n += x->members[i].family != 0 && x->members[i].family != UNKNOWN;
    return n;
}

/* 1: everybody is there; 0: nobody waits, nothing to do; -1: failed. */
static int all_there(const struct exchange *x)
{
    const struct impid_round *r = x->round;
    uint32_t waiting = count_waiting(x);

    if (waiting == x->nworld)
        return 1;
    for (uint32_t i = 0; waiting > 0 && i < x->nworld; i++) {
        if (x->members[i].family != 0)
            continue;
        missing(r->impid, i, r->node_names[x->members[i].node], r->generation,
                waiting);
        return -1;
    }
    return 0;
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

static int send_env(struct impid_proc *p, struct errbuf *err)
{
    const struct impid_round *r = p->round;
    const struct impid_conf *conf = &r->impid->conf;
    const struct impi_client_info *info =
        &r->clients.clients[p->client->number];
    struct task_env env = {.generation = r->generation,
                           .nclients = r->clients.nclients,
                           .client = p->client->number,
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

static int form(struct exchange *x, struct errbuf *err)
{
    struct impid_round *r = x->round;

    if (impi_clients_form(&r->clients, x->members, x->nworld,
                          r->impid->conf.by_node, err) < 0)
        return -1;
    r->formed = true;
    if (form_local(r) < 0)
        return errprintf(err, "%s", strerror(errno));
    log_debug("program %u: %u clients", r->generation + 1, r->clients.nclients);
    for (uint32_t i = 0; i < r->nlocal; i++)
        if (start_client(&r->local[i], err) < 0)
            return -1;
    return 0;
}

static int parse_all(struct exchange *x, const struct agent_blob *blobs,
                     uint32_t n, struct errbuf *err)
{
    x->round->nnodes = n;
    x->round->node_names = calloc(n, sizeof(char *));
    x->members = calloc(x->nworld, sizeof(*x->members));
    if (!x->round->node_names || !x->members)
        return errprintf(err, "%s", strerror(errno));
    for (uint32_t i = 0; i < n; i++)
        if (parse_agent(x, i, &blobs[i]) < 0)
            return errprintf(err, "family exchange: agent %u is malformed", i);
    return 0;
}

static void on_families(void *arg, const struct agent_blob *blobs, uint32_t n)
{
    struct exchange x = {.round = arg};
    struct impid *a = x.round->impid;
    struct errbuf err;

    if (a->failed)
        return;
    x.nworld = a->conf.map.ntasks;
    if (parse_all(&x, blobs, n, &err) < 0)
        impid_fail(a, 314, 1, NULL, "%s", err.text);
    else if (all_there(&x) == 1 && form(&x, &err) < 0)
        impid_fail(a, 314, 1, NULL, "%s", err.text);
    free(x.members);
}

/* ---- end -----------------------------------------------------------------*/

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
