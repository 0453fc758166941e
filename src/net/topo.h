/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fabric as a tree of switches, as Slurm wants it.
 *
 * The leaves are the crossbars with hosts.  Above them stand virtual
 * switches: one for everything that hangs together through crossbars up to a
 * certain distance from the hosts, however many crossbars that are.  So the
 * tree has a line per leaf, per pod and one for the core, which is what
 * placement needs, and stays small: slurmctld's work is cubic in the lines.
 *
 * Names are made of the level and the lowest board address below: what did
 * not change keeps its name.  Files come out in the order of these.
 */
#ifndef SF_NET_TOPO_H
#define SF_NET_TOPO_H

#include "base/bytebuf.h"
#include "base/errbuf.h"
#include "net/graph.h"

struct net_domains;

/* Sizes of blocks are the smallest times 2 to the power of less than this. */
#define NET_TOPO_BLOCK_LEVELS 16

struct net_vswitch {
    char name[32];
    unsigned level;         /* leaf 1 */
    uint64_t key;           /* lowest host address below */
    uint32_t parent;        /* NET_NONE: a root */
    uint32_t xbar;          /* a leaf's node in the net, else NET_NONE */
    uint32_t first, nhosts; /* a leaf's part of hosts[] */
};

struct net_topo {
    const struct net *net;
    struct net_vswitch *sw; /* highest level first, then by key */
    uint32_t nsw;
    uint32_t *hosts; /* nodes, by leaf */
    uint32_t nhosts;
    uint32_t *of; /* per node of the net: the virtual switch it is part of (a
                     crossbar: the lowest), NET_NONE for what is in none */
};

/* Of one plane.  Borrows the net.  NULL: out of memory. */
struct net_topo *net_topo_new(const struct net *net, unsigned plane);
void net_topo_free(struct net_topo *topo);

/* topology.conf for topology/tree, and topology.yaml for newer Slurm.  The
 * hosts' names must be Slurm's node names.  Hosts without a cable are in
 * neither.
 *
 * In topology.yaml a second topology, "blocks", stands behind the tree
 * "fabric", for partitions that ask for it: each leaf, or each domain where
 * there are some (net/topo_domains.h), is a block, of the size of the smallest,
 * in the order of the tree; a level of the tree whose switches all have as many
 * whole blocks, a power of two, is a size, too, for only then are Slurm's
 * groups of blocks those switches.  A node in no domain is in no block. */
void net_topo_write_conf(const struct net_topo *topo, struct bytebuf *out);
void net_topo_write_yaml(const struct net_topo *topo,
                         const struct net_domains *domains,
                         struct bytebuf *out);

/* ---- Slurm 22.05's own rules ---------------------------------------------
 *
 * A topology.conf that breaks a rule ends slurmctld, also at a mere
 * reconfigure, so it is checked before Slurm sees it.  Each fault is told
 * once, in one pass; `fatal` ones would end slurmctld, others it only logs.
 */
typedef void net_topo_report_f(void *arg, bool fatal, unsigned line,
                               const char *text);
/* Is that a node of slurm.conf? */
typedef bool net_topo_known_f(void *arg, const char *node);

/* 0: Slurm would start with it; -1: it would not.  Both callbacks may be
 * NULL. */
int net_topo_check(const char *text, size_t len, net_topo_report_f *report,
                   net_topo_known_f *known, void *arg);

/* The same for topology.yaml, by the parser of Slurm 26.05: at most a tree and
 * a topology of blocks, as net_topo_write_yaml() writes them. */
int net_topo_check_yaml(const char *text, size_t len, net_topo_report_f *report,
                        net_topo_known_f *known, void *arg);

#endif
