/* SPDX-License-Identifier: BSD-3-Clause
 *
 * User data on their way to or from another client.  Data in the common
 * representation are moved straight from and into the user's buffer: what is
 * contiguous as it lies there, a long message of a derived type by pieces.  All
 * else passes a buffer of ours.
 *
 * Functions return an MPI error code (MPI_SUCCESS or a class).  A buffer that
 * this process cannot read is refused at the start (buffer.h).
 */
#ifndef LIBIMPI_DATA_H
#define LIBIMPI_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "impi/request.h"
#include "impi/typemap.h"
#include "libimpi/calls.h"

struct type_info {
    MPI_Datatype type;
    MPI_Datatype basic; /* what it is many of; MPI_DATATYPE_NULL: mixed */
    size_t size;        /* bytes of data in one */
    size_t wire;        /* the same on the wire */
    bool contiguous;    /* elements follow each other without gaps */
    /* Where external32 is wanted, of a predefined type that is known: kept. */
    const struct impi_layout *layout;
    MPI_Aint extent;
};

struct data {
    void *base;    /* wire form */
    uint64_t len;  /* bytes there: of the message, or that fit */
    void *staging; /* free() it; NULL: base is the user's */
    void *user;    /* for a receive that is unpacked at the end */
    int count;
    struct type_info info; /* info.type is a duplicate when `held` */
    bool held;
    struct impi_typemap *map; /* free() it; NULL: not by pieces */
    struct impi_typemap_cursor cursor;
};

/* All of it at d->base, d->len bytes. */
int data_for_send(struct data *d, const void *buf, int count,
                  MPI_Datatype type);
int data_for_recv(struct data *d, void *buf, int count, MPI_Datatype type);

/* For a request of the engine, whose data is in *b; d stays where it is until
 * the request has ended. */
int data_send_by(struct data *d, const void *buf, int count, MPI_Datatype type,
                 struct impi_buffer *b);
int data_recv_by(struct data *d, void *buf, int count, MPI_Datatype type,
                 struct impi_buffer *b);

/* Predefined elements that are known by now and move as they lie in the
 * buffer: *len is their bytes.  False says nothing. */
bool data_look_plain(int count, MPI_Datatype type, uint64_t *len);
extern const struct type_info *data_plain; /* what was said yes to last */
static inline bool data_is_plain(int count, MPI_Datatype type, uint64_t *len)
{
    const struct type_info *info =
        __atomic_load_n(&data_plain, __ATOMIC_ACQUIRE);

    if (unlikely(!info || info->type != type))
        return data_look_plain(count, type, len);
    *len = (uint64_t)count * info->wire;
    return count >= 0;
}

/* A message of `wire` bytes is in place.  *bytes: its size in this process's
 * own representation. */
int data_received(struct data *d, uint64_t wire, uint64_t *bytes);

/* Free what it holds: of most messages nothing. */
void data_free(struct data *d);
static inline void data_drop(struct data *d)
{
    if (unlikely(d->staging || d->map || d->held))
        data_free(d);
}

/* Memory for count elements, laid out as in a user's buffer.  *origin: what to
 * give to MPI as the buffer; free() what is returned.  NULL: no memory. */
void *data_room(int count, MPI_Datatype type, void **origin);

/* The same with a copy of those at `from`, which may be MPI_BOTTOM. */
void *data_clone(const void *from, int count, MPI_Datatype type, void **origin);

/* Copy count elements and nothing of the gaps between them. */
int data_assign(void *to, const void *from, int count, MPI_Datatype type);

/* Copy count elements, gaps included, between two buffers. */
int data_copy(void *to, const void *from, int count, MPI_Datatype type);

/* A receive whose type has no bytes, as one of no bytes: MPICH 4.2 and 5.0
 * divide by zero when they are given a type that has none but has an extent,
 * such as an empty part of a distributed array. */
void data_spare_empty(int *count, MPI_Datatype *type);

/* What was found out about a predefined type; NULL says nothing. */
const struct type_info *type_known(MPI_Datatype type);

/* What is known about a type.  MPI_ERR_TYPE for one that cannot be sent. */
int type_look_up(struct type_info *info, MPI_Datatype type);

#endif
