/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log_pace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define LINE_NS 500000000 /* a line costs so much time, */
#define BURST 128         /* which so many may be ahead of */

bool log_pace_has_room(const struct log_pace *pace, uint64_t now, uint64_t more)
{
    uint64_t ahead = pace->until > now ? pace->until - now : 0;

    return ahead + more * LINE_NS <= (uint64_t)BURST * LINE_NS;
}

void log_pace_pay(struct log_pace *pace, uint64_t now, uint64_t more)
{
    if (pace->until < now)
        pace->until = now;
    pace->until += more * LINE_NS;
}

void log_paced(struct log_pace *pace, uint64_t now,
               void (*say)(const char *fmt, ...), const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    if (!log_pace_has_room(pace, now, 1)) {
        pace->left_out++;
        return;
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (pace->left_out)
        say("%s (%" PRIu64 " lines before it were left out)", text,
            pace->left_out);
    else
        say("%s", text);
    pace->left_out = 0;
    log_pace_pay(pace, now, 1);
}
