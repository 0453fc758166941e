/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See check.h.
 */
#include "mapperd/check.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "mapper/prober.h"
#include "mapperd/map_ib.h"
#include "mapperd/netfile.h"
#include "mapperd/simfab.h"
#include "net/build.h"
#include "net/deadlock.h"
#include "net/route.h"
#include "net/same.h"

#define VIRTUAL_MOST 3600000000000ULL /* an hour */
#define UNREACHED_MOST 16             /* hosts that are named */

struct check {
    const char *net;    /* a file, or a name that net/build.h knows */
    const char *host;   /* name of the host that maps; NULL: the first */
    const char *engine; /* of routes: NULL, or as net_engine_parse() has it */
    unsigned hop_limit; /* 0: as GM-2 */
    double loss;        /* share of packets lost on each cable */
    uint64_t seed;      /* of what is lost */
    struct prober_limits limits;
};

struct run {
    const struct check *check;
    FILE *out;
    struct errbuf why;
    struct net *truth;
    uint32_t host;
    struct net *map;
    int status;
};

static void help(FILE *out);

static int pick_host(struct run *r)
{
    const struct net *net = r->truth;

    if (r->check->host) {
        r->host = net_find_name(net, r->check->host);
        if (r->host == NET_NONE || !net_is_host(net, r->host))
            return errprintf(&r->why, "no host is called %s", r->check->host);
        return 0;
    }
    for (r->host = 0; r->host < net->nnodes; r->host++)
        if (net_is_host(net, r->host) &&
            net_peer_node(net, r->host, 0) != NET_NONE)
            return 0;
    return errprintf(&r->why, "no host has a cable");
}

static void tell_probes(struct run *r, const struct explore *x, uint64_t took,
                        double cpu)
{
    struct explore_stats s;

    explore_stats(x, &s);
    fprintf(r->out, "found        %u hosts, %u crossbars, %u cables\n",
            s.hosts ? s.hosts : 1, s.crossbars, s.links);
    fprintf(r->out, "probes       %" PRIu64 ", %" PRIu64 " unanswered, ",
            s.probes, s.unanswered);
    fprintf(r->out, "%.1f per cable, longest route %u\n",
            (double)s.probes / (s.links ? s.links : 1), s.longest);
    fprintf(r->out, "time         %.3f s virtual, %.3f s CPU, %.1f MB\n",
            (double)took / 1e9, cpu, (double)s.bytes / 1e6);
}

/* Hosts of the net file that no cable joins to ours. */
static void tell_unreached(struct run *r, const struct net *reach)
{
    const struct net *net = r->truth;
    uint32_t told = 0;

    fprintf(r->out, "out of reach %u hosts:", net->nhosts - reach->nhosts);
    for (uint32_t n = 0; n < net->nnodes; n++) {
        if (!net_is_host(net, n) ||
            net_find_name(reach, net->nodes[n].name) != NET_NONE)
            continue;
        if (told++ == UNREACHED_MOST) {
            fprintf(r->out, " ...");
            break;
        }
        fprintf(r->out, " %s", net->nodes[n].name);
    }
    fprintf(r->out, "\n");
}

static void compare(struct run *r, const struct explore *x)
{
    uint32_t there;
    struct net *reach = net_reachable(r->truth, r->host, &there);
    const char *doubt;

    if (reach && !r->check->limits.tagged)
        net_tell_ids(reach, false); /* nobody asked for them */
    if (reach && net_same(reach, r->map, &r->why)) {
        fprintf(r->out, "map          exact\n");
    } else {
        fprintf(r->out, "map          NOT exact: %s\n",
                reach ? r->why.text : "no memory");
        r->status = 1;
    }
    if (reach && reach->nhosts < r->truth->nhosts)
        tell_unreached(r, reach);
    for (uint32_t i = 0; (doubt = explore_doubt(x, i)); i++)
        fprintf(r->out, "not told     %s\n", doubt);
    net_free(reach);
}

static int explore_it(struct run *r)
{
    struct simfab *sim = simfab_new(r->truth, r->host);
    struct probe_host me;
    struct explore *x;
    double cpu = clock_cpu_s();
    int rc = -1;

    simfab_host_info(r->truth, r->host, &me);
    x = explore_new(&r->check->limits, &me);
    if (!sim || !x) {
        errprintf(&r->why, "no memory");
    } else {
        swfab_seed(simfab_fabric(sim), r->check->seed);
        if (r->check->loss > 0)
            swfab_set_loss_all(simfab_fabric(sim), r->check->loss);
        if (!simfab_run(sim, simfab_explorer(x), VIRTUAL_MOST))
            errprintf(&r->why, "the mapper did not end in an hour");
        else if (!explore_failed(x, &r->why) && (r->map = explore_map(x)))
            rc = 0;
    }
    if (rc == 0) {
        tell_probes(r, x, simfab_now(sim), clock_cpu_s() - cpu);
        compare(r, x);
    }
    explore_free(x);
    simfab_free(sim);
    return rc;
}

static const char *name_of(const struct run *r, uint32_t host, char *text,
                           size_t size)
{
    uint64_t id = r->map->nodes[host].id;
    uint32_t n = net_find_host(r->truth, id);

    if (n == NET_NONE)
        snprintf(text, size, "%012" PRIx64, id);
    else
        snprintf(text, size, "%s", r->truth->nodes[n].name);
    return text;
}

static void tell_cut_off(struct run *r, const struct net_routes *routes,
                         const struct net_balance *b)
{
    char from[SF_NET_NAME_MAX], to[SF_NET_NAME_MAX];
    struct net_beyond beyond;

    if (b->cut_off == 0)
        return;
    r->status = 1;
    fprintf(r->out, "cut off      %" PRIu64 " host pairs\n", b->cut_off);
    net_routes_beyond(routes, &beyond);
    if (beyond.pairs > 0)
        fprintf(r->out,
                "too long     %" PRIu64 " of them: the way from %s to %s takes "
                "%u hops, the limit is %u\n",
                beyond.pairs, name_of(r, beyond.from, from, sizeof(from)),
                name_of(r, beyond.to, to, sizeof(to)), beyond.hops,
                beyond.limit);
}

static void tell_routes(struct run *r, struct net_routes *routes, double cpu)
{
    struct net_balance b;
    int loop = net_routes_deadlock(routes, &r->why);

    fprintf(r->out, "routes       by %s, %.3f s CPU\n",
            net_engine_name(net_routes_engine(routes)), cpu);
    if (net_routes_balance(routes, &b) == 0) {
        fprintf(r->out,
                "balance      %.2f (worst cable %" PRIu64
                " routes, ideal %.1f), longest %u hops\n",
                b.ratio, b.worst, b.ideal, b.longest);
        tell_cut_off(r, routes, &b);
    }
    fprintf(r->out, "deadlock     %s%s\n",
            loop == 0  ? "none possible"
            : loop > 0 ? "POSSIBLE: "
                       : "cannot be told: ",
            loop ? r->why.text : "");
    if (loop)
        r->status = 1;
}

static int route_it(struct run *r)
{
    struct net_route_params params = {.hop_limit = r->check->hop_limit};
    struct net_routes *routes;
    double cpu = clock_cpu_s();

    if (r->check->engine && !net_engine_parse(r->check->engine, &params.engine))
        return errprintf(&r->why,
                         "no engine is called %s; there are " NET_ENGINES,
                         r->check->engine);
    routes = net_routes_new(r->map, &params, &r->why);
    if (!routes)
        return -1;
    tell_routes(r, routes, clock_cpu_s() - cpu);
    net_routes_free(routes);
    return 0;
}

static int check(const struct check *check, FILE *out, FILE *err)
{
    struct run r = {.check = check, .out = out};
    int rc;

    r.truth = netfile_read(check->net, &r.why);
    rc = r.truth ? pick_host(&r) : -1;
    if (rc == 0) {
        fprintf(out, "net          %s, from %s\n", check->net,
                r.truth->nodes[r.host].name);
        rc = explore_it(&r);
    }
    if (rc == 0)
        rc = route_it(&r);
    if (rc < 0) {
        fprintf(err, "mapperd: %s: %s\n", check->net, r.why.text);
        r.status = 2;
    }
    net_free(r.map);
    net_free(r.truth);
    return r.status;
}

/* ---- check options ----------------------------------------------------- */

/* mapperd --check and mapperd --prober=ib: their options. */

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
    struct check check;
    struct map_ib ib;
    const char *prober;
    bool once;
};

static int take_check(struct check *check, int opt)
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
        return check(&s.check, stdout, stderr);
    if (optind == argc && s.once && s.prober && strcmp(s.prober, "ib") == 0)
        leave(map_ib_once(&s.ib, stdout, stderr));
    help(stderr);
    return 2;
}
