/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The time of both sides of switchmgrd, in ms since the epoch.
 */
#ifndef SF_SWITCHMGRD_STEADY_CLOCK_H
#define SF_SWITCHMGRD_STEADY_CLOCK_H

#include <stdint.h>

/* Seconds; an hour by steady_now() is an hour even if the wall clock was set
 * meanwhile. */
int64_t steady_now(void);
/* Convert a time of steady_now() to the wall clock's; 0 (never) stays 0. */
int64_t steady_wall(int64_t when);

#endif
