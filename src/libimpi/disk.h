/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bytes to and from a file at absolute offsets.  Where the file system is a
 * local one by its name alone, with the system's own calls: what lies in a row
 * in the file goes out from where it lies in memory, and an error keeps its
 * reason.  Elsewhere (a file system of the library's own, NFS) with the
 * library's handle, whose drivers know what is needed there.
 *
 * Functions return an MPI error class.  They take no lock of ours.
 */
#ifndef LIBIMPI_DISK_H
#define LIBIMPI_DISK_H

#include <pthread.h>
#include <stdint.h>
#include <sys/uio.h>

#include "libimpi/calls.h"

struct disk {
    MPI_File handle;
    const char *name;       /* the caller's, as long as it is open */
    int fd;                 /* -1: by the library */
    int locks;              /* the same file, for locks; -1: there are none */
    pthread_mutex_t atomic; /* of the threads of this process */
};

/* name: as the program gave it; the library has opened handle.  `plainly`: the
 * system's calls may be used. */
int disk_open(struct disk *d, MPI_File handle, const char *name, int amode,
              bool plainly);
/* What the file system could not write earlier it may tell now. */
int disk_close(struct disk *d);

int disk_size(struct disk *d, int64_t *size);
int disk_set_size(struct disk *d, int64_t size);
int disk_preallocate(struct disk *d, int64_t size);
int disk_sync(struct disk *d);

/* Where d->locks: others that ask leave [first, end) alone until
 * disk_unlock(). */
int disk_lock(struct disk *d, int64_t first, int64_t end, bool write);
void disk_unlock(struct disk *d, int64_t first, int64_t end);

/* Pieces of memory and where they belong, one after the other: neighbours go
 * together.  Of a read, *ended is where the file was found to end. */
struct chain;
struct chain *chain_begin(struct disk *d, bool write); /* NULL: no memory */
void chain_add(struct chain *c, int64_t at, void *mem, uint64_t len);
int chain_end(struct chain *c, int64_t *ended);
#define DISK_NOT_ENDED INT64_MAX

/* One piece. */
int disk_move(struct disk *d, bool write, int64_t at, void *mem, uint64_t len,
              int64_t *ended);

#endif
