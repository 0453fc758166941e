/* SPDX-License-Identifier: BSD-3-Clause
 *
 * File descriptors of this process: how many it may have, and one in reserve,
 * by which two groups that meet (port.h) can tell each other that one of their
 * roots has no other one left.
 *
 * From any thread.
 */
#ifndef LIBIMPI_DESCRIPTORS_H
#define LIBIMPI_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

/* One for each of n peers, if the site's hard limit has so many. */
void descriptors_want(size_t n);

/* Is one left, besides the one in reserve?  The soft limit is raised for it. */
bool descriptors_left(void);

/* Have one in reserve, where there is none; the call that has failed with
 * `error` for want of one may have it: true: it is free, try again. */
void descriptors_keep(void);
bool descriptors_lend(int error);

/* None from now on. */
void descriptors_end(void);

#endif
