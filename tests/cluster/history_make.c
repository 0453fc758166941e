/* SPDX-License-Identifier: BSD-3-Clause
 *
 * history_make DIR LINK..: the last year of links in the files of
 * switchmgrd/history.h.  The last day as a working day would have left it:
 * rates that rise and fall, half an hour that nobody watched, and an hour of
 * errors.  Of the year before a minute of each 23 hours, and five days on
 * which they were down.
 */
#include <stdio.h>
#include <time.h>

#include "switchmgrd/history.h"

#define DAY 1440
#define YEAR (364 * DAY)
#define EACH (DAY - 60) /* of which one minute is known */
#define DOWN_FROM (-200 * DAY)
#define DOWN_TO (DOWN_FROM + 5 * DAY)
#define ERRORS_PER_MINUTE 24

static void told(const char *text, void *arg)
{
    (void)arg;
    fprintf(stderr, "history_make: %s\n", text);
}

/* Between 0 and 1000, up and down every `period` minutes. */
static int wave(int i, int period)
{
    int x = i % period * 2000 / period;

    return x < 1000 ? x : 2000 - x;
}

/* i: minutes since the last day began. */
static struct history_sample at(int i, int link)
{
    struct history_sample s = {.known = 1, .state = 1};

    if (i < 0) {
        s.in = (uint64_t)wave(YEAR + i, 60 * DAY) * 1000000;
        s.out = (uint64_t)wave(YEAR + i, 90 * DAY) * 500000;
        s.state = i >= DOWN_FROM && i < DOWN_TO ? 5 : 1;
        return s;
    }
    s.in = (uint64_t)(wave(i + link * 97, 480) * 900000 +
                      wave(i * 7 + link, 60) * 200000);
    s.out = (uint64_t)(wave(i + 200 + link * 31, 360) * 400000 +
                       wave(i * 11, 45) * 90000);
    if (i >= 900 && i < 960) {
        s.errors = ERRORS_PER_MINUTE;
        s.state = 3; /* degraded */
    }
    return s;
}

static int after(int i)
{
    if (i < -EACH)
        return i + EACH;
    return i < 0 ? 0 : i + 1;
}

int main(int argc, char **argv)
{
    struct history_options o = {argc > 1 ? argv[1] : "",
                                (size_t)(argc > 2 ? argc - 2 : 1), told, NULL};
    int64_t now = time(NULL) / 60;
    /* Whole hours: errors of one come to stand in one. */
    int64_t first = now / 60 * 60 - DAY + 60;
    struct errbuf err;
    struct history *h = history_open(&o, first - YEAR, &err);

    for (int i = -YEAR; h && first + i < now; i = after(i)) {
        for (int k = 2; k < argc && (i < 300 || i >= 330); k++) {
            struct history_sample s = at(i, k);

            if (history_set(h, argv[k], first + i, &s) < 0)
                return 1;
        }
        if (history_write(h, first + i, &err) < 0) {
            told(err.text, NULL);
            return 1;
        }
    }
    history_close(h);
    return h ? 0 : 1;
}
