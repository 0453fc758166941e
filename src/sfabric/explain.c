/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strcasestr */
#include <stddef.h>
#include <string.h>

#include "sfabric/explain.h"

struct known {
    const char *part; /* of the message */
    const char *meaning;
};

/* A message with a code of ours is explained by that. */
static const struct known known[] = {
#include "sfabric/codes.h"
    {"Incompatible Slurm plugin",
     "the plugin was built for another Slurm; versions must be equal to the "
     "last number. Rebuild slurm-fabric for the Slurm that runs."},
    {"Can't find plugin for",
     "Slurm does not find the plugin, or refused it just before (look one "
     "line up): is its directory in PluginDir of slurm.conf, on this host?"},
    {"Plugin loading failed due to missing symbols",
     "the plugin is of another Slurm version, or a file that was cut short "
     "when it was installed."},
    {"we don't have switch plugin type",
     "this host does not have switch_elan.so, another has: install the same "
     "slurm-fabric on all hosts, and where srun runs."},
    {"Couldn't find the specified plugin name for mpi/impi",
     "mpi_impi.so is not in PluginDir where srun runs."},
    {"MPI: Cannot create context for mpi/impi",
     "mpi_impi.so is not in PluginDir where srun runs."},
    {"Invalid MPI type",
     "srun --mpi=list shows what is there: mpi_impi.so is not in PluginDir."},
    {"Error configuring interconnect",
     "switch/elan refused the step; the reason is in slurmctld's log "
     "(SF-E103), for a fault of the fabric also in `sfabric why NODE`."},
    {"Requested nodes are busy",
     "with switch/elan also: contexts of these nodes are used up, or their "
     "fabric has just gone down (BusyGrace of switchmgr.conf). srun asks "
     "again by itself."},
    {"temporarily disabled, retrying",
     "the step waits: for contexts, or for a fabric that has just gone down "
     "(BusyGrace of switchmgr.conf). It goes on when there are some, when "
     "the fabric has healed, or fails when BusyGrace is over."},
    {"no health table",
     "switchmgrd does not write it: start it on the host of slurmctld, and "
     "compare HealthTable of switchmgr.conf. What steps do meanwhile is "
     "StalePolicy; without switchmgrd leave HealthTable= empty."},
    {"Zero Bytes were transmitted or received",
     "slurmctld ended while it was asked. After a reconfigure: topology.conf "
     "breaks a rule; its log says which."},
    {"Replayed credential",
     "several daemons share one munged: harmless. In switchmgrd: somebody "
     "sent a report twice; it was refused."},
    {"Unexpected uid",
     "the report or seal was made by an ordinary user: ServiceUser of "
     "switchmgr.conf."},
    {"Invalid user id",
     "Slurm lets only root and SlurmUser update nodes: switchmgrd must start "
     "as root."},
    {"Invalid feature specification",
     "a feature that slurm.conf does not declare for the node: add "
     "fabric_up,fabric_degraded,fabric_down to Features of its NodeName "
     "line."},
    {"Invalid credential",
     "munged of the two hosts: the same key, clocks within minutes?"},
    {"Expired credential", "clocks of the hosts differ, or munged is slow."},
    {"Unable to layout tasks on given cpus",
     "task/affinity with more CPUs in slurm.conf than the node has; not "
     "ours."},
};

const char *explain(const char *message)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcasestr(message, known[i].part))
            return known[i].meaning;
    }
    return NULL;
}
