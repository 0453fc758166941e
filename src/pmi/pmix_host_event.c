/* SPDX-License-Identifier: BSD-3-Clause
 * Callbacks of libpmix: each is queued with what completes it and completed
 * on the owner's thread.  The queue is process-wide because libpmix is.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "pmi/pmix_host_event.h"

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

void pmix_event_start(const struct pmix_host_ops *ops, void *arg)
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

void pmix_event_dispatch(void)
{
    struct event *e;

    while ((e = next_event())) {
        handle(e);
        if (e->done)
            e->done(PMIX_SUCCESS, e->done_data);
        event_free(e);
    }
}

void pmix_event_fence_done(struct pmix_host_fence *fence, const void *blob,
                           size_t len, bool ok)
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

void pmix_event_stop(void)
{
    struct event *e;

    while ((e = next_event())) {
        fence_free(e->fence);
        event_free(e);
    }
}
