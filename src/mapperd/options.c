/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mapperd's command line: the options of the GM-2 document, and ours.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "mapperd/settings.h"

const char settings_usage[] =
    "usage: mapperd [OPTION..]          map the fabric of one board\n"
    "       mapperd --check=NET [..]    explore a net offline "
    "(mapperd --check= --help)\n"
    "       mapperd --prober=ib ..      map InfiniBand (mapperd --prober= "
    "--help)\n\n"
    "  --daemon-pid-file=PATH  run as a daemon, its pid at PATH\n"
    "  -h, --help              this text\n"
    "  --version               the version of slurm-fabric\n"
    "  --level=LEVEL           mapper level (default 1, 0: never map)\n"
    "  --num-passes=N          routes to each host (default 8)\n"
    "  --map-file=PATH         store the map there\n"
    "  --printeur              accept network printfs\n"
    "  --thrash                keep remapping\n"
    "  --extra-hosts=COUNT     make the map larger than it is\n"
    "  --pause                 pause all other mappers while mapping\n"
    "  --map-once              end after mapping is complete everywhere\n"
    "  --map-incrementally     re-map incrementally\n"
    "  -B, -b, --unit=BOARD    board number (default 0)\n"
    "  --non-clos              safe routing on networks that are no Clos\n"
    "  --no-xbar-check         do not verify links between crossbars\n"
    "  -v, --verbose           verbose output\n"
    "  --verbose-file=PATH     verbose output to PATH\n"
    "\n"
    "  -f, --conf=PATH         mapper.conf\n"
    "  --protocol=gm1|gm2      which mapper (default gm2)\n"
    "  --respond-only          no mapper: answer one (GM-1's host side)\n"
    "  --routes=ENGINE         auto, dmodk, pairs, updown, gm2\n"
    "  --max-hops=N            longest route (default 11), on simulated\n"
    "                          nets only\n"
    "  --fixed-timers          do not learn timers (GM-1's default)\n"
    "  --learnt-timers         learn them (GM-2's default)\n"
    "  --start-delay=MS        sleep before mapping\n"
    "  --stored-map=PATH       where the last map is kept for the next start\n"
    "  --no-stored-map         keep none: explore at each start\n"
    "  --no-map-deltas         always pull whole maps\n"
    "  --hsnd=PATH             hsnd's socket\n"
    "  --control=PATH          own control socket\n";

enum {
    OPT_PID = 256,
    OPT_LEVEL,
    OPT_PASSES,
    OPT_MAP,
    OPT_PRINTEUR,
    OPT_THRASH,
    OPT_EXTRA,
    OPT_PAUSE,
    OPT_ONCE,
    OPT_INCREMENT,
    OPT_NON_CLOS,
    OPT_NO_CHECK,
    OPT_VERBOSE_FILE,
    OPT_PROTOCOL,
    OPT_RESPOND,
    OPT_ROUTES,
    OPT_HOPS,
    OPT_FIXED,
    OPT_LEARNT,
    OPT_DELAY,
    OPT_HSND,
    OPT_CONTROL,
    OPT_STORED,
    OPT_NO_STORED,
    OPT_NO_DELTAS,
    OPT_CHECK,
    OPT_PROBER,
};

static const struct option options[] = {
    {"daemon-pid-file", required_argument, NULL, OPT_PID},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {"level", required_argument, NULL, OPT_LEVEL},
    {"num-passes", required_argument, NULL, OPT_PASSES},
    {"map-file", required_argument, NULL, OPT_MAP},
    {"printeur", no_argument, NULL, OPT_PRINTEUR},
    {"thrash", no_argument, NULL, OPT_THRASH},
    {"extra-hosts", required_argument, NULL, OPT_EXTRA},
    {"pause", no_argument, NULL, OPT_PAUSE},
    {"map-once", no_argument, NULL, OPT_ONCE},
    {"map-incrementally", no_argument, NULL, OPT_INCREMENT},
    {"unit", required_argument, NULL, 'b'},
    {"non-clos", no_argument, NULL, OPT_NON_CLOS},
    {"no-xbar-check", no_argument, NULL, OPT_NO_CHECK},
    {"verbose", no_argument, NULL, 'v'},
    {"verbose-file", required_argument, NULL, OPT_VERBOSE_FILE},
    {"conf", required_argument, NULL, 'f'},
    {"protocol", required_argument, NULL, OPT_PROTOCOL},
    {"respond-only", no_argument, NULL, OPT_RESPOND},
    {"routes", required_argument, NULL, OPT_ROUTES},
    {"max-hops", required_argument, NULL, OPT_HOPS},
    {"fixed-timers", no_argument, NULL, OPT_FIXED},
    {"learnt-timers", no_argument, NULL, OPT_LEARNT},
    {"start-delay", required_argument, NULL, OPT_DELAY},
    {"hsnd", required_argument, NULL, OPT_HSND},
    {"control", required_argument, NULL, OPT_CONTROL},
    {"stored-map", required_argument, NULL, OPT_STORED},
    {"no-stored-map", no_argument, NULL, OPT_NO_STORED},
    {"no-map-deltas", no_argument, NULL, OPT_NO_DELTAS},
    {"check", required_argument, NULL, OPT_CHECK},
    {"prober", required_argument, NULL, OPT_PROBER},
    {NULL, 0, NULL, 0},
};
#define SHORT "b:B:f:vh"

static int set_string(char **to, struct errbuf *err)
{
    free(*to);
    *to = strdup(optarg);
    return *to ? 0 : errprintf(err, "no memory");
}

static int set_number(long *to, long min, long max, const char *what,
                      struct errbuf *err)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(optarg, &end, 0);
    if (errno != 0 || end == optarg || *end != '\0' || n < min || n > max)
        return errprintf(err, "--%s: not a number from %ld to %ld: %s", what,
                         min, max, optarg);
    *to = n;
    return 0;
}

static int take_flag(struct settings *s, int opt)
{
    bool *flags[] = {
        [OPT_PRINTEUR - OPT_PID] = &s->printeur,
        [OPT_THRASH - OPT_PID] = &s->thrash,
        [OPT_PAUSE - OPT_PID] = &s->pause,
        [OPT_ONCE - OPT_PID] = &s->map_once,
        [OPT_INCREMENT - OPT_PID] = &s->map_incrementally,
        [OPT_NON_CLOS - OPT_PID] = &s->non_clos,
        [OPT_NO_CHECK - OPT_PID] = &s->no_xbar_check,
        [OPT_RESPOND - OPT_PID] = &s->respond_only,
        [OPT_FIXED - OPT_PID] = &s->fixed_timers,
        [OPT_LEARNT - OPT_PID] = &s->learnt_timers,
        [OPT_NO_STORED - OPT_PID] = &s->no_stored_map,
        [OPT_NO_DELTAS - OPT_PID] = &s->no_map_deltas,
    };

    *flags[opt - OPT_PID] = true;
    return 0;
}

static int take(struct settings *s, int opt, struct errbuf *err)
{
    switch (opt) {
    case 'v':
        s->verbose = true;
        return 0;
    case 'b':
    case 'B':
        return set_number(&s->unit, 0, 63, "unit", err);
    case OPT_PID:
        return set_string(&s->pid_file, err);
    case OPT_LEVEL:
        return set_number(&s->level, 0, 1000000, "level", err);
    case OPT_PASSES:
        return set_number(&s->num_passes, 1, NET_ALTERNATIVES_MAX, "num-passes",
                          err);
    case OPT_EXTRA:
        return set_number(&s->extra_hosts, 0, 100000, "extra-hosts", err);
    case OPT_HOPS:
        s->max_hops_option = true;
        return set_number(&s->max_hops, 1, NET_ROUTE_MAX, "max-hops", err);
    case OPT_DELAY:
        return set_number(&s->start_delay, 0, 3600000, "start-delay", err);
    case OPT_MAP:
        return set_string(&s->map_file, err);
    case OPT_STORED:
        return set_string(&s->stored_map, err);
    case OPT_VERBOSE_FILE:
        return set_string(&s->verbose_file, err);
    case OPT_PROTOCOL:
        return set_string(&s->protocol, err);
    case OPT_ROUTES:
        return set_string(&s->engine, err);
    case OPT_HSND:
        return set_string(&s->hsnd, err);
    case OPT_CONTROL:
        return set_string(&s->control, err);
    default:
        return take_flag(s, opt);
    }
}

int settings_options(struct settings *s, int argc, char **argv,
                     char **conf_path, struct errbuf *err)
{
    int opt;

    optind = 0; /* begin anew, whatever an earlier call has left */
    opterr = 0;
    while ((opt = getopt_long(argc, argv, SHORT, options, NULL)) != -1) {
        if (opt == 'h' || opt == 'V')
            return opt == 'h' ? 1 : 3;
        if (opt == OPT_CHECK || opt == OPT_PROBER)
            return 2;
        if (opt == '?')
            return errprintf(err, "unknown or incomplete option: %s",
                             argv[optind - 1]);
        if (opt == 'f') {
            *conf_path = optarg;
            continue;
        }
        if (take(s, opt, err) < 0)
            return -1;
    }
    if (optind < argc)
        return errprintf(err, "what is %s?", argv[optind]);
    return 0;
}
