/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective access to files that span, as a collective call (coll_run.h) whose
 * steps are made on the way:
 *
 *   records   everybody says where its bytes are (impi/io_plan.h)
 *   lists     those that have no room in a record, to the aggregators
 *   rounds    data to the aggregators, which write; or the other way round
 *   verdict   everybody knows who failed, and where the file ends
 *
 * With the shared pointer: lengths to rank 0, places back, everybody writes or
 * reads its own, verdict.  Where all have little, the data travel with lengths
 * and places, rank 0 does all of it in one go, and its answer is the verdict.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "impi/constants.h"
#include "impi/io_plan.h"
#include "libimpi/coll.h"
#include "libimpi/file.h"
#include "libimpi/req.h"
#include "libimpi/state.h"
#include "libimpi/status.h"

struct together {
    struct file *f;
    struct file_access a;
    int error;     /* own */
    int64_t ended; /* where the file was found to end */
    enum phase { RECORDS, LISTS, ROUND, ORDER, PLACES, VERDICT } phase;

    uint8_t own[IMPI_IO_RECORD_SIZE];
    uint8_t *records;           /* of all */
    struct impi_io_part *parts; /* [size] */
    struct impi_io_plan plan;
    int number; /* of this aggregator, or -1 */
    uint32_t round;

    /* Messages of a row, in one piece from out_at on: block i is rank i's. */
    void **out_at, **in_at;
    int *out_count, *in_count;
    struct impi_neighbour *from, *to;
    size_t nfrom, nto;
    uint8_t *room; /* what comes, or goes, in a round */

    uint8_t *orders; /* room for one, or of rank 0 for those of all */
    int64_t verdict[2];
};

/* Of a call with the shared pointer: to rank 0, and back.  Data of at most
 * IMPI_IO_SMALL bytes may follow. */
struct order {
    int64_t etypes; /* how many; back: where */
    int64_t error;
    int64_t served; /* back: 1, rank 0 has done it */
    int64_t ended;  /* then: where it found the end of the file */
};

/* ---- memory ---- */

static void *get(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p)
        be_die(1, "SF-E403: no memory for a collective access to a file");
    return p;
}

/* In one piece, the widest first. */
static void make_row(struct together *t)
{
    size_t n = (size_t)t->f->c->size;

    t->out_at = get(
        n, 2 * (sizeof(*t->out_at) + sizeof(*t->from) + sizeof(*t->out_count)));
    t->in_at = t->out_at + n;
    t->from = (void *)(t->in_at + n);
    t->to = t->from + n;
    t->out_count = (void *)(t->to + n);
    t->in_count = t->out_count + n;
}

static void destroy(struct together *t)
{
    size_t n = (size_t)t->f->c->size;

    for (size_t i = 0; i < n && t->parts; i++)
        impi_io_list_free(&t->parts[i].list);
    free(t->records);
    free(t->parts);
    free(t->out_at);
    free(t->room);
    free(t->orders);
    free(t);
}

/* ---- rows of messages ---- */

static void send_to(struct together *t, uint32_t rank, void *at, uint64_t len)
{
    t->out_at[rank] = at;
    t->out_count[rank] = (int)len;
    t->to[t->nto++] = (struct impi_neighbour){rank, rank, 0};
}

static void recv_from(struct together *t, uint32_t rank, void *at, uint64_t len)
{
    t->in_at[rank] = at;
    t->in_count[rank] = (int)len;
    t->from[t->nfrom++] = (struct impi_neighbour){rank, rank, 0};
}

/* These messages, and then the next phase. */
static int run_row(struct coll *x, struct together *t, enum phase next)
{
    int rc;

    x->out = (struct blocks){
        .at = t->out_at, .counts = t->out_count, .type = MPI_BYTE};
    x->in = (struct blocks){
        .at = t->in_at, .counts = t->in_count, .type = MPI_BYTE};
    rc = impi_schedule_neighbours(&x->steps, x->c->units, (uint32_t)x->c->rank,
                                  t->from, t->nfrom, t->to, t->nto);
    t->nfrom = t->nto = 0;
    t->phase = next;
    x->next = 0;
    if (rc == 0)
        rc = impi_schedule_then_other(&x->steps);
    return coll_made(rc);
}

/* ---- the end ---- */

/* Of the errors the one with the highest number; where the file ended first. */
static int run_verdict(struct coll *x, struct together *t)
{
    t->phase = VERDICT;
    t->verdict[0] = -file_error_told(t->error);
    t->verdict[1] = t->ended;
    x->next = 0;
    x->steps.count = 0;
    return coll_make_allreduce(x, MPI_IN_PLACE, t->verdict, 2, MPI_INT64_T,
                               MPI_MIN);
}

static int finish(struct coll *x, int rc)
{
    struct together *t = x->arg;

    if (rc == MPI_SUCCESS)
        rc = t->error != MPI_SUCCESS ? t->error
                                     : file_error_heard(-t->verdict[0]);
    if (t->verdict[1] < t->ended)
        t->ended = t->verdict[1];
    rc = file_access_end(&t->a, rc, t->ended, &x->bytes);
    file_wait_ends(t->f);
    destroy(t);
    return rc;
}

static void note(struct together *t, int rc)
{
    if (t->error == MPI_SUCCESS)
        t->error = rc;
}

static void note_end(struct together *t, int64_t ended)
{
    if (ended < t->ended)
        t->ended = ended;
}

/* Everybody its own. */
static int run_alone(struct coll *x, struct together *t)
{
    int64_t ended = DISK_NOT_ENDED;

    if (t->error == MPI_SUCCESS)
        note(t, file_access_alone(&t->a, &ended));
    note_end(t, ended);
    return run_verdict(x, t);
}

/* ---- rounds ---- */

static int run_round(struct coll *x, struct together *t);

/* What rank has in a window: where in its stream, and how long. */
static uint64_t slice(const struct impi_io_list *l, int64_t first, int64_t end,
                      uint64_t *at)
{
    *at = impi_io_list_before(l, first);
    return impi_io_list_before(l, end) - *at;
}

static uint32_t me(const struct together *t)
{
    return (uint32_t)t->f->c->rank;
}

/* The window's pieces, of all, between the file and where they are in memory:
 * t->out_at or t->in_at of each rank. */
static void move_window(struct together *t, int64_t first, int64_t end)
{
    uint32_t n = (uint32_t)t->f->c->size, who;
    const struct impi_io_list **lists = get(n, sizeof(*lists));
    uint64_t *skip = get(n, sizeof(*skip)), len, mem;
    void **at = t->a.write ? t->in_at : t->out_at;
    struct chain *c = chain_begin(&t->f->disk, t->a.write);
    int64_t where, ended = DISK_NOT_ENDED;
    struct impi_io_merge m;

    for (uint32_t i = 0; i < n; i++) {
        lists[i] = &t->parts[i].list;
        skip[i] = impi_io_list_before(lists[i], first);
    }
    if (!c || impi_io_merge_start(&m, lists, n, first, end) < 0)
        be_die(1, "SF-E403: no memory for a collective access to a file");
    while (impi_io_merge_next(&m, &who, &where, &len, &mem))
        chain_add(c, where, (char *)at[who] + (mem - skip[who]), len);
    impi_io_merge_end(&m);
    note(t, chain_end(c, &ended));
    note_end(t, ended);
    free(lists);
    free(skip);
}

/* Room for what the others have in this aggregator's window. */
static void make_room(struct together *t, int64_t first, int64_t end)
{
    uint32_t n = (uint32_t)t->f->c->size;
    void **at = t->a.write ? t->in_at : t->out_at;
    uint64_t sum = 0, skip;

    for (uint32_t i = 0; i < n; i++)
        if (i != me(t))
            sum += slice(&t->parts[i].list, first, end, &skip);
    free(t->room);
    t->room = get(sum, 1);
    sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t len = slice(&t->parts[i].list, first, end, &skip);

        at[i] = i == me(t) ? (void *)(t->a.base + skip) : t->room + sum;
        sum += i == me(t) ? 0 : len;
    }
}

/* Of a window that is read, what the file has. */
static int64_t end_there(const struct together *t, int64_t first, int64_t end)
{
    if (t->ended >= end)
        return end;
    return t->ended > first ? t->ended : first;
}

/* The messages of an aggregator in its window ... */
static void row_of_window(struct together *t, int64_t first, int64_t end)
{
    uint32_t n = (uint32_t)t->f->c->size;
    int64_t there = end_there(t, first, end);
    uint64_t skip;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t len = slice(&t->parts[i].list, first, end, &skip);

        if (len == 0 || i == me(t))
            continue;
        if (t->a.write)
            recv_from(t, i, t->in_at[i], len);
        else
            send_to(t, i, t->out_at[i],
                    slice(&t->parts[i].list, first, there, &skip));
    }
}

/* ... and of everybody with the aggregators. */
static void row_of_slices(struct together *t)
{
    for (uint32_t k = 0; k < t->plan.naggs; k++) {
        uint32_t rank = impi_io_plan_rank(&t->plan, k);
        int64_t first, end;
        uint64_t skip, len;

        if (rank == me(t) ||
            !impi_io_plan_window(&t->plan, k, t->round, &first, &end))
            continue;
        len = slice(&t->parts[me(t)].list, first, end, &skip);
        if (len > 0 && t->a.write)
            send_to(t, rank, t->a.base + skip, len);
        else if (len > 0)
            recv_from(t, rank, t->a.base + skip, len);
    }
}

static bool own_window(const struct together *t, int64_t *first, int64_t *end)
{
    return t->number >= 0 && impi_io_plan_window(&t->plan, (uint32_t)t->number,
                                                 t->round, first, end);
}

/* The row of one round. */
static int run_round(struct coll *x, struct together *t)
{
    int64_t first, end;

    if (t->round == t->plan.rounds)
        return run_verdict(x, t);
    if (own_window(t, &first, &end)) {
        make_room(t, first, end);
        if (!t->a.write)
            move_window(t, first, end);
        row_of_window(t, first, end);
    }
    row_of_slices(t);
    return run_row(x, t, ROUND);
}

static int end_round(struct coll *x, struct together *t)
{
    int64_t first, end;

    if (t->a.write && own_window(t, &first, &end))
        move_window(t, first, end);
    t->round++;
    return run_round(x, t);
}

/* ---- records and lists ---- */

static void breach(const struct together *t, uint32_t rank, const char *why)
{
    be_die(1, "SF-E408: rank %d broke IMPI: %s", t->f->c->world[rank], why);
}

/* Does an aggregator want lists that no record had room for? */
static bool lists_are_missing(const struct together *t)
{
    for (int i = 0; i < t->f->c->size; i++)
        if (!impi_io_has_list(&t->parts[i]))
            return true;
    return false;
}

static void send_lists(struct together *t)
{
    uint8_t *list;

    if (impi_io_has_list(&t->parts[me(t)]))
        return;
    list = t->records = get(t->a.list.n, 32);
    impi_io_list_encode(&t->a.list, list);
    for (uint32_t k = 0; k < t->plan.naggs; k++) {
        uint32_t rank = impi_io_plan_rank(&t->plan, k);

        if (rank != me(t) && impi_io_plan_meets(&t->plan, k, &t->parts[me(t)]))
            send_to(t, rank, list, t->a.list.n * 32);
    }
}

/* Whose list comes to this aggregator. */
static bool list_comes(const struct together *t, uint32_t rank)
{
    return t->number >= 0 && rank != me(t) &&
           !impi_io_has_list(&t->parts[rank]) &&
           impi_io_plan_meets(&t->plan, (uint32_t)t->number, &t->parts[rank]);
}

static int run_lists(struct coll *x, struct together *t)
{
    free(t->records);
    t->records = NULL;
    send_lists(t);
    for (int i = 0; i < t->f->c->size; i++)
        if (list_comes(t, (uint32_t)i))
            recv_from(t, (uint32_t)i, get(t->parts[i].nruns, 32),
                      t->parts[i].nruns * 32);
    return run_row(x, t, LISTS);
}

static int after_lists(struct coll *x, struct together *t)
{
    struct errbuf err = {""};

    for (int i = 0; i < t->f->c->size; i++) {
        struct impi_io_part *p = &t->parts[i];

        if (!list_comes(t, (uint32_t)i))
            continue;
        if (impi_io_list_decode(p, t->in_at[i], p->nruns * 32, &err) < 0)
            breach(t, (uint32_t)i, err.text);
        free(t->in_at[i]);
    }
    return run_round(x, t);
}

static int after_records(struct coll *x, struct together *t)
{
    int n = t->f->c->size, first = MPI_SUCCESS;
    struct errbuf err = {""};

    t->parts = get((size_t)n, sizeof(*t->parts));
    memcpy(t->records + (size_t)t->f->c->rank * sizeof(t->own), t->own,
           sizeof(t->own));
    for (int i = 0; i < n; i++) {
        if (impi_io_record_decode(&t->parts[i],
                                  t->records + (size_t)i * sizeof(t->own),
                                  &err) < 0)
            breach(t, (uint32_t)i, err.text);
        if (first == MPI_SUCCESS)
            first = file_error_heard(t->parts[i].error);
    }
    /* Nobody begins what somebody cannot do. */
    note(t, first);
    if (t->error != MPI_SUCCESS) {
        t->verdict[1] = t->ended;
        return MPI_SUCCESS;
    }
    impi_io_plan_make(&t->plan, t->parts, (uint32_t)n, t->f->naggs,
                      t->f->window);
    if (t->plan.naggs == 0 || t->f->atomic)
        return run_alone(x, t);
    if (!t->f->view.rising && t->a.len > 0) {
        int64_t ended;

        note(t, file_access_alone(&t->a, &ended));
        note_end(t, ended);
    }
    t->number = impi_io_plan_number(&t->plan, me(t));
    if (!impi_io_has_list(&t->parts[me(t)])) {
        struct impi_io_list *l = &t->parts[me(t)].list;

        for (size_t i = 0; i < t->a.list.n; i++)
            if (impi_io_list_add(l, t->a.list.run[i]) < 0)
                be_die(1, "SF-E403: no memory for a collective access");
    }
    return lists_are_missing(t) ? run_lists(x, t) : run_round(x, t);
}

static int run_records(struct coll *x, struct together *t)
{
    struct impi_io_part p = {.error = (uint32_t)file_error_told(t->error)};
    bool takes_part = t->error == MPI_SUCCESS && t->a.list.n > 0 &&
                      t->f->view.rising && !t->f->atomic;
    int rc;

    t->records = get((size_t)x->c->size, sizeof(t->own));
    if (takes_part) {
        p.list = t->a.list;
        p.bytes = t->a.len;
        p.nruns = t->a.list.n;
        p.first = impi_io_list_first(&t->a.list);
        p.end = impi_io_list_end(&t->a.list);
    }
    impi_io_record_encode(&p, t->own);
    x->out = (struct blocks){.base = (char *)t->own,
                             .count = sizeof(t->own),
                             .type = MPI_BYTE,
                             .single = true,
                             .extent = 1};
    x->in = (struct blocks){.base = (char *)t->records,
                            .count = sizeof(t->own),
                            .type = MPI_BYTE,
                            .extent = 1};
    t->phase = RECORDS;
    rc = impi_schedule_alltoall(&x->steps, x->c->units, (uint32_t)x->c->rank,
                                false, IMPI_GATHER_TAG);
    if (rc == 0)
        rc = impi_schedule_then_other(&x->steps);
    return coll_made(rc);
}

/* ---- in the order of ranks ---- */

/* May data travel with an order to rank 0 (there), or with its answer? */
static bool carries(const struct together *t, bool there)
{
    return t->f->alike && t->a.write == there;
}

/* One order with room for data, on the way there and back alike. */
static size_t order_size(const struct together *t)
{
    return sizeof(struct order) + (t->f->alike ? IMPI_IO_SMALL : 0);
}

static struct order *order_of(const struct together *t, int rank)
{
    return (void *)(t->orders + (size_t)rank * order_size(t));
}

static uint8_t *data_of(struct order *o)
{
    return (uint8_t *)(o + 1);
}

/* Little enough to travel with its order? */
static bool is_small(const struct together *t)
{
    return t->f->alike && t->a.len <= IMPI_IO_SMALL;
}

static int run_order(struct coll *x, struct together *t)
{
    size_t room = sizeof(struct order) + (carries(t, true) ? IMPI_IO_SMALL : 0);
    struct order *o;

    t->orders = get(x->c->rank == 0 ? (size_t)x->c->size : 1, order_size(t));
    o = order_of(t, 0);
    *o = (struct order){.etypes = (int64_t)t->a.etypes,
                        .error = file_error_told(t->error)};
    if (x->c->rank > 0) {
        bool data = t->a.write && t->error == MPI_SUCCESS && is_small(t) &&
                    t->a.len > 0;

        if (data)
            memcpy(data_of(o), t->a.base, t->a.len);
        send_to(t, 0, o, sizeof(*o) + (data ? t->a.len : 0));
    }
    for (int i = 1; i < x->c->size && x->c->rank == 0; i++)
        recv_from(t, (uint32_t)i, order_of(t, i), room);
    return run_row(x, t, ORDER);
}

/* Rank 0: all have come, and so nobody is behind with the pointer.  The bytes
 * of all, or 0 if they are not for rank 0 to move; len[i]: of rank i. */
static uint64_t find_places(struct together *t, uint64_t *len)
{
    int n = t->f->c->size;
    int64_t at = t->f->shared, error = 0;
    bool small = t->f->alike;
    uint64_t sum = 0;

    for (int i = n - 1; i >= 0; i--)
        if (order_of(t, i)->error != 0)
            error = order_of(t, i)->error;
    for (int i = 0; i < n; i++) {
        struct order *o = order_of(t, i);
        int64_t etypes = o->etypes;

        if (etypes < 0 || etypes >= IMPI_IO_FAR)
            breach(t, (uint32_t)i, "an invalid length in a file");
        if (__builtin_mul_overflow((uint64_t)etypes, t->f->view.etype,
                                   &len[i]) ||
            len[i] > IMPI_IO_SMALL)
            small = false;
        sum += small ? len[i] : 0;
        *o = (struct order){.etypes = at, .error = error};
        at += error == 0 ? etypes : 0;
    }
    t->f->shared = at;
    return small && error == 0 ? sum : 0;
}

/* Rank 0: the data of all, which lie in a row in the view of all, between the
 * file and their orders. */
static void serve(struct together *t, const uint64_t *len, uint64_t sum)
{
    struct file_access all = {.f = t->f, .write = t->a.write, .len = sum};
    uint8_t *base = get(sum, 1), *at = base;
    int64_t ended = DISK_NOT_ENDED;
    int n = t->f->c->size, rc;

    all.base = (char *)base;
    for (int i = 0; i < n && t->a.write; at += len[i++])
        if (len[i] > 0)
            memcpy(at, i ? data_of(order_of(t, i)) : (uint8_t *)t->a.base,
                   len[i]);
    rc = file_access_place(&all, (uint64_t)order_of(t, 0)->etypes);
    if (rc == MPI_SUCCESS)
        rc = file_access_alone(&all, &ended);
    note(t, rc);
    for (int i = 0; i < n; i++) {
        struct order *o = order_of(t, i);

        o->error = file_error_told(rc);
        o->served = 1;
        o->ended = ended;
        if (!t->a.write)
            memcpy(data_of(o), at, len[i]);
        at += t->a.write ? 0 : len[i];
    }
    impi_io_list_free(&all.list);
    free(base);
}

static int after_order(struct coll *x, struct together *t)
{
    size_t room =
        sizeof(struct order) + (carries(t, false) ? IMPI_IO_SMALL : 0);
    uint64_t *len, sum;

    if (x->c->rank > 0) {
        recv_from(t, 0, order_of(t, 0), room);
        return run_row(x, t, PLACES);
    }
    len = get((size_t)x->c->size, sizeof(*len));
    sum = find_places(t, len);
    if (sum > 0)
        serve(t, len, sum);
    for (int i = 1; i < x->c->size; i++)
        send_to(t, (uint32_t)i, order_of(t, i),
                sizeof(struct order) + (sum && !t->a.write ? len[i] : 0));
    free(len);
    return run_row(x, t, PLACES);
}

/* What rank 0 has done is done. */
static int take_served(struct together *t, struct order *o)
{
    if (!is_small(t))
        breach(t, 0, "it has moved more data than it was given");
    note_end(t, o->ended);
    t->verdict[1] = t->ended;
    if (t->a.write || t->a.len == 0)
        return MPI_SUCCESS;
    note(t, file_access_place(&t->a, (uint64_t)o->etypes));
    if (t->error == MPI_SUCCESS)
        memcpy(t->a.base, data_of(o), file_access_there(&t->a, o->ended));
    return MPI_SUCCESS;
}

static int after_places(struct coll *x, struct together *t)
{
    struct order *o = order_of(t, 0);

    note(t, file_error_heard(o->error));
    if (t->error != MPI_SUCCESS) {
        t->verdict[1] = t->ended;
        return MPI_SUCCESS;
    }
    if (o->served)
        return take_served(t, o);
    note(t, file_access_place(&t->a, (uint64_t)o->etypes));
    return run_alone(x, t);
}

/* ---- the whole ---- */

static int go_on(struct coll *x)
{
    struct together *t = x->arg;

    switch (t->phase) {
    case RECORDS:
        return after_records(x, t);
    case LISTS:
        return after_lists(x, t);
    case ROUND:
        return end_round(x, t);
    case ORDER:
        return after_order(x, t);
    case PLACES:
        return after_places(x, t);
    default:
        return MPI_ERR_INTERN;
    }
}

static int make(struct coll *x, struct file *f, bool write,
                enum file_pointer by, uint64_t etypes, void *buf, int count,
                MPI_Datatype type)
{
    struct together *t = get(1, sizeof(*t));

    t->f = f;
    t->ended = DISK_NOT_ENDED;
    t->error = file_access_begin(&t->a, f, write, by, buf, count, type);
    if (t->error == MPI_SUCCESS && by != FILE_SHARED)
        t->error = file_access_place(&t->a, etypes);
    make_row(t);
    file_wait_begins(f);
    x->arg = t;
    x->local = go_on;
    x->finish = finish;
    x->of_file = true;
    x->file = f->handle;
    return by == FILE_SHARED ? run_order(x, t) : run_records(x, t);
}

int file_together(struct file *f, bool write, enum file_pointer by,
                  uint64_t etypes, void *buf, int count, MPI_Datatype type,
                  MPI_Status *status, MPI_Request *request)
{
    struct coll *x = coll_new(f->c);
    uint64_t bytes = 0;
    int rc = make(x, f, write, by, etypes, buf, count, type);

    if (rc != MPI_SUCCESS)
        finish(x, rc);
    if (request)
        return coll_run(x, rc, request);
    rc = coll_run_bytes(x, rc, &bytes);
    status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes, false);
    return file_raise(f, rc);
}
