/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line, by getopt_long(3): the options that all commands have, and
 * those of one, in any order and place.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "sfabric/sfabric.h"

enum { OPT_JSON = 0x100, OPT_COLOR, OPT_HELP, OPT_LOCAL, OPT_VERSION };

/* A command may have this many of its own. */
#define OWN_MAX 8

static const struct option common[] = {
    {"noheader", no_argument, NULL, 'h'},
    {"format", required_argument, NULL, 'o'},
    {"json", no_argument, NULL, OPT_JSON},
    {"color", required_argument, NULL, OPT_COLOR},
    {"socket", required_argument, NULL, 's'},
    {"timeout", required_argument, NULL, 't'},
};
#define NCOMMON (sizeof(common) / sizeof(common[0]))

/* These stand for a command, and where one stands. */
static const struct option instead[] = {
    {"help", no_argument, NULL, OPT_HELP},
    {"local", no_argument, NULL, OPT_LOCAL},
    {"version", no_argument, NULL, OPT_VERSION},
};
#define NINSTEAD (sizeof(instead) / sizeof(instead[0]))

static void set_text(char **dst, const char *value)
{
    free(*dst);
    *dst = strdup(value);
}

static bool set_color(struct sfabric_options *o, const char *when)
{
    if (strcmp(when, "auto") == 0)
        o->color = isatty(STDOUT_FILENO);
    else if (strcmp(when, "always") == 0 || strcmp(when, "never") == 0)
        o->color = when[0] == 'a';
    else
        return false;
    return true;
}

/* Seconds, with a fraction if need be. */
static bool set_timeout(struct sfabric_options *o, const char *text)
{
    char *end;
    double s = strtod(text, &end);

    if (end == text || *end || !(s > 0 && s <= SF_SFABRIC_TIMEOUT_MAX))
        return false;
    o->timeout = (int)(s * 1000);
    return true;
}

static bool is_common(int val)
{
    for (size_t i = 0; i < NCOMMON; i++) {
        if (common[i].val == val)
            return true;
    }
    return false;
}

/* false: the value is wrong. */
static bool take_common(struct sfabric_options *o, int val, const char *value)
{
    switch (val) {
    case 'h':
        o->noheader = true;
        break;
    case 'o':
        set_text(&o->format, value);
        break;
    case OPT_JSON:
        o->json = true;
        break;
    case OPT_COLOR:
        return set_color(o, value);
    case 's':
        set_text(&o->socket, value);
        break;
    case 't':
        return set_timeout(o, value);
    }
    return true;
}

/* What getopt_long() wants: first "+" for an end at the first operand, "" for
 * options anywhere. */
struct table {
    struct option all[NCOMMON + OWN_MAX + 1];
    size_t n;
    char letters[2 * (NCOMMON + OWN_MAX) + sizeof("+:")];
};

static void table_begin(struct table *t, const char *first)
{
    memset(t, 0, sizeof(*t));
    snprintf(t->letters, sizeof(t->letters), "%s:", first);
}

static void table_add(struct table *t, const struct option *list, size_t n)
{
    char *end = t->letters + strlen(t->letters);

    for (size_t i = 0; i < n && t->n < NCOMMON + OWN_MAX; i++) {
        t->all[t->n++] = list[i];
        if (list[i].val >= OPT_JSON)
            continue;
        *end++ = (char)list[i].val;
        if (list[i].has_arg == required_argument)
            *end++ = ':';
    }
}

/* What getopt_long() did not like; it has gone past a long one. */
static int refuse(const struct sfabric_cmd *cmd, char **argv, int c)
{
    char letter[] = {'-', (char)optopt, '\0'};
    bool is_long = strncmp(argv[optind - 1], "--", 2) == 0;
    const char *what = is_long || optopt == 0 ? argv[optind - 1] : letter;

    if (c == ':')
        sfabric_fail("%s lacks its value; see --help", what);
    else
        sfabric_fail("no option \"%s\"; usage: sfabric %s %s", what, cmd->name,
                     cmd->args);
    return -1;
}

static int wrong_value(const struct sfabric_cmd *cmd, const struct table *t,
                       int c, const char *value)
{
    const char *name = "";

    for (size_t i = 0; i < t->n; i++) {
        if (t->all[i].val == c)
            name = t->all[i].name;
    }
    sfabric_fail("--%s has a wrong value \"%s\"; usage: sfabric %s %s", name,
                 value ? value : "", cmd->name, cmd->args);
    return -1;
}

bool sfabric_take_flag(int val, const char *value, void *wishes)
{
    (void)val;
    (void)value;
    *(bool *)wishes = true;
    return true;
}

int sfabric_parse(const struct sfabric_cmd *cmd, int argc, char **argv,
                  struct sfabric_options *o, void *wishes)
{
    size_t nown = 0;
    struct table t;
    int c, n;

    while (cmd->options && cmd->options[nown].name)
        nown++;
    table_begin(&t, "");
    table_add(&t, common, NCOMMON);
    table_add(&t, cmd->options, nown);
    opterr = 0;
    optind = 0; /* from the beginning: watch has several */
    while ((c = getopt_long(argc, argv, t.letters, t.all, NULL)) != -1) {
        if (c == '?' || c == ':')
            return refuse(cmd, argv, c);
        if (is_common(c) ? !take_common(o, c, optarg)
                         : !cmd->take(c, optarg, wishes))
            return wrong_value(cmd, &t, c, optarg);
    }
    n = argc - optind;
    memmove(argv + 1, argv + optind, (size_t)n * sizeof(*argv));
    argv[1 + n] = NULL;
    if (n < cmd->least || n > cmd->most) {
        sfabric_usage(cmd);
        return -1;
    }
    return n;
}

int sfabric_command_at(int argc, char **argv)
{
    struct table t;
    int c;

    table_begin(&t, "+");
    table_add(&t, common, NCOMMON);
    table_add(&t, instead, NINSTEAD);
    opterr = 0;
    optind = 0;
    do
        c = getopt_long(argc, argv, t.letters, t.all, NULL);
    while (c != -1 && is_common(c));
    if (c == '?' || c == ':') /* the first command's own, or it will say */
        return 0;
    if (c != -1)
        return optind - 1;
    return optind < argc ? optind : 0;
}
