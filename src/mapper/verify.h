/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier: does the fabric still look like this map?  Tour probes cover
 * many links each; a lost tour is halved until the link is found.  Hosts are
 * asked one by one.  Run again and again it is the verify phase; run once on
 * a stored map it saves the exploration after a restart.
 *
 * Same rules and same five calls as explore.h.
 */
#ifndef SF_MAPPER_VERIFY_H
#define SF_MAPPER_VERIFY_H

#include "mapper/prober.h"
#include "net/graph.h"

struct verify;

#define VERIFY_RINGS_ALL UINT32_MAX

enum verify_what {
    VERIFY_LINK_LOST,  /* between two crossbars: node, port, peer, peer_port */
    VERIFY_HOST_LOST,  /* no answer where the host was: node = the host */
    VERIFY_HOST_OTHER, /* another host answers there: address */
    VERIFY_HOST_NEW,   /* at node, port a host that the map does not have */
    VERIFY_LINK_NEW,   /* at node, port a crossbar where nothing was */
    VERIFY_MOVED,      /* as HOST_NEW, but the map has that host elsewhere */
    VERIFY_XBAR_OTHER, /* node, port by which it is entered: another one */
};

struct verify_change {
    enum verify_what what;
    uint32_t node; /* of the map */
    int16_t port;  /* may lie outside of what the map has of the crossbar */
    uint32_t peer; /* link: the other crossbar; moved: the host's node */
    int16_t peer_port;
    uint64_t address; /* of the host that answered */
};

struct verify_options {
    bool hosts;          /* ask every host */
    bool links;          /* tour all links between crossbars */
    bool empty;          /* look at free ports for what was added */
    uint8_t empty_share; /* look at 1/share of the free ports (0, 1: all) */
    uint32_t round;      /* which share: counts up from round to round */
    /* Ask crossbars that the map has an id of who they are: a crossbar that
     * tells one is looked at no further than it is wide. */
    bool ids;
    /* Close so many links per round to rings, one by one (VERIFY_RINGS_ALL:
     * all): a map whose links all were in a ring, and whose crossbars said
     * their ids, is the fabric. */
    uint32_t rings;
};

/* map is borrowed and must not change meanwhile; me is a host of it. */
struct verify *verify_new(const struct prober_limits *limits,
                          const struct verify_options *options,
                          const struct net *map, uint32_t me);
void verify_free(struct verify *v);

bool verify_next(struct verify *v, uint64_t now, struct probe *probe);
void verify_answer(struct verify *v, uint64_t now,
                   const struct probe_answer *answer);
uint64_t verify_deadline(const struct verify *v);
void verify_tick(struct verify *v, uint64_t now);
bool verify_done(const struct verify *v);
/* Out of memory: nothing can be said. */
bool verify_failed(const struct verify *v);

/* What changed; NULL past the last.  Filled as it is found. */
const struct verify_change *verify_change(const struct verify *v, uint32_t i);
/* What a host answered (gm reads map versions from it); NULL: nothing. */
const struct probe_host *verify_host(const struct verify *v, uint32_t node);
/* The map, our host in it, and the crossbar on our cable, or NET_NONE. */
const struct net *verify_map(const struct verify *v);
uint32_t verify_me(const struct verify *v);
uint32_t verify_root(const struct verify *v);
uint64_t verify_probes(const struct verify *v);

#endif
