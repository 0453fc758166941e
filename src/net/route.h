/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes from every host to every other.
 *
 * Nothing of the size hosts x hosts is ever kept.  A leaf is a crossbar with
 * hosts; the n-th host of a leaf (by address) has column n; and for each leaf
 * and column there is one tree that leads to it from every crossbar: a route
 * is the way along the tree, plus one byte for the last hop.  A host's other
 * routes go along the trees of its leaf's other columns.
 *
 * Every tree goes up, then down, along one orientation of the crossbars (those
 * of NET_PAIRS are no trees, and have their own turns), so that no set of
 * routes can deadlock (net/deadlock.h proves it of each that is made or
 * repaired; of NET_GM2 and NET_UPDOWN, where only a host knows its own, it
 * proves the orientation, and net_routes_proved() that host's routes):
 *
 *   NET_DMODK   on a folded Clos, also with holes: levels are the distance to
 *               the hosts, the cable upwards is chosen by the destination's
 *               digits, which gives each cable its equal share.  What would
 *               use a cable that is not there goes where least goes so far.
 *   NET_PAIRS   on any net: a way for each pair of leaves, not along trees nor
 *               up and down, but over turns that are chosen as the ways are
 *               laid, so that they make no cycle (src/net/pairs.h).
 *   NET_UPDOWN  on any net: up is towards the centre (ties by address); each
 *               host for itself, so that all together share the shortest ways
 *               evenly (src/net/updown.h).
 *   NET_GM2     the GM-2 document's own: each host for itself, repeated
 *               shortest-path searches in random port order over cables whose
 *               cost rises with each route, within the same orientation.
 *   NET_AUTO    NET_DMODK where that can be, else NET_PAIRS.
 *
 * The result depends on the graph and the parameters, never on the order in
 * which the nodes lie in it, nor on a machine.  One exception: crossbars that
 * neither tell an id nor carry hosts are told apart by their place in the
 * net, so hosts agree because the map is the same map.
 */
#ifndef SF_NET_ROUTE_H
#define SF_NET_ROUTE_H

#include "base/errbuf.h"
#include "net/graph.h"
#include "net/packet.h"

#define NET_HOPS_DEFAULT 11 /* GM-2: no room for more */
#define NET_ALTERNATIVES_DEFAULT 8
#define NET_ALTERNATIVES_MAX 32

/* Route bytes as on the wire (net/packet.h), one per crossbar.  No hop limit
 * can be set above NET_ROUTE_MAX. */
struct net_route {
    uint8_t hops;
    uint8_t byte[NET_ROUTE_MAX];
};

/* The same route as the global ports it leaves each node by: port[0] is the
 * host's own, port[i] that of the i-th crossbar. */
struct net_path {
    uint8_t hops;
    uint32_t port[NET_ROUTE_MAX + 1];
};

enum net_engine { NET_AUTO, NET_DMODK, NET_PAIRS, NET_UPDOWN, NET_GM2 };

struct net_route_params {
    enum net_engine engine;
    unsigned alternatives; /* K; 0: NET_ALTERNATIVES_DEFAULT */
    unsigned hop_limit;    /* 0: NET_HOPS_DEFAULT */
    uint64_t seed;         /* NET_GM2 */
};

struct net_routes;

/* Compute.  Borrows the net, which must outlive the routes; a cable that is
 * taken out of it is told to net_routes_repair(), any other change asks for
 * new routes.  NULL, *err and errno: EINVAL, the engine asked for does not fit
 * the net; EDEADLK, the routes could deadlock; ENOMEM.  Hosts that no cables
 * join simply have no route, and neither have those whose way would take more
 * hops than the limit: net_routes_beyond() tells of them. */
struct net_routes *net_routes_new(const struct net *net,
                                  const struct net_route_params *params,
                                  struct errbuf *err);
void net_routes_free(struct net_routes *r);

/* What the hop limit leaves without a route. */
struct net_beyond {
    uint64_t pairs;    /* ordered host pairs; 0: nothing below is set */
    uint32_t from, to; /* hosts: the longest of these ways */
    unsigned hops;     /* that way's */
    unsigned limit;
};

/* As found when the routes were computed. */
void net_routes_beyond(const struct net_routes *r, struct net_beyond *b);

/* How many hosts the source has no route to in bytes (net_routes_get()),
 * though cables join them; *names becomes their names, or addresses in hex,
 * with the number of those that did not fit. */
unsigned net_routes_missing(const struct net_routes *r, uint32_t src,
                            struct errbuf *names);

/* The shortest way that any engine's trees know to a host, whatever the limit
 * (up to NET_ROUTE_MAX): for messages of mappers.  False: none. */
bool net_routes_reach(const struct net_routes *r, uint32_t src, uint32_t dst,
                      struct net_route *route);

/* What it became: never NET_AUTO. */
enum net_engine net_routes_engine(const struct net_routes *r);
/* As a person who names another one is told. */
#define NET_ENGINES "auto, dmodk, pairs, updown, gm2"
const char *net_engine_name(enum net_engine engine);
bool net_engine_parse(const char *name, enum net_engine *engine);

/* The first of a host's routes to another, as ports.  False: none. */
bool net_routes_path(const struct net_routes *r, uint32_t src, uint32_t dst,
                     struct net_path *path);

/* Up to `max` different routes, the first as above.  Each shares no cable
 * between crossbars with those before it as long as such a route is left,
 * then differs at least.  How many. */
unsigned net_routes_paths(const struct net_routes *r, uint32_t src,
                          uint32_t dst, struct net_path *paths, unsigned max);

/* The same as bytes.  Those that cannot be said in bytes (a crossbar with
 * more than 32 ports) are left out. */
unsigned net_routes_get(const struct net_routes *r, uint32_t src, uint32_t dst,
                        struct net_route *routes, unsigned max);

/* Bytes of a path.  False: a delta beyond NET_DELTA_MIN .. MAX. */
bool net_path_bytes(const struct net *net, const struct net_path *path,
                    struct net_route *route);

/* Where a packet with this route, sent by a host, ends: the ports it leaves
 * by go into *path (which may be NULL).  NET_NONE: it is lost on the way. */
uint32_t net_route_follow(const struct net *net, uint32_t src,
                          const struct net_route *route, struct net_path *path);

/* What a repair touched. */
struct net_repair {
    uint32_t trees;  /* looked at */
    uint64_t routes; /* first routes, leaf to host, that are different now */
    uint32_t hosts;  /* hosts that have such a route, or lost their own cable */
};

/* Cables were taken out of the net (net_disconnect() first): cable i joined
 * the global ports ports[i] and peers[i].  Only trees that used one of them
 * are touched, and in these only the places where the way is gone or got
 * longer.  Repaired routes and those that another host computes anew for the
 * net that is left go up and down alike, so they cannot deadlock together.
 * Those of NET_PAIRS keep the turns of before, which new routes do not have:
 * who has repaired compares net_routes_ups() with others.
 * *what may be NULL; it is all 0 of NET_UPDOWN.  For NET_PAIRS `routes` counts
 * pairs of hosts, once for each time they are laid.    -1 and *err: these
 * routes are unusable, compute new ones (out of memory, too many hops, no Clos
 * any more, another centre). */
int net_routes_repair(struct net_routes *r, const uint32_t *ports,
                      const uint32_t *peers, unsigned n,
                      struct net_repair *what, struct errbuf *err);

/* Which turns these routes may take (NET_PAIRS), or which cables they take for
 * leading up, as a number, never 0: routes of one net that have the same, of
 * whatever engines, cannot deadlock together.  (Of those that do not, one pair
 * in 65 535 has the same by chance.) */
uint16_t net_routes_ups(const struct net_routes *r);

/* How evenly the first routes of all host pairs lie on the cables between
 * crossbars (each direction by itself). */
struct net_balance {
    uint64_t pairs;   /* ordered host pairs with a route */
    uint64_t cut_off; /* ordered host pairs without */
    uint64_t worst;   /* most routes over one cable in one direction */
    uint32_t worst_port;
    double ideal; /* no set of routes can have a smaller worst (lower bound) */
    double ratio; /* worst over ideal; 1 if no cable is used */
    unsigned longest; /* hops */
};

/* -1: out of memory.  For NET_GM2 and NET_UPDOWN this computes every host's
 * routes. */
int net_routes_balance(const struct net_routes *r, struct net_balance *b);

/* Lower bound of the worst load of any routes: what each leaf must send and
 * receive over the cables it has. */
double net_ideal_load(const struct net *net);

/* Routes over each global port, for pictures and lists; NULL where nobody knows
 * those of all hosts (NET_GM2, NET_UPDOWN, NET_PAIRS of a large net). */
const uint32_t *net_routes_loads(const struct net_routes *r);

#endif
