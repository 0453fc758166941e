/* SPDX-License-Identifier: BSD-3-Clause
 * Namespaces and processes: which attributes a job needs is a matter of
 * record, not of code; they are listed here one per line.
 */
#include "pmi/pmix_host.h"

#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/limits.h"

/* Inside impid_pmix.so: the way from libpmix's thread to the owner's, and
 * the server module whose callbacks take it.
 */
extern pmix_server_module_t pmix_event_module;

/* ---- pmix host event --------------------------------------------------- */

/* Callbacks of libpmix: each is queued with what completes it and completed
 * on the owner's thread. The queue is process-wide because libpmix is. */

enum kind { CONNECTED, FINALIZED, ABORTED, FENCE };

struct event {
    STAILQ_ENTRY(event) link;
    enum kind kind;
    pmix_proc_t proc;
    int code;
    char *text;
    pmix_op_cbfunc_t done;
    void *done_data;
    struct pmix_host_fence *fence;
};

struct pmix_host_fence {
    char nspace[PMIX_MAX_NSLEN + 1];
    uint32_t *ranks; /* NULL: all */
    size_t nranks;
    void *blob;
    size_t len;
    pmix_modex_cbfunc_t done;
    void *done_data;
};

static struct {
    pthread_mutex_t lock;
    STAILQ_HEAD(, event) queue;
    const struct pmix_host_ops *ops;
    void *arg;
} hub = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pmix_status_t post(struct event *e)
{
    pthread_mutex_lock(&hub.lock);
    STAILQ_INSERT_TAIL(&hub.queue, e, link);
    pthread_mutex_unlock(&hub.lock);
    hub.ops->wake(hub.arg);
    return PMIX_SUCCESS;
}

static struct event *event_new(enum kind kind, const pmix_proc_t *proc)
{
    struct event *e = calloc(1, sizeof(*e));

    if (!e)
        return NULL;
    e->kind = kind;
    e->proc = *proc;
    return e;
}

static pmix_status_t post_op(enum kind kind, const pmix_proc_t *proc, int code,
                             const char *text, pmix_op_cbfunc_t done,
                             void *done_data)
{
    struct event *e = event_new(kind, proc);

    if (!e)
        return PMIX_ERR_NOMEM;
    e->code = code;
    e->text = text ? strdup(text) : NULL;
    e->done = done;
    e->done_data = done_data;
    return post(e);
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object,
                                  pmix_info_t *info, size_t ninfo,
                                  pmix_op_cbfunc_t done, void *data)
{
    return post_op(CONNECTED, proc, 0, NULL, done, data);
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object,
                                  pmix_op_cbfunc_t done, void *data)
{
    return post_op(FINALIZED, proc, 0, NULL, done, data);
}

static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int code,
                              const char *text, pmix_proc_t *procs,
                              size_t nprocs, pmix_op_cbfunc_t done, void *data)
{
    return post_op(ABORTED, proc, code, text, done, data);
}

static void fence_free(struct pmix_host_fence *f)
{
    if (!f)
        return;
    free(f->ranks);
    free(f->blob);
    free(f);
}

static int rank_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static int fence_ranks(struct pmix_host_fence *f, const pmix_proc_t *procs,
                       size_t nprocs)
{
    for (size_t i = 0; i < nprocs; i++)
        if (procs[i].rank == PMIX_RANK_WILDCARD)
            return 0;
    f->ranks = calloc(nprocs ? nprocs : 1, sizeof(*f->ranks));
    if (!f->ranks)
        return -1;
    for (size_t i = 0; i < nprocs; i++)
        f->ranks[f->nranks++] = procs[i].rank;
    qsort(f->ranks, f->nranks, sizeof(*f->ranks), rank_order);
    return 0;
}

/* Takes data. */
static struct pmix_host_fence *fence_new(const pmix_proc_t *procs,
                                         size_t nprocs, void *data, size_t len)
{
    struct pmix_host_fence *f = calloc(1, sizeof(*f));

    if (!f) {
        free(data);
        return NULL;
    }
    memcpy(f->nspace, procs[0].nspace, sizeof(f->nspace) - 1);
    f->blob = data;
    f->len = len;
    if (fence_ranks(f, procs, nprocs) < 0) {
        fence_free(f);
        return NULL;
    }
    return f;
}

/* Across clients there is no native one. */
static bool is_native(const pmix_proc_t *procs, size_t nprocs)
{
    for (size_t i = 1; i < nprocs; i++)
        if (strcmp(procs[i].nspace, procs[0].nspace) != 0)
            return false;
    return true;
}

/* libpmix hands data over, whatever we return. */
static pmix_status_t on_fence(const pmix_proc_t *procs, size_t nprocs,
                              const pmix_info_t *info, size_t ninfo, char *data,
                              size_t len, pmix_modex_cbfunc_t done,
                              void *done_data)
{
    struct event *e = NULL;

    if (nprocs > 0 && is_native(procs, nprocs))
        e = event_new(FENCE, &procs[0]);
    if (!e) {
        free(data);
        return nprocs == 0                ? PMIX_ERR_BAD_PARAM
               : is_native(procs, nprocs) ? PMIX_ERR_NOMEM
                                          : PMIX_ERR_NOT_SUPPORTED;
    }
    e->fence = fence_new(procs, nprocs, data, len);
    if (!e->fence) {
        free(e);
        return PMIX_ERR_NOMEM;
    }
    e->fence->done = done;
    e->fence->done_data = done_data;
    return post(e);
}

/* Everything is exchanged by fences, so nothing is left to ask for. */
static pmix_status_t on_direct_modex(const pmix_proc_t *proc,
                                     const pmix_info_t *info, size_t ninfo,
                                     pmix_modex_cbfunc_t done, void *data)
{
    return PMIX_ERR_NOT_FOUND;
}

static pmix_status_t on_register_events(pmix_status_t *codes, size_t ncodes,
                                        const pmix_info_t *info, size_t ninfo,
                                        pmix_op_cbfunc_t done, void *data)
{
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_deregister_events(pmix_status_t *codes, size_t ncodes,
                                          pmix_op_cbfunc_t done, void *data)
{
    return PMIX_OPERATION_SUCCEEDED;
}

/* MPI_Comm_spawn: an MPI error in the program. */
static pmix_status_t on_spawn(const pmix_proc_t *proc, const pmix_info_t *info,
                              size_t ninfo, const pmix_app_t *apps,
                              size_t napps, pmix_spawn_cbfunc_t done,
                              void *data)
{
    return PMIX_ERR_NOT_SUPPORTED;
}

pmix_server_module_t pmix_event_module = {
    .client_connected2 = on_connected,
    .client_finalized = on_finalized,
    .abort = on_abort,
    .fence_nb = on_fence,
    .direct_modex = on_direct_modex,
    .register_events = on_register_events,
    .deregister_events = on_deregister_events,
    .spawn = on_spawn,
};

/* Before the server starts, and after it has stopped. */
static void pmix_event_start(const struct pmix_host_ops *ops, void *arg)
{
    STAILQ_INIT(&hub.queue);
    hub.ops = ops;
    hub.arg = arg;
}

static struct event *next_event(void)
{
    struct event *e;

    pthread_mutex_lock(&hub.lock);
    e = STAILQ_FIRST(&hub.queue);
    if (e)
        STAILQ_REMOVE_HEAD(&hub.queue, link);
    pthread_mutex_unlock(&hub.lock);
    return e;
}

static void handle(struct event *e)
{
    struct pmix_host_fence *f = e->fence;

    switch (e->kind) {
    case CONNECTED:
        hub.ops->connected(hub.arg, e->proc.nspace, e->proc.rank);
        break;
    case FINALIZED:
        hub.ops->finalized(hub.arg, e->proc.nspace, e->proc.rank);
        break;
    case ABORTED:
        hub.ops->abort(hub.arg, e->proc.nspace, e->proc.rank, e->code,
                       e->text ? e->text : "");
        break;
    case FENCE:
        hub.ops->fence(hub.arg, f, f->nspace, f->ranks, f->nranks, f->blob,
                       f->len);
        break;
    }
}

static void event_free(struct event *e)
{
    free(e->text);
    free(e);
}

static void pmix_event_dispatch(void)
{
    struct event *e;

    while ((e = next_event())) {
        handle(e);
        if (e->done)
            e->done(PMIX_SUCCESS, e->done_data);
        event_free(e);
    }
}

static void pmix_event_fence_done(struct pmix_host_fence *fence,
                                  const void *blob, size_t len, bool ok)
{
    char *copy = NULL;

    if (ok && len > 0) {
        copy = malloc(len);
        if (copy)
            memcpy(copy, blob, len);
        else
            ok = false;
    }
    /* libpmix reads the data later and then frees it. */
    fence->done(ok ? PMIX_SUCCESS : PMIX_ERROR, copy, copy ? len : 0,
                fence->done_data, free, copy);
    fence_free(fence);
}

static void pmix_event_stop(void)
{
    struct event *e;

    while ((e = next_event())) {
        fence_free(e->fence);
        event_free(e);
    }
}

/* ---- pmix host --------------------------------------------------------- */

#define PROC_INFOS 8

static int failed(struct errbuf *err, const char *what, pmix_status_t rc)
{
    return errprintf(err, "%s: %s", what, PMIx_Error_string(rc));
}

static pmix_info_t *next_info(pmix_info_t *infos, size_t *n, const char *key)
{
    pmix_info_t *info = &infos[(*n)++];

    memset(info, 0, sizeof(*info));
    snprintf(info->key, sizeof(info->key), "%s", key);
    return info;
}

/* Strings are borrowed: libpmix copies. */
static void add_string(pmix_info_t *infos, size_t *n, const char *key,
                       const char *text)
{
    pmix_info_t *info = next_info(infos, n, key);

    info->value.type = PMIX_STRING;
    info->value.data.string = (char *)text;
}

static void add_u32(pmix_info_t *infos, size_t *n, const char *key, uint32_t v)
{
    pmix_info_t *info = next_info(infos, n, key);

    info->value.type = PMIX_UINT32;
    info->value.data.uint32 = v;
}

static void add_u16(pmix_info_t *infos, size_t *n, const char *key, uint16_t v)
{
    pmix_info_t *info = next_info(infos, n, key);

    info->value.type = PMIX_UINT16;
    info->value.data.uint16 = v;
}

static void add_rank(pmix_info_t *infos, size_t *n, const char *key, uint32_t v)
{
    pmix_info_t *info = next_info(infos, n, key);

    info->value.type = PMIX_PROC_RANK;
    info->value.data.rank = v;
}

static void add_bool(pmix_info_t *infos, size_t *n, const char *key, bool v)
{
    pmix_info_t *info = next_info(infos, n, key);

    info->value.type = PMIX_BOOL;
    info->value.data.flag = v;
}

static int host_start(const char *dir, const char *hostname,
                      const struct pmix_host_ops *ops, void *arg,
                      struct errbuf *err)
{
    pmix_info_t infos[8];
    pmix_status_t rc;
    size_t n = 0;

    pmix_event_start(ops, arg);
    /* From 5 on what it knows of a job would be in a file in the job's
     * directory, which a process in a container may know by another name. */
    setenv("PMIX_MCA_gds", "hash", 0);
    add_string(infos, &n, PMIX_SERVER_TMPDIR, dir);
    add_string(infos, &n, PMIX_SYSTEM_TMPDIR, dir);
    add_string(infos, &n, PMIX_HOSTNAME, hostname);
    add_string(infos, &n, PMIX_SERVER_NSPACE, "impid");
    add_rank(infos, &n, PMIX_SERVER_RANK, 0);
    rc = PMIx_server_init(&pmix_event_module, infos, n);
    if (rc != PMIX_SUCCESS)
        return failed(err, "PMIx_server_init", rc);
    return 0;
}

static void host_stop(void)
{
    PMIx_server_finalize();
    pmix_event_stop();
}

/* "a,b,c" of all host names, or the ranks of one host, "0,2,5". */
static char *host_list(const struct pmix_host_nspace *ns)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return NULL;
    for (uint32_t i = 0; i < ns->nhosts; i++)
        fprintf(f, "%s%s", i ? "," : "", ns->host_names[i]);
    fclose(f);
    return text;
}

static void print_ranks(FILE *f, const struct pmix_host_nspace *ns,
                        uint32_t host)
{
    const char *sep = "";

    for (uint32_t r = 0; r < ns->size; r++) {
        if (ns->rank_host[r] != host)
            continue;
        fprintf(f, "%s%u", sep, r);
        sep = ",";
    }
}

/* "0,1;2,3": ranks of every host; or of one only. */
static char *rank_list(const struct pmix_host_nspace *ns, uint32_t first,
                       uint32_t count)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return NULL;
    for (uint32_t h = first; h < first + count; h++) {
        if (h > first)
            fputc(';', f);
        print_ranks(f, ns, h);
    }
    fclose(f);
    return text;
}

/* libpmix takes more than a kilobyte for whatever it is told of a process, here
 * and in each process of the namespace. */
static bool are_all_told(const struct pmix_host_nspace *ns)
{
    return ns->size <= SF_PMIX_TOLD_MAX;
}

static bool is_local(const struct pmix_host_nspace *ns, uint32_t rank)
{
    return ns->rank_host[rank] == ns->host;
}

/* libpmix 4.2 gives a process nothing at all (NOT-FOUND) when it knows nothing
 * of the last one. */
static bool is_told(const struct pmix_host_nspace *ns, uint32_t rank)
{
    return are_all_told(ns) || is_local(ns, rank) || rank == ns->size - 1;
}

static size_t count_told(const struct pmix_host_nspace *ns)
{
    size_t n = 0;

    for (uint32_t r = 0; r < ns->size; r++)
        n += is_told(ns, r);
    return n;
}

/* What is said of one process, as a data array. */
static void process_info(pmix_info_t *infos, size_t *n,
                         const struct pmix_host_nspace *ns, uint32_t rank)
{
    uint32_t host = ns->rank_host[rank];

    add_rank(infos, n, PMIX_RANK, rank);
    add_u32(infos, n, PMIX_APPNUM, ns->appnum);
    add_u32(infos, n, PMIX_NODEID, host);
    add_string(infos, n, PMIX_HOSTNAME, ns->host_names[host]);
}

/* What is said of a process of this node beside that. */
static void local_info(pmix_info_t *infos, size_t *n, uint32_t rank,
                       uint16_t local)
{
    add_rank(infos, n, PMIX_APP_RANK, rank);
    add_rank(infos, n, PMIX_GLOBAL_RANK, rank);
    add_u16(infos, n, PMIX_LOCAL_RANK, local);
    add_u16(infos, n, PMIX_NODE_RANK, local);
}

struct job_text {
    char *nodes, *ppn;   /* regular expressions of libpmix, if all are told */
    char *hosts, *ranks; /* what they are made of */
    char *peers;         /* ranks on this node */
};

static void job_text_free(struct job_text *t)
{
    free(t->nodes);
    free(t->ppn);
    free(t->hosts);
    free(t->ranks);
    free(t->peers);
}

/* Of these two libpmix makes the host's name of each process. */
static int job_maps_make(struct job_text *t, const struct pmix_host_nspace *ns,
                         struct errbuf *err)
{
    pmix_status_t rc;

    t->ranks = rank_list(ns, 0, ns->nhosts);
    if (!t->ranks)
        return errprintf(err, "PMIx namespace: out of memory");
    rc = PMIx_generate_regex(t->hosts, &t->nodes);
    if (rc != PMIX_SUCCESS)
        return failed(err, "PMIx_generate_regex", rc);
    rc = PMIx_generate_ppn(t->ranks, &t->ppn);
    if (rc != PMIX_SUCCESS)
        return failed(err, "PMIx_generate_ppn", rc);
    return 0;
}

static int job_text_make(struct job_text *t, const struct pmix_host_nspace *ns,
                         struct errbuf *err)
{
    memset(t, 0, sizeof(*t));
    t->hosts = host_list(ns);
    t->peers = rank_list(ns, ns->host, 1);
    if (!t->hosts || !t->peers)
        return errprintf(err, "PMIx namespace: out of memory");
    return are_all_told(ns) ? job_maps_make(t, ns, err) : 0;
}

static uint32_t count_local(const struct pmix_host_nspace *ns, uint32_t *leader)
{
    uint32_t n = 0;

    *leader = 0;
    for (uint32_t r = ns->size; r-- > 0;) {
        if (ns->rank_host[r] != ns->host)
            continue;
        *leader = r;
        n++;
    }
    return n;
}

static void job_info(pmix_info_t *infos, size_t *n,
                     const struct pmix_host_nspace *ns,
                     const struct job_text *t)
{
    uint32_t leader;
    uint32_t nlocal = count_local(ns, &leader);

    add_string(infos, n, PMIX_JOBID, ns->name);
    add_u32(infos, n, PMIX_UNIV_SIZE, ns->universe);
    add_u32(infos, n, PMIX_JOB_SIZE, ns->size);
    add_u32(infos, n, PMIX_MAX_PROCS, ns->universe);
    add_u32(infos, n, PMIX_JOB_NUM_APPS, 1);
    add_bool(infos, n, PMIX_SPAWNED, false);
    if (t->nodes) {
        add_string(infos, n, PMIX_NODE_MAP, t->nodes);
        add_string(infos, n, PMIX_PROC_MAP, t->ppn);
    } else {
        add_string(infos, n, PMIX_NODE_LIST, t->hosts);
    }
    add_u32(infos, n, PMIX_NUM_NODES, ns->nhosts);
    add_u32(infos, n, PMIX_NODEID, ns->host);
    add_u32(infos, n, PMIX_NODE_SIZE, nlocal);
    add_u32(infos, n, PMIX_LOCAL_SIZE, nlocal);
    add_string(infos, n, PMIX_LOCAL_PEERS, t->peers);
    add_rank(infos, n, PMIX_LOCALLDR, leader);
    add_string(infos, n, PMIX_TMPDIR, ns->dir);
    add_string(infos, n, PMIX_NSDIR, ns->dir);
}
#define JOB_INFOS 16

/* One array per process that is told, in rank order. */
static void proc_arrays(pmix_info_t *infos, size_t *n, pmix_info_t *space,
                        pmix_data_array_t *array,
                        const struct pmix_host_nspace *ns)
{
    uint16_t local = 0;

    for (uint32_t r = 0; r < ns->size; r++) {
        pmix_info_t *info;
        size_t used = 0;

        if (!is_told(ns, r))
            continue;
        process_info(space, &used, ns, r);
        if (is_local(ns, r))
            local_info(space, &used, r, local++);
        *array = (pmix_data_array_t){
            .type = PMIX_INFO, .size = used, .array = space};
        info = next_info(infos, n, PMIX_PROC_DATA);
        info->value.type = PMIX_DATA_ARRAY;
        info->value.data.darray = array++;
        space += PROC_INFOS;
    }
}

static pmix_status_t register_nspace(const struct pmix_host_nspace *ns,
                                     const struct job_text *t)
{
    uint32_t leader, nlocal = count_local(ns, &leader);
    size_t told = count_told(ns), n = 0;
    pmix_info_t *infos = calloc(JOB_INFOS + told, sizeof(*infos));
    pmix_info_t *space = calloc(told * PROC_INFOS, sizeof(*space));
    pmix_data_array_t *arrays = calloc(told, sizeof(*arrays));
    pmix_status_t rc = PMIX_ERR_NOMEM;
    pmix_nspace_t name = "";

    if (infos && space && arrays) {
        snprintf(name, sizeof(name), "%s", ns->name);
        job_info(infos, &n, ns, t);
        proc_arrays(infos, &n, space, arrays, ns);
        rc = PMIx_server_register_nspace(name, (int)nlocal, infos, n, NULL,
                                         NULL);
    }
    free(arrays);
    free(space);
    free(infos);
    return rc;
}

static bool succeeded(pmix_status_t rc)
{
    return rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED;
}

static int host_add_nspace(const struct pmix_host_nspace *ns,
                           struct errbuf *err)
{
    struct job_text text;
    int rc = job_text_make(&text, ns, err);

    if (rc == 0) {
        pmix_status_t status = register_nspace(ns, &text);

        if (!succeeded(status))
            rc = failed(err, "PMIx_server_register_nspace", status);
    }
    job_text_free(&text);
    return rc;
}

static void host_remove_nspace(const char *name)
{
    pmix_nspace_t nspace = "";

    snprintf(nspace, sizeof(nspace), "%s", name);
    PMIx_server_deregister_nspace(nspace, NULL, NULL);
}

static void proc_set(pmix_proc_t *proc, const char *nspace, uint32_t rank)
{
    memset(proc, 0, sizeof(*proc));
    snprintf(proc->nspace, sizeof(proc->nspace), "%s", nspace);
    proc->rank = rank;
}

static void host_free_env(char **env)
{
    if (!env)
        return;
    for (char **e = env; *e; e++)
        free(*e);
    free(env);
}

static char **host_add_process(const char *nspace, uint32_t rank, uid_t uid,
                               gid_t gid, struct errbuf *err)
{
    pmix_proc_t proc;
    pmix_status_t rc;
    char **env = NULL;

    proc_set(&proc, nspace, rank);
    rc = PMIx_server_register_client(&proc, uid, gid, NULL, NULL, NULL);
    if (!succeeded(rc)) {
        failed(err, "PMIx_server_register_client", rc);
        return NULL;
    }
    rc = PMIx_server_setup_fork(&proc, &env);
    if (rc != PMIX_SUCCESS) {
        failed(err, "PMIx_server_setup_fork", rc);
        host_free_env(env);
        return NULL;
    }
    return env;
}

static void host_remove_process(const char *nspace, uint32_t rank)
{
    pmix_proc_t proc;

    proc_set(&proc, nspace, rank);
    PMIx_server_deregister_client(&proc, NULL, NULL);
}

extern const struct pmix_host_api pmix_host_api;
const struct pmix_host_api pmix_host_api = {
    .version = PMIX_HOST_API_VERSION,
    .start = host_start,
    .stop = host_stop,
    .add_nspace = host_add_nspace,
    .remove_nspace = host_remove_nspace,
    .add_process = host_add_process,
    .free_env = host_free_env,
    .remove_process = host_remove_process,
    .fence_done = pmix_event_fence_done,
    .dispatch = pmix_event_dispatch,
};
