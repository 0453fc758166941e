/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading and writing files that span: what the program gives, and the calls.
 * A nonblocking call of one process alone has done its work when it returns.
 */
#include <errno.h>
#include <stdlib.h>

#include "libimpi/assist.h"
#include "libimpi/buffer.h"
#include "libimpi/external.h"
#include "libimpi/failed.h"
#include "libimpi/file.h"
#include "libimpi/progress.h"
#include "libimpi/req.h"
#include "libimpi/status.h"

/* ---- an access ---- */

static int check(const struct file_access *a, enum file_pointer by)
{
    const struct file *f = a->f;

    if (f->amode & MPI_MODE_SEQUENTIAL && by != FILE_SHARED)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (a->write && f->amode & MPI_MODE_RDONLY)
        return MPI_ERR_READ_ONLY;
    if (!a->write && f->amode & MPI_MODE_WRONLY)
        return MPI_ERR_ACCESS;
    if (a->count < 0)
        return MPI_ERR_COUNT;
    return a->type == MPI_DATATYPE_NULL ? MPI_ERR_TYPE : MPI_SUCCESS;
}

/* The file's bytes in memory of our own. */
static int begin_external(struct file_access *a)
{
    struct type_info info;
    size_t wire = 0;
    int rc = type_look_up(&info, a->type);

    if (rc == MPI_SUCCESS)
        rc = buffer_check(a->user, a->count, a->type);
    if (rc == MPI_SUCCESS)
        rc = external_size(a->type, &wire);
    if (rc != MPI_SUCCESS)
        return rc;
    a->len = (uint64_t)a->count * wire;
    a->external = a->base = malloc(a->len + 1);
    if (!a->base)
        return MPI_ERR_NO_MEM;
    if (!a->write) /* its type has to live until then */
        return data_for_recv(&a->d, a->user, a->count, a->type);
    return external_encode(&info, a->base, a->user, a->count);
}

static int begin_native(struct file_access *a)
{
    int rc = a->write ? data_for_send(&a->d, a->user, a->count, a->type)
                      : data_for_recv(&a->d, a->user, a->count, a->type);

    a->base = a->d.base;
    a->len = a->d.len;
    return rc;
}

int file_access_begin(struct file_access *a, struct file *f, bool write,
                      enum file_pointer by, void *buf, int count,
                      MPI_Datatype type)
{
    int rc;

    *a = (struct file_access){
        .f = f, .write = write, .user = buf, .count = count, .type = type};
    rc = check(a, by);
    if (rc == MPI_SUCCESS)
        rc = f->external ? begin_external(a) : begin_native(a);
    if (rc != MPI_SUCCESS)
        return rc;
    a->etypes = a->len / f->view.etype;
    if (a->len % f->view.etype || (a->len > 0 && f->view.size == 0))
        return MPI_ERR_IO;
    return MPI_SUCCESS;
}

int file_access_place(struct file_access *a, uint64_t etypes)
{
    uint64_t pos;

    if (__builtin_mul_overflow(etypes, a->f->view.etype, &pos))
        return MPI_ERR_ARG;
    if (impi_io_view_cut(&a->f->view, pos, a->len, &a->list) == 0)
        return MPI_SUCCESS;
    return errno == ENOMEM ? MPI_ERR_NO_MEM : MPI_ERR_ARG;
}

static int move_pieces(struct file_access *a, int64_t *ended)
{
    struct chain *c = chain_begin(&a->f->disk, a->write);
    struct impi_io_cursor at;
    int64_t where;
    uint64_t len, mem = 0;

    if (!c)
        return MPI_ERR_NO_MEM;
    impi_io_start(&at, &a->list);
    while (impi_io_next(&at, INT64_MAX, &where, &len)) {
        chain_add(c, where, a->base + mem, len);
        mem = at.mem;
    }
    return chain_end(c, ended);
}

static int move(struct file_access *a, int64_t *ended)
{
    *ended = DISK_NOT_ENDED;
    if (a->list.n == 0)
        return MPI_SUCCESS;
    if (a->list.n == 1 && a->list.run[0].repeat == 1)
        return disk_move(&a->f->disk, a->write, a->list.run[0].disp, a->base,
                         a->len, ended);
    return move_pieces(a, ended);
}

/* The part of the file from the first to the last byte of it. */
static void range_of(const struct impi_io_list *l, int64_t *first, int64_t *end)
{
    *first = INT64_MAX;
    *end = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct impi_run *r = &l->run[i];
        int64_t last = r->disp + (int64_t)(r->repeat - 1) * r->stride;
        int64_t low = last < r->disp ? last : r->disp;
        int64_t high = (last < r->disp ? r->disp : last) + (int64_t)r->len;

        *first = low < *first ? low : *first;
        *end = high > *end ? high : *end;
    }
}

int file_access_alone(struct file_access *a, int64_t *ended)
{
    int64_t first, end;
    int rc;

    if (!a->f->atomic || a->list.n == 0)
        return move(a, ended);
    *ended = DISK_NOT_ENDED;
    range_of(&a->list, &first, &end);
    rc = disk_lock(&a->f->disk, first, end, a->write);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = move(a, ended);
    disk_unlock(&a->f->disk, first, end);
    return rc;
}

uint64_t file_access_there(const struct file_access *a, int64_t ended)
{
    struct impi_io_cursor at;
    int64_t where;
    uint64_t len, sum = 0;

    if (ended == DISK_NOT_ENDED)
        return a->len;
    if (a->f->view.rising)
        return impi_io_list_before(&a->list, ended);
    impi_io_start(&at, &a->list);
    while (impi_io_next(&at, ended, &where, &len))
        sum += len;
    return sum;
}

/* Memory that was read: to where the program wants it. */
static int take(struct file_access *a, uint64_t len, uint64_t *bytes)
{
    int rc;

    if (!a->external)
        return data_received(&a->d, len, bytes);
    rc = external_decode(&a->d.info, a->user, a->base, len, a->count, bytes);
    data_drop(&a->d);
    return rc;
}

int file_access_end(struct file_access *a, int rc, int64_t ended,
                    uint64_t *bytes)
{
    *bytes = 0;
    if (rc == MPI_SUCCESS && !a->write)
        rc = take(a, file_access_there(a, ended), bytes);
    else if (rc == MPI_SUCCESS && !a->external)
        *bytes = a->len;
    else if (rc == MPI_SUCCESS) {
        MPI_Count size = 0;

        rc = impi_real.Type_size_x(a->type, &size);
        *bytes = (uint64_t)size * (uint64_t)a->count;
    }
    data_drop(&a->d);
    free(a->external);
    a->external = NULL;
    impi_io_list_free(&a->list);
    return rc;
}

/* ---- one process alone ---- */

/* Where the access begins; the pointer moves on. */
static int find_place(struct file_access *a, enum file_pointer by,
                      MPI_Offset offset, uint64_t *etypes)
{
    struct file *f = a->f;
    int64_t old = 0;
    int rc = MPI_SUCCESS;

    if (by == FILE_AT) {
        *etypes = (uint64_t)offset;
        return offset < 0 ? MPI_ERR_ARG : MPI_SUCCESS;
    }
    if (by == FILE_SHARED) {
        rc = file_shared_add(f, (int64_t)a->etypes, &old);
        *etypes = (uint64_t)old;
        return rc;
    }
    be_lock();
    *etypes = f->pos;
    f->pos += a->etypes;
    be_unlock();
    return rc;
}

static int access_alone(struct file *f, bool write, enum file_pointer by,
                        MPI_Offset offset, void *buf, int count,
                        MPI_Datatype type, uint64_t *bytes)
{
    struct file_access a;
    int64_t ended = DISK_NOT_ENDED;
    uint64_t etypes = 0;
    int rc = file_access_begin(&a, f, write, by, buf, count, type);

    if (rc == MPI_SUCCESS)
        rc = find_place(&a, by, offset, &etypes);
    if (rc == MPI_SUCCESS)
        rc = file_access_place(&a, etypes);
    if (rc == MPI_SUCCESS)
        rc = file_access_alone(&a, &ended);
    return file_access_end(&a, rc, ended, bytes);
}

static int alone(struct file *f, bool write, enum file_pointer by,
                 MPI_Offset offset, const void *buf, int count,
                 MPI_Datatype type, MPI_Status *status)
{
    uint64_t bytes;
    int rc = access_alone(f, write, by, offset, (void *)(uintptr_t)buf, count,
                          type, &bytes);

    status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes, false);
    return file_raise(f, rc);
}

/* An error comes at once, so there is no request of it. */
static int alone_request(struct file *f, bool write, enum file_pointer by,
                         MPI_Offset offset, const void *buf, int count,
                         MPI_Datatype type, MPI_Request *request)
{
    struct req *r = NULL;
    uint64_t bytes;
    int rc = access_alone(f, write, by, offset, (void *)(uintptr_t)buf, count,
                          type, &bytes);

    *request = MPI_REQUEST_NULL;
    if (rc != MPI_SUCCESS)
        return file_raise(f, rc);
    be_lock();
    r = req_alloc();
    if (r) {
        req_complete(r, f->c);
        r->bytes = bytes;
        *request = req_handle(r);
    }
    be_unlock();
    return file_raise(f, r ? MPI_SUCCESS : MPI_ERR_NO_MEM);
}

/* ---- together ---- */

/* By its own pointer, which moves on, whatever becomes of it. */
static uint64_t pass_own(struct file *f, int count, MPI_Datatype type)
{
    uint64_t at = f->pos;
    size_t size = 0;

    if (count > 0 && type != MPI_DATATYPE_NULL &&
        file_type_size(f, type, &size) == MPI_SUCCESS)
        f->pos += (uint64_t)count * size / f->view.etype;
    return at;
}

static int begin_split(struct file *f, int call, bool write,
                       enum file_pointer by, uint64_t etypes, const void *buf,
                       int count, MPI_Datatype type)
{
    int rc;

    if (f->split != MPI_REQUEST_NULL)
        return file_raise(f, MPI_ERR_OTHER);
    rc = file_together(f, write, by, etypes, (void *)(uintptr_t)buf, count,
                       type, MPI_STATUS_IGNORE, &f->split);
    f->split_call = call;
    return rc;
}

static int end_split(struct file *f, int call, MPI_Status *status)
{
    struct waiter w = {.native = true};
    struct req *r;
    int rc;

    if (f->split == MPI_REQUEST_NULL || f->split_call != call)
        return file_raise(f, MPI_ERR_OTHER);
    be_lock();
    r = req_of(f->split);
    while (!req_poll(r))
        progress_wait(&w);
    rc = req_retire(&f->split, status, true);
    be_unlock();
    return rc;
}

/* ---- the calls ---- */

#define WHAT buf, count, datatype
#define FROM (void *)(uintptr_t)buf, count, datatype

/* One process alone: name, its nonblocking form, by which pointer. */
#define ALONE_AT(name, BUF, write)                                             \
    int impi_File_##name##_at(MPI_File fh, MPI_Offset offset, BUF *buf,        \
                              int count, MPI_Datatype datatype,                \
                              MPI_Status *status)                              \
    {                                                                          \
        struct file *f = file_find(fh);                                        \
                                                                               \
        if (!f)                                                                \
            return impi_real.File_##name##_at(fh, offset, WHAT, status);       \
        return alone(f, write, FILE_AT, offset, WHAT, status);                 \
    }                                                                          \
    int impi_File_i##name##_at(MPI_File fh, MPI_Offset offset, BUF *buf,       \
                               int count, MPI_Datatype datatype,               \
                               MPI_Request *newrequest)                        \
    {                                                                          \
        struct file *f = file_find(fh);                                        \
                                                                               \
        if (!f)                                                                \
            return impi_real.File_i##name##_at(fh, offset, WHAT, newrequest);  \
        return alone_request(f, write, FILE_AT, offset, WHAT, newrequest);     \
    }

#define ALONE_BY(name, BUF, write, by)                                         \
    int impi_File_##name(MPI_File fh, BUF *buf, int count,                     \
                         MPI_Datatype datatype, MPI_Status *status)            \
    {                                                                          \
        struct file *f = file_find(fh);                                        \
                                                                               \
        if (!f)                                                                \
            return impi_real.File_##name(fh, WHAT, status);                    \
        return alone(f, write, by, 0, WHAT, status);                           \
    }                                                                          \
    int impi_File_i##name(MPI_File fh, BUF *buf, int count,                    \
                          MPI_Datatype datatype, MPI_Request *newrequest)      \
    {                                                                          \
        struct file *f = file_find(fh);                                        \
                                                                               \
        if (!f)                                                                \
            return impi_real.File_i##name(fh, WHAT, newrequest);               \
        return alone_request(f, write, by, 0, WHAT, newrequest);               \
    }

ALONE_AT(read, void, false)
ALONE_AT(write, const void, true)
ALONE_BY(read, void, false, FILE_OWN)
ALONE_BY(write, const void, true, FILE_OWN)
ALONE_BY(read_shared, void, false, FILE_SHARED)
ALONE_BY(write_shared, const void, true, FILE_SHARED)

/* A negative offset is found by file_together(). */
#define ALL_AT(name, BUF, write)                                               \
    int impi_File_##name##_at_all(MPI_File fh, MPI_Offset offset, BUF *buf,    \
                                  int count, MPI_Datatype datatype,            \
                                  MPI_Status *status)                          \
    {                                                                          \
        struct file *f = file_find(fh);                                        \
                                                                               \
        if (!f)                                                                \
            return ASSISTED(                                                   \
                impi_real.File_##name##_at_all(fh, offset, WHAT, status));     \
        return file_together(f, write, FILE_AT, (uint64_t)offset, FROM,        \
                             status, NULL);                                    \
    }                                                                          \
    int impi_File_i##name##_at_all(MPI_File fh, MPI_Offset offset, BUF *buf,   \
                                   int count, MPI_Datatype datatype,           \
                                   MPI_Request *newrequest)                    \
    {                                                                          \
        struct file *f = file_find(fh);                                        \
                                                                               \
        if (!f)                                                                \
            return impi_real.File_i##name##_at_all(fh, offset, WHAT,           \
                                                   newrequest);                \
        return file_together(f, write, FILE_AT, (uint64_t)offset, FROM,        \
                             MPI_STATUS_IGNORE, newrequest);                   \
    }                                                                          \
    int impi_File_##name##_at_all_begin(MPI_File fh, MPI_Offset offset,        \
                                        BUF *buf, int count,                   \
                                        MPI_Datatype datatype)                 \
    {                                                                          \
        struct file *f = file_find(fh);                                        \
                                                                               \
        if (!f)                                                                \
            return ASSISTED(                                                   \
                impi_real.File_##name##_at_all_begin(fh, offset, WHAT));       \
        return begin_split(f, CALL_File_##name##_at_all_begin, write, FILE_AT, \
                           (uint64_t)offset, WHAT);                            \
    }                                                                          \
    int impi_File_##name##_at_all_end(MPI_File fh, BUF *buf,                   \
                                      MPI_Status *status)                      \
    {                                                                          \
        struct file *f = file_find(fh);                                        \
                                                                               \
        if (!f)                                                                \
            return ASSISTED(                                                   \
                impi_real.File_##name##_at_all_end(fh, buf, status));          \
        return end_split(f, CALL_File_##name##_at_all_begin, status);          \
    }

#define ALL_BY(name, BUF, write, by, at)                                       \
    int impi_File_##name(MPI_File fh, BUF *buf, int count,                     \
                         MPI_Datatype datatype, MPI_Status *status)            \
    {                                                                          \
        struct file *f = file_find(fh);                                        \
                                                                               \
        if (!f)                                                                \
            return ASSISTED(impi_real.File_##name(fh, WHAT, status));          \
        return file_together(f, write, by, at, FROM, status, NULL);            \
    }                                                                          \
    int impi_File_##name##_begin(MPI_File fh, BUF *buf, int count,             \
                                 MPI_Datatype datatype)                        \
    {                                                                          \
        struct file *f = file_find(fh);                                        \
                                                                               \
        if (!f)                                                                \
            return ASSISTED(impi_real.File_##name##_begin(fh, WHAT));          \
        return begin_split(f, CALL_File_##name##_begin, write, by, at, WHAT);  \
    }                                                                          \
    int impi_File_##name##_end(MPI_File fh, BUF *buf, MPI_Status *status)      \
    {                                                                          \
        struct file *f = file_find(fh);                                        \
                                                                               \
        if (!f)                                                                \
            return ASSISTED(impi_real.File_##name##_end(fh, buf, status));     \
        return end_split(f, CALL_File_##name##_begin, status);                 \
    }

#define ALL_I(name, BUF, write)                                                \
    int impi_File_i##name##_all(MPI_File fh, BUF *buf, int count,              \
                                MPI_Datatype datatype,                         \
                                MPI_Request *newrequest)                       \
    {                                                                          \
        struct file *f = file_find(fh);                                        \
                                                                               \
        if (!f)                                                                \
            return impi_real.File_i##name##_all(fh, WHAT, newrequest);         \
        return file_together(f, write, FILE_OWN, pass_own(f, count, datatype), \
                             FROM, MPI_STATUS_IGNORE, newrequest);             \
    }

ALL_AT(read, void, false)
ALL_AT(write, const void, true)
ALL_BY(read_all, void, false, FILE_OWN, pass_own(f, count, datatype))
ALL_BY(write_all, const void, true, FILE_OWN, pass_own(f, count, datatype))
ALL_BY(read_ordered, void, false, FILE_SHARED, 0)
ALL_BY(write_ordered, const void, true, FILE_SHARED, 0)
ALL_I(read, void, false)
ALL_I(write, const void, true)
