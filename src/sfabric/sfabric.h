/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frame of sfabric: a table of subcommands (cmds.def, one file cmd_NAME.c
 * each) and what they share: options, the question to a daemon, columns,
 * colours.
 *
 * A new subcommand NAME: write cmd_NAME.c that defines
 * `const struct sfabric_cmd cmd_NAME`, add the line CMD(NAME) to cmds.def and
 * the file to Makemodule.am.
 *
 * Exit status, that of a Nagios check: 0 all is well, 1 something is degraded
 * (or found wanting), 2 something is down, 3 it cannot be told (wrong usage,
 * no daemon).
 */
#ifndef SF_SFABRIC_SFABRIC_H
#define SF_SFABRIC_SFABRIC_H

#include <getopt.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/errbuf.h"

#define SFABRIC_OK 0
#define SFABRIC_DEGRADED 1
#define SFABRIC_DOWN 2
#define SFABRIC_UNKNOWN 3

/* Options that every command has; given before or after its name. */
struct sfabric_options {
    bool json;     /* --json */
    bool noheader; /* -h, --noheader */
    bool color;    /* stdout is a terminal (or --color=always) */
    int timeout;   /* -t, --timeout SECONDS, in ms */
    char *format;  /* -o, --format "%N %T" */
    char *socket;  /* -s, --socket PATH: instead of a daemon's own */
};

struct sfabric_cmd {
    const char *name;
    const char *args; /* "NODE", "[--all] [FILE]", "" */
    const char *help; /* one line */
    /* Its own options, ended by one of zeros; NULL: none.  val is the option's
     * letter, or something above 0x1000. */
    const struct option *options;
    /* One of them was given: note it in *wishes.  The value is NULL where it
     * takes none, else borrowed from argv.  false: the value is wrong. */
    bool (*take)(int val, const char *value, void *wishes);
    int least, most; /* operands */
    /* argv[0] is no argument.  Returns the exit status. */
    int (*run)(int argc, char **argv, struct sfabric_options *o);
};

#define CMD(name) extern const struct sfabric_cmd cmd_##name;
#include "sfabric/cmds.def"
#undef CMD

/* Where in argv the command's name stands, or --help, --local or --version in
 * its place; 0: nowhere, it is the first command that is meant. */
int sfabric_command_at(int argc, char **argv);

/* Read the arguments of a command: the common options into *o, its own by
 * cmd->take() into *wishes (may be NULL without own ones).  The operands are
 * argv[1] to argv[n] then, and argv[n + 1] is NULL.  Returns n; -1: the usage
 * is wrong, which has been told: leave with SFABRIC_UNKNOWN. */
int sfabric_parse(const struct sfabric_cmd *cmd, int argc, char **argv,
                  struct sfabric_options *o, void *wishes);

/* The only option of a command, one without a value: wishes is a bool, which it
 * sets.  For cmd->take, with this as the option's val. */
#define SFABRIC_FLAG 0x1000
bool sfabric_take_flag(int val, const char *value, void *wishes);

/* Ask a daemon ("switchmgrd", "mapperd", "hsnd", "swfabd") at its control
 * socket SF_RUNSTATEDIR/DAEMON.sock.  The request is put (may be NULL: just
 * the verb).  NULL: told on stderr; leave with SFABRIC_UNKNOWN. */
struct json_object *sfabric_ask(const struct sfabric_options *o,
                                const char *daemon, const char *verb,
                                struct json_object *request);

/* Say "sfabric: ..." on stderr; returns SFABRIC_UNKNOWN. */
int sfabric_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Wrong usage of a subcommand: shows how it is used; SFABRIC_UNKNOWN. */
int sfabric_usage(const struct sfabric_cmd *cmd);

/* Print an answer as JSON, for --json. */
void sfabric_print_json(struct json_object *o);

/* Exit status of a state's name: healthy, degraded, flapping, down, else. */
int sfabric_status(const char *state);
/* The worse of two exit statuses: down, degraded, unknown, ok. */
int sfabric_worse(int a, int b);

/* Columns that are as wide as their widest cell.  Cells are copied. */
struct sfabric_columns;
struct sfabric_columns *sfabric_columns_new(int n, const char *const *titles);
void sfabric_columns_add(struct sfabric_columns *c, const char *const *cells);
/* Print (without titles when o->noheader), and free. */
void sfabric_columns_print(struct sfabric_columns *c,
                           const struct sfabric_options *o);

#endif
