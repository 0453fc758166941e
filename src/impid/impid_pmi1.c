/* SPDX-License-Identifier: BSD-3-Clause
 * A PMI-1 socket for each MPICH process.  Barriers over several nodes ride on
 * rendezvous keys.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "impid/impid_pmi.h"

static void on_reply(void *arg, uint32_t local, const char *line, size_t len)
{
    struct impid_client *c = arg;

    if (c->procs[local])
        impid_stream_write(&c->procs[local]->pmi, line, len);
}

static void barrier_done(struct impid_client *c, const struct agent_blob *blobs,
                         uint32_t n)
{
    struct pmi1_blob *parts = calloc(n ? n : 1, sizeof(*parts));
    struct errbuf err = {"out of memory"};

    for (uint32_t i = 0; parts && i < n; i++)
        parts[i] = (struct pmi1_blob){blobs[i].data, blobs[i].len};
    if (!parts || pmi1_barrier_done(c->pmi1, parts, n, &err) < 0)
        impid_fail(c->round->impid, 313, 1, NULL, "%s", err.text);
    free(parts);
}

static void on_barrier_got(void *arg, const struct agent_blob *blobs,
                           uint32_t n)
{
    struct impid_client *c = arg;

    if (c->pmi1)
        barrier_done(c, blobs, n);
}

static void on_barrier(void *arg, const void *blob, size_t len)
{
    struct impid_client *c = arg;
    struct agent_blob own = {blob, (uint32_t)len};
    char key[64];

    if (c->nhosts == 1) {
        barrier_done(c, &own, 1);
        return;
    }
    snprintf(key, sizeof(key), "pmi1.%u.%u.%u", c->round->generation, c->number,
             c->pmi1_seq++);
    impid_link_put(&c->round->impid->link, key, c->host, c->nhosts, blob, len,
                   on_barrier_got, c);
}

static void on_abort(void *arg, uint32_t local, int code)
{
    struct impid_client *c = arg;

    impid_fail(c->round->impid, 310, code, c->procs[local],
               "called MPI_Abort (code %d)", code);
}

static const struct pmi1_ops pmi1_ops = {on_reply, on_barrier, on_abort};

static int on_pmi_input(struct impid_stream *s, void *arg)
{
    struct impid_proc *p = arg;
    struct impid_client *c = p->client;
    struct errbuf err;
    int rc;

    if (!c->pmi1) {
        impid_stream_close(s);
        return -1;
    }
    rc = pmi1_input(c->pmi1, p->local, bytebuf_data(&s->in),
                    bytebuf_len(&s->in), &err);
    bytebuf_consume(&s->in, bytebuf_len(&s->in));
    p->in_pmi = pmi1_initialized(c->pmi1, p->local);
    p->out_of_pmi = pmi1_finalized(c->pmi1, p->local);
    if (rc < 0) {
        impid_stream_close(s);
        impid_fail(p->impid, 313, 1, p, "%s", err.text);
        return -1;
    }
    return 0;
}

static void on_pmi_closed(struct impid_stream *s, void *arg, int error)
{
    impid_stream_close(s); /* the other connection tells what it means */
}

static const struct impid_stream_ops pmi_stream_ops = {on_pmi_input,
                                                       on_pmi_closed};

int impid_pmi1_start(struct impid_client *c, struct errbuf *err)
{
    const struct impid_round *r = c->round;
    uint32_t size = r->clients.clients[c->number].nprocs;
    uint32_t *host = impid_pmi_rank_hosts(c);
    char *mapping = host ? pmi1_mapping(host, size) : NULL;
    struct pmi1_config config = {.mapping = mapping,
                                 .size = size,
                                 .nlocal = c->nlocal,
                                 .universe = size};
    char name[128];

    snprintf(name, sizeof(name), "impi_%s_%u_%u", r->impid->conf.step,
             r->generation, c->number);
    config.kvsname = name;
    if (mapping)
        c->pmi1 = pmi1_create(&config, &pmi1_ops, c);
    free(mapping);
    free(host);
    return c->pmi1 ? 0 : errprintf(err, "PMI-1: %s", strerror(errno));
}

/* PMI_FD is what the process gets by SCM_RIGHTS; it sets that itself. */
char **impid_pmi1_env(struct impid_proc *p, int *pass_fd, struct errbuf *err)
{
    const struct impi_clients *all = &p->round->clients;
    int pair[2];
    char **env;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        errprintf(err, "PMI-1 socket: %s", strerror(errno));
        return NULL;
    }
    impid_stream_open(&p->pmi, p->impid->loop, pair[0], SF_PMI1_LINE_MAX,
                      &pmi_stream_ops, p);
    *pass_fd = pair[1];
    env = impid_pmi_env_alloc(2);
    if (env &&
        impid_pmi_env_add(env, "PMI_RANK=%u", all->native[p->task->rank]) >=
            0 &&
        impid_pmi_env_add(env, "PMI_SIZE=%u",
                          all->clients[p->client->number].nprocs) >= 0)
        return env;
    errprintf(err, "PMI-1: %s", strerror(ENOMEM));
    impid_pmi_free_env(env);
    return NULL;
}
