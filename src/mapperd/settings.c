/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mapper.conf, and what settings mean to the engines.  The command line is
 * options.c.
 */
#define _GNU_SOURCE
#include "base/sitedir.h"
#include "mapperd/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRING(key, member) CONF_KEY_STRING(settings, key, member)
#define FLAG(key, member) CONF_KEY_BOOL(settings, key, member)
#define NUMBER(key, member, lo, hi) CONF_KEY_INT(settings, key, member, lo, hi)
#define HOUR 3600000

static const struct conf_key keys[] = {
    STRING("Protocol", protocol),
    FLAG("RespondOnly", respond_only),
    NUMBER("Unit", unit, 0, 63),
    STRING("Prober", prober),
    STRING("Ca", ca),
    NUMBER("CaPort", ca_port, 0, 254),
    NUMBER("Sweep", sweep, 1, 3600),
    NUMBER("IbWindow", ib_window, 1, 128),
    FLAG("ClearFull", clear_full),
    STRING("NodeName", node),
    STRING("Rules", rules),
    STRING("Hsnd", hsnd),
    STRING("ControlSocket", control),
    STRING("ControlGroup", control_group),
    STRING("DaemonPidFile", pid_file),
    STRING("PidDir", pid_dir),
    STRING("MapFile", map_file),
    STRING("Cabling", cabling),
    STRING("ElanHosts", elanhosts),
    STRING("StoredMap", stored_map),
    FLAG("NoStoredMap", no_stored_map),
    STRING("VerboseFile", verbose_file),
    FLAG("Verbose", verbose),
    STRING("LogLevel", log_level),
    FLAG("Syslog", syslog),
    STRING("Routes", engine),
    STRING("Health", health),
    NUMBER("HealthInterval", health_interval, 1, 3600),
    STRING("MungeSocket", munge),
    NUMBER("Level", level, 0, 1000000),
    NUMBER("HostType", host_type, 0, 255),
    NUMBER("NumPasses", num_passes, 1, NET_ALTERNATIVES_MAX),
    NUMBER("MaxHops", max_hops, 1, NET_ROUTE_MAX),
    NUMBER("MaxPorts", max_ports, 2, PROBE_PORTS_MAX),
    NUMBER("Window", window, 1, 1024),
    NUMBER("LinkWait", link_wait, 0, HOUR),
    NUMBER("StartDelay", start_delay, 0, HOUR),
    NUMBER("ScoutTimeout", scout_wait, 1, 60000),
    NUMBER("ScoutRetries", scout_retries, 0, 100),
    NUMBER("SwitchTimeout", switch_wait, 1, 60000),
    FLAG("FixedTimers", fixed_timers),
    FLAG("LearntTimers", learnt_timers),
    FLAG("NonClos", non_clos),
    NUMBER("PingInterval", ping_interval, 10, HOUR),
    NUMBER("VerifyPause", verify_pause, 1, HOUR),
    NUMBER("ParentTries", parent_tries, 1, 1000),
    NUMBER("TreeTries", tree_tries, 1, 1000),
    NUMBER("PieceTimeout", piece_wait, 1, 60000),
    NUMBER("PieceTries", piece_tries, 1, 1000),
    NUMBER("VerifyTries", verify_tries, 1, 100),
    NUMBER("PauseTime", pause_time, 1000, 60000),
    NUMBER("ExtraHosts", extra_hosts, 0, 100000),
    FLAG("Thrash", thrash),
    FLAG("MapOnce", map_once),
    FLAG("MapIncrementally", map_incrementally),
    FLAG("NoMapDeltas", no_map_deltas),
    FLAG("NoXbarCheck", no_xbar_check),
    FLAG("Pause", pause),
    FLAG("Printeur", printeur),
    NUMBER("ActiveSleep", active_sleep, 1, HOUR),
    NUMBER("DormantWake", dormant_wake, 1, HOUR),
    NUMBER("ConfigWindow", configs, 1, 32),
    FLAG("NoVerify", no_verify),
    FLAG("ConfigsInOrder", in_order),
    FLAG("NoRoutes", minimal),
};
#define NKEYS (sizeof(keys) / sizeof(keys[0]))

void settings_default(struct settings *s)
{
    *s = (struct settings){
        .level = 1,
        .num_passes = NET_ALTERNATIVES_DEFAULT,
        .max_hops = NET_HOPS_DEFAULT,
        .max_ports = PROBE_PORTS_MAX,
        .window = 64,
        .link_wait = 5000,
        .scout_wait = 10,
        .scout_retries = 3,
        .switch_wait = 5,
        .ping_interval = 1000,
        .verify_pause = 1000,
        .parent_tries = 30,
        .tree_tries = 10,
        .piece_wait = 20,
        .piece_tries = 30,
        .verify_tries = 15,
        .pause_time = 10000,
        .active_sleep = 10000,
        .dormant_wake = 5000,
        .configs = 16,
        .health_interval = 1,
        .sweep = 5,
        .ib_window = 8,
    };
}

void settings_free(struct settings *s)
{
    free(s->conf);
    s->conf = NULL;
    conf_free(keys, NKEYS, s);
}

/* Words of which there are few. */
static int check_words(const struct settings *s, struct errbuf *err)
{
    enum net_engine engine;

    if (s->protocol && strcmp(s->protocol, "gm1") != 0 &&
        strcmp(s->protocol, "gm2") != 0)
        return errprintf(err, "Protocol: not gm1 or gm2: %s", s->protocol);
    if (s->prober && strcmp(s->prober, "ib") != 0)
        return errprintf(err, "Prober: not ib: %s", s->prober);
    if (s->engine && !net_engine_parse(s->engine, &engine))
        return errprintf(
            err, "Routes: no engine is called %s; there are " NET_ENGINES,
            s->engine);
    return 0;
}

int settings_read(struct settings *s, const char *path, bool must,
                  conf_error_f *report, void *arg)
{
    struct errbuf err;

    if (!must && access(path, F_OK) < 0)
        return 0;
    s->conf = strdup(path);
    if (conf_read(path, must, keys, NKEYS, s, report, arg) < 0)
        return -1;
    if (check_words(s, &err) == 0)
        return 0;
    conf_locate(&err, path);
    report(err.text, arg);
    return -1;
}

const char *settings_set(struct settings *s, const char *key, const char *value,
                         struct errbuf *err)
{
    return conf_set(keys, NKEYS, s, key, value, err);
}

/* DIR/hsnd-0, DIR/mapperd.sock, DIR/mapperd-1.sock ... */
static int default_paths(struct settings *s)
{
    if (!s->hsnd &&
        asprintf(&s->hsnd, "%s%ld", SITEDIR_RUN("hsnd-"), s->unit) < 0)
        return -1;
    if (s->control)
        return 0;
    if (s->unit == 0)
        return (s->control = strdup(SITEDIR_OWN_RUN("mapperd.sock"))) ? 0 : -1;
    return asprintf(&s->control, "%s%ld.sock", SITEDIR_OWN_RUN("mapperd-"),
                    s->unit) < 0
               ? -1
               : 0;
}

int settings_finish(struct settings *s, struct errbuf *err)
{
    if (check_words(s, err) < 0)
        return -1;
    /* Where verbose output goes is a wish for it, in the file, too. */
    s->verbose |= s->verbose_file != NULL;
    if (default_paths(s) < 0)
        return errprintf(err, "no memory");
    if (!s->pid_dir && !(s->pid_dir = strdup("/run/gm_mapper")))
        return errprintf(err, "no memory");
    return 0;
}

int settings_hops(const struct settings *s, bool simulated, struct errbuf *err)
{
    char where[300] = "--max-hops";

    if (simulated || s->max_hops == NET_HOPS_DEFAULT)
        return 0;
    if (!s->max_hops_option && s->conf)
        snprintf(where, sizeof(where), "%s:%d: MaxHops", s->conf,
                 conf_line(s->conf, "MaxHops"));
    return errprintf(err,
                     "%s: %ld: it can be set for simulated nets only, and "
                     "hsnd's cable leads to a real one: take it out, routes "
                     "have at most %d hops",
                     where, s->max_hops, NET_HOPS_DEFAULT);
}

static void set_limits(const struct settings *s, struct prober_limits *limits)
{
    limits->max_ports = (uint8_t)s->max_ports;
    limits->window = (uint32_t)s->window;
    limits->tries = (uint8_t)(1 + s->scout_retries);
    limits->scout_wait = (uint64_t)s->scout_wait * 1000000;
    limits->loop_wait = (uint64_t)s->switch_wait * 1000000;
    /* A daemon is not always on a core when an answer comes. */
    limits->min_wait = limits->loop_wait / 2;
    if (s->fixed_timers)
        limits->fixed_timers = true;
    if (s->learnt_timers)
        limits->fixed_timers = false;
}

static void set_routes(const struct settings *s,
                       struct net_route_params *routes)
{
    routes->alternatives = (unsigned)s->num_passes;
    routes->hop_limit = (unsigned)s->max_hops;
    if (s->engine)
        net_engine_parse(s->engine, &routes->engine);
    if (s->non_clos)
        routes->engine = NET_PAIRS;
}

void settings_gm2(const struct settings *s, struct gm2_config *config)
{
    const uint64_t ms = 1000000;

    gm2_config_default(config);
    set_limits(s, &config->limits);
    set_routes(s, &config->routes);
    config->level = (uint32_t)s->level;
    config->host_type = (uint8_t)s->host_type;
    config->start_delay = (uint64_t)s->start_delay * ms;
    config->ping_interval = (uint64_t)s->ping_interval * ms;
    config->verify_pause = (uint64_t)s->verify_pause * ms;
    config->scout_wait = (uint64_t)s->scout_wait * ms;
    config->piece_wait = (uint64_t)s->piece_wait * ms;
    config->pause_time = (uint64_t)s->pause_time * ms;
    config->parent_tries = (uint16_t)s->parent_tries;
    config->tree_tries = (uint16_t)s->tree_tries;
    config->piece_tries = (uint16_t)s->piece_tries;
    config->verify_tries = (uint16_t)s->verify_tries;
    config->thrash = s->thrash;
    config->map_once = s->map_once;
    config->map_incrementally = s->map_incrementally;
    config->map_deltas = !s->no_map_deltas;
    config->no_xbar_check = s->no_xbar_check;
    config->pause = s->pause;
    config->extra_hosts = (uint32_t)s->extra_hosts;
}

void settings_gm1(const struct settings *s, struct gm1_options *config)
{
    const uint64_t ms = 1000000;

    gm1_options_default(config);
    set_limits(s, &config->limits);
    set_routes(s, &config->routes);
    config->routes.alternatives = 1;
    config->host.level = (uint32_t)s->level;
    config->host.node_type = (uint16_t)s->host_type;
    config->host.minimal = s->minimal;
    config->start_delay = (uint64_t)s->start_delay * ms;
    config->active_sleep = (uint64_t)s->active_sleep * ms;
    config->dormant_wake = (uint64_t)s->dormant_wake * ms;
    config->no_verify = s->no_verify;
    config->in_order = s->in_order;
    config->window = (uint16_t)s->configs;
}
