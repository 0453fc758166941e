/* SPDX-License-Identifier: BSD-3-Clause
 * A round: the g-th MPI program of all tasks.  When it is known who is in it
 *, the clients of this node are set up and their processes
 * get their environment.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/be.h"
#include "base/log.h"
#include "impi/agent_tree.h"
#include "impid/impid.h"
#include "impid/impid_relay.h"
#include "impid/impid_status.h"

static bool waits(const struct impi_member *m);

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
    r->table = -1;
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
    free(c->agents);
    c->agents = NULL;
    c->procs = NULL;
    c->joins = NULL;
    c->nlocal = 0;
}

static void round_free(struct impid_round *r)
{
    impid_link_forget(&r->impid->link, r);
    ev_timer_stop(r->impid->loop, &r->still);
    for (uint32_t i = 0; i < r->nlocal; i++)
        client_clear(&r->local[i]);
    for (uint32_t i = 0; i < r->nnodes && r->node_names; i++)
        free(r->node_names[i]);
    free(r->node_names);
    impid_join_drop_table(r);
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
        if (impi_clients_client(&r->clients, a->tasks[i].rank) == number)
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
    c->agents = calloc(AGENT_SET_SIZE(r->impid->conf.map.nnodes), 1);
    if (!c->procs || !c->joins || !c->agents)
        return -1;
    for (uint32_t i = 0; i < c->nhosts; i++)
        agent_set_add(c->agents, r->clients.hosts[info->first_host + i].node);
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
                           .native_rank =
                               impi_clients_native(&r->clients, p->task->rank),
                           .native_size = info->nprocs,
                           .world_size = r->clients.nprocs,
                           .port_lo = conf->site.port_lo,
                           .port_hi = conf->site.port_hi};
    struct memory_view view = impid_memory_view(p);
    int pass_fd = -1;

    memcpy(env.host_addr, r->impid->host_addr, sizeof(env.host_addr));
    env.pid = view.pid;
    env.machine = view.machine;
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

/* Everybody is there: members by world rank. */
static int impid_round_form(struct impid_round *r,
                            const struct impi_member *members, uint32_t nworld,
                            struct errbuf *err)
{
    const struct impid_conf *conf = &r->impid->conf;

    if (impi_clients_form(&r->clients, members, conf->map.node, nworld,
                          conf->by_node, err) < 0)
        return -1;
    r->formed = true;
    if (conf->foreign.port && r->clients.nclients != 1)
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
    impid_still_start(r);
    return 0;
}

void impid_round_finished(struct impid_round *r, struct impid_proc *p)
{
    if (++p->client->nfinished != p->client->nlocal)
        return;
    impid_pmi_finished(p->client);
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

/* ---- who is in it, with which library ---------------------------------- */

/* The family exchange of a round: every agent tells the others which library
 * each of its tasks uses; when all have, each computes the same clients. Key
 * "family.G", by agent index: str node name, u32 component, then runs of its
 * tasks in rank order: u32 tasks, u32 family, u32 build of the library, u32
 * which of the node's shared memories they see (containers), from 0, which all
 * of the run have. In place of a family: UNKNOWN, still running when
 * another task was already missing; OUT and more, ended without this program,
 * with this exit code. So whoever waits for it can say so, when its own agent
 * may have left long ago. */

#define UNKNOWN UINT32_MAX
#define OUT 0x10000u
#define OUT_CODE_MAX 0xffu
#define OUT_UNTOLD (OUT | 0x100u) /* nobody knows its exit code */

static bool task_is_out(const struct impid_task *t, uint32_t generation)
{
    return t->ended && !t->proc && t->generation <= generation;
}

static int exit_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static uint32_t family_of(const struct impid_round *r, uint32_t i)
{
    const struct impid_task *t = &r->impid->tasks[i];

    if (r->procs[i])
        return r->procs[i]->family;
    if (!task_is_out(t, r->generation))
        return UNKNOWN;
    if (t->status < 0)
        return OUT_UNTOLD;
    return OUT | ((uint32_t)exit_code(t->status) & OUT_CODE_MAX);
}

static bool is_out(uint32_t family)
{
    return family != UNKNOWN && family >= OUT;
}

static int code_of(uint32_t family)
{
    return family == OUT_UNTOLD ? -1 : (int)(family & OUT_CODE_MAX);
}

static void on_families(void *arg, const struct agent_blob *blobs, uint32_t n);

static uint32_t build_of(const struct impid_round *r, uint32_t i)
{
    return r->procs[i] ? r->procs[i]->build : 0;
}

/* The number of the first task that sees the same. */
static uint32_t memory_of(const struct impid_round *r, uint32_t i)
{
    uint32_t first = 0;

    if (!r->procs[i])
        return 0;
    while (!r->procs[first] || r->procs[first]->memory != r->procs[i]->memory)
        first++;
    return first;
}

static void add_runs(const struct impid_round *r, struct bytebuf *blob)
{
    uint32_t first = 0, n = r->impid->ntasks;

    for (uint32_t i = 1; i <= n; i++) {
        if (i < n && family_of(r, i) == family_of(r, first) &&
            build_of(r, i) == build_of(r, first) &&
            memory_of(r, i) == memory_of(r, first))
            continue;
        bytebuf_add32(blob, i - first);
        bytebuf_add32(blob, family_of(r, first));
        bytebuf_add32(blob, build_of(r, first));
        bytebuf_add32(blob, memory_of(r, first));
        first = i;
    }
}

static void put_families(struct impid_round *r)
{
    struct impid *a = r->impid;
    struct bytebuf blob;
    char key[64];

    r->put = true;
    bytebuf_init(&blob, SF_AGENT_BLOB_MAX);
    bytebuf_add_str(&blob, a->node_name);
    bytebuf_add32(&blob, a->conf.component);
    if (a->ntasks > 0)
        add_runs(r, &blob);
    snprintf(key, sizeof(key), "family.%u", r->generation);
    impid_link_put(&a->link, key, a->conf.node, a->conf.map.nnodes, NULL,
                   bytebuf_data(&blob), bytebuf_len(&blob), on_families, r);
    bytebuf_free(&blob);
}

/* Which rank, and where; code -1: not known. */
static void fail_missing(const struct impid_round *r, uint32_t rank,
                         const char *node, int code, uint32_t waiting)
{
    char how[64] = "";

    if (code > 0)
        snprintf(how, sizeof(how), "its exit code is %d; ", code);
    impid_fail(r->impid, 312, code > 0 ? code : 1, NULL,
               "rank %u on node %s ended without calling MPI_Init in MPI "
               "program %u of the step, for which %u other rank%s wait%s (%sis "
               "it an MPI program, not statically linked, and LD_PRELOAD not "
               "replaced?)",
               rank, node, r->generation + 1, waiting, waiting == 1 ? "" : "s",
               waiting == 1 ? "s" : "", how);
}

/* ---- how a task of this node ended ---------------------------------------*/

static void consider(struct impid_round *r);

/* The answer, or none: what waits for it goes on. */
static void told(struct impid *a, int status)
{
    struct impid_round *r;

    if (!a->ending.task)
        return;
    a->ending.task->status = status;
    a->ending.task = NULL;
    ev_timer_stop(a->loop, &a->ending.patience);
    SLIST_FOREACH(r, &a->rounds, link)
    if (!r->formed)
        consider(r);
    if (--a->nasked == 0)
        impid_maybe_leave(a);
}

static void on_patience(struct ev_loop *loop, ev_timer *w, int revents)
{
    told(ev_userdata(loop), -1);
}

void impid_family_status(struct impid *a, pid_t pid, int status)
{
    if (a->ending.task && a->ending.task->pid == pid)
        told(a, status);
}

/* False: not known yet, told() follows.  Slurmstepd's word comes in a moment;
 * one at a time. */
static bool ending_is_known(struct impid *a, struct impid_task *t)
{
    if (a->ending.task)
        return false;
    if (t->looked)
        return true;
    t->looked = true;
    t->status = impid_status_of_kernel(t->pidfd, t->pid);
    if (t->status >= 0 || !impid_status_ask_task(t))
        return true;
    a->ending.task = t;
    a->nasked++;
    ev_timer_init(&a->ending.patience, on_patience, IMPID_ANSWER, 0);
    ev_timer_start(a->loop, &a->ending.patience);
    return false;
}

/* ---- our part ------------------------------------------------------------*/

/* Who started us by hand started an IMPI server, and other clients wait there
 * even if nobody waits here. */
static bool awaited_elsewhere(const struct impid_round *r)
{
    return r->impid->conf.foreign.port != 0 && r->generation == 0;
}

static void missing_elsewhere(struct impid *a, uint32_t rank)
{
    char server[NETADDR_TEXT_MAX];

    netaddr_print(server, &a->conf.foreign);
    impid_fail(a, 312, 1, NULL,
               "process %u of client %u ended without calling MPI_Init, for "
               "which the IMPI server %s waits (is it an MPI program, and not "
               "statically linked?)",
               rank, a->conf.client, server);
}

/* The first task of this node that is out. */
static struct impid_task *first_out(const struct impid_round *r, uint32_t *i)
{
    struct impid *a = r->impid;

    for (*i = 0; *i < a->ntasks; (*i)++)
        if (is_out(family_of(r, *i)))
            return &a->tasks[*i];
    return NULL;
}

static bool all_known(const struct impid_round *r)
{
    for (uint32_t i = 0; i < r->impid->ntasks; i++)
        if (family_of(r, i) == UNKNOWN)
            return false;
    return true;
}

/* When one is out, the others are told at once; or nobody, when one of this
 * node waits for it, or other clients do. */
static void consider(struct impid_round *r)
{
    struct impid *a = r->impid;
    uint32_t i;
    struct impid_task *out = first_out(r, &i);

    if (a->failed || (out && !ending_is_known(a, out)))
        return;
    if (out && awaited_elsewhere(r))
        missing_elsewhere(a, out->rank);
    else if (out && r->nhello > 0)
        fail_missing(r, out->rank, a->node_name, code_of(family_of(r, i)),
                     r->nhello);
    else if (!r->put && (out || all_known(r)))
        put_families(r);
}

void impid_family_hello(struct impid_round *r, struct impid_proc *p)
{
    r->procs[p->task - r->impid->tasks] = p;
    r->nhello++;
    consider(r);
}

void impid_family_task_gone(struct impid *a, struct impid_task *t)
{
    struct impid_round *r;

    if (a->failed || a->stopping)
        return;
    r = impid_round_get(a, t->generation);
    if (r)
        consider(r);
}

struct exchange {
    struct impid_round *round;
    struct impi_member *members; /* by world rank */
    uint32_t nworld;
};

/* What an agent says of its tasks, read one by one. */
struct said {
    struct be_reader r;
    uint32_t component;
    uint32_t left; /* of the run */
    uint32_t family, build, memory;
};

static int said_open(struct said *s, struct exchange *x, uint32_t agent,
                     const struct agent_blob *blob)
{
    char name[SF_AGENT_NODE_MAX];

    be_reader_init(&s->r, blob->data, blob->len);
    be_get_str(&s->r, name, sizeof(name));
    s->component = be_get32(&s->r);
    x->round->node_names[agent] = s->r.bad ? NULL : strdup(name);
    return x->round->node_names[agent] ? 0 : -1;
}

static int said_next(struct said *s, struct impi_member *out)
{
    if (s->left == 0) {
        s->left = be_get32(&s->r);
        s->family = be_get32(&s->r);
        s->build = be_get32(&s->r);
        s->memory = be_get32(&s->r);
    }
    if (s->r.bad || s->left == 0 || s->memory >= SF_PMI_LOCAL_MAX)
        return -1;
    s->left--;
    *out = (struct impi_member){s->component, s->family, s->build,
                                (uint16_t)s->memory};
    return 0;
}

static int malformed(struct errbuf *err, uint32_t agent)
{
    return errprintf(err, "family exchange: agent %u is malformed", agent);
}

/* Each rank is the next one of its node's agent. */
static int deal_out(struct exchange *x, struct said *said, uint32_t n,
                    struct errbuf *err)
{
    const struct taskmap *map = &x->round->impid->conf.map;

    for (uint32_t rank = 0; rank < x->nworld; rank++) {
        uint32_t agent = map->node[rank];

        if (agent >= n || said_next(&said[agent], &x->members[rank]) < 0)
            return malformed(err, agent);
    }
    for (uint32_t i = 0; i < n; i++)
        if (said[i].left > 0 || !be_reader_done(&said[i].r))
            return malformed(err, i);
    return 0;
}

static bool waits(const struct impi_member *m)
{
    return m->family != UNKNOWN && !is_out(m->family);
}

static uint32_t count_waiting(const struct exchange *x)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->nworld; i++)
        n += waits(&x->members[i]);
    return n;
}

/* Said by the agent of the first that waits: it is there, and one is enough. */
static void tell_missing(const struct exchange *x, uint32_t waiting)
{
    struct impid_round *r = x->round;
    const uint16_t *node = r->impid->conf.map.node;
    uint32_t first = 0, out = 0;

    while (first < x->nworld && !waits(&x->members[first]))
        first++;
    while (out < x->nworld && !is_out(x->members[out].family))
        out++;
    if (first < x->nworld && out < x->nworld &&
        node[first] == r->impid->conf.node)
        fail_missing(r, out, r->node_names[node[out]],
                     code_of(x->members[out].family), waiting);
}

/* Everybody is there; when nobody waits there is nothing to do. */
static bool all_there(const struct exchange *x)
{
    uint32_t waiting = count_waiting(x);

    if (waiting == x->nworld)
        return true;
    tell_missing(x, waiting);
    return false;
}

static int parse_all(struct exchange *x, const struct agent_blob *blobs,
                     uint32_t n, struct errbuf *err)
{
    struct said *said = calloc(n, sizeof(*said));
    int rc = 0;

    x->round->nnodes = n;
    x->round->node_names = calloc(n, sizeof(char *));
    x->members = calloc(x->nworld, sizeof(*x->members));
    if (!said || !x->round->node_names || !x->members)
        rc = errprintf(err, "%s", strerror(errno));
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        if (said_open(&said[i], x, i, &blobs[i]) < 0)
            rc = malformed(err, i);
    if (rc == 0)
        rc = deal_out(x, said, n, err);
    free(said);
    return rc;
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
    else if (all_there(&x) &&
             impid_round_form(x.round, x.members, x.nworld, &err) < 0)
        impid_fail(a, 314, 1, NULL, "%s", err.text);
    free(x.members);
}

/* ---- who is lost with this agent --------------------------------------- */

/* Who is lost with this agent: impi-server tells it if that happens. */

/* The ranks here of a client of the round, or all; how many. */
static uint32_t ranks_of(const struct impid *a, const struct impid_client *c,
                         uint32_t *ranks)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < a->ntasks; i++)
        if (!c || impi_clients_client(&c->round->clients, a->tasks[i].rank) ==
                      c->number)
            ranks[n++] = a->tasks[i].rank;
    return n;
}

/* c: NULL before clients are known; but who starts us as one of several
 * says which. */
static void add(struct impi_holds *h, const struct impid *a,
                const struct impid_client *c, uint32_t *ranks)
{
    uint32_t n = ranks_of(a, c, ranks);

    if (a->conf.foreign.port)
        impi_holds_add(h, a->conf.client, "process", "processes", ranks, n);
    else
        impi_holds_add(h, c ? (int64_t)c->number : IMPI_HOLDS_NO_CLIENT, "rank",
                       "ranks", ranks, n);
}

void impid_holds(struct agent_msg *msg, const struct impid *a,
                 const struct impid_round *r)
{
    uint32_t *ranks = calloc(a->ntasks ? a->ntasks : 1, sizeof(*ranks));
    struct impi_holds h = {""};

    for (uint32_t i = 0; ranks && r && i < r->nlocal; i++)
        add(&h, a, &r->local[i], ranks);
    if (ranks && !r)
        add(&h, a, NULL, ranks);
    free(ranks);
    msg->type = AGENT_HOLDS;
    snprintf(msg->text, sizeof(msg->text), "%s", h.text);
}
