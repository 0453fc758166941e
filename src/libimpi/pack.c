/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Pack, MPI_Unpack and MPI_Pack_size for a spanning communicator.  Where
 * all clients have one representation, packed data are what the library's own
 * MPI_Pack writes: the data of the type map in order, the same in both
 * families (data.c relies on it, too).  Else they are external32, without
 * header or trailer.
 */
#include "libimpi/buffer.h"
#include "libimpi/data.h"
#include "libimpi/external.h"
#include "libimpi/state.h"

/* Is it ours to convert?  The handle is that of a native communicator. */
static bool external(MPI_Comm comm)
{
    return !impi_be.native && impi_comm_spans(comm);
}

static int check(int count, int size, const int *position)
{
    if (count < 0)
        return MPI_ERR_COUNT;
    return size < 0 || *position < 0 || *position > size ? MPI_ERR_ARG
                                                         : MPI_SUCCESS;
}

/* Bytes of the packed form, which must fit behind position. */
static int look_up(struct type_info *info, MPI_Datatype type, int count,
                   int size, const int *position, uint64_t *len)
{
    int rc = check(count, size, position);

    if (rc == MPI_SUCCESS)
        rc = type_look_up(info, type);
    if (rc != MPI_SUCCESS)
        return rc;
    *len = (uint64_t)count * info->wire;
    return *len > (uint64_t)(size - *position) ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

static int pack(const void *in, int count, MPI_Datatype type, void *out,
                int size, int *position)
{
    struct type_info info;
    uint64_t len;
    int rc = look_up(&info, type, count, size, position, &len);

    if (rc == MPI_SUCCESS)
        rc = buffer_check(in, count, type);
    if (rc == MPI_SUCCESS)
        rc = external_encode(&info, (char *)out + *position, in, count);
    if (rc == MPI_SUCCESS)
        *position += (int)len;
    return rc;
}

static int unpack(const void *in, int size, int *position, void *out, int count,
                  MPI_Datatype type)
{
    struct type_info info;
    uint64_t len, bytes;
    int rc = look_up(&info, type, count, size, position, &len);

    if (rc == MPI_SUCCESS)
        rc = buffer_check(out, count, type);
    if (rc == MPI_SUCCESS)
        rc = external_decode(&info, out, (const char *)in + *position, len,
                             count, &bytes);
    if (rc == MPI_SUCCESS)
        *position += (int)len;
    return rc;
}

int impi_Pack(const void *inbuf, int incount, MPI_Datatype datatype,
              void *outbuf, int outsize, int *position, MPI_Comm comm)
{
    if (!external(comm))
        return impi_real.Pack(inbuf, incount, datatype, outbuf, outsize,
                              position, comm);
    return be_raise(comm,
                    pack(inbuf, incount, datatype, outbuf, outsize, position));
}

int impi_Unpack(const void *inbuf, int insize, int *position, void *outbuf,
                int outcount, MPI_Datatype datatype, MPI_Comm comm)
{
    if (!external(comm))
        return impi_real.Unpack(inbuf, insize, position, outbuf, outcount,
                                datatype, comm);
    return be_raise(
        comm, unpack(inbuf, insize, position, outbuf, outcount, datatype));
}

int impi_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int *size)
{
    struct type_info info;
    int rc;

    if (!external(comm))
        return impi_real.Pack_size(incount, datatype, comm, size);
    rc = incount < 0 ? MPI_ERR_COUNT : type_look_up(&info, datatype);
    if (rc == MPI_SUCCESS && info.wire * (uint64_t)incount > INT32_MAX)
        rc = MPI_ERR_COUNT;
    if (rc == MPI_SUCCESS)
        *size = (int)(info.wire * (uint64_t)incount);
    return be_raise(comm, rc);
}
