/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The explorer: finds out what hangs on a fabric from one host, by probes
 * (prober.h).  doc/mapping.md explains how and why the map is exact.
 *
 * All functions are pure: no clock, no I/O; the same probes, answers and
 * times give the same map.  Memory is the explorer's own.  When memory runs
 * out the explorer is done and failed (explore_failed()).
 */
#ifndef SF_MAPPER_EXPLORE_H
#define SF_MAPPER_EXPLORE_H

#include "base/errbuf.h"
#include "mapper/prober.h"
#include "net/graph.h"

struct explore;

/* me: the host that maps, as it would answer a scout.  NULL: no memory. */
struct explore *explore_new(const struct prober_limits *limits,
                            const struct probe_host *me);
void explore_free(struct explore *x);

/* Before the first explore_next(): begin with what a verifier that has ended,
 * and had been asked for all there is (hosts, links, empty, ids), found true of
 * its map; only the rest is explored, from the same host.  Nothing of both is
 * shared afterwards.  Where nothing can be taken over (no crossbar on the own
 * cable, no end check) the explorer begins with nothing, as ever.  False: no
 * memory, throw it away. */
struct verify;
bool explore_after(struct explore *x, const struct verify *v);

/* The next probe to send now; false: none until an answer or a tick. */
bool explore_next(struct explore *x, uint64_t now, struct probe *probe);
/* An answer; unknown and late tags are ignored. */
void explore_answer(struct explore *x, uint64_t now,
                    const struct probe_answer *answer);
/* What the crossbar of that id is called, if that is known by now: also from
 * an answer that came too late for its probe. */
void explore_name(struct explore *x, uint64_t id, const char *name);
/* When explore_tick() wants to be called; UINT64_MAX: no need. */
uint64_t explore_deadline(const struct explore *x);
void explore_tick(struct explore *x, uint64_t now);
bool explore_done(const struct explore *x);

/* After explore_done().  True: there is no map (*err says why: no memory,
 * or the fabric changed faster than it could be explored). */
bool explore_failed(const struct explore *x, struct errbuf *err);

/* The map; the caller's own (net_free()).  Node 0 is the mapper's host.
 * Crossbars are named "x" and a number unless they told a name; ports of an
 * anonymous crossbar count from the lowest one in use.  NULL: no memory or
 * explore_failed(). */
struct net *explore_map(const struct explore *x);

/* What a host of the map answered; NULL if its address is not known. */
const struct probe_host *explore_host(const struct explore *x,
                                      uint64_t address);

/* What could not be told, in words, one line each; NULL past the last. */
const char *explore_doubt(const struct explore *x, uint32_t i);

struct explore_stats {
    uint64_t probes; /* sent, retries counted */
    uint64_t retries;
    uint64_t unanswered;
    uint64_t by_kind[PROBE_TAGGED + 1];
    uint32_t crossbars, hosts, links; /* found */
    uint32_t merges;                  /* crossbars met twice, made one */
    uint32_t restarts; /* the fabric changed, or an address is shared */
    uint32_t rounds;   /* in which silent ports were asked again */
    uint32_t window;   /* now */
    uint32_t longest;  /* route bytes of the longest probe */
    uint64_t wait;     /* learnt, ns */
    uint64_t bytes;    /* memory in use, about */
};
void explore_stats(const struct explore *x, struct explore_stats *stats);

#endif
