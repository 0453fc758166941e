/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What mapperd is told: mapper.conf(5), then the command line, which wins.
 * Strings are allocated; settings_free() frees them.
 */
#ifndef SF_MAPPERD_SETTINGS_H
#define SF_MAPPERD_SETTINGS_H

#include <stdbool.h>

#include "base/conf.h"
#include "base/errbuf.h"
#include "mapper/gm1.h"
#include "mapper/gm2.h"

struct settings {
    char *protocol; /* gm2, gm1 */
    bool respond_only;
    long unit;
    char *hsnd;    /* hsnd's socket */
    char *control; /* our control socket */
    char *control_group;
    char *pid_file; /* --daemon-pid-file: be a daemon */
    char *pid_dir;  /* without it: pid.UNIT there */
    char *map_file;
    char *cabling, *elanhosts; /* names of nodes */
    char *stored_map;          /* the last map, for the next start */
    bool no_stored_map;
    char *verbose_file;
    char *log_level;
    char *engine; /* of routes */
    char *health; /* where reports go */
    char *munge;
    long health_interval; /* seconds */
    bool syslog, verbose;

    /* InfiniBand */
    char *prober; /* "ib"; NULL: hsnd's cable */
    char *ca, *node;
    char *rules;     /* of counters */
    bool clear_full; /* counters of ports */
    long ca_port, sweep, ib_window;

    /* both protocols; times in ms */
    long level, num_passes, max_hops, max_ports;
    char *conf;           /* the file that was read; NULL: none */
    bool max_hops_option; /* --max-hops was given */
    long scout_wait, scout_retries, switch_wait, window;
    long link_wait, start_delay, host_type;
    bool fixed_timers, learnt_timers, non_clos;

    /* GM-2 */
    long ping_interval, verify_pause, parent_tries, tree_tries;
    long piece_wait, piece_tries, verify_tries, pause_time, extra_hosts;
    bool thrash, map_once, map_incrementally, no_xbar_check, pause, printeur;
    bool no_map_deltas;

    /* GM-1 */
    long active_sleep, dormant_wake, configs;
    bool no_verify, in_order, minimal;
};

void settings_default(struct settings *s);
void settings_free(struct settings *s);

/* Read mapper.conf.  `must`: it has to be there.  -1: told through report. */
int settings_read(struct settings *s, const char *path, bool must,
                  conf_error_f *report, void *arg);

/* Take the command line.  Returns 0; 1: --help was asked for; 3:
 * --version; 2: --check or
 * --prober was given, which is not ours; -1: told through *err. */
int settings_options(struct settings *s, int argc, char **argv,
                     char **conf_path, struct errbuf *err);

/* One key of mapper.conf, as in conf_set(). */
const char *settings_set(struct settings *s, const char *key, const char *value,
                         struct errbuf *err);

/* What all that means together, after reading; fills paths that were not
 * given.  -1 with text. */
int settings_finish(struct settings *s, struct errbuf *err);

/* The longest route can be set where crossbars are software: is this board's
 * fabric?  -1 with text, which names file, line and key (or the option), when
 * it was set and may not be. */
int settings_hops(const struct settings *s, bool simulated, struct errbuf *err);

/* For the engines; address, seed and name are the caller's. */
void settings_gm2(const struct settings *s, struct gm2_config *config);
void settings_gm1(const struct settings *s, struct gm1_options *config);

extern const char settings_usage[];

#endif
