/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that span: how they are opened and closed, their size, view and
 * pointers.
 */
#include "libimpi/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/limits.h"
#include "libimpi/coll.h"
#include "libimpi/disk_watch.h"
#include "libimpi/foreign.h"
#include "libimpi/external.h"
#include "libimpi/failed.h"
#include "libimpi/layouts.h"
#include "libimpi/type_runs.h"

#define WINDOW_DEFAULT (INT64_C(16) * 1024 * 1024)
#define WINDOW_MIN (INT64_C(64) * 1024)
#define WINDOW_MAX (INT64_C(512) * 1024 * 1024)

static struct file *files;

int file_raise(const struct file *f, int code)
{
    return code == MPI_SUCCESS ? code : failed_note_file(f->handle, code);
}

struct file *file_find(MPI_File handle)
{
    struct file *f = __atomic_load_n(&files, __ATOMIC_ACQUIRE);

    while (f && f->handle != handle)
        f = __atomic_load_n(&f->next, __ATOMIC_ACQUIRE);
    return f;
}

/* Of the file that this thread has just closed. */
static __thread const char *closed_name;

const char *failed_file_name(MPI_File handle)
{
    const struct file *f = file_find(handle);

    if (handle == MPI_FILE_NULL)
        return closed_name;
    return f ? f->name : NULL;
}

/* ---- those who wait ---- */

void file_wait_begins(struct file *f)
{
    __atomic_add_fetch(&f->waits, 1, __ATOMIC_RELAXED);
}

void file_wait_ends(struct file *f)
{
    __atomic_sub_fetch(&f->waits, 1, __ATOMIC_RELAXED);
}

static bool has_opened(const struct file *f, uint32_t rank)
{
    for (int i = 0; i < f->c->size; i++) {
        if ((uint32_t)f->c->world[i] == rank)
            return true;
    }
    return false;
}

const char *file_waits(uint32_t rank)
{
    const struct file *f = __atomic_load_n(&files, __ATOMIC_ACQUIRE);

    while (f && (__atomic_load_n(&f->waits, __ATOMIC_RELAXED) == 0 ||
                 !has_opened(f, rank)))
        f = __atomic_load_n(&f->next, __ATOMIC_ACQUIRE);
    return f ? f->name : NULL;
}

/* ---- agreement ---- */

/* n ints of all, in rank order; free() them.  NULL: it failed. */
static int *ask_all(struct file *f, const int *own, int n)
{
    int *all = calloc((size_t)f->c->size * (size_t)n, sizeof(*all)), rc;

    if (!all)
        be_die(1, "SF-E403: no memory for a file");
    file_wait_begins(f);
    rc = coll_allgather_ints(f->c, own, n, all);
    file_wait_ends(f);
    if (rc == MPI_SUCCESS)
        return all;
    free(all);
    return NULL;
}

/* The order is part of the messages (doc/impi-io.md). */
static const int told_errors[] = {
    MPI_SUCCESS,
    MPI_ERR_OTHER,
    MPI_ERR_ARG,
    MPI_ERR_COUNT,
    MPI_ERR_TYPE,
    MPI_ERR_BUFFER,
    MPI_ERR_NO_MEM,
    MPI_ERR_INTERN,
    MPI_ERR_ACCESS,
    MPI_ERR_AMODE,
    MPI_ERR_BAD_FILE,
    MPI_ERR_CONVERSION,
    MPI_ERR_DUP_DATAREP,
    MPI_ERR_FILE_EXISTS,
    MPI_ERR_FILE_IN_USE,
    MPI_ERR_FILE,
    MPI_ERR_IO,
    MPI_ERR_NO_SPACE,
    MPI_ERR_NO_SUCH_FILE,
    MPI_ERR_NOT_SAME,
    MPI_ERR_QUOTA,
    MPI_ERR_READ_ONLY,
    MPI_ERR_UNSUPPORTED_DATAREP,
    MPI_ERR_UNSUPPORTED_OPERATION,
};
#define NTOLD ((int)(sizeof(told_errors) / sizeof(told_errors[0])))

int file_error_told(int code)
{
    int class = code;

    if (code != MPI_SUCCESS)
        impi_Error_class(code, &class);
    for (int i = 0; i < NTOLD; i++)
        if (told_errors[i] == class)
            return i;
    return 1;
}

int file_error_heard(int64_t told)
{
    return told >= 0 && told < NTOLD ? told_errors[told] : MPI_ERR_OTHER;
}

/* All members: the error of the lowest rank that has one (own: this one's). */
static int agree(struct file *f, int own)
{
    int told = file_error_told(own), rc = MPI_SUCCESS;
    int *all = ask_all(f, &told, 1);

    if (!all)
        return MPI_ERR_OTHER;
    for (int i = 0; i < f->c->size && rc == MPI_SUCCESS; i++)
        rc = file_error_heard(all[i]);
    free(all);
    return own != MPI_SUCCESS ? own : rc;
}

/* ---- views ---- */

static bool is_predefined(MPI_Datatype type)
{
    int a, b, c, combiner = MPI_COMBINER_NAMED;

    impi_real.Type_get_envelope(type, &a, &b, &c, &combiner);
    return combiner == MPI_COMBINER_NAMED ||
           combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX ||
           combiner == MPI_COMBINER_F90_INTEGER;
}

static int copy_type(MPI_Datatype from, MPI_Datatype *to)
{
    int rc;

    *to = from;
    if (is_predefined(from))
        return MPI_SUCCESS;
    rc = impi_real.Type_dup(from, to);
    return rc == MPI_SUCCESS ? impi_real.Type_commit(to) : rc;
}

static void drop_type(MPI_Datatype *type)
{
    if (*type != MPI_DATATYPE_NULL && !is_predefined(*type))
        impi_real.Type_free(type);
    *type = MPI_DATATYPE_NULL;
}

static void drop_view(struct file *f)
{
    impi_io_view_free(&f->view);
    drop_type(&f->etype);
    drop_type(&f->filetype);
}

int file_type_size(const struct file *f, MPI_Datatype type, size_t *size)
{
    MPI_Count bytes = 0;
    int rc;

    if (f->external)
        return external_size(type, size);
    rc = impi_real.Type_size_x(type, &bytes);
    *size = (size_t)bytes;
    return rc;
}

/* In external32 some elements are shorter than in memory.  Of a filetype that
 * has such it is known where its data are only if they are in a row. */
static int shorten(struct type_runs *r, size_t wire)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < r->n; i++)
        size += r->run[i].len * r->run[i].repeat;
    if (wire == size)
        return MPI_SUCCESS;
    if (r->n != 1 || r->run[0].repeat != 1 || r->run[0].disp != 0 ||
        r->extent != (MPI_Aint)size)
        return MPI_ERR_UNSUPPORTED_DATAREP;
    r->run[0].len = wire;
    r->extent = (MPI_Aint)wire;
    return MPI_SUCCESS;
}

/* The view's own part, from types that are its already. */
static int make_view(struct file *f, int64_t disp)
{
    size_t etype = 0, wire = 0;
    struct type_runs r = {0};
    int rc = file_type_size(f, f->etype, &etype);

    if (rc == MPI_SUCCESS)
        rc = file_type_size(f, f->filetype, &wire);
    if (rc == MPI_SUCCESS)
        rc = type_runs_get(&r, f->filetype, SF_IMPI_IO_RUNS_MAX);
    if (rc == MPI_SUCCESS && f->external)
        rc = shorten(&r, wire);
    if (rc == MPI_SUCCESS &&
        impi_io_view_init(&f->view, disp, etype, r.extent, r.run, r.n) < 0)
        rc = errno == ENOMEM ? MPI_ERR_NO_MEM : MPI_ERR_ARG;
    free(r.run);
    return rc;
}

static int check_view(int64_t disp, MPI_Datatype etype, MPI_Datatype filetype,
                      const char *datarep)
{
    if (disp < 0)
        return MPI_ERR_ARG;
    if (etype == MPI_DATATYPE_NULL || filetype == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    if (!datarep ||
        (strcmp(datarep, "native") != 0 && strcmp(datarep, "internal") != 0 &&
         strcmp(datarep, "external32") != 0))
        return MPI_ERR_UNSUPPORTED_DATAREP;
    return MPI_SUCCESS;
}

/* MPI error class. */
static int new_view(struct file *f, int64_t disp, MPI_Datatype etype,
                    MPI_Datatype filetype, const char *datarep)
{
    int rc = check_view(disp, etype, filetype, datarep);

    if (rc != MPI_SUCCESS)
        return rc;
    f->etype = f->filetype = MPI_DATATYPE_NULL;
    f->view = (struct impi_io_view){0};
    f->external = strcmp(datarep, "external32") == 0;
    strcpy(f->datarep, datarep);
    rc = copy_type(etype, &f->etype);
    if (rc == MPI_SUCCESS)
        rc = copy_type(filetype, &f->filetype);
    if (rc == MPI_SUCCESS)
        rc = make_view(f, disp);
    if (rc != MPI_SUCCESS)
        drop_view(f);
    return rc;
}

/* A view of native bytes in a row. */
static int plain_view(struct file *f)
{
    return new_view(f, 0, MPI_BYTE, MPI_BYTE, "native");
}

/* What the view was, to go back to it. */
static void keep_view(struct file *to, const struct file *from)
{
    to->view = from->view;
    to->etype = from->etype;
    to->filetype = from->filetype;
    to->external = from->external;
    strcpy(to->datarep, from->datarep);
}

/* Etypes of the view up to the end of the file. */
static int end_of(struct file *f, uint64_t *etypes)
{
    int64_t size;
    int rc = disk_size(&f->disk, &size);

    *etypes = 0;
    if (rc == MPI_SUCCESS)
        *etypes = (impi_io_view_before(&f->view, size) + f->view.etype - 1) /
                  f->view.etype;
    return rc;
}

/* A checksum that two views have in common if they are the same. */
static uint32_t mark_of(const struct file *f)
{
    const struct impi_io_view *v = &f->view;
    const uint64_t head[] = {(uint64_t)v->disp, v->etype, (uint64_t)v->extent,
                             f->external};

    return crc32c(crc32c(0, head, sizeof(head)), v->runs,
                  v->nruns * sizeof(v->runs[0]));
}

/* As agree(); if nobody has an error also whether the views are alike. */
static int agree_view(struct file *f, int own)
{
    int said[2] = {file_error_told(own), (int)mark_of(f)}, rc = own;
    int *all = ask_all(f, said, 2);
    bool alike = true;

    if (!all)
        return MPI_ERR_OTHER;
    for (int i = 0; i < f->c->size; i++) {
        if (rc == MPI_SUCCESS)
            rc = file_error_heard(all[2 * i]);
        alike = alike && all[2 * i + 1] == said[1];
    }
    free(all);
    if (rc == MPI_SUCCESS)
        f->alike = alike;
    return rc;
}

/* In sequential mode MPI_DISPLACEMENT_CURRENT is where the shared pointer is
 * when all have come. */
static int find_displacement(struct file *f, MPI_Offset *disp)
{
    int64_t at = 0;
    int rc;

    if (!(f->amode & MPI_MODE_SEQUENTIAL))
        return MPI_SUCCESS;
    rc = agree(f, MPI_SUCCESS);
    if (*disp != MPI_DISPLACEMENT_CURRENT || f->view.size == 0)
        return rc;
    if (rc == MPI_SUCCESS)
        rc = file_shared_add(f, 0, &at);
    *disp = impi_io_view_at(&f->view, (uint64_t)at * f->view.etype);
    return rc;
}

/* All have another view, or nobody has. */
static int change_view(struct file *f, MPI_Offset disp, MPI_Datatype etype,
                       MPI_Datatype filetype, const char *datarep)
{
    struct file old = {0};
    int rc = find_displacement(f, &disp);

    keep_view(&old, f);
    if (rc == MPI_SUCCESS)
        rc = new_view(f, disp, etype, filetype, datarep);
    if (agree_view(f, rc) == MPI_SUCCESS) {
        drop_view(&old);
        return MPI_SUCCESS;
    }
    if (rc == MPI_SUCCESS) {
        drop_view(f);
        rc = MPI_ERR_OTHER;
    }
    keep_view(f, &old);
    return rc;
}

/* ---- hints ---- */

static int64_t number_of(MPI_Info info, const char *key)
{
    char text[32] = "";
    int there = 0;

    if (info == MPI_INFO_NULL ||
        impi_real.Info_get(info, key, sizeof(text) - 1, text, &there) !=
            MPI_SUCCESS ||
        !there)
        return 0;
    return strtoll(text, NULL, 10);
}

/* Where processes give other ones, those of rank 0 count. */
static int take_hints(struct file *f, MPI_Info info)
{
    int64_t window = number_of(info, "cb_buffer_size");
    int64_t naggs = number_of(info, "cb_nodes");
    int own[2], *all;

    window = window > WINDOW_MAX ? WINDOW_MAX : window;
    own[0] = (int)window;
    own[1] = naggs > 0 && naggs < INT32_MAX ? (int)naggs : 0;
    all = ask_all(f, own, 2);
    if (!all)
        return MPI_ERR_OTHER;
    if (all[0] > 0)
        f->window = all[0] < WINDOW_MIN ? WINDOW_MIN : all[0];
    if (all[1] > 0)
        f->naggs = (uint32_t)all[1];
    free(all);
    return MPI_SUCCESS;
}

/* The library's handle gets the program's hints, and never sieves: it would
 * write back what another process has written meanwhile. */
static int library_hints(MPI_Info info, MPI_Info *own)
{
    int rc = info == MPI_INFO_NULL ? impi_real.Info_create(own)
                                   : impi_real.Info_dup(info, own);

    if (rc == MPI_SUCCESS)
        rc = impi_real.Info_set(*own, "romio_ds_write", "disable");
    return rc;
}

/* ---- open ---- */

static bool has_one_of_three(int amode)
{
    return !!(amode & MPI_MODE_RDONLY) + !!(amode & MPI_MODE_WRONLY) +
               !!(amode & MPI_MODE_RDWR) ==
           1;
}

static int check_amode(int amode)
{
    if (!has_one_of_three(amode))
        return MPI_ERR_AMODE;
    if (amode & MPI_MODE_RDONLY && amode & (MPI_MODE_CREATE | MPI_MODE_EXCL))
        return MPI_ERR_AMODE;
    if (amode & MPI_MODE_RDWR && amode & MPI_MODE_SEQUENTIAL)
        return MPI_ERR_AMODE;
    return MPI_SUCCESS;
}

/* By the library; what is common to all is not its business. */
static int library_open(struct file *f, MPI_Info info, int also)
{
    int amode = f->amode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    MPI_Info own = MPI_INFO_NULL;
    struct disk_call call;
    int class = MPI_SUCCESS;
    int rc = library_hints(info, &own);

    disk_call_begin(&call, f->name, "opening it");
    if (rc == MPI_SUCCESS)
        rc = impi_real.File_open(MPI_COMM_SELF, f->name, amode | also, own,
                                 &f->handle);
    disk_call_end(&call);
    if (own != MPI_INFO_NULL)
        impi_real.Info_free(&own);
    if (rc == MPI_SUCCESS)
        return rc;
    f->handle = MPI_FILE_NULL;
    impi_real.Error_class(rc, &class);
    return class;
}

static void drop_handler(MPI_Errhandler *handler)
{
    if (*handler != MPI_ERRORS_RETURN && *handler != MPI_ERRORS_ARE_FATAL)
        impi_real.Errhandler_free(handler);
}

/* Errors before there is a file go to the handler of MPI_FILE_NULL, which is
 * the library's to call as well: it shall not. */
static int quiet_open(struct file *f, MPI_Info info, int also)
{
    MPI_Errhandler old;
    int rc;

    if (impi_real.File_get_errhandler(MPI_FILE_NULL, &old) != MPI_SUCCESS)
        return library_open(f, info, also);
    impi_real.File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    rc = library_open(f, info, also);
    impi_real.File_set_errhandler(MPI_FILE_NULL, old);
    if (rc == MPI_SUCCESS)
        impi_real.File_set_errhandler(f->handle, old);
    drop_handler(&old);
    return rc;
}

/* One makes it, so that MPI_MODE_EXCL can hold and nobody makes another one
 * where the file system is not shared. */
static int open_all(struct file *f, MPI_Info info, bool plainly)
{
    int make = f->amode & (MPI_MODE_CREATE | MPI_MODE_EXCL);
    int rc = MPI_SUCCESS;

    if (f->c->rank == 0)
        rc = quiet_open(f, info, make);
    rc = agree(f, rc);
    if (rc != MPI_SUCCESS)
        return rc;
    if (f->c->rank > 0)
        rc = quiet_open(f, info, 0);
    if (rc == MPI_SUCCESS)
        rc = disk_open(&f->disk, f->handle, f->name, f->amode, plainly);
    return agree(f, rc);
}

static void publish(struct file *f)
{
    be_lock();
    f->next = files;
    __atomic_store_n(&files, f, __ATOMIC_RELEASE);
    be_unlock();
    impi_calls_have_files();
}

static void unpublish(struct file *f)
{
    struct file **p = &files;

    be_lock();
    while (*p != f)
        p = &(*p)->next;
    __atomic_store_n(p, f->next, __ATOMIC_RELEASE);
    be_unlock();
}

static void file_destroy(struct file *f)
{
    drop_view(f);
    if (f->handle != MPI_FILE_NULL) {
        disk_close(&f->disk);
        impi_real.File_close(&f->handle);
    }
    if (f->comm != MPI_COMM_NULL)
        impi_Comm_free(&f->comm);
    free(f->name);
    free(f);
    disk_watch_file(-1);
}

static struct file *file_new(const char *name, int amode)
{
    struct file *f = calloc(1, sizeof(*f));

    if (!f || !(f->name = strdup(name)))
        be_die(1, "SF-E403: no memory for a file");
    f->handle = MPI_FILE_NULL;
    f->comm = MPI_COMM_NULL;
    f->split = MPI_REQUEST_NULL;
    f->etype = f->filetype = MPI_DATATYPE_NULL;
    f->amode = amode;
    f->window = WINDOW_DEFAULT;
    f->disk.fd = f->disk.locks = -1;
    disk_watch_file(1);
    return f;
}

/* A communicator of its own, without the attributes of the program's. */
static int own_comm(struct file *f, MPI_Comm comm)
{
    int rank, rc = impi_Comm_rank(comm, &rank);

    if (rc == MPI_SUCCESS)
        rc = impi_Comm_split(comm, 0, rank, &f->comm);
    if (rc != MPI_SUCCESS)
        return rc;
    impi_real.Comm_set_errhandler(f->comm, MPI_ERRORS_RETURN);
    f->c = impi_span_find(f->comm);
    f->naggs = (uint32_t)f->c->size;
    return MPI_SUCCESS;
}

/* The same bits in all libraries. */
static int told_amode(int amode)
{
    static const int modes[] = {
        MPI_MODE_CREATE, MPI_MODE_RDONLY,          MPI_MODE_WRONLY,
        MPI_MODE_RDWR,   MPI_MODE_DELETE_ON_CLOSE, MPI_MODE_UNIQUE_OPEN,
        MPI_MODE_EXCL,   MPI_MODE_APPEND,          MPI_MODE_SEQUENTIAL};
    int told = 0;

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        told |= amode & modes[i] ? 1 << i : 0;
    return told;
}

/* All have given the same mode, and it is one. */
static int agree_amode(struct file *f)
{
    int told = told_amode(f->amode), rc = check_amode(f->amode);
    int *all = ask_all(f, &told, 1);

    if (!all)
        return MPI_ERR_OTHER;
    for (int i = 0; i < f->c->size && rc == MPI_SUCCESS; i++)
        if (all[i] != all[0])
            rc = MPI_ERR_NOT_SAME;
    free(all);
    return agree(f, rc);
}

static bool by_library(MPI_Info info)
{
    char text[16] = "";
    int there = 0;

    return info != MPI_INFO_NULL &&
           impi_real.Info_get(info, "impi_driver", sizeof(text) - 1, text,
                              &there) == MPI_SUCCESS &&
           there && strcmp(text, "library") == 0;
}

static int open_file(struct file *f, MPI_Info info)
{
    uint64_t end = 0;
    int rc = agree_amode(f);

    if (rc == MPI_SUCCESS)
        rc = take_hints(f, info);
    if (rc == MPI_SUCCESS)
        rc = open_all(f, info, !by_library(info));
    if (rc != MPI_SUCCESS)
        return rc;
    rc = plain_view(f);
    f->alike = true;
    if (rc == MPI_SUCCESS && f->amode & MPI_MODE_APPEND)
        rc = end_of(f, &end);
    f->pos = end;
    f->shared = (int64_t)end;
    if (rc == MPI_SUCCESS)
        rc = file_shared_open(f);
    return agree(f, rc);
}

/* Without the agreement of all there are none. */
static bool may_be_opened(const struct impi_comm *c)
{
    return impi_be.world.flags & IMPI_WORLD_FILES && impi_be.relay < 0 &&
           impi_be.native && !c->inter &&
           (!c->foreign || foreign_all_can(c, IMPI_SIDE_FILES));
}

int impi_File_open(MPI_Comm comm, const char *filename, int amode,
                   MPI_Info info, MPI_File *newfile)
{
    struct impi_comm *c = impi_span_find(comm);
    struct file *f;
    int rc;

    if (!c)
        return ASSISTED(
            impi_real.File_open(comm, filename, amode, info, newfile));
    if (!may_be_opened(c))
        return impi_unsupported_file(MPI_FILE_NULL, CALL_File_open);
    f = file_new(filename, amode);
    rc = own_comm(f, comm);
    if (rc == MPI_SUCCESS)
        rc = open_file(f, info);
    if (rc != MPI_SUCCESS) {
        file_shared_close(f);
        file_destroy(f);
        *newfile = MPI_FILE_NULL;
        return failed_note_file(MPI_FILE_NULL, rc);
    }
    publish(f);
    *newfile = f->handle;
    return MPI_SUCCESS;
}

/* Errors of what was written before may show only now. */
static int library_close(struct file *f)
{
    struct disk_call call;
    int rc;

    disk_call_begin(&call, f->name, "closing it");
    rc = impi_real.File_close(&f->handle);
    disk_call_end(&call);
    f->handle = MPI_FILE_NULL;
    return rc;
}

static int library_delete(struct file *f)
{
    MPI_Info none = MPI_INFO_NULL;
    struct disk_call call;
    int rc;

    disk_call_begin(&call, f->name, "deleting it");
    rc = impi_real.File_delete(f->name, none);
    disk_call_end(&call);
    return rc;
}

static int close_all(struct file *f)
{
    int rc = disk_close(&f->disk), closed = library_close(f);

    rc = agree(f, rc == MPI_SUCCESS ? closed : rc);
    if (!(f->amode & MPI_MODE_DELETE_ON_CLOSE))
        return rc;
    if (f->c->rank == 0)
        rc = library_delete(f);
    return agree(f, rc);
}

/* To the handler that the file had: there is none but MPI_FILE_NULL's by now.
 */
static void tell_of_close(const struct file *f, MPI_Errhandler own, int rc,
                          MPI_File *fh)
{
    MPI_Errhandler old;

    if (impi_real.File_get_errhandler(MPI_FILE_NULL, &old) != MPI_SUCCESS)
        return;
    impi_real.File_set_errhandler(MPI_FILE_NULL, own);
    closed_name = f->name;
    impi_told_File_close(failed_note_file(MPI_FILE_NULL, rc), fh);
    closed_name = NULL;
    impi_real.File_set_errhandler(MPI_FILE_NULL, old);
    drop_handler(&old);
}

int impi_File_close(MPI_File *fh)
{
    MPI_Errhandler own = MPI_ERRORS_RETURN;
    struct file *f = file_find(*fh);
    int rc = MPI_SUCCESS;

    if (!f)
        return ASSISTED(impi_real.File_close(fh));
    if (f->split != MPI_REQUEST_NULL)
        rc = MPI_ERR_OTHER;
    rc = agree(f, rc);
    if (rc != MPI_SUCCESS)
        return file_raise(f, rc);
    impi_real.File_get_errhandler(f->handle, &own);
    unpublish(f);
    file_shared_close(f);
    rc = close_all(f);
    *fh = MPI_FILE_NULL;
    if (rc != MPI_SUCCESS)
        tell_of_close(f, own, rc, fh);
    drop_handler(&own);
    file_destroy(f);
    return rc;
}

/* ---- what it is ---- */

int impi_File_get_size(MPI_File fh, MPI_Offset *size)
{
    struct file *f = file_find(fh);
    int64_t bytes = 0;
    int rc;

    if (!f)
        return impi_real.File_get_size(fh, size);
    rc = disk_size(&f->disk, &bytes);
    *size = bytes;
    return file_raise(f, rc);
}

/* One does it for all, and they know how it went. */
static int one_for_all(struct file *f, MPI_Offset size,
                       int (*what)(struct disk *d, int64_t size))
{
    int rc = size < 0 ? MPI_ERR_ARG : MPI_SUCCESS;

    if (rc == MPI_SUCCESS && f->amode & MPI_MODE_RDONLY)
        rc = MPI_ERR_READ_ONLY;
    rc = agree(f, rc);
    if (rc == MPI_SUCCESS && f->c->rank == 0)
        rc = what(&f->disk, size);
    return file_raise(f, agree(f, rc));
}

int impi_File_set_size(MPI_File fh, MPI_Offset size)
{
    struct file *f = file_find(fh);

    if (!f)
        return ASSISTED(impi_real.File_set_size(fh, size));
    return one_for_all(f, size, disk_set_size);
}

int impi_File_preallocate(MPI_File fh, MPI_Offset size)
{
    struct file *f = file_find(fh);

    if (!f)
        return ASSISTED(impi_real.File_preallocate(fh, size));
    return one_for_all(f, size, disk_preallocate);
}

int impi_File_sync(MPI_File fh)
{
    struct file *f = file_find(fh);
    int rc = MPI_SUCCESS;

    if (!f)
        return ASSISTED(impi_real.File_sync(fh));
    if (!(f->amode & MPI_MODE_RDONLY))
        rc = disk_sync(&f->disk);
    return file_raise(f, agree(f, rc));
}

int impi_File_get_group(MPI_File fh, MPI_Group *newgroup)
{
    struct file *f = file_find(fh);

    if (!f)
        return impi_real.File_get_group(fh, newgroup);
    return impi_Comm_group(f->comm, newgroup);
}

int impi_File_get_amode(MPI_File fh, int *amode)
{
    struct file *f = file_find(fh);

    if (!f)
        return impi_real.File_get_amode(fh, amode);
    *amode = f->amode;
    return MPI_SUCCESS;
}

int impi_File_set_info(MPI_File fh, MPI_Info info)
{
    struct file *f = file_find(fh);
    MPI_Info own = MPI_INFO_NULL;
    int rc;

    if (!f)
        return ASSISTED(impi_real.File_set_info(fh, info));
    rc = library_hints(info, &own);
    if (rc == MPI_SUCCESS)
        rc = impi_real.File_set_info(fh, own);
    if (own != MPI_INFO_NULL)
        impi_real.Info_free(&own);
    rc = agree(f, rc);
    return file_raise(f, rc == MPI_SUCCESS ? take_hints(f, info) : rc);
}

int impi_File_set_atomicity(MPI_File fh, int flag)
{
    struct file *f = file_find(fh);
    int *all, rc = MPI_SUCCESS;

    if (!f)
        return ASSISTED(impi_real.File_set_atomicity(fh, flag));
    flag = flag != 0;
    if (flag && f->disk.locks < 0)
        flag = 2;
    all = ask_all(f, &flag, 1);
    if (!all)
        return file_raise(f, MPI_ERR_OTHER);
    for (int i = 0; i < f->c->size; i++)
        if (all[i] != flag)
            rc = MPI_ERR_NOT_SAME;
    free(all);
    if (rc == MPI_SUCCESS && flag == 2)
        rc = MPI_ERR_UNSUPPORTED_OPERATION;
    if (rc == MPI_SUCCESS)
        f->atomic = flag;
    return file_raise(f, rc);
}

int impi_File_get_atomicity(MPI_File fh, int *flag)
{
    struct file *f = file_find(fh);

    if (!f)
        return impi_real.File_get_atomicity(fh, flag);
    *flag = f->atomic;
    return MPI_SUCCESS;
}

int impi_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype,
                       MPI_Datatype filetype, const char *datarep,
                       MPI_Info info)
{
    struct file *f = file_find(fh);
    int rc;

    if (!f)
        return ASSISTED(
            impi_real.File_set_view(fh, disp, etype, filetype, datarep, info));
    rc = change_view(f, disp, etype, filetype, datarep);
    if (rc == MPI_SUCCESS)
        rc = take_hints(f, info);
    if (rc != MPI_SUCCESS)
        return file_raise(f, rc);
    f->pos = 0;
    be_lock();
    f->shared = 0;
    be_unlock();
    return file_raise(f, agree(f, rc));
}

int impi_File_get_view(MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype,
                       MPI_Datatype *filetype, char *datarep)
{
    struct file *f = file_find(fh);
    int rc;

    if (!f)
        return impi_real.File_get_view(fh, disp, etype, filetype, datarep);
    *disp = f->view.disp;
    strcpy(datarep, f->datarep);
    rc = copy_type(f->etype, etype);
    if (rc == MPI_SUCCESS)
        rc = copy_type(f->filetype, filetype);
    return file_raise(f, rc);
}

int impi_File_get_type_extent(MPI_File fh, MPI_Datatype datatype,
                              MPI_Aint *extent)
{
    struct file *f = file_find(fh);
    struct type_info info;
    size_t wire = 0;
    MPI_Aint lb;
    int rc;

    if (!f)
        return impi_real.File_get_type_extent(fh, datatype, extent);
    rc = type_look_up(&info, datatype);
    if (rc == MPI_SUCCESS)
        rc = impi_real.Type_get_extent(datatype, &lb, extent);
    if (rc != MPI_SUCCESS || !f->external)
        return file_raise(f, rc);
    rc = external_size(datatype, &wire);
    if (rc == MPI_SUCCESS && wire != info.size) {
        if (!info.contiguous)
            rc = MPI_ERR_UNSUPPORTED_DATAREP;
        *extent = (MPI_Aint)wire;
    }
    return file_raise(f, rc);
}

/* ---- pointers ---- */

/* *to: where `offset` leads from there, in etypes. */
static int seek_to(struct file *f, MPI_Offset offset, int whence, uint64_t at,
                   uint64_t *to)
{
    int64_t sum;
    uint64_t base = 0;
    int rc = MPI_SUCCESS;

    if (whence == MPI_SEEK_CUR)
        base = at;
    else if (whence == MPI_SEEK_END)
        rc = end_of(f, &base);
    else if (whence != MPI_SEEK_SET)
        rc = MPI_ERR_ARG;
    if (rc != MPI_SUCCESS)
        return rc;
    if (__builtin_add_overflow((int64_t)base, offset, &sum) || sum < 0)
        return MPI_ERR_ARG;
    *to = (uint64_t)sum;
    return MPI_SUCCESS;
}

/* In sequential mode there is the shared pointer alone. */
static int check_random(const struct file *f)
{
    return f->amode & MPI_MODE_SEQUENTIAL ? MPI_ERR_UNSUPPORTED_OPERATION
                                          : MPI_SUCCESS;
}

int impi_File_seek(MPI_File fh, MPI_Offset offset, int whence)
{
    struct file *f = file_find(fh);
    int rc;

    if (!f)
        return impi_real.File_seek(fh, offset, whence);
    rc = check_random(f);
    if (rc == MPI_SUCCESS)
        rc = seek_to(f, offset, whence, f->pos, &f->pos);
    return file_raise(f, rc);
}

int impi_File_get_position(MPI_File fh, MPI_Offset *offset)
{
    struct file *f = file_find(fh);

    if (!f)
        return impi_real.File_get_position(fh, offset);
    *offset = (MPI_Offset)f->pos;
    return file_raise(f, check_random(f));
}

int impi_File_get_byte_offset(MPI_File fh, MPI_Offset offset, MPI_Offset *disp)
{
    struct file *f = file_find(fh);
    uint64_t pos;
    int rc;

    if (!f)
        return impi_real.File_get_byte_offset(fh, offset, disp);
    rc = check_random(f);
    if (rc == MPI_SUCCESS &&
        (offset < 0 ||
         __builtin_mul_overflow((uint64_t)offset, f->view.etype, &pos) ||
         pos >= (uint64_t)IMPI_IO_FAR))
        rc = MPI_ERR_ARG;
    if (rc == MPI_SUCCESS)
        *disp = f->view.size ? impi_io_view_at(&f->view, pos) : f->view.disp;
    return file_raise(f, rc);
}

int impi_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence)
{
    struct file *f = file_find(fh);
    uint64_t to = 0;
    int64_t old = 0;
    int rc;

    if (!f)
        return ASSISTED(impi_real.File_seek_shared(fh, offset, whence));
    /* All have come: nobody still uses the pointer as it was. */
    rc = agree(f, MPI_SUCCESS);
    if (rc == MPI_SUCCESS)
        rc = file_shared_add(f, 0, &old);
    if (rc == MPI_SUCCESS)
        rc = seek_to(f, offset, whence, (uint64_t)old, &to);
    rc = agree(f, rc);
    if (rc == MPI_SUCCESS && f->c->rank == 0)
        rc = file_shared_add(f, (int64_t)to - old, &old);
    return file_raise(f, agree(f, rc));
}

int impi_File_get_position_shared(MPI_File fh, MPI_Offset *offset)
{
    struct file *f = file_find(fh);
    int64_t old = 0;
    int rc;

    if (!f)
        return impi_real.File_get_position_shared(fh, offset);
    rc = file_shared_add(f, 0, &old);
    *offset = old;
    return file_raise(f, rc);
}
