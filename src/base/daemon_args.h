/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line that hsnd, swfabd and switchmgrd have in common: which
 * configuration, whether only to test it, how much to log and where.  mapperd
 * takes the GM-2 document's options and has its own table.  And what programs
 * that nobody calls by hand say to somebody who does.
 */
#ifndef SF_BASE_DAEMON_ARGS_H
#define SF_BASE_DAEMON_ARGS_H

#include <stdbool.h>

/* A daemon ends with it when its command line or its configuration is wrong:
 * starting it again would not help (RestartPreventExitStatus= of the units). */
#define DAEMON_EXIT_CONF 2

struct daemon_program {
    const char *name;
    const char *what; /* a sentence for the help text */
    const char *conf; /* the file that is read when none is named */
};

struct daemon_args {
    const char *conf; /* argv's or the program's: borrowed */
    bool conf_named;  /* by the user: then it must be there */
    bool test;        /* read the configuration, say what is wrong, end */
    bool verbose;
    bool syslog; /* log there, not to standard error */
};

/* true: the daemon goes on with *args.  false: it ends with *status, 0 after
 * help or version on stdout, DAEMON_EXIT_CONF after the help on stderr. */
bool daemon_args_read(struct daemon_args *args,
                      const struct daemon_program *program, int argc,
                      char **argv, int *status);

/* Of a program that others start (impid, impi-server, elan-holder): was it
 * called by hand, with -h, --help, -V or --version alone?  Then true, and the
 * answer is on stdout.  `what` is a sentence, `conf` is not used. */
bool daemon_args_asked(const struct daemon_program *program, int argc,
                       char **argv);

#endif
