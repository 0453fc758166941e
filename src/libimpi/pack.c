/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Pack, MPI_Unpack and MPI_Pack_size, and their forms with large counts,
 * for a spanning communicator.  Where all clients have one representation,
 * packed data are what the library's own MPI_Pack writes: the data of the type
 * map in order, the same in both families (data.c relies on it, too).  Else
 * they are external32, without header or trailer.
 */
#include <limits.h>
#include <stdint.h>

#include "libimpi/buffer.h"
#include "libimpi/data.h"
#include "libimpi/external.h"
#include "libimpi/state.h"

/* What MPI_Count counts. */
#define PACK_MOST ((MPI_Count)INT64_MAX)

/* Is it ours to convert?  The handle is that of a native communicator. */
static bool external(MPI_Comm comm)
{
    return !impi_be.native && impi_comm_spans(comm);
}

/* Bytes of the packed form; MPI_ERR_COUNT: more than `most`. */
static int packed_size(struct type_info *info, MPI_Datatype type,
                       MPI_Count count, MPI_Count most, MPI_Count *len)
{
    int rc = count < 0 ? MPI_ERR_COUNT : type_look_up(info, type);

    if (rc == MPI_SUCCESS &&
        (__builtin_mul_overflow(count, (MPI_Count)info->wire, len) ||
         *len > most))
        rc = MPI_ERR_COUNT;
    return rc;
}

/* The same, which must fit behind position, in a buffer of the program's that
 * can be read. */
static int look_up(struct type_info *info, MPI_Datatype type, const void *buf,
                   MPI_Count count, MPI_Count size, MPI_Count position,
                   MPI_Count *len)
{
    int rc = packed_size(info, type, count, PACK_MOST, len);

    if (rc == MPI_SUCCESS && (size < 0 || position < 0 || position > size))
        rc = MPI_ERR_ARG;
    if (rc == MPI_SUCCESS && *len > size - position)
        rc = MPI_ERR_TRUNCATE;
    if (rc != MPI_SUCCESS)
        return rc;
    return buffer_check(buf, count < INT_MAX ? (int)count : INT_MAX, type);
}

static int pack(const void *in, MPI_Count count, MPI_Datatype type, void *out,
                MPI_Count size, MPI_Count *position)
{
    struct type_info info;
    MPI_Count len;
    int rc = look_up(&info, type, in, count, size, *position, &len);

    if (rc == MPI_SUCCESS)
        rc = external_encode(&info, (char *)out + *position, in,
                             (uint64_t)count);
    if (rc == MPI_SUCCESS)
        *position += len;
    return rc;
}

static int unpack(const void *in, MPI_Count size, MPI_Count *position,
                  void *out, MPI_Count count, MPI_Datatype type)
{
    struct type_info info;
    MPI_Count len;
    uint64_t bytes;
    int rc = look_up(&info, type, out, count, size, *position, &len);

    if (rc == MPI_SUCCESS)
        rc = external_decode(&info, out, (const char *)in + *position,
                             (uint64_t)len, (uint64_t)count, &bytes);
    if (rc == MPI_SUCCESS)
        *position += len;
    return rc;
}

int impi_Pack(const void *inbuf, int incount, MPI_Datatype datatype,
              void *outbuf, int outsize, int *position, MPI_Comm comm)
{
    MPI_Count at = *position;
    int rc;

    if (!external(comm))
        return impi_real.Pack(inbuf, incount, datatype, outbuf, outsize,
                              position, comm);
    rc = pack(inbuf, incount, datatype, outbuf, outsize, &at);
    *position = (int)at;
    return be_raise(comm, rc);
}

int impi_Pack_c(const void *inbuf, MPI_Count incount, MPI_Datatype datatype,
                void *outbuf, MPI_Count outsize, MPI_Count *position,
                MPI_Comm comm)
{
    if (!external(comm))
        return impi_real.Pack_c(inbuf, incount, datatype, outbuf, outsize,
                                position, comm);
    return be_raise(comm,
                    pack(inbuf, incount, datatype, outbuf, outsize, position));
}

int impi_Unpack(const void *inbuf, int insize, int *position, void *outbuf,
                int outcount, MPI_Datatype datatype, MPI_Comm comm)
{
    MPI_Count at = *position;
    int rc;

    if (!external(comm))
        return impi_real.Unpack(inbuf, insize, position, outbuf, outcount,
                                datatype, comm);
    rc = unpack(inbuf, insize, &at, outbuf, outcount, datatype);
    *position = (int)at;
    return be_raise(comm, rc);
}

int impi_Unpack_c(const void *inbuf, MPI_Count insize, MPI_Count *position,
                  void *outbuf, MPI_Count outcount, MPI_Datatype datatype,
                  MPI_Comm comm)
{
    if (!external(comm))
        return impi_real.Unpack_c(inbuf, insize, position, outbuf, outcount,
                                  datatype, comm);
    return be_raise(
        comm, unpack(inbuf, insize, position, outbuf, outcount, datatype));
}

int impi_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int *size)
{
    struct type_info info;
    MPI_Count len;
    int rc;

    if (!external(comm))
        return impi_real.Pack_size(incount, datatype, comm, size);
    rc = packed_size(&info, datatype, incount, INT_MAX, &len);
    if (rc == MPI_SUCCESS)
        *size = (int)len;
    return be_raise(comm, rc);
}

int impi_Pack_size_c(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm,
                     MPI_Count *size)
{
    struct type_info info;
    MPI_Count len;
    int rc;

    if (!external(comm))
        return impi_real.Pack_size_c(incount, datatype, comm, size);
    rc = packed_size(&info, datatype, incount, PACK_MOST, &len);
    if (rc == MPI_SUCCESS)
        *size = len;
    return be_raise(comm, rc);
}
