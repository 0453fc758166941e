/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types and operations that were freed while a collective call ran.
 */
#ifndef LIBIMPI_LATE_FREE_H
#define LIBIMPI_LATE_FREE_H

/* No collective call runs any more.  Under the lock. */
void late_free_all(void);

#endif
