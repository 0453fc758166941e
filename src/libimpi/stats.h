/* SPDX-License-Identifier: BSD-3-Clause
 *
 * IMPI_STATS=1: a table of what this process has exchanged with others.
 */
#ifndef LIBIMPI_STATS_H
#define LIBIMPI_STATS_H

/* To stderr, if it is asked for.  Under the lock, before the engine ends. */
void stats_print(void);

#endif
