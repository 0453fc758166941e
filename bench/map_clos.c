/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/resource.h>

#include "mapperd/simfab.h"
#include "net/build.h"
#include "net/same.h"

int main(int argc, char **argv)
{
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;
    struct errbuf err = {{0}};

    for (int i = 1; i < argc; i++) {
        struct net *truth, *map, *reach;
        struct probe_host me;
        struct simfab *sim;
        struct explore *x;
        struct explore_stats st;
        struct timespec a, b;
        struct rusage ru;
        uint32_t there;
        bool same;

        if (strncmp(argv[i], "ports=", 6) == 0) {
            limits.max_ports = (uint8_t)atoi(argv[i] + 6);
            continue;
        }
        if (strcmp(argv[i], "tagged") == 0) {
            limits.tagged = true;
            continue;
        }
        truth = net_build_named(argv[i], &err);
        if (!truth) {
            printf("%s: %s\n", argv[i], err.text);
            continue;
        }
        uint32_t host = 0;
        for (uint32_t n = 0; n < truth->nnodes; n++)
            if (net_is_host(truth, n) &&
                net_peer_node(truth, n, 0) != NET_NONE) {
                host = n;
                break;
            }
        simfab_host_info(truth, host, &me);
        sim = simfab_new(truth, host);
        x = explore_new(&limits, &me);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        bool ran = simfab_run(sim, simfab_explorer(x), 1000000000000ULL);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        map = explore_map(x);
        reach = net_reachable(truth, host, &there);
        err.text[0] = 0;
        explore_failed(x, &err);
        same = map && net_same(reach, map, &err);
        explore_stats(x, &st);
        getrusage(RUSAGE_SELF, &ru);
        printf("%-24s ran %d same %d probes %lu unans %lu (loop %lu cmp %lu "
               "scout %lu tag %lu) xbars %u/%u hosts %u/%u links %u/%u merges "
               "%u restarts %u rounds %u virt %.1f ms cpu %.3f s bytes %.1f MB "
               "rss %.1f MB longest %u %s\n",
               argv[i], ran, same, st.probes, st.unanswered, st.by_kind[0],
               st.by_kind[1], st.by_kind[3], st.by_kind[4], st.crossbars,
               reach->nxbars, st.hosts, reach->nhosts, st.links, reach->ncables,
               st.merges, st.restarts, st.rounds, simfab_now(sim) / 1e6,
               (double)(b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) / 1e9,
               st.bytes / 1e6, ru.ru_maxrss / 1e3, st.longest,
               same ? "" : err.text);
        for (uint32_t d = 0; explore_doubt(x, d) && d < 3; d++)
            printf("   %s\n", explore_doubt(x, d));
        net_free(map);
        net_free(reach);
        explore_free(x);
        simfab_free(sim);
        net_free(truth);
    }
    return 0;
}
