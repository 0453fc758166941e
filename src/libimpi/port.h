/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports (MPI-3.1 chapter 10.4): how a group of this world meets one of another,
 * or of its own, world.  doc/impi-processes.md.
 */
#ifndef LIBIMPI_PORT_H
#define LIBIMPI_PORT_H

/* At MPI_Finalize: close what is open, take back what is published. */
void port_end(void);
/* The same for names alone (names.c). */
void names_end(void);

#endif
