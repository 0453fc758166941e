/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Pack, MPI_Unpack and MPI_Pack_size for a spanning communicator.  Where
 * all clients have one representation, packed data are what the library's own
 * MPI_Pack writes: the data of the type map in order, the same in both
 * families (data.c relies on it, too).  With external32 they do not work yet.
 */
#include "libimpi/state.h"

/* The handle is that of a native communicator. */
static bool refused(MPI_Comm comm)
{
    return impi_span_find(comm) && !impi_be.native;
}

int impi_Pack(const void *inbuf, int incount, MPI_Datatype datatype,
              void *outbuf, int outsize, int *position, MPI_Comm comm)
{
    if (refused(comm))
        return impi_unsupported(comm, CALL_Pack);
    return impi_real.Pack(inbuf, incount, datatype, outbuf, outsize, position,
                          comm);
}

int impi_Unpack(const void *inbuf, int insize, int *position, void *outbuf,
                int outcount, MPI_Datatype datatype, MPI_Comm comm)
{
    if (refused(comm))
        return impi_unsupported(comm, CALL_Unpack);
    return impi_real.Unpack(inbuf, insize, position, outbuf, outcount, datatype,
                            comm);
}

int impi_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int *size)
{
    if (refused(comm))
        return impi_unsupported(comm, CALL_Pack_size);
    return impi_real.Pack_size(incount, datatype, comm, size);
}
