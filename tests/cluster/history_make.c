/* SPDX-License-Identifier: BSD-3-Clause
 *
 * history_make DIR LINK..: the last day of links in the files of
 * switchmgrd/history.h, as a working day would have left it: rates that rise
 * and fall, half an hour that nobody watched, and an hour of errors.
 */
#include <stdio.h>
#include <time.h>

#include "switchmgrd/history.h"

#define DAY 1440
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

static struct history_sample at(int i, int link)
{
    struct history_sample s = {.known = 1, .state = 1};

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

int main(int argc, char **argv)
{
    struct history_options o = {argc > 1 ? argv[1] : "",
                                (size_t)(argc > 2 ? argc - 2 : 1), told, NULL};
    int64_t now = time(NULL) / 60;
    /* Whole hours: errors of one come to stand in one. */
    int64_t first = now / 60 * 60 - DAY + 60;
    struct errbuf err;
    struct history *h = history_open(&o, first, &err);

    for (int i = 0; h && first + i < now; i++) {
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
