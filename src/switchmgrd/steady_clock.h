/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The time of both sides of switchmgrd, in ms since the epoch.
 */
#ifndef SF_SWITCHMGRD_STEADY_CLOCK_H
#define SF_SWITCHMGRD_STEADY_CLOCK_H

#include <stdint.h>

/* What was an hour ago by steady_now() was one, whoever set the clock
 * meanwhile. */
int64_t steady_now(void);
/* A time of steady_now()'s as today's wall clock tells it, for who compares it
 * with that; 0, never, stays 0. */
int64_t steady_wall(int64_t when);

#endif
