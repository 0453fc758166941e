/* SPDX-License-Identifier: BSD-3-Clause
 * What the native library of a client needs, by its family.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mac.h"
#include "impi/agent_tree.h"
#include "impid/impid.h"
#include "impid/impid_topology.h"
#include "pmi/pmi_mapping.h"

/* What the two kinds of native process management in impid share.
 */

static int impid_pmi_env_add(char **env, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static int impid_mpich_start(struct impid_client *c, struct errbuf *err);
static char **impid_mpich_env(struct impid_proc *p, int *pass_fd,
                              struct errbuf *err);
static int impid_pmix_start(struct impid_client *c, struct errbuf *err);
static char **impid_pmix_env(struct impid_proc *p, struct errbuf *err);

/* ---- what both families need ------------------------------------------- */

/* A list for n variables; add one; impid_pmi_free_env() frees all.  NULL and
 * negative: no memory. */
static char **impid_pmi_env_alloc(size_t n)
{
    return calloc(n + 1, sizeof(char *));
}

static int impid_pmi_env_add(char **env, const char *fmt, ...)
{
    va_list ap;
    size_t n = 0;
    int rc;

    while (env[n])
        n++;
    va_start(ap, fmt);
    rc = vasprintf(&env[n], fmt, ap);
    va_end(ap);
    if (rc < 0)
        env[n] = NULL;
    return rc;
}

void impid_pmi_free_env(char **env)
{
    if (!env)
        return;
    for (char **e = env; *e; e++)
        free(*e);
    free(env);
}

/* mkdir DIR/name; false with text when it is not there after that. */
static bool impid_pmi_subdir(char *path, size_t size, const struct impid *a,
                             const char *name, struct errbuf *err)
{
    snprintf(path, size, "%s/%s", a->conf.dir, name);
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    errprintf(err, "%s: %s", path, strerror(errno));
    return false;
}

int impid_pmi_start(struct impid_client *c, struct errbuf *err)
{
    char dir[256];

    if (c->family == TASK_FAMILY_MPICH)
        return impid_mpich_start(c, err);
    if (c->family == TASK_FAMILY_OPENMPI &&
        !impid_pmi_subdir(dir, sizeof(dir), c->round->impid, "vader", err))
        return -1;
    return impid_pmix_start(c, err);
}

void impid_pmi_stop(struct impid_client *c)
{
    ev_timer_stop(c->round->impid->loop, &c->leave);
    pmi_destroy(c->pmi);
    c->pmi = NULL;
    if (c->nspace_known && c->round->impid->pmix)
        c->round->impid->pmix->remove_nspace(c->nspace);
    c->nspace_known = false;
    while (c->fences) {
        struct impid_fence_count *f = c->fences;

        c->fences = f->next;
        free(f);
    }
}

/* One more, or NULL.  Takes env, also then. */
static char **add_one(char **env, const char *name, const char *value)
{
    size_t n = 0;
    char **more;

    while (env[n])
        n++;
    more = realloc(env, (n + 2) * sizeof(char *));
    if (more) {
        env = more;
        env[n + 1] = NULL;
        if (impid_pmi_env_add(env, "%s=%s", name, value) >= 0)
            return env;
    }
    impid_pmi_free_env(env);
    return NULL;
}

/* What the site wants of the process itself.  Takes env, also when it fails:
 * NULL. */
static char **add_site(char **env, const struct impi_site *site,
                       struct errbuf *err)
{
    if (!env)
        return NULL;
    if (!site->shared_memory)
        env = add_one(env, "IMPI_SHM", "0");
    if (env && site->fabric)
        env = add_one(env, "IMPI_SITE_FABRIC", site->fabric);
    if (!env)
        errprintf(err, "%s", strerror(ENOMEM));
    return env;
}

/* The file with the node's topology, made when it is first wanted; NULL: the
 * processes look for themselves. */
static const char *topology_file(struct impid *a)
{
    if (a->looked_at_node || a->ntasks < IMPID_TOPOLOGY_LEAST)
        return a->topology;
    a->looked_at_node = true;
    if (asprintf(&a->topology, "%s/topology.xml", a->conf.dir) < 0)
        a->topology = NULL;
    if (a->topology && impid_topology_write(a->topology) < 0) {
        log_debug("no topology for the processes: %s", strerror(errno));
        free(a->topology);
        a->topology = NULL;
    }
    return a->topology;
}

/* Takes env, also when it fails: NULL. */
static char **add_topology(char **env, struct impid *a, struct errbuf *err)
{
    const char *file = env ? topology_file(a) : NULL;

    if (!file)
        return env;
    env = add_one(env, "HWLOC_XMLFILE", file);
    if (!env)
        errprintf(err, "%s", strerror(ENOMEM));
    return env;
}

/* What the processes of a client on this node do not have in common, each being
 * in a container of its own. */
struct apart {
    bool memory; /* /dev/shm: by PMI_process_mapping they are several nodes */
    bool users;  /* the user namespace: none may read another's memory */
};

static struct apart look_apart(const struct impid_client *c)
{
    const struct impid_proc *first = NULL;
    struct apart apart = {false, false};

    for (uint32_t i = 0; i < c->nlocal; i++) {
        const struct impid_proc *p = c->procs[i];

        if (!p)
            continue;
        if (!first)
            first = p;
        apart.memory |= p->memory != first->memory;
        apart.users |= p->users != first->users;
    }
    return apart;
}

/* What MPICH has to hear.  PMI-1 and PMI-2 tell it of several nodes, PMIx does
 * not. */
static char **add_apart_mpich(char **env, uint32_t family, struct apart apart)
{
    if (apart.users)
        env = add_one(env, "?MPIR_CVAR_CH4_CMA_ENABLE", "0");
    /* It has its own way within a node, and UCX takes any two processes of a
     * machine for neighbours. */
    if (env && apart.memory)
        env = add_one(env, "?UCX_TLS", "^sm");
    if (env && apart.memory && family == TASK_FAMILY_MPICH_PMIX)
        env = add_one(env, "?MPIR_CVAR_NOLOCAL", "1");
    return env;
}

/* Takes env, also when it fails: NULL.  What the user has set stays. */
static char **add_apart(char **env, const struct impid_proc *p,
                        struct errbuf *err)
{
    const struct impid_client *c = p->client;
    struct apart apart = look_apart(c);
    char **more = env;

    /* UCX opens /proc/PID/fd, others read each other's memory. */
    if (more && apart.users)
        more = add_one(more, "?UCX_POSIX_USE_PROC_LINK", "n");
    if (more && c->family != TASK_FAMILY_OPENMPI)
        more = add_apart_mpich(more, c->family, apart);
    else if (more && apart.users)
        more =
            add_one(more, "?OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    if (env && !more)
        errprintf(err, "%s", strerror(ENOMEM));
    return more;
}

char **impid_pmi_env(struct impid_proc *p, int *pass_fd, struct errbuf *err)
{
    struct impid *a = p->impid;
    char **env = p->family == TASK_FAMILY_MPICH
                     ? impid_mpich_env(p, pass_fd, err)
                     : impid_pmix_env(p, err);

    env = add_apart(add_site(env, &a->conf.site, err), p, err);
    return add_topology(env, a, err);
}

/* ---- MPICH: PMI-1 and PMI-2 -------------------------------------------- */

/* A PMI socket for each MPICH process. Barriers over several nodes ride on
 * rendezvous keys. */

static void on_reply(void *arg, uint32_t local, const char *line, size_t len)
{
    struct impid_client *c = arg;

    if (c->procs[local])
        impid_stream_write(&c->procs[local]->pmi, line, len);
}

static void barrier_done(struct impid_client *c, const struct agent_blob *blobs,
                         uint32_t n)
{
    struct pmi_blob *parts = calloc(n ? n : 1, sizeof(*parts));
    struct errbuf err = {"out of memory"};

    for (uint32_t i = 0; parts && i < n; i++)
        parts[i] = (struct pmi_blob){blobs[i].data, blobs[i].len};
    if (!parts || pmi_barrier_done(c->pmi, parts, n, &err) < 0)
        impid_fail(c->round->impid, 313, 1, NULL, "%s", err.text);
    free(parts);
}

static void on_barrier_got(void *arg, const struct agent_blob *blobs,
                           uint32_t n)
{
    struct impid_client *c = arg;

    if (c->pmi)
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
    snprintf(key, sizeof(key), "pmi.%u.%u.%u", c->round->generation, c->number,
             c->pmi_seq++);
    impid_link_put(&c->round->impid->link, key, c->host, c->nhosts, c->agents,
                   blob, len, on_barrier_got, c);
}

/* MPICH closes its connections by UCX, and then waits for all in a barrier,
 * where it does not look at them.  Over TCP one may wait for ever for another
 * that is there already.  When all processes of the client have been in the
 * native MPI_Finalize for this time, those that wait are let go: their ends of
 * the connections close, and so the others come to an end, too. */
#define LEAVE_SECONDS 3

static void leave_got(void *arg, const struct agent_blob *blobs, uint32_t n)
{
    struct impid_client *c = arg;

    if (!c->pmi)
        return;
    log_debug("client %u: MPI_Finalize stands still: who waits is let go",
              c->number);
    pmi_leave(c->pmi);
}

/* On other nodes they may not have come yet. */
static void on_leave(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct impid_client *c = w->data;
    char key[64];

    snprintf(key, sizeof(key), "leave.%u.%u", c->round->generation, c->number);
    if (c->nhosts == 1)
        leave_got(c, NULL, 0);
    else
        impid_link_put(&c->round->impid->link, key, c->host, c->nhosts,
                       c->agents, NULL, 0, leave_got, c);
}

void impid_pmi_finished(struct impid_client *c)
{
    if (!c->pmi)
        return;
    ev_timer_init(&c->leave, on_leave, LEAVE_SECONDS, 0);
    c->leave.data = c;
    ev_timer_start(c->round->impid->loop, &c->leave);
}

/* A world of one library has nothing but the library to see a process go. */
static void ended_by_library(struct impid *a, struct impid_proc *p, int code)
{
    static const char text[] = "was ended by its MPI library: MPI_Abort(%d)";

    if (p && p->round && p->round->clients.nclients == 1)
        impid_fail_unless(a, 310, code, p, text, code);
    else
        impid_fail(a, 310, code, p, text, code);
}

static void on_abort(void *arg, uint32_t local, int code)
{
    struct impid_client *c = arg;

    ended_by_library(c->round->impid, c->procs[local], code);
}

static const struct pmi_ops pmi_ops = {on_reply, on_barrier, on_abort};

static int on_pmi_input(struct impid_stream *s, void *arg)
{
    struct impid_proc *p = arg;
    struct impid_client *c = p->client;
    struct errbuf err;
    int rc;

    if (!c->pmi) {
        impid_stream_close(s);
        return -1;
    }
    rc = pmi_input(c->pmi, p->local, bytebuf_data(&s->in), bytebuf_len(&s->in),
                   &err);
    bytebuf_consume(&s->in, bytebuf_len(&s->in));
    p->in_pmi = pmi_initialized(c->pmi, p->local);
    p->out_of_pmi = pmi_finalized(c->pmi, p->local);
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

/* What PMI calls the processes of a client.  Libraries make names of shared
 * memory from it, so it is no other world's, be it of the same step or of
 * impirun: what one that was killed has left there would be taken for this
 * one's. */
static void name_job(char *buf, size_t size, char dot,
                     const struct impid_client *c)
{
    const struct impid *a = c->round->impid;
    const struct mac_part what = {"job", 3};
    uint8_t own[MAC_SIZE];

    mac_sign(own, a->conf.secret, sizeof(a->conf.secret), &what, 1);
    snprintf(buf, size, "impi%c%s%c%u%c%u%c%02x%02x%02x%02x", dot, a->conf.step,
             dot, c->round->generation, dot, c->number, dot, own[0], own[1],
             own[2], own[3]);
}

/* The native ranks of its local processes. */
static uint32_t *local_ranks(const struct impid_client *c)
{
    uint32_t *ranks = calloc(c->nlocal, sizeof(*ranks));

    for (uint32_t i = 0; ranks && i < c->nlocal; i++)
        ranks[i] =
            impi_clients_native(&c->round->clients, c->procs[i]->task->rank);
    return ranks;
}

static int impid_mpich_start(struct impid_client *c, struct errbuf *err)
{
    const struct impid_round *r = c->round;
    const struct impi_client_info *client = &r->clients.clients[c->number];
    uint32_t size = client->nprocs;
    uint32_t *node = impi_clients_native_nodes(&r->clients, c->number);
    uint32_t *ranks = local_ranks(c);
    char *mapping = node ? pmi_mapping(node, size) : NULL;
    struct pmi_config config = {.mapping = mapping,
                                .size = size,
                                .nlocal = c->nlocal,
                                .ranks = ranks,
                                .universe = size,
                                .appnum = client->component};
    char name[128];

    name_job(name, sizeof(name), '_', c);
    config.kvsname = name;
    if (mapping && ranks)
        c->pmi = pmi_create(&config, &pmi_ops, c);
    free(mapping);
    free(ranks);
    free(node);
    return c->pmi ? 0 : errprintf(err, "PMI: %s", strerror(errno));
}

/* PMI_FD is what the process gets by SCM_RIGHTS; it sets that itself. */
static char **impid_mpich_env(struct impid_proc *p, int *pass_fd,
                              struct errbuf *err)
{
    const struct impi_clients *all = &p->round->clients;
    int pair[2];
    char **env;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        errprintf(err, "PMI socket: %s", strerror(errno));
        return NULL;
    }
    impid_stream_open(&p->pmi, p->impid->loop, pair[0], SF_PMI1_LINE_MAX,
                      &pmi_stream_ops, p);
    *pass_fd = pair[1];
    env = impid_pmi_env_alloc(2);
    if (env &&
        impid_pmi_env_add(env, "PMI_RANK=%u",
                          impi_clients_native(all, p->task->rank)) >= 0 &&
        impid_pmi_env_add(env, "PMI_SIZE=%u",
                          all->clients[p->client->number].nprocs) >= 0)
        return env;
    errprintf(err, "PMI: %s", strerror(ENOMEM));
    impid_pmi_free_env(env);
    return NULL;
}

/* ---- Open MPI, and an MPICH with PMIx alone: PMIx ------------------------ */

/* A PMIx namespace for each such client. Fences over several nodes ride
 * on rendezvous keys. */

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
            impi_clients_native(&c->round->clients, c->procs[i]->task->rank) ==
                native)
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
    ended_by_library(arg, find_proc(arg, nspace, rank), code);
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

/* Hosts that hold participants: how many, which of them is this, and the set of
 * their agents. */
static uint32_t fence_hosts(const struct impid_client *c, const uint32_t *ranks,
                            size_t nranks, uint32_t *index, uint8_t *agents)
{
    const struct impi_clients *all = &c->round->clients;
    uint32_t first = all->clients[c->number].first_host;
    uint32_t *host = impi_clients_native_hosts(all, c->number);
    bool *used = calloc(c->nhosts, sizeof(*used));
    uint32_t size = all->clients[c->number].nprocs;
    uint32_t n = 0;

    *index = c->host;
    if (!ranks || !host || !used) {
        n = c->nhosts;
        memcpy(agents, c->agents,
               AGENT_SET_SIZE(c->round->impid->conf.map.nnodes));
    } else {
        for (size_t i = 0; i < nranks; i++)
            if (ranks[i] < size)
                used[host[ranks[i]]] = true;
        for (uint32_t i = 0; i < c->nhosts; i++) {
            if (i == c->host)
                *index = n;
            n += used[i];
            if (used[i])
                agent_set_add(agents, all->hosts[first + i].node);
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
    uint8_t *agents = calloc(AGENT_SET_SIZE(a->conf.map.nnodes), 1);
    uint32_t index, n;
    char key[128];

    if (!w || !agents) {
        a->pmix->fence_done(fence, NULL, 0, false);
        free(w);
        free(agents);
        return;
    }
    n = fence_hosts(c, ranks, nranks, &index, agents);
    if (n <= 1) {
        a->pmix->fence_done(fence, blob, len, true);
        free(w);
        free(agents);
        return;
    }
    *w = (struct fence_wait){a, fence};
    snprintf(key, sizeof(key), "pmix.%u.%u.%016llx.%u", c->round->generation,
             c->number, (unsigned long long)hash, fence_number(c, hash));
    impid_link_put(&a->link, key, index, n, agents, blob, len, on_fence_got, w);
    free(agents);
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
        errprintf(err, "PMIx: %s", dlerror());
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

/* How its processes here know the step's directory; in containers (libimpi's
 * front_carry.c) by a descriptor, which is the same in each. */
static const char *dir_of_client(const struct impid_client *c)
{
    for (uint32_t i = 0; i < c->nlocal; i++)
        if (c->procs[i] && c->procs[i]->dir[0])
            return c->procs[i]->dir;
    return c->round->impid->conf.dir;
}

static int impid_pmix_start(struct impid_client *c, struct errbuf *err)
{
    const struct impid_round *r = c->round;
    struct pmix_host_nspace ns = {.host = c->host, .nhosts = c->nhosts};
    uint32_t *host = impi_clients_native_hosts(&r->clients, c->number);
    const char **names = host_names(c);
    char dir[256], known[256], name[64];
    int rc = -1;

    name_job(c->nspace, sizeof(c->nspace), '.', c);
    snprintf(name, sizeof(name), "ns.%u.%u", r->generation, c->number);
    ns.name = c->nspace;
    snprintf(known, sizeof(known), "%s/%s", dir_of_client(c), name);
    ns.dir = known;
    ns.size = r->clients.clients[c->number].nprocs;
    ns.universe = ns.size;
    ns.appnum = r->clients.clients[c->number].component;
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

/* The user or group of a process as it is called in the process's own
 * namespace, where that is a container's; id elsewhere.  map: "uid_map" or
 * "gid_map" of proc(5), lines of: first there, first here, how many. */
static uint32_t id_inside(pid_t pid, const char *map, uint32_t id)
{
    unsigned int there, here, count;
    char path[64];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, map);
    f = fopen(path, "re");
    if (!f)
        return id;
    while (fscanf(f, "%u %u %u", &there, &here, &count) == 3)
        if (id >= here && id - here < count) {
            id = there + (id - here);
            break;
        }
    fclose(f);
    return id;
}

/* Where Open MPI's shared memory goes: two nodes on one machine would meet in
 * its default place, and containers need not have that in common.  (The second
 * is how Open MPI 5 says vader.)  An MPICH that knows several protocols may
 * have another as its default. */
static int add_of_library(char **env, const struct impid_proc *p)
{
    const char *dir = p->impid->conf.dir;

    if (p->family == TASK_FAMILY_MPICH_PMIX)
        return impid_pmi_env_add(env, "?MPIR_CVAR_PMI_VERSION=x");
    if (impid_pmi_env_add(env, "OMPI_MCA_btl_vader_backing_directory=%s/vader",
                          dir) < 0 ||
        impid_pmi_env_add(env, "OMPI_MCA_btl_sm_backing_directory=%s/vader",
                          dir) < 0)
        return -1;
    return impid_pmi_env_add(env, "OMPI_MCA_osc_sm_backing_directory=%s/vader",
                             dir);
}

/* Everything from libpmix, and what the library needs beside it.  PMIx wants
 * to hear from the process who it is, which the socket has told us. */
static char **impid_pmix_env(struct impid_proc *p, struct errbuf *err)
{
    struct impid *a = p->impid;
    char **own = a->pmix->add_process(
        p->client->nspace,
        impi_clients_native(&p->round->clients, p->task->rank),
        id_inside(p->pid, "uid_map", getuid()),
        id_inside(p->pid, "gid_map", getgid()), err);
    char **env;
    size_t n = 0;

    if (!own)
        return NULL;
    while (own[n])
        n++;
    env = impid_pmi_env_alloc(n + 3);
    for (size_t i = 0; env && i < n; i++)
        env[i] = strdup(own[i]);
    a->pmix->free_env(own);
    if (env && add_of_library(env, p) >= 0)
        return env;
    errprintf(err, "PMIx: %s", strerror(ENOMEM));
    impid_pmi_free_env(env);
    return NULL;
}
