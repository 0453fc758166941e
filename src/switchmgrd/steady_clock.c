/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The daemon's time, on both sides.  A machine's clock may be set while
 * switchmgrd runs, by hours when it came up before its time server; ages and
 * grace periods must not notice.  So model and updater live on the steady
 * clock, put at the wall clock's place when the daemon started, and only what
 * leaves the daemon is told by today's wall clock.
 */
#include "base/clock.h"
#include "switchmgrd/steady_clock.h"

/* Less is how a time server slews a clock, and no reason that two looks at
 * one time differ. */
#define SET_MS 100

int64_t steady_now(void)
{
    static int64_t offset;
    int64_t steady = clock_ms();

    if (!offset)
        offset = clock_wall_ms() - steady;
    return steady + offset;
}

int64_t steady_wall(int64_t when)
{
    int64_t ahead = clock_wall_ms() - steady_now();

    if (when == 0 || (ahead > -SET_MS && ahead < SET_MS))
        return when;
    return when + ahead;
}
