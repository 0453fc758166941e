/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric: what the fabric looks like and how it feels.  Takes out the common
 * options, finds the subcommand, runs it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "sfabric/sfabric.h"

static const struct sfabric_cmd *const cmds[] = {
#define CMD(name) &cmd_##name,
#include "sfabric/cmds.def"
#undef CMD
};
#define NCMDS (sizeof(cmds) / sizeof(cmds[0]))

static int help(void)
{
    puts("usage: sfabric [OPTION..] [COMMAND [ARGUMENT..]]\n");
    for (size_t i = 0; i < NCMDS; i++)
        printf("  %-11s %-22s %s\n", cmds[i]->name, cmds[i]->args,
               cmds[i]->help);
    puts("\n"
         "  -h, --noheader       no line of titles\n"
         "  -o, --format FORMAT  what to print, see sfabric(1)\n"
         "      --json           everything, for programs\n"
         "      --color=WHEN     auto (on a terminal), always, never\n"
         "      --local          this host's board: sfabric local\n"
         "  -s, --socket PATH    the daemon's control socket\n"
         "  -t, --timeout SEC    how long to wait for it (5)\n"
         "      --help           this, or after a command what it does\n"
         "      --version        the version of slurm-fabric\n\n"
         "EXIT STATUS: 0 healthy, 1 degraded, 2 down, 3 cannot be told.");
    return SFABRIC_OK;
}

static int help_of(const struct sfabric_cmd *cmd)
{
    printf("usage: sfabric %s %s\n%s; see sfabric(1)\n", cmd->name, cmd->args,
           cmd->help);
    return SFABRIC_OK;
}

static void set_text(char **dst, const char *value)
{
    free(*dst);
    *dst = strdup(value);
}

static int set_color(struct sfabric_options *o, const char *when)
{
    if (strcmp(when, "auto") == 0)
        o->color = isatty(STDOUT_FILENO);
    else if (strcmp(when, "always") == 0 || strcmp(when, "never") == 0)
        o->color = when[0] == 'a';
    else
        return -1;
    return 0;
}

/* The value of an option: --name=VALUE, or the next argument, which is taken
 * (*taken 2).  NULL: it is another option, or has no value (*taken -1). */
static const char *value_of(char **argv, int left, const char *brief,
                            const char *name, int *taken)
{
    size_t len = strlen(name);

    if (strncmp(argv[0], name, len) == 0 && argv[0][len] == '=') {
        *taken = 1;
        return argv[0] + len + 1;
    }
    if (strcmp(argv[0], name) != 0 && strcmp(argv[0], brief) != 0)
        return NULL;
    *taken = left > 1 ? 2 : -1;
    return left > 1 ? argv[1] : NULL;
}

/* Seconds, with a fraction if need be. */
static int set_timeout(struct sfabric_options *o, const char *text)
{
    char *end;
    double s = strtod(text, &end);

    if (end == text || *end || !(s > 0 && s <= SF_SFABRIC_TIMEOUT_MAX))
        return -1;
    o->timeout = (int)(s * 1000);
    return 0;
}

/* Take one common option; how many arguments it was (0: none, -1 wrong). */
static int take_option(char **argv, int left, struct sfabric_options *o)
{
    const char *v;
    int taken = 0;

    if (strcmp(argv[0], "--json") == 0)
        o->json = true;
    else if (strcmp(argv[0], "-h") == 0 || strcmp(argv[0], "--noheader") == 0)
        o->noheader = true;
    else if ((v = value_of(argv, left, "-o", "--format", &taken)))
        set_text(&o->format, v);
    else if (taken == 0 && (v = value_of(argv, left, "-s", "--socket", &taken)))
        set_text(&o->socket, v);
    else if (taken == 0 &&
             (v = value_of(argv, left, "-t", "--timeout", &taken)))
        taken = set_timeout(o, v) < 0 ? -1 : taken;
    else if (taken == 0 && (v = value_of(argv, left, "", "--color", &taken)))
        taken = set_color(o, v) < 0 ? -1 : taken;
    else
        return taken;
    return taken ? taken : 1;
}

/* Move what is not a common option to the front; how many that are. */
static int take_options(int argc, char **argv, struct sfabric_options *o)
{
    int kept = 0;

    for (int i = 1; i < argc;) {
        int n = take_option(argv + i, argc - i, o);

        if (n < 0) {
            sfabric_fail("%s lacks its value, or has a wrong one; see --help",
                         argv[i]);
            return -1;
        }
        if (n == 0)
            argv[kept++] = argv[i++];
        i += n;
    }
    argv[kept] = NULL;
    return kept;
}

static const struct sfabric_cmd *find(const char *name)
{
    for (size_t i = 0; i < NCMDS; i++) {
        if (strcmp(cmds[i]->name, name) == 0)
            return cmds[i];
    }
    return NULL;
}

/* `sfabric -N` is `sfabric summary -N`. */
static int run(int argc, char **argv, const struct sfabric_options *o)
{
    const struct sfabric_cmd *cmd = cmds[0];
    char *args[64] = {(char *)cmds[0]->name};

    if (argc > 0 && strcmp(argv[0], "--help") == 0)
        return help();
    if (argc > 0 && strcmp(argv[0], "--local") == 0)
        return cmd_local.run(argc, argv, o);
    if (argc > 0 && strcmp(argv[0], "--version") == 0)
        return cmd_version.run(argc, argv, o);
    if (argc > 0 && argv[0][0] != '-') {
        cmd = find(argv[0]);
        if (!cmd && strcmp(argv[0], "help") == 0)
            return help();
        if (!cmd)
            return sfabric_fail("no command \"%s\"; see --help", argv[0]);
        if (argc > 1 && strcmp(argv[1], "--help") == 0)
            return help_of(cmd);
        return cmd->run(argc, argv, o);
    }
    if (argc > 0 && strncmp(argv[0], "--", 2) == 0)
        return sfabric_fail("no option \"%s\"; see --help", argv[0]);
    if (argc > 62)
        return sfabric_fail("too many arguments");
    memcpy(args + 1, argv, (size_t)argc * sizeof(*argv));
    return cmd->run(argc + 1, args, o);
}

int main(int argc, char **argv)
{
    struct sfabric_options o = {.timeout = 5000,
                                .color = isatty(STDOUT_FILENO)};
    int n = take_options(argc, argv, &o), rc;

    rc = n < 0 ? SFABRIC_UNKNOWN : run(n, argv, &o);
    free(o.format);
    free(o.socket);
    if (fflush(stdout) != 0 || ferror(stdout))
        rc = SFABRIC_UNKNOWN;
    return rc;
}
