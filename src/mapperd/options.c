/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mapperd's command line: the options of the GM-2 document, and ours.
 */
#include <getopt.h>
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

#define SHORT "b:B:f:vh"

/* What getopt_long() says of a long option, and the key of mapper.conf that it
 * sets, which knows the limits of its value. */
static const struct {
    const char *name;
    int argument;
    int letter; /* 'k': it has none, and a key */
    const char *key;
} rows[] = {
    {"daemon-pid-file", required_argument, 'k', "DaemonPidFile"},
    {"level", required_argument, 'k', "Level"},
    {"num-passes", required_argument, 'k', "NumPasses"},
    {"map-file", required_argument, 'k', "MapFile"},
    {"printeur", no_argument, 'k', "Printeur"},
    {"thrash", no_argument, 'k', "Thrash"},
    {"extra-hosts", required_argument, 'k', "ExtraHosts"},
    {"pause", no_argument, 'k', "Pause"},
    {"map-once", no_argument, 'k', "MapOnce"},
    {"map-incrementally", no_argument, 'k', "MapIncrementally"},
    {"unit", required_argument, 'b', "Unit"},
    {"non-clos", no_argument, 'k', "NonClos"},
    {"no-xbar-check", no_argument, 'k', "NoXbarCheck"},
    {"verbose", no_argument, 'v', "Verbose"},
    {"verbose-file", required_argument, 'k', "VerboseFile"},
    {"protocol", required_argument, 'k', "Protocol"},
    {"respond-only", no_argument, 'k', "RespondOnly"},
    {"routes", required_argument, 'k', "Routes"},
    {"max-hops", required_argument, 'k', "MaxHops"},
    {"fixed-timers", no_argument, 'k', "FixedTimers"},
    {"learnt-timers", no_argument, 'k', "LearntTimers"},
    {"start-delay", required_argument, 'k', "StartDelay"},
    {"hsnd", required_argument, 'k', "Hsnd"},
    {"control", required_argument, 'k', "ControlSocket"},
    {"stored-map", required_argument, 'k', "StoredMap"},
    {"no-stored-map", no_argument, 'k', "NoStoredMap"},
    {"no-map-deltas", no_argument, 'k', "NoMapDeltas"},
    {"conf", required_argument, 'f', NULL},
    {"help", no_argument, 'h', NULL},
    {"version", no_argument, 'V', NULL},
    {"check", required_argument, 'o', NULL}, /* another mode of mapperd */
    {"prober", required_argument, 'o', NULL},
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))

static void long_options(struct option *to)
{
    memset(to, 0, (NROWS + 1) * sizeof(*to));
    for (size_t i = 0; i < NROWS; i++) {
        to[i].name = rows[i].name;
        to[i].has_arg = rows[i].argument;
        to[i].val = rows[i].letter;
    }
}

/* The row of a letter. */
static int row_of(int letter)
{
    int row = 0;

    while (rows[row].letter != (letter == 'B' ? 'b' : letter))
        row++;
    return row;
}

static int take(struct settings *s, int row, struct errbuf *err)
{
    const char *key = rows[row].key;
    const char *value =
        rows[row].argument == required_argument ? optarg : "yes";
    struct errbuf why;
    const char *wrong = settings_set(s, key, value, &why);

    if (strcmp(key, "MaxHops") == 0)
        s->max_hops_option = true;
    return wrong ? errprintf(err, "--%s=%s: %s", rows[row].name, value, wrong)
                 : 0;
}

int settings_options(struct settings *s, int argc, char **argv,
                     char **conf_path, struct errbuf *err)
{
    struct option options[NROWS + 1];
    int letter, row;

    long_options(options);
    optind = 0; /* begin anew, whatever an earlier call has left */
    opterr = 0;
    while ((letter = getopt_long(argc, argv, SHORT, options, &row)) != -1) {
        switch (letter) {
        case 'h':
            return 1;
        case 'o':
            return 2;
        case 'V':
            return 3;
        case '?':
            return errprintf(err, "unknown or incomplete option: %s",
                             argv[optind - 1]);
        case 'f':
            *conf_path = optarg;
            break;
        default:
            if (take(s, letter == 'k' ? row : row_of(letter), err) < 0)
                return -1;
        }
    }
    if (optind < argc)
        return errprintf(err, "what is %s?", argv[optind]);
    return 0;
}
