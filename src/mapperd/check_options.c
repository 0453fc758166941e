/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mapperd --check and mapperd --prober=ib: their options.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mapperd/check.h"
#include "mapperd/map_ib.h"

enum {
    OPT_CHECK = 256,
    OPT_HOST,
    OPT_ENGINE,
    OPT_LOSS,
    OPT_SEED,
    OPT_IDS,
    OPT_PORTS,
    OPT_HOPS,
    OPT_PROBER,
    OPT_MAP_ONCE,
    OPT_MAP_FILE,
    OPT_CA,
    OPT_PORT,
    OPT_WINDOW
};

static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {"check", required_argument, NULL, OPT_CHECK},
    {"host", required_argument, NULL, OPT_HOST},
    {"engine", required_argument, NULL, OPT_ENGINE},
    {"loss", required_argument, NULL, OPT_LOSS},
    {"seed", required_argument, NULL, OPT_SEED},
    {"ids", no_argument, NULL, OPT_IDS},
    {"max-ports", required_argument, NULL, OPT_PORTS},
    {"max-hops", required_argument, NULL, OPT_HOPS},
    {"prober", required_argument, NULL, OPT_PROBER},
    {"map-once", no_argument, NULL, OPT_MAP_ONCE},
    {"map-file", required_argument, NULL, OPT_MAP_FILE},
    {"ca", required_argument, NULL, OPT_CA},
    {"port", required_argument, NULL, OPT_PORT},
    {"window", required_argument, NULL, OPT_WINDOW},
    {NULL, 0, NULL, 0},
};

static void help(FILE *out)
{
    fputs("usage: mapperd --check=NET [OPTION..]\n\n"
          "  --check=NET       explore, route and check a net offline: a file "
          "or a name\n"
          "                    (C64, torus:4x4, random:20:40 ...)\n"
          "  --host=NAME       the host that maps (the first)\n"
          "  --engine=NAME     of routes: auto, dmodk, pairs, updown, gm2\n"
          "  --loss=SHARE      of packets on each cable (0)\n"
          "  --seed=N          of what is lost\n"
          "  --ids             ask crossbars for their ids\n"
          "  --max-ports=N     ports of the widest crossbar (32)\n"
          "  --max-hops=N      longest route allowed (11)\n"
          "\n"
          "       mapperd --prober=ib --map-once [OPTION..]\n\n"
          "  --map-file=PATH   write the map there (.json, .ibnet, else "
          "swfab.net)\n"
          "  --ca=NAME         the channel adapter (the first)\n"
          "  --port=N          its port (the first active one)\n"
          "  --window=N        questions in flight (8)\n"
          "  --help            this text\n",
          out);
}

struct offline {
    struct mapperd_check check;
    struct map_ib ib;
    const char *prober;
    bool once;
};

static int take_check(struct mapperd_check *check, int opt)
{
    switch (opt) {
    case OPT_CHECK:
        check->net = optarg;
        return 0;
    case OPT_HOST:
        check->host = optarg;
        return 0;
    case OPT_ENGINE:
        check->engine = optarg;
        return 0;
    case OPT_LOSS:
        check->loss = strtod(optarg, NULL);
        return 0;
    case OPT_SEED:
        check->seed = strtoull(optarg, NULL, 0);
        return 0;
    case OPT_IDS:
        check->limits.tagged = true;
        return 0;
    case OPT_PORTS:
        check->limits.max_ports = (uint8_t)strtoul(optarg, NULL, 0);
        return 0;
    case OPT_HOPS:
        check->hop_limit = (unsigned)strtoul(optarg, NULL, 0);
        return 0;
    default:
        return -1;
    }
}

static int take(struct offline *s, int opt)
{
    switch (opt) {
    case OPT_PROBER:
        s->prober = optarg;
        return 0;
    case OPT_MAP_ONCE:
        s->once = true;
        return 0;
    case OPT_MAP_FILE:
        s->ib.map_file = optarg;
        return 0;
    case OPT_CA:
        s->ib.ca = optarg;
        return 0;
    case OPT_PORT:
        s->ib.port = (int)strtol(optarg, NULL, 0);
        return 0;
    case OPT_WINDOW:
        s->ib.window = (unsigned)strtoul(optarg, NULL, 0);
        return 0;
    default:
        return take_check(&s->check, opt);
    }
}

/* umad2sim's teardown frees twice when the adapter was used: leave without
 * exit handlers. */
static void leave(int status)
{
    fflush(NULL);
    _exit(status);
}

int mapperd_check_main(int argc, char **argv)
{
    struct offline s = {.check = {.seed = 1, .limits = PROBER_LIMITS_DEFAULT}};
    int opt;

    optind = 1;
    opterr = 1;
    while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (opt == 'h') {
            help(stdout);
            return 0;
        }
        if (take(&s, opt) < 0) {
            help(stderr);
            return 2;
        }
    }
    if (optind == argc && s.check.net)
        return mapperd_check(&s.check, stdout, stderr);
    if (optind == argc && s.once && s.prober && strcmp(s.prober, "ib") == 0)
        leave(map_ib_once(&s.ib, stdout, stderr));
    help(stderr);
    return 2;
}
