/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mapperd: options, and what they lead to.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapperd/check.h"

enum {
    OPT_CHECK = 256,
    OPT_HOST,
    OPT_ENGINE,
    OPT_LOSS,
    OPT_SEED,
    OPT_IDS,
    OPT_PORTS,
    OPT_HOPS
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
    {NULL, 0, NULL, 0},
};

static void help(FILE *out)
{
    fputs("usage: mapperd --check=NET [OPTION..]\n\n"
          "  --check=NET       explore, route and check a net offline: a file "
          "or a name\n"
          "                    (C64, torus:4x4, random:20:40 ...)\n"
          "  --host=NAME       the host that maps (the first)\n"
          "  --engine=NAME     of routes: auto, dmodk, updown, gm2\n"
          "  --loss=SHARE      of packets on each cable (0)\n"
          "  --seed=N          of what is lost\n"
          "  --ids             ask crossbars for their ids\n"
          "  --max-ports=N     ports of the widest crossbar (32)\n"
          "  --max-hops=N      longest route allowed (11)\n"
          "  --help\n",
          out);
}

static int take(struct mapperd_check *check, int opt)
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

int main(int argc, char **argv)
{
    struct mapperd_check check = {.seed = 1, .limits = PROBER_LIMITS_DEFAULT};
    int opt;

    while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (opt == 'h') {
            help(stdout);
            return 0;
        }
        if (take(&check, opt) < 0) {
            help(stderr);
            return 2;
        }
    }
    if (!check.net || optind < argc) {
        help(stderr);
        return 2;
    }
    return mapperd_check(&check, stdout, stderr);
}
