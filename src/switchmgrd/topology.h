/* SPDX-License-Identifier: BSD-3-Clause
 *
 * topology.conf, or topology.yaml for newer Slurm, from the map.  The network
 * side makes a candidate file in its own directory; the updater reads it,
 * checks it by Slurm's own rules (net/topo.h), and only when it passes and
 * differs puts it into place by rename and has slurmctld reconfigure, at most
 * once per TopologyInterval.
 *
 * A candidate is made only from a map that has every node that Slurm has: a
 * host that is unplugged keeps its place in the old file.
 */
#ifndef SF_SWITCHMGRD_TOPOLOGY_H
#define SF_SWITCHMGRD_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytebuf.h"
#include "base/errbuf.h"
#include "health/mgrconf.h"

#define TOPOLOGY_CANDIDATE MGRCONF_RUN_DIR "/topology.conf"

struct topology_ops {
    /* NodeName of a board, or NULL: the host's name in the map is it. */
    const char *(*resolve)(uint64_t board, void *arg);
    /* A host that the file will have.  False: Slurm has no such node; it is
     * left out. */
    bool (*host)(const char *name, void *arg);
    void *arg;
};

/* Which of the two, by the name of the file that TopologyConf= gives. */
bool topology_is_yaml(const char *path);

/* A map's text (own or InfiniBand's format; `name` stands for the file) to
 * topology.conf's or, with the domains of a file or NULL, topology.yaml's.  0,
 * or -1 with errno and text. */
int topology_text(const char *name, const char *text, size_t len, bool yaml,
                  const char *domains, const struct topology_ops *ops,
                  struct bytebuf *out, struct errbuf *err);

/* Put a candidate into place.  1: done, slurmctld should reconfigure; 0:
 * nothing new; -1 with text: it would harm slurmctld, or cannot be written. */
int topology_install(const char *candidate, const char *path,
                     struct errbuf *err);

/* Network side, collector_topology.c: look at the map (TopologyMap, else
 * mapperd's control socket) and write a candidate when all nodes are in it. */
struct collector;
void collector_topology_look(struct collector *n);

#endif
