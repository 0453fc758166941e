/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric: what the fabric looks like and how it feels.  Finds the command and
 * runs it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/meant.h"
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

/* `sfabric -N` is `sfabric summary -N`; --local and --version are commands. */
static const struct sfabric_cmd *find(const char *word)
{
    if (!word)
        return cmds[0];
    if (strcmp(word, "--local") == 0 || strcmp(word, "--version") == 0)
        word += 2;
    for (size_t i = 0; i < NCMDS; i++) {
        if (strcmp(cmds[i]->name, word) == 0)
            return cmds[i];
    }
    return NULL;
}

static int no_command(const char *word)
{
    struct meant m;

    meant_begin(&m, word);
    for (size_t i = 0; i < NCMDS; i++)
        meant_try(&m, cmds[i]->name);
    if (!m.word)
        return sfabric_fail("no command \"%s\"; see --help", word);
    return sfabric_fail("no command \"%s\"; did you mean %s?", word, m.word);
}

static bool wants_help(char **argv)
{
    while (*++argv) {
        if (strcmp(*argv, "--help") == 0)
            return true;
    }
    return false;
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    int at = sfabric_command_at(argc, argv);
    const char *word = at ? argv[at] : NULL;
    const struct sfabric_cmd *cmd = find(word);

    if (word && (strcmp(word, "--help") == 0 || strcmp(word, "help") == 0))
        return help();
    if (!cmd)
        return no_command(word);
    if (wants_help(argv))
        return word ? help_of(cmd) : help();
    if (word) {
        memmove(argv + at, argv + at + 1, (size_t)(argc - at) * sizeof(*argv));
        argc--;
    }
    return cmd->run(argc, argv, o);
}

int main(int argc, char **argv)
{
    struct sfabric_options o = {.timeout = 5000,
                                .color = isatty(STDOUT_FILENO)};
    int rc = run(argc, argv, &o);

    free(o.format);
    free(o.socket);
    if (fflush(stdout) != 0 || ferror(stdout))
        rc = SFABRIC_UNKNOWN;
    return rc;
}
