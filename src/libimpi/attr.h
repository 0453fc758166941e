/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of communicators (attr.c).
 */
#ifndef LIBIMPI_ATTR_H
#define LIBIMPI_ATTR_H

/* Delete the attributes of MPI_COMM_SELF, the last that was set first: they
 * may be a library's last calls to MPI on what spans.  The program has called
 * MPI_Finalize, and nothing is taken down yet. */
void attr_delete_self(void);

#endif
