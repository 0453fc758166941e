/* SPDX-License-Identifier: BSD-3-Clause
 * The command line that daemons have in common.
 */
#include "base/daemon_args.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "config.h"

static const struct option options[] = {
    {"conf", required_argument, NULL, 'f'},
    {"test-config", no_argument, NULL, 't'},
    {"verbose", no_argument, NULL, 'v'},
    {"syslog", no_argument, NULL, 's'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static void usage(FILE *to, const struct daemon_program *program)
{
    fprintf(to,
            "usage: %s [OPTION..]\n"
            "%s  See %s(8).\n"
            "  -f, --conf FILE    instead of %s\n"
            "  -t, --test-config  read it, say what is wrong, and end\n"
            "  -v, --verbose      log more\n"
            "      --syslog       log there, not to standard error\n"
            "  -h, --help         this text\n"
            "  -V, --version      the version of slurm-fabric\n"
            "EXIT STATUS: 0 ended in order, 1 failed, %d wrong command line or "
            "configuration\n",
            program->name, program->what, program->name, program->conf,
            DAEMON_EXIT_CONF);
}

static void version(const struct daemon_program *program)
{
    printf("%s (%s) %s\n", program->name, PACKAGE_NAME, PACKAGE_VERSION);
}

bool daemon_args_read(struct daemon_args *args,
                      const struct daemon_program *program, int argc,
                      char **argv, int *status)
{
    int c;

    *args = (struct daemon_args){.conf = program->conf};
    *status = 0;
    while ((c = getopt_long(argc, argv, "f:tvhV", options, NULL)) != -1) {
        switch (c) {
        case 'f':
            args->conf = optarg;
            args->conf_named = true;
            break;
        case 't':
            args->test = true;
            break;
        case 'v':
            args->verbose = true;
            break;
        case 's':
            args->syslog = true;
            break;
        case 'h':
            usage(stdout, program);
            return false;
        case 'V':
            version(program);
            return false;
        default:
            goto wrong;
        }
    }
    if (optind == argc)
        return true;
    fprintf(stderr, "%s: no option: %s\n", program->name, argv[optind]);
wrong:
    usage(stderr, program);
    *status = DAEMON_EXIT_CONF;
    return false;
}

bool daemon_args_asked(const struct daemon_program *program, int argc,
                       char **argv)
{
    const char *word = argc == 2 ? argv[1] : "";

    if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0) {
        version(program);
        return true;
    }
    if (strcmp(word, "-h") != 0 && strcmp(word, "--help") != 0)
        return false;
    printf("usage: %s [--help|--version]\n"
           "%s  See %s(8).\n",
           program->name, program->what, program->name);
    return true;
}
