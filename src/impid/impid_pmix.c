/* SPDX-License-Identifier: BSD-3-Clause
 * A PMIx namespace for each Open MPI client.  Fences over several nodes ride
 * on rendezvous keys.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "impid/impid_pmi.h"

static struct impid_client *find_nspace(struct impid *a, const char *nspace)
{
    struct impid_round *r;

    SLIST_FOREACH(r, &a->rounds, link)
    for (uint32_t i = 0; i < r->nlocal; i++)
        if (r->local[i].nspace_known && strcmp(r->local[i].nspace, nspace) == 0)
            return &r->local[i];
    return NULL;
}

static struct impid_proc *find_proc(struct impid *a, const char *nspace,
                                    uint32_t native)
{
    struct impid_client *c = find_nspace(a, nspace);

    for (uint32_t i = 0; c && i < c->nlocal; i++)
        if (c->procs[i] &&
            c->round->clients.native[c->procs[i]->task->rank] == native)
            return c->procs[i];
    return NULL;
}

static void pmix_wake(void *arg)
{
    struct impid *a = arg;

    ev_async_send(a->loop, &a->pmix_wake);
}

static void pmix_connected(void *arg, const char *nspace, uint32_t rank)
{
    struct impid_proc *p = find_proc(arg, nspace, rank);

    if (p)
        p->in_pmi = true;
}

static void pmix_finalized(void *arg, const char *nspace, uint32_t rank)
{
    struct impid_proc *p = find_proc(arg, nspace, rank);

    if (p)
        p->out_of_pmi = true;
}

static void pmix_abort(void *arg, const char *nspace, uint32_t rank, int code,
                       const char *text)
{
    impid_fail(arg, 310, code, find_proc(arg, nspace, rank),
               "called MPI_Abort (code %d)", code);
}

struct fence_wait {
    struct impid *impid;
    struct pmix_host_fence *fence;
};

static void on_fence_got(void *arg, const struct agent_blob *blobs, uint32_t n)
{
    struct fence_wait *w = arg;
    struct bytebuf all;

    bytebuf_init(&all, SF_AGENT_FRAME_MAX);
    for (uint32_t i = 0; i < n; i++)
        bytebuf_add(&all, blobs[i].data, blobs[i].len);
    w->impid->pmix->fence_done(w->fence, bytebuf_data(&all), bytebuf_len(&all),
                               !all.bad);
    bytebuf_free(&all);
    free(w);
}

/* Hosts that hold participants: how many, and which of them is this. */
static uint32_t fence_hosts(const struct impid_client *c, const uint32_t *ranks,
                            size_t nranks, uint32_t *index)
{
    uint32_t *host = impid_pmi_rank_hosts(c);
    bool *used = calloc(c->nhosts, sizeof(*used));
    uint32_t size = c->round->clients.clients[c->number].nprocs;
    uint32_t n = 0;

    *index = c->host;
    if (!ranks || !host || !used) {
        n = c->nhosts;
    } else {
        for (size_t i = 0; i < nranks; i++)
            if (ranks[i] < size)
                used[host[ranks[i]]] = true;
        for (uint32_t i = 0; i < c->nhosts; i++) {
            if (i == c->host)
                *index = n;
            n += used[i];
        }
    }
    free(host);
    free(used);
    return n;
}

/* The participants as part of a key: FNV-1a over the ranks. */
static uint64_t fence_hash(const uint32_t *ranks, size_t nranks)
{
    uint64_t h = 0xcbf29ce484222325ULL;

    for (size_t i = 0; i < nranks; i++)
        for (int shift = 0; shift < 32; shift += 8)
            h = (h ^ ((ranks[i] >> shift) & 0xff)) * 0x100000001b3ULL;
    return h;
}

/* Fences of one set of participants are numbered by themselves. */
static uint32_t fence_number(struct impid_client *c, uint64_t hash)
{
    struct impid_fence_count *f;

    for (f = c->fences; f; f = f->next)
        if (f->hash == hash)
            return f->count++;
    f = calloc(1, sizeof(*f));
    if (!f)
        return 0;
    f->hash = hash;
    f->count = 1;
    f->next = c->fences;
    c->fences = f;
    return 0;
}

static void pmix_fence(void *arg, struct pmix_host_fence *fence,
                       const char *nspace, const uint32_t *ranks, size_t nranks,
                       const void *blob, size_t len)
{
    struct impid *a = arg;
    struct impid_client *c = find_nspace(a, nspace);
    struct fence_wait *w = c ? malloc(sizeof(*w)) : NULL;
    uint64_t hash = fence_hash(ranks, nranks);
    uint32_t index, n;
    char key[128];

    if (!w) {
        a->pmix->fence_done(fence, NULL, 0, false);
        return;
    }
    n = fence_hosts(c, ranks, nranks, &index);
    if (n <= 1) {
        a->pmix->fence_done(fence, blob, len, true);
        free(w);
        return;
    }
    *w = (struct fence_wait){a, fence};
    snprintf(key, sizeof(key), "pmix.%u.%u.%016llx.%u", c->round->generation,
             c->number, (unsigned long long)hash, fence_number(c, hash));
    impid_link_put(&a->link, key, index, n, blob, len, on_fence_got, w);
}

static const struct pmix_host_ops pmix_ops = {
    pmix_wake, pmix_connected, pmix_finalized, pmix_abort, pmix_fence};

static void on_pmix_wake(struct ev_loop *loop, ev_async *w, int revents)
{
    struct impid *a = ev_userdata(loop);

    if (a->pmix)
        a->pmix->dispatch();
}

/* libev, which we use, also defines the functions of libevent, which libpmix
 * uses: the module must find its own first.  (A sanitizer can not have that;
 * it does without Open MPI.) */
#ifdef __SANITIZE_ADDRESS__
#define MODULE_FLAGS (RTLD_NOW | RTLD_LOCAL)
#else
#define MODULE_FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

static const struct pmix_host_api *pmix_load(const struct impid *a,
                                             struct errbuf *err)
{
    void *module = dlopen(a->conf.pmix_module, MODULE_FLAGS);
    const struct pmix_host_api *api;

    if (!module) {
        errprintf(err, "PMIx for Open MPI: %s", dlerror());
        return NULL;
    }
    api = dlsym(module, "pmix_host_api");
    if (!api || api->version != PMIX_HOST_API_VERSION) {
        errprintf(err, "%s is of another version", a->conf.pmix_module);
        return NULL;
    }
    return api;
}

static int pmix_ensure(struct impid *a, struct errbuf *err)
{
    const struct pmix_host_api *api;
    char dir[256];

    if (a->pmix)
        return 0;
    api = pmix_load(a, err);
    if (!api || !impid_pmi_subdir(dir, sizeof(dir), a, "pmix", err))
        return -1;
    ev_async_init(&a->pmix_wake, on_pmix_wake);
    ev_async_start(a->loop, &a->pmix_wake);
    if (api->start(dir, a->node_name, &pmix_ops, a, err) < 0)
        return -1;
    a->pmix = api;
    log_debug("PMIx server started");
    return 0;
}

static const char **host_names(const struct impid_client *c)
{
    const struct impi_clients *all = &c->round->clients;
    const struct impi_client_info *info = &all->clients[c->number];
    const char **names = calloc(info->nhosts, sizeof(char *));

    for (uint32_t i = 0; names && i < info->nhosts; i++)
        names[i] = c->round->node_names[all->hosts[info->first_host + i].node];
    return names;
}

int impid_pmix_start(struct impid_client *c, struct errbuf *err)
{
    const struct impid_round *r = c->round;
    struct pmix_host_nspace ns = {.host = c->host, .nhosts = c->nhosts};
    uint32_t *host = impid_pmi_rank_hosts(c);
    const char **names = host_names(c);
    char dir[256], name[64];
    int rc = -1;

    snprintf(c->nspace, sizeof(c->nspace), "impi.%s.%u.%u", r->impid->conf.step,
             r->generation, c->number);
    snprintf(name, sizeof(name), "ns.%u.%u", r->generation, c->number);
    ns.name = c->nspace;
    ns.dir = dir;
    ns.size = r->clients.clients[c->number].nprocs;
    ns.universe = ns.size;
    ns.host_names = names;
    ns.rank_host = host;
    if (!host || !names)
        errprintf(err, "PMIx: %s", strerror(ENOMEM));
    else if (pmix_ensure(r->impid, err) == 0 &&
             impid_pmi_subdir(dir, sizeof(dir), r->impid, name, err))
        rc = r->impid->pmix->add_nspace(&ns, err);
    c->nspace_known = rc == 0;
    free(names);
    free(host);
    return rc;
}

/* Everything from libpmix, and where Open MPI's shared memory goes: two
 * nodes on one machine would meet in its default place. */
char **impid_pmix_env(struct impid_proc *p, struct errbuf *err)
{
    struct impid *a = p->impid;
    char **own = a->pmix->add_process(p->client->nspace,
                                      p->round->clients.native[p->task->rank],
                                      getuid(), getgid(), err);
    char **env;
    size_t n = 0;

    if (!own)
        return NULL;
    while (own[n])
        n++;
    env = impid_pmi_env_alloc(n + 1);
    for (size_t i = 0; env && i < n; i++)
        env[i] = strdup(own[i]);
    a->pmix->free_env(own);
    if (env &&
        impid_pmi_env_add(env, "OMPI_MCA_btl_vader_backing_directory=%s/vader",
                          a->conf.dir) >= 0)
        return env;
    errprintf(err, "PMIx: %s", strerror(ENOMEM));
    impid_pmi_free_env(env);
    return NULL;
}
