/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For programs: the four attributes that IMPI 0.0 gives every communicator.
 *
 *     int *value, flag;
 *     MPI_Comm_get_attr(comm, IMPI_CLIENT_SIZE, &value, &flag);
 *
 * The values are those of this process on that communicator: how many clients
 * (hosts: nodes of a client) it has members in, and which of them, from 0 on,
 * is this process's.  *value is valid until this thread's next such call.
 * Where flag is false the program does not run in an IMPI step.  In Fortran:
 * include 'impif.h'.  This header goes with any MPI library.
 */
#ifndef IMPI_H
#define IMPI_H

#define IMPI_CLIENT_SIZE 0x494d0001
#define IMPI_CLIENT_COLOR 0x494d0002
#define IMPI_HOST_SIZE 0x494d0003
#define IMPI_HOST_COLOR 0x494d0004

#endif
