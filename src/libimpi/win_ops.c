/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on windows that span: what the program gives is checked and
 * handed to the engine (impi/rma.h), which has copied it when a call returns.
 */
#include <stdlib.h>
#include <string.h>

#include "libimpi/buffer.h"
#include "libimpi/p2p_calls.h"
#include "libimpi/win.h"

/* One that has an answer. */
struct win_op {
    struct impi_rma_op core;
    struct data result;
    uint64_t len;
    struct win *w;
    bool request; /* its request takes the result */
    struct win_op *next;
};

/* What the program asks for. */
struct call {
    struct win *w;
    enum impi_rma_kind kind;
    const void *origin;
    int origin_count;
    MPI_Datatype origin_type;
    void *result; /* where an answer goes */
    int result_count;
    MPI_Datatype result_type;
    const void *compare;
    int target;
    MPI_Aint disp;
    int target_count;
    MPI_Datatype target_type;
    MPI_Op op;
};

/* ---- answers ---- */

static int class_of(uint32_t error)
{
    switch (error) {
    case IMPI_RMA_OK:
        return MPI_SUCCESS;
    case IMPI_RMA_ERR_RANGE:
        return MPI_ERR_RMA_RANGE;
    case IMPI_RMA_ERR_NO_MEM:
        return MPI_ERR_NO_MEM;
    case IMPI_RMA_ERR_LOST:
        return MPI_ERR_OTHER;
    default:
        return MPI_ERR_OP;
    }
}

static void unlink_op(struct win_op *op)
{
    struct win_op **p = &op->w->ops;

    while (*p != op)
        p = &(*p)->next;
    *p = op->next;
}

bool win_op_done(const struct win_op *op)
{
    return op->core.done;
}

/* Its result goes to the program, it to nobody. */
static int end_op(struct win_op *op)
{
    int rc = class_of(op->core.error);
    uint64_t bytes;

    if (rc == MPI_SUCCESS && op->len > 0)
        rc = data_received(&op->result, op->len, &bytes);
    else
        data_drop(&op->result);
    free(op);
    return rc;
}

int win_op_end(struct win_op *op)
{
    struct impi_rma_refusal told;
    struct win *w = op->w;
    int rc;

    unlink_op(op);
    rc = end_op(op);
    if (rc != MPI_SUCCESS)
        impi_rma_win_refused(w->core, &told);
    return rc == MPI_SUCCESS ? rc : win_raise(w, rc);
}

static const char *reason(uint32_t error)
{
    switch (error) {
    case IMPI_RMA_ERR_RANGE:
        return "it is not within the memory of its window";
    case IMPI_RMA_ERR_NO_MEM:
        return "it has no memory for that much data";
    default:
        return "the operation is not defined for such elements";
    }
}

static int settle_refusal(struct win *w)
{
    struct impi_rma_refusal r;
    char window[WIN_TEXT_MAX];

    if (!impi_rma_win_refused(w->core, &r))
        return MPI_SUCCESS;
    if (r.error == IMPI_RMA_ERR_LOST)
        return class_of(r.error); /* it has been told */
    be_say("SF-E513: rank %d refused an access at displacement %lld of %s: %s",
           w->c->world[r.target], (long long)r.disp, win_text(w, window),
           reason(r.error));
    return class_of(r.error);
}

int win_settle(struct win *w)
{
    struct win_op **p = &w->ops;
    int rc = settle_refusal(w), one;

    while (*p) {
        struct win_op *op = *p;

        if (op->request || !op->core.done) {
            p = &op->next;
            continue;
        }
        *p = op->next;
        one = end_op(op);
        rc = rc == MPI_SUCCESS ? one : rc;
    }
    return rc;
}

/* ---- checks ---- */

static bool has_origin(const struct call *c)
{
    return c->kind != IMPI_RMA_GET &&
           !(c->kind == IMPI_RMA_GACC && c->op == MPI_NO_OP);
}

static bool accumulates(const struct call *c)
{
    return c->kind == IMPI_RMA_ACC || c->kind == IMPI_RMA_GACC;
}

static bool has_result(const struct call *c)
{
    return c->kind != IMPI_RMA_PUT && c->kind != IMPI_RMA_ACC;
}

static int check(const struct call *c)
{
    if (c->target < 0 || c->target >= c->w->c->size)
        return MPI_ERR_RANK;
    if (c->target_count < 0 || (has_origin(c) && c->origin_count < 0) ||
        (has_result(c) && c->result_count < 0))
        return MPI_ERR_COUNT;
    if (c->target_type == MPI_DATATYPE_NULL ||
        (has_origin(c) && c->origin_type == MPI_DATATYPE_NULL) ||
        (has_result(c) && c->result_type == MPI_DATATYPE_NULL))
        return MPI_ERR_TYPE;
    if (!c->w->dynamic && c->disp < 0)
        return MPI_ERR_DISP;
    return MPI_SUCCESS;
}

/* The elements of an accumulate, and whether the operation is one for them. */
static int check_op(const struct call *c, struct impi_rma_args *args)
{
    if (!accumulates(c) && c->kind != IMPI_RMA_CAS)
        return MPI_SUCCESS;
    args->elem = win_type_elem(c->target_type);
    if (args->elem == 0)
        return MPI_ERR_TYPE;
    if (!accumulates(c))
        return MPI_SUCCESS;
    args->op = win_opcode(c->op);
    if (impi_rma_op_fits(args->op, args->elem))
        return MPI_SUCCESS;
    if (args->op == 0 || args->len > 0)
        return MPI_ERR_OP;
    /* No library asks what is done to no data; the target would. */
    args->op = IMPI_RMA_REPLACE;
    return MPI_SUCCESS;
}

/* Where the target's data lie, and how many they are. */
static int place(const struct call *c, struct impi_rma_args *args,
                 struct impi_typemap **type)
{
    int unit = c->w->dynamic ? 1 : c->w->units[c->target], rc;
    struct type_info info;
    int64_t disp;

    *type = NULL;
    rc = type_look_up(&info, c->target_type);
    if (rc == MPI_SUCCESS && !info.contiguous)
        rc = win_type_make(type, c->target_type);
    if (rc != MPI_SUCCESS)
        return rc;
    if (__builtin_mul_overflow((int64_t)c->disp, unit, &disp))
        return MPI_ERR_DISP;
    args->kind = c->kind;
    args->target = (uint32_t)c->target;
    args->disp = disp;
    args->type = *type;
    args->count = (uint64_t)c->target_count;
    args->len = args->count * info.size;
    return args->len <= SF_IMPI_RMA_DATA_MAX ? MPI_SUCCESS : MPI_ERR_COUNT;
}

/* Where the size of the target's memory is known, an access beyond it fails
 * here. */
static int check_range(const struct call *c, const struct impi_rma_args *args)
{
    uint64_t size = c->w->sizes[c->target];
    bool fits;

    if (c->w->dynamic || args->len == 0)
        return MPI_SUCCESS;
    fits = args->type
               ? impi_typemap_fits(args->type, args->count, args->disp, size)
               : (uint64_t)args->disp <= size &&
                     args->len <= size - (uint64_t)args->disp;
    return fits ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
}

/* ---- start ---- */

static struct win_op *new_op(const struct call *c, uint64_t len, int *rc)
{
    struct win_op *op = calloc(1, sizeof(*op));

    *rc = op ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (op && has_result(c)) {
        op->len = len;
        *rc = data_for_recv(&op->result, c->result, c->result_count,
                            c->result_type);
        if (*rc == MPI_SUCCESS && op->result.len < len)
            *rc = MPI_ERR_TRUNCATE;
    }
    if (*rc == MPI_SUCCESS)
        return op;
    if (op)
        data_drop(&op->result);
    free(op);
    return NULL;
}

static int hand_over(const struct call *c, struct impi_rma_args *args,
                     struct win_op **made, bool request)
{
    struct win_op *op = NULL;
    int rc = MPI_SUCCESS;

    if (request || has_result(c)) {
        op = new_op(c, args->len, &rc);
        if (!op)
            return rc;
        op->w = c->w;
        op->request = args->now = request;
        args->result = op->result.base;
    }
    if (impi_rma_start(c->w->core, args, op ? &op->core : NULL) < 0) {
        if (op)
            data_drop(&op->result);
        free(op);
        return MPI_ERR_NO_MEM;
    }
    if (!c->w->direct[c->target])
        win_touch(c->w, c->target);
    if (op) {
        op->next = c->w->ops;
        c->w->ops = op;
    }
    *made = op;
    return MPI_SUCCESS;
}

/* Under the lock.  What goes out is in d. */
static int start_with(const struct call *c, struct impi_rma_args *args,
                      const struct data *d, struct win_op **made, bool request)
{
    uint8_t both[2 * IMPI_RMA_ELEM_SIZE_MAX];

    if (has_origin(c) && d->len != args->len)
        return MPI_ERR_COUNT;
    args->data = d->base;
    args->lasts = !d->staging;
    if (c->kind == IMPI_RMA_CAS) {
        memcpy(both, c->origin, args->len);
        memcpy(both + args->len, c->compare, args->len);
        args->data = both;
        args->lasts = false;
    }
    return hand_over(c, args, made, request);
}

static int start_locked(const struct call *c, struct win_op **made,
                        bool request)
{
    struct impi_rma_args args = {0};
    struct impi_typemap *type = NULL;
    struct data d = {0};
    int rc = check(c);

    if (rc == MPI_SUCCESS)
        rc = place(c, &args, &type);
    if (rc == MPI_SUCCESS)
        rc = check_op(c, &args);
    if (rc == MPI_SUCCESS)
        rc = check_range(c, &args);
    if (rc == MPI_SUCCESS)
        rc = win_access(c->w, &args);
    if (rc == MPI_SUCCESS && has_origin(c))
        rc = data_for_send(&d, c->origin, c->origin_count, c->origin_type);
    if (rc == MPI_SUCCESS)
        rc = start_with(c, &args, &d, made, request);
    data_drop(&d);
    free(type);
    return rc;
}

/* ---- at once ---- */

static bool is_plain(int count, MPI_Datatype type, const void *buf,
                     uint64_t *len)
{
    return buf && data_is_plain(count, type, len) && !buffer_devices();
}

/* Where the target's memory is mapped, an operation on elements in a row needs
 * neither the lock nor anything that is kept.  False: it takes the long way,
 * which finds out what is wrong as well. */
static bool at_once(const struct call *c)
{
    struct impi_rma_args args = {.kind = c->kind,
                                 .target = (uint32_t)c->target,
                                 .data = c->origin,
                                 .result = c->result};
    uint8_t both[2 * IMPI_RMA_ELEM_SIZE_MAX];
    uint64_t len;

    if (!win_is_open(c->w, c->target) ||
        !data_is_plain(c->target_count, c->target_type, &args.len) ||
        __builtin_mul_overflow((int64_t)c->disp, c->w->units[c->target],
                               &args.disp))
        return false;
    if (has_origin(c) &&
        (!is_plain(c->origin_count, c->origin_type, c->origin, &len) ||
         len != args.len))
        return false;
    if (has_result(c) &&
        (!is_plain(c->result_count, c->result_type, c->result, &len) ||
         len < args.len))
        return false;
    if (accumulates(c) || c->kind == IMPI_RMA_CAS)
        args.elem = win_type_known(c->target_type);
    if (accumulates(c))
        args.op = win_opcode(c->op);
    if (c->kind == IMPI_RMA_CAS && (!c->compare || args.len > sizeof(both) / 2))
        return false;
    if (c->kind == IMPI_RMA_CAS) {
        memcpy(both, c->origin, args.len);
        memcpy(both + args.len, c->compare, args.len);
        args.data = both;
    }
    return impi_rma_at_once(c->w->core, &args);
}

/* ---- the long way ---- */

/* request NULL: without one. */
static int start(const struct call *c, MPI_Request *request)
{
    struct win_op *op = NULL;
    struct req *r = NULL;
    int rc = MPI_SUCCESS;

    if (!request && at_once(c))
        return rc;
    be_lock();
    if (request && !(r = req_alloc()))
        rc = MPI_ERR_NO_MEM;
    if (rc == MPI_SUCCESS && c->target != MPI_PROC_NULL) {
        win_throttle();
        rc = start_locked(c, &op, request != NULL);
    }
    if (r && rc == MPI_SUCCESS) {
        if (op)
            req_rma(r, c->w->c, op);
        else
            req_complete(r, c->w->c);
        *request = req_handle(r);
    } else if (r) {
        req_free(r);
    }
    be_unlock();
    return rc == MPI_SUCCESS ? rc : win_raise(c->w, rc);
}

/* ---- the calls ---- */

#define ORIGIN                                                                 \
    .origin = origin, .origin_count = origin_count, .origin_type = origin_type
#define TARGET                                                                 \
    .target = target, .disp = disp, .target_count = target_count,              \
    .target_type = target_type
#define RESULT                                                                 \
    .result = result, .result_count = result_count, .result_type = result_type

int impi_Put(const void *origin, int origin_count, MPI_Datatype origin_type,
             int target, MPI_Aint disp, int target_count,
             MPI_Datatype target_type, MPI_Win win)
{
    struct call c = {.w = win_find(win), .kind = IMPI_RMA_PUT, ORIGIN, TARGET};

    if (!c.w)
        return impi_real.Put(origin, origin_count, origin_type, target, disp,
                             target_count, target_type, win);
    return start(&c, NULL);
}

int impi_Rput(const void *origin, int origin_count, MPI_Datatype origin_type,
              int target, MPI_Aint disp, int target_count,
              MPI_Datatype target_type, MPI_Win win, MPI_Request *newrequest)
{
    struct call c = {.w = win_find(win), .kind = IMPI_RMA_PUT, ORIGIN, TARGET};

    if (!c.w)
        return impi_real.Rput(origin, origin_count, origin_type, target, disp,
                              target_count, target_type, win, newrequest);
    return start(&c, newrequest);
}

#define GET                                                                    \
    .result = origin, .result_count = origin_count, .result_type = origin_type

int impi_Get(void *origin, int origin_count, MPI_Datatype origin_type,
             int target, MPI_Aint disp, int target_count,
             MPI_Datatype target_type, MPI_Win win)
{
    struct call c = {.w = win_find(win), .kind = IMPI_RMA_GET, GET, TARGET};

    if (!c.w)
        return impi_real.Get(origin, origin_count, origin_type, target, disp,
                             target_count, target_type, win);
    return start(&c, NULL);
}

int impi_Rget(void *origin, int origin_count, MPI_Datatype origin_type,
              int target, MPI_Aint disp, int target_count,
              MPI_Datatype target_type, MPI_Win win, MPI_Request *newrequest)
{
    struct call c = {.w = win_find(win), .kind = IMPI_RMA_GET, GET, TARGET};

    if (!c.w)
        return impi_real.Rget(origin, origin_count, origin_type, target, disp,
                              target_count, target_type, win, newrequest);
    return start(&c, newrequest);
}

int impi_Accumulate(const void *origin, int origin_count,
                    MPI_Datatype origin_type, int target, MPI_Aint disp,
                    int target_count, MPI_Datatype target_type, MPI_Op op,
                    MPI_Win win)
{
    struct call c = {
        .w = win_find(win), .kind = IMPI_RMA_ACC, ORIGIN, TARGET, .op = op};

    if (!c.w)
        return impi_real.Accumulate(origin, origin_count, origin_type, target,
                                    disp, target_count, target_type, op, win);
    return start(&c, NULL);
}

int impi_Raccumulate(const void *origin, int origin_count,
                     MPI_Datatype origin_type, int target, MPI_Aint disp,
                     int target_count, MPI_Datatype target_type, MPI_Op op,
                     MPI_Win win, MPI_Request *newrequest)
{
    struct call c = {
        .w = win_find(win), .kind = IMPI_RMA_ACC, ORIGIN, TARGET, .op = op};

    if (!c.w)
        return impi_real.Raccumulate(origin, origin_count, origin_type, target,
                                     disp, target_count, target_type, op, win,
                                     newrequest);
    return start(&c, newrequest);
}

int impi_Get_accumulate(const void *origin, int origin_count,
                        MPI_Datatype origin_type, void *result,
                        int result_count, MPI_Datatype result_type, int target,
                        MPI_Aint disp, int target_count,
                        MPI_Datatype target_type, MPI_Op op, MPI_Win win)
{
    struct call c = {.w = win_find(win),
                     .kind = IMPI_RMA_GACC,
                     ORIGIN,
                     RESULT,
                     TARGET,
                     .op = op};

    if (!c.w)
        return impi_real.Get_accumulate(
            origin, origin_count, origin_type, result, result_count,
            result_type, target, disp, target_count, target_type, op, win);
    return start(&c, NULL);
}

int impi_Rget_accumulate(const void *origin, int origin_count,
                         MPI_Datatype origin_type, void *result,
                         int result_count, MPI_Datatype result_type, int target,
                         MPI_Aint disp, int target_count,
                         MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                         MPI_Request *newrequest)
{
    struct call c = {.w = win_find(win),
                     .kind = IMPI_RMA_GACC,
                     ORIGIN,
                     RESULT,
                     TARGET,
                     .op = op};

    if (!c.w)
        return impi_real.Rget_accumulate(origin, origin_count, origin_type,
                                         result, result_count, result_type,
                                         target, disp, target_count,
                                         target_type, op, win, newrequest);
    return start(&c, newrequest);
}

int impi_Fetch_and_op(const void *origin, void *result, MPI_Datatype datatype,
                      int target, MPI_Aint disp, MPI_Op op, MPI_Win win)
{
    struct call c = {.w = win_find(win),
                     .kind = IMPI_RMA_GACC,
                     .origin = origin,
                     .origin_count = 1,
                     .origin_type = datatype,
                     .result = result,
                     .result_count = 1,
                     .result_type = datatype,
                     .target = target,
                     .disp = disp,
                     .target_count = 1,
                     .target_type = datatype,
                     .op = op};

    if (!c.w)
        return impi_real.Fetch_and_op(origin, result, datatype, target, disp,
                                      op, win);
    return start(&c, NULL);
}

int impi_Compare_and_swap(const void *origin, const void *compare, void *result,
                          MPI_Datatype datatype, int target, MPI_Aint disp,
                          MPI_Win win)
{
    struct call c = {.w = win_find(win),
                     .kind = IMPI_RMA_CAS,
                     .origin = origin,
                     .origin_count = 1,
                     .origin_type = datatype,
                     .compare = compare,
                     .result = result,
                     .result_count = 1,
                     .result_type = datatype,
                     .target = target,
                     .disp = disp,
                     .target_count = 1,
                     .target_type = datatype};

    if (!c.w)
        return impi_real.Compare_and_swap(origin, compare, result, datatype,
                                          target, disp, win);
    return start(&c, NULL);
}
