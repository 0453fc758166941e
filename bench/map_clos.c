/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a map costs: explores a software fabric once, in virtual time, and
 * prints a line of "NAME VALUE" for each figure.  CPU time is that of the
 * explorer and of the software crossbars together.  Then the map is verified
 * whole, as a mapper does that starts again with it.
 *
 *     map_clos [--ids] [--ports=N] NET
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "mapper/verify.h"
#include "mapperd/simfab.h"
#include "net/build.h"
#include "net/same.h"

#define MOST 3600000000000ULL

static uint32_t first_host(const struct net *net)
{
    uint32_t n = 0;

    while (n < net->nnodes &&
           (!net_is_host(net, n) || net_peer_node(net, n, 0) == NET_NONE))
        n++;
    return n;
}

static int tell(const struct net *truth, uint32_t host, struct explore *x)
{
    struct explore_stats s;
    struct errbuf err = {{0}};
    struct rusage usage;
    uint32_t there;
    struct net *map = explore_map(x);
    struct net *reach = net_reachable(truth, host, &there);
    bool same = map && reach && net_same(reach, map, &err);

    explore_stats(x, &s);
    getrusage(RUSAGE_SELF, &usage);
    printf("exact %d\nprobes %llu\nunanswered %llu\ncables %u\n"
           "per_cable %.3f\nengine_mb %.2f\nrss_mb %.1f\nlongest %u\n",
           same, (unsigned long long)s.probes, (unsigned long long)s.unanswered,
           s.links, (double)s.probes / s.links, (double)s.bytes / 1e6,
           (double)usage.ru_maxrss / 1e3, s.longest);
    if (!same)
        fprintf(stderr, "map_clos: %s\n", err.text);
    net_free(map);
    net_free(reach);
    return same ? 0 : 1;
}

/* As gm2.c asks. */
static int again(struct simfab *sim, const struct prober_limits *limits,
                 const struct explore *x, uint64_t address)
{
    const struct verify_options all = {
        .hosts = true, .links = true, .empty = true, .rings = VERIFY_RINGS_ALL};
    struct net *map = explore_map(x);
    struct verify *v =
        map ? verify_new(limits, &all, map, net_find_host(map, address)) : NULL;
    double cpu = clock_cpu_s();
    int rc = 1;

    if (v && simfab_run(sim, simfab_verifier(v), MOST)) {
        rc = verify_failed(v) || verify_change(v, 0);
        printf("again_probes %llu\nagain_cpu_s %.4f\n",
               (unsigned long long)verify_probes(v), clock_cpu_s() - cpu);
    }
    if (rc)
        fprintf(stderr, "map_clos: its own map is not verified\n");
    verify_free(v);
    net_free(map);
    return rc;
}

static int run(const char *name, const struct prober_limits *limits)
{
    struct errbuf err;
    struct net *truth = net_build_named(name, &err);
    uint32_t host = truth ? first_host(truth) : 0;
    struct probe_host me;
    struct simfab *sim;
    struct explore *x;
    double cpu;
    int rc = 2;

    if (!truth || host == truth->nnodes) {
        fprintf(stderr, "map_clos: %s: %s\n", name,
                truth ? "no host" : err.text);
        return 2;
    }
    simfab_host_info(truth, host, &me);
    sim = simfab_new(truth, host);
    x = explore_new(limits, &me);
    cpu = clock_cpu_s();
    if (sim && x && simfab_run(sim, simfab_explorer(x), MOST)) {
        printf("cpu_s %.4f\nvirtual_s %.4f\n", clock_cpu_s() - cpu,
               (double)simfab_now(sim) / 1e9);
        rc = tell(truth, host, x);
        if (rc == 0)
            rc = again(sim, limits, x, me.address);
    }
    explore_free(x);
    simfab_free(sim);
    net_free(truth);
    return rc;
}

int main(int argc, char **argv)
{
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;
    int i = 1;

    for (; i < argc - 1; i++) {
        if (strcmp(argv[i], "--ids") == 0)
            limits.tagged = true;
        else if (strncmp(argv[i], "--ports=", 8) == 0)
            limits.max_ports = (uint8_t)strtoul(argv[i] + 8, NULL, 10);
        else
            break;
    }
    if (i != argc - 1) {
        fprintf(stderr, "usage: map_clos [--ids] [--ports=N] NET\n");
        return 2;
    }
    return run(argv[i], &limits);
}
