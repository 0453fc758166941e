/* SPDX-License-Identifier: BSD-3-Clause
 * The family exchange of a round: every agent tells the others which library
 * each of its tasks uses; when all have, each computes the same clients.
 *
 * Key "family.G", by agent index: str node name, u32 component, then per task
 * u32 rank, u32 family (0: ended without this program, UNKNOWN: still running
 * when another task was already missing).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/be.h"
#include "impid/impid.h"
#include "impid/impid_status.h"

#define UNKNOWN UINT32_MAX

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

/* status -1: not known. */
static void fail_missing(struct impid *a, int status)
{
    const struct impid_missing *m = &a->missing;
    int code = 0;
    char how[64] = "";

    if (status >= 0)
        code =
            WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (code > 0)
        snprintf(how, sizeof(how), "its exit code is %d; ", code);
    impid_fail(a, 312, code ? code : 1, NULL,
               "rank %u on node %s ended without calling MPI_Init in MPI "
               "program %u of the step, for which %u other rank%s wait%s (%sis "
               "it an MPI program, not statically linked, and LD_PRELOAD not "
               "replaced?)",
               m->rank, a->node_name, m->generation + 1, m->waiting,
               m->waiting == 1 ? "" : "s", m->waiting == 1 ? "s" : "", how);
}

static void stop_asking(struct impid *a)
{
    if (!a->missing.asked)
        return;
    a->missing.asked = false;
    ev_timer_stop(a->loop, &a->missing.patience);
    if (--a->nasked == 0)
        impid_maybe_leave(a);
}

static void on_patience(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct impid *a = ev_userdata(loop);

    fail_missing(a, -1);
    stop_asking(a);
}

void impid_family_status(struct impid *a, pid_t pid, int status)
{
    if (!a->missing.asked || a->missing.pid != pid)
        return;
    fail_missing(a, status);
    stop_asking(a);
}

/* Said by the agent of that rank, who can know its exit code: slurmstepd's
 * word comes in a moment. */
static void missing(struct impid *a, uint32_t rank, uint32_t generation,
                    uint32_t waiting)
{
    struct impid_task *t = impid_task_find(a, rank);
    int status;

    if (!t || a->failed || a->missing.asked)
        return;
    a->missing = (struct impid_missing){.rank = rank,
                                        .generation = generation,
                                        .waiting = waiting,
                                        .pid = t->pid};
    status = impid_status_of_kernel(t->pidfd, t->pid);
    if (status >= 0 || !impid_status_ask_task(t)) {
        fail_missing(a, status);
        return;
    }
    a->missing.asked = true;
    a->nasked++;
    ev_timer_init(&a->missing.patience, on_patience, IMPID_ANSWER, 0);
    ev_timer_start(a->loop, &a->missing.patience);
}

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

/* A local task is out while another local one waits, or other clients do: no
 * need to ask. */
static bool locally_impossible(struct impid_round *r)
{
    struct impid *a = r->impid;

    for (uint32_t i = 0; i < a->ntasks; i++) {
        if (family_of(r, i) != 0)
            continue;
        if (awaited_elsewhere(r))
            missing_elsewhere(a, a->tasks[i].rank);
        else if (r->nhello > 0)
            missing(a, a->tasks[i].rank, r->generation, r->nhello);
        else
            return false;
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
        missing(r->impid, i, r->generation, waiting);
        return -1;
    }
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
    else if (all_there(&x) == 1 &&
             impid_round_form(x.round, x.members, x.nworld, &err) < 0)
        impid_fail(a, 314, 1, NULL, "%s", err.text);
    free(x.members);
}
