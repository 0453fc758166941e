/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a library is known by: TEXT is what it says of itself, MPICH and OPENMPI
 * whose variables it has, ABI the version of the standard one.
 */
#include <string.h>

int PMPI_Get_library_version(char *text, int *len);
int PMPI_Get_library_version(char *text, int *len)
{
    strcpy(text, TEXT);
    *len = (int)strlen(text);
    return 0;
}

#ifdef ABI
int PMPI_Abi_get_version(int *major, int *minor);
int PMPI_Abi_get_version(int *major, int *minor)
{
    *major = ABI;
    *minor = ABI < 0 ? -1 : 0;
    return 0;
}
#endif

#ifdef MPICH
int *MPI_UNWEIGHTED, *MPI_WEIGHTS_EMPTY;
#endif
#ifdef OPENMPI
int ompi_mpi_comm_world;
#endif
