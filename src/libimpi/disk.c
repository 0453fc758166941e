/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* open file description locks, preadv */
#include "libimpi/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fstat_old.h"
#include "libimpi/disk_watch.h"

#define NFS_MAGIC 0x6969
/* Of one call: the system's own limit of pieces; and pieces so short that they
 * are cheaper copied. */
#define CHAIN_IOV 1024
#define SHORT_PIECE 1024
#define STAGE_SIZE (1024 * 1024)
/* What of a gap a read takes along. */
#define GAP_MAX (16 * 1024)
/* The library counts in an int. */
#define PART_MAX (1 << 30)

static int class_of(int err)
{
    switch (err) {
    case EACCES:
    case EPERM:
    case EBADF:
        return MPI_ERR_ACCESS;
    case EROFS:
        return MPI_ERR_READ_ONLY;
    case ENOENT:
        return MPI_ERR_NO_SUCH_FILE;
    case EEXIST:
        return MPI_ERR_FILE_EXISTS;
    case EISDIR:
    case ENAMETOOLONG:
    case ENOTDIR:
    case ELOOP:
        return MPI_ERR_BAD_FILE;
    case ENOSPC:
        return MPI_ERR_NO_SPACE;
    case EDQUOT:
        return MPI_ERR_QUOTA;
    case ENOMEM:
        return MPI_ERR_NO_MEM;
    default:
        return MPI_ERR_IO;
    }
}

/* What a call was held up in is told (disk_watch.h). */
#define WATCHED(d, what, call)                                                 \
    __extension__({                                                            \
        struct disk_call watched;                                              \
        disk_call_begin(&watched, (d)->name, what);                            \
        __auto_type came = (call);                                             \
        disk_call_end(&watched);                                               \
        came;                                                                  \
    })

/* ---- open, close ---- */

/* "ufs:NAME" and its like choose a driver of the library. */
static bool names_driver(const char *name)
{
    const char *colon = strchr(name, ':'), *slash = strchr(name, '/');

    return colon && (!slash || colon < slash);
}

static int flags_of(int amode)
{
    if (amode & MPI_MODE_RDONLY)
        return O_RDONLY;
    return amode & MPI_MODE_WRONLY ? O_WRONLY : O_RDWR;
}

int disk_open(struct disk *d, MPI_File handle, const char *name, int amode,
              bool plainly)
{
    struct statfs fs;

    d->handle = handle;
    d->name = name;
    d->fd = d->locks = -1;
    pthread_mutex_init(&d->atomic, NULL);
    if (names_driver(name))
        return MPI_SUCCESS;
    d->locks =
        WATCHED(d, "opening it", open(name, flags_of(amode) | O_CLOEXEC));
    if (d->locks < 0)
        return class_of(errno);
    if (plainly && fstatfs(d->locks, &fs) == 0 && fs.f_type != NFS_MAGIC)
        d->fd = d->locks;
    return MPI_SUCCESS;
}

int disk_close(struct disk *d)
{
    int rc = MPI_SUCCESS;

    if (d->locks >= 0 && WATCHED(d, "closing it", close(d->locks)) < 0)
        rc = class_of(errno);
    d->fd = d->locks = -1;
    pthread_mutex_destroy(&d->atomic);
    return rc;
}

/* ---- by the library ---- */

/* The program's error handler must not see what happens to a handle of which
 * it knows nothing. */
static MPI_Errhandler hush(struct disk *d)
{
    MPI_Errhandler old = MPI_ERRORS_RETURN;

    impi_real.File_get_errhandler(d->handle, &old);
    impi_real.File_set_errhandler(d->handle, MPI_ERRORS_RETURN);
    return old;
}

/* A code of the library's call as a class. */
static int unhush(struct disk *d, MPI_Errhandler old, int rc)
{
    int class = MPI_ERR_IO;

    impi_real.File_set_errhandler(d->handle, old);
    if (old != MPI_ERRORS_RETURN && old != MPI_ERRORS_ARE_FATAL)
        impi_real.Errhandler_free(&old);
    if (rc == MPI_SUCCESS)
        return rc;
    impi_real.Error_class(rc, &class);
    return class;
}

static int library_part(struct disk *d, bool write, int64_t at, char *mem,
                        int len, int *done)
{
    MPI_Status st;
    int rc = write ? WATCHED(d, "a write",
                             impi_real.File_write_at(d->handle, at, mem, len,
                                                     MPI_BYTE, &st))
                   : WATCHED(d, "a read",
                             impi_real.File_read_at(d->handle, at, mem, len,
                                                    MPI_BYTE, &st));

    *done = 0;
    if (rc == MPI_SUCCESS)
        impi_real.Get_count(&st, MPI_BYTE, done);
    if (*done == MPI_UNDEFINED)
        *done = 0;
    return rc;
}

static int library_move(struct disk *d, bool write, int64_t at, char *mem,
                        uint64_t len, int64_t *ended)
{
    MPI_Errhandler old = hush(d);
    int rc = MPI_SUCCESS, done = 1;

    while (rc == MPI_SUCCESS && len > 0 && done > 0) {
        int part = len < PART_MAX ? (int)len : PART_MAX;

        rc = library_part(d, write, at, mem, part, &done);
        at += done;
        mem += done;
        len -= (uint64_t)done;
    }
    rc = unhush(d, old, rc);
    if (rc == MPI_SUCCESS && len > 0 && write)
        rc = MPI_ERR_NO_SPACE; /* it wrote nothing and knows no error */
    else if (rc == MPI_SUCCESS && len > 0)
        *ended = at;
    return rc;
}

/* Pieces in a row in the file. */
static int library_row(struct disk *d, bool write, int64_t at,
                       const struct iovec *iov, int n, uint64_t len,
                       int64_t *ended)
{
    char *row;
    uint64_t pos = 0;
    int rc;

    if (n == 1)
        return library_move(d, write, at, iov->iov_base, len, ended);
    row = malloc(len);
    if (!row)
        return MPI_ERR_NO_MEM;
    for (int i = 0; write && i < n; pos += iov[i++].iov_len)
        memcpy(row + pos, iov[i].iov_base, iov[i].iov_len);
    rc = library_move(d, write, at, row, len, ended);
    if (!write && *ended < at + (int64_t)len)
        len = *ended > at ? (uint64_t)(*ended - at) : 0;
    for (int i = 0; !write && i < n && pos < len; pos += iov[i++].iov_len)
        memcpy(iov[i].iov_base, row + pos,
               iov[i].iov_len < len - pos ? iov[i].iov_len : len - pos);
    free(row);
    return rc;
}

/* ---- by the system ---- */

/* The first `done` bytes are through: *iov begins behind them. */
static void step_over(struct iovec **iov, int *n, size_t done)
{
    while (*n > 0 && done >= (*iov)->iov_len) {
        done -= (*iov)->iov_len;
        (*iov)++;
        (*n)--;
    }
    if (*n > 0) {
        (*iov)->iov_base = (char *)(*iov)->iov_base + done;
        (*iov)->iov_len -= done;
    }
}

static int system_row(struct disk *d, bool write, int64_t at, struct iovec *iov,
                      int n, int64_t *ended)
{
    while (n > 0) {
        ssize_t done = write ? WATCHED(d, "a write", pwritev(d->fd, iov, n, at))
                             : WATCHED(d, "a read", preadv(d->fd, iov, n, at));

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return class_of(errno);
        if (done == 0 && write)
            return MPI_ERR_IO;
        if (done == 0) {
            *ended = at;
            return MPI_SUCCESS;
        }
        at += done;
        step_over(&iov, &n, (size_t)done);
    }
    return MPI_SUCCESS;
}

/* ---- either ---- */

/* Spoils iov. */
static int move_row(struct disk *d, bool write, int64_t at, struct iovec *iov,
                    int n, uint64_t len, int64_t *ended)
{
    return d->fd >= 0 ? system_row(d, write, at, iov, n, ended)
                      : library_row(d, write, at, iov, n, len, ended);
}

int disk_move(struct disk *d, bool write, int64_t at, void *mem, uint64_t len,
              int64_t *ended)
{
    struct iovec one = {mem, len};

    if (ended)
        *ended = DISK_NOT_ENDED;
    return len > 0 ? move_row(d, write, at, &one, 1, len, ended) : MPI_SUCCESS;
}

/* ---- chains ---- */

struct short_piece {
    char *mem;
    int64_t where; /* in the file */
    uint32_t len;
    uint32_t at; /* in the stage */
};

struct chain {
    struct disk *d;
    bool write;
    int rc;
    int64_t ended;
    int64_t at; /* of what is gathered */
    uint64_t len;
    int n;
    bool staging; /* the last one is in the stage and may grow */
    struct iovec iov[CHAIN_IOV];
    char *stage;
    size_t staged;
    struct short_piece *pieces; /* of a read: where the stage goes */
    size_t npieces, room;
    char gap[GAP_MAX];
};

struct chain *chain_begin(struct disk *d, bool write)
{
    struct chain *c = malloc(sizeof(*c));

    if (!c)
        return NULL;
    memset(c, 0, offsetof(struct chain, iov));
    c->d = d;
    c->write = write;
    c->ended = DISK_NOT_ENDED;
    c->stage = NULL;
    c->staged = 0;
    c->pieces = NULL;
    c->npieces = c->room = 0;
    return c;
}

static void flush(struct chain *c)
{
    int64_t ended = DISK_NOT_ENDED;

    if (c->n > 0 && c->rc == MPI_SUCCESS)
        c->rc = move_row(c->d, c->write, c->at, c->iov, c->n, c->len, &ended);
    if (ended < c->ended)
        c->ended = ended;
    for (size_t i = 0; i < c->npieces && c->rc == MPI_SUCCESS; i++) {
        struct short_piece *p = &c->pieces[i];
        int64_t there = ended - p->where;

        if (there > 0)
            memcpy(p->mem, c->stage + p->at,
                   there < (int64_t)p->len ? (size_t)there : p->len);
    }
    c->n = 0;
    c->len = 0;
    c->staged = c->npieces = 0;
    c->staging = false;
}

static void append(struct chain *c, void *mem, uint64_t len)
{
    c->iov[c->n++] = (struct iovec){mem, len};
    c->len += len;
    c->staging = false;
}

static bool keep_piece(struct chain *c, int64_t at, char *mem, uint32_t len)
{
    if (c->npieces == c->room) {
        size_t room = c->room ? 2 * c->room : 256;
        struct short_piece *more = realloc(c->pieces, room * sizeof(*more));

        if (!more)
            return false;
        c->pieces = more;
        c->room = room;
    }
    c->pieces[c->npieces++] =
        (struct short_piece){mem, at, len, (uint32_t)c->staged};
    return true;
}

/* Short ones become a longer one.  False: it has no room there. */
static bool add_short(struct chain *c, int64_t at, void *mem, uint32_t len)
{
    char *to;

    if (!c->stage && !(c->stage = malloc(STAGE_SIZE)))
        return false;
    if (!c->write && !keep_piece(c, at, mem, len))
        return false;
    to = c->stage + c->staged;
    if (c->write)
        memcpy(to, mem, len);
    c->staged += len;
    if (c->staging) {
        c->iov[c->n - 1].iov_len += len;
        c->len += len;
        return true;
    }
    append(c, to, len);
    c->staging = true;
    return true;
}

void chain_add(struct chain *c, int64_t at, void *mem, uint64_t len)
{
    int64_t gap = at - (c->at + (int64_t)c->len);

    if (c->n > 0 && !c->write && gap > 0 && gap <= GAP_MAX &&
        c->n + 2 <= CHAIN_IOV)
        append(c, c->gap, (uint64_t)gap);
    else if (gap != 0 || c->n == CHAIN_IOV ||
             c->staged + SHORT_PIECE > STAGE_SIZE)
        flush(c);
    if (c->n == 0)
        c->at = at;
    if (len >= SHORT_PIECE || !add_short(c, at, mem, (uint32_t)len))
        append(c, mem, len);
}

int chain_end(struct chain *c, int64_t *ended)
{
    int rc;

    flush(c);
    rc = c->rc;
    if (ended)
        *ended = c->ended;
    free(c->stage);
    free(c->pieces);
    free(c);
    return rc;
}

/* ---- the file itself ---- */

int disk_size(struct disk *d, int64_t *size)
{
    MPI_Offset bytes = 0;
    MPI_Errhandler old;
    struct stat st;
    int rc;

    if (d->fd >= 0) {
        if (WATCHED(d, "asking for its size", fstat_old(d->fd, &st)) < 0)
            return class_of(errno);
        *size = st.st_size;
        return MPI_SUCCESS;
    }
    old = hush(d);
    rc = WATCHED(d, "asking for its size",
                 impi_real.File_get_size(d->handle, &bytes));
    rc = unhush(d, old, rc);
    *size = bytes;
    return rc;
}

int disk_set_size(struct disk *d, int64_t size)
{
    static const char what[] = "setting its size";
    MPI_Errhandler old;

    if (d->fd >= 0)
        return WATCHED(d, what, ftruncate(d->fd, size)) < 0 ? class_of(errno)
                                                            : MPI_SUCCESS;
    old = hush(d);
    return unhush(d, old,
                  WATCHED(d, what, impi_real.File_set_size(d->handle, size)));
}

int disk_preallocate(struct disk *d, int64_t size)
{
    static const char what[] = "allocating its space";
    MPI_Errhandler old;

    if (d->fd >= 0) {
        int err =
            size > 0 ? WATCHED(d, what, posix_fallocate(d->fd, 0, size)) : 0;

        return err ? class_of(err) : MPI_SUCCESS;
    }
    old = hush(d);
    return unhush(
        d, old, WATCHED(d, what, impi_real.File_preallocate(d->handle, size)));
}

int disk_sync(struct disk *d)
{
    static const char what[] = "writing it out (sync)";
    MPI_Errhandler old;

    if (d->fd >= 0)
        return WATCHED(d, what, fsync(d->fd)) < 0 ? class_of(errno)
                                                  : MPI_SUCCESS;
    old = hush(d);
    return unhush(d, old, WATCHED(d, what, impi_real.File_sync(d->handle)));
}

/* ---- locks ---- */

/* Where ours are, past all data: a library may lock what it writes, too (Open
 * MPI 5 does), and would wait for the lock that it is called under. */
#define LOCKS_AT (INT64_C(1) << 62)

static int set_lock(struct disk *d, int type, int64_t first, int64_t end)
{
    struct flock l = {.l_type = (short)type,
                      .l_whence = SEEK_SET,
                      .l_start = LOCKS_AT + first,
                      .l_len = end - first};
    int rc;

    do
        rc = fcntl(d->locks, F_OFD_SETLKW, &l);
    while (rc < 0 && errno == EINTR);
    return rc < 0 ? class_of(errno) : MPI_SUCCESS;
}

int disk_lock(struct disk *d, int64_t first, int64_t end, bool write)
{
    int rc;

    pthread_mutex_lock(&d->atomic);
    rc = set_lock(d, write ? F_WRLCK : F_RDLCK, first, end);
    if (rc != MPI_SUCCESS)
        pthread_mutex_unlock(&d->atomic);
    return rc;
}

void disk_unlock(struct disk *d, int64_t first, int64_t end)
{
    set_lock(d, F_UNLCK, first, end);
    pthread_mutex_unlock(&d->atomic);
}
