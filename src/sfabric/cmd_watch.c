/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric watch: the summary and the last events, again and again, in a
 * terminal; of them what it has room for.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sfabric/sfabric.h"

#define EVENTS 12 /* at most */

/* What a command prints; NULL: no memory. */
static char *printed_by(const struct sfabric_cmd *cmd, int argc, char **argv,
                        struct sfabric_options *o)
{
    FILE *terminal = stdout;
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return NULL;
    stdout = f;
    cmd->run(argc, argv, o);
    stdout = terminal;
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

/* The first columns of a line; a colour takes none.  Returns its end. */
static const char *print_line(const char *p, int columns)
{
    bool color = false;

    for (; *p && *p != '\n'; p++) {
        color |= *p == '\033';
        if (color || columns-- > 0)
            putchar(*p);
        color &= *p != 'm';
    }
    return *p ? p + 1 : p;
}

/* The first lines; how many they were. */
static int print_lines(const char *text, int lines, int columns)
{
    int n = 0;

    for (; text && *text && n < lines; n++) {
        text = print_line(text, columns);
        putchar('\n');
    }
    return n;
}

static void once(struct sfabric_options *o)
{
    struct winsize w = {.ws_row = 0};
    char *summary[] = {(char *)"summary", (char *)"-l", NULL};
    char number[16], *text;
    char *events[] = {(char *)"events", (char *)"-n", number, NULL};
    int rows, columns;

    ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
    rows = w.ws_row ? w.ws_row - 1 : 24; /* the cursor has a line */
    columns = w.ws_col ? w.ws_col : 80;
    fputs("\033[H\033[2J", stdout);
    fflush(stdout); /* before what goes wrong is told */
    text = printed_by(&cmd_summary, 2, summary, o);
    rows -= print_lines(text, rows, columns) + 1;
    free(text);
    if (rows > 0) {
        snprintf(number, sizeof(number), "%d", rows < EVENTS ? rows : EVENTS);
        text = printed_by(&cmd_events, 3, events, o);
        putchar('\n');
        print_lines(text, rows, columns);
        free(text);
    }
    fflush(stdout);
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    int n = sfabric_parse(&cmd_watch, argc, argv, o, NULL);
    double every = n == 1 ? strtod(argv[1], NULL) : 1.0;

    if (n < 0)
        return SFABRIC_UNKNOWN;
    if (every < 0.1 || every > 3600)
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
    .most = 1,
    .run = run,
};
