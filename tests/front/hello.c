/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The smallest program that uses its library: one rank, one reduction, the
 * names of the library.  Also built as a plugin (hello_main is then called by
 * loader.c, as an interpreter's MPI module would be).
 */
#include <mpi.h>
#include <stdio.h>

int hello_main(void);

int hello_main(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int rank, size, len, in = 21, out = 0;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_library_version(version, &len);
    in += rank;
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(1, 2.0, "three");
    printf("rank %d of %d: %s sum %d time %d\n", rank, size,
           version[0] == 'M' ? "MPICH" : "Open MPI", out, MPI_Wtime() >= 0);
    MPI_Finalize();
    return 0;
}

#ifndef PLUGIN
int main(void)
{
    return hello_main();
}
#endif
