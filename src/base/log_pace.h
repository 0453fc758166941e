/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines of a log that others bring about by what they send or do: 128 may come
 * at once, two a second in the long run.  Zero to begin with.
 */
#ifndef SF_BASE_LOG_PACE_H
#define SF_BASE_LOG_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct log_pace {
    uint64_t until;    /* then there is room for as many again, ns */
    uint64_t left_out; /* lines since the last one */
};

/* May so many more lines be told now (ns)?  They count when they are paid. */
bool log_pace_has_room(const struct log_pace *pace, uint64_t now,
                       uint64_t more);
void log_pace_pay(struct log_pace *pace, uint64_t now, uint64_t more);

/* A line by log_info() or another of base/log.h, where there is room for it.
 * The next one that has room says how many were left out. */
void log_paced(struct log_pace *pace, uint64_t now,
               void (*say)(const char *fmt, ...), const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
