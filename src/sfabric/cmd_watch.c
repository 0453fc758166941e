/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric watch: the summary and the last events, again and again, in a
 * terminal.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sfabric/sfabric.h"

static void once(const struct sfabric_options *o)
{
    char *summary[] = {(char *)"summary", (char *)"-l", NULL};
    char *events[] = {(char *)"events", (char *)"-n", (char *)"12", NULL};

    fputs("\033[H\033[2J", stdout);
    cmd_summary.run(2, summary, o);
    putchar('\n');
    cmd_events.run(3, events, o);
    fflush(stdout);
}

static int run(int argc, char **argv, const struct sfabric_options *o)
{
    double every = argc == 2 ? strtod(argv[1], NULL) : 1.0;

    if (argc > 2 || every < 0.1 || every > 3600)
        return sfabric_usage(&cmd_watch);
    if (!isatty(STDOUT_FILENO))
        return sfabric_fail("watch: stdout is no terminal; see events -f");
    while (!ferror(stdout)) {
        once(o);
        usleep((useconds_t)(every * 1e6));
    }
    return SFABRIC_OK;
}

const struct sfabric_cmd cmd_watch = {
    .name = "watch",
    .args = "[SECONDS]",
    .help = "summary and events, live in a terminal",
    .run = run,
};
