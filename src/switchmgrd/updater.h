/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The updater: the process of switchmgrd that has power over Slurm.  It reads
 * records of fixed form from the network side, and no other input but Slurm's
 * own; decides with health/plan.h what is done; and keeps the caps, which the
 * network side cannot lift.
 */
#ifndef SF_SWITCHMGRD_UPDATER_H
#define SF_SWITCHMGRD_UPDATER_H

#include <uthash.h>

#include "health/mgrconf.h"
#include "switchmgrd/record.h"

/* A node of Slurm and what is wanted of it. */
struct upd_node {
    char name[SF_REPORT_NAME_MAX];
    struct plan_want want;
    bool wanted; /* want is valid */
    bool dirty;  /* not yet compared with Slurm since something changed */
    int64_t wanted_at;
    char *features, *features_act, *extra, *comment, *reason;
    uint32_t state;
    bool drain, unusable, own;
    struct in_addr addr;
    char *addr_text;
    int64_t drained_since; /* fault that we drained it for; 0: none */
    int64_t undone;        /* ... and somebody took that back */
    int64_t own_seen;      /* when Slurm last had that drain; 0: not seen */
    int64_t lost;          /* fault whose drain slurmctld forgot, or 0 */
    bool told;             /* the network side has it as it is */
    bool seen;             /* during a load: still there */
    UT_hash_handle hh;
};

struct updater {
    const struct mgrconf *conf;
    const char *state_path;
    struct upd_node *nodes;
    struct caps caps;
    struct caps_conf caps_conf;
    struct rec_status status;
    int64_t last_update; /* of slurm_load_node(), seconds */
    int64_t boot_time;   /* of slurmctld, ms; -1: to be asked */
    int64_t next_poll, next_rpc;
    int64_t next_topology; /* when a candidate is looked at again */
    bool reconfigure;      /* topology.conf has changed */
    int fd;
};

/* Run until the network side has gone or a signal comes (*stop).  Exit code. */
int updater_run(const struct mgrconf *conf, int fd, const char *state_path,
                volatile int *stop);

/* ---- updater_slurm.c: libslurm ---- */

/* Load the nodes if they changed.  1 changed, 0 not, -1 no answer. */
int upd_slurm_load(struct updater *u);
/* Load one node again; -1: not possible. */
int upd_slurm_load_one(struct updater *u, struct upd_node *n);
/* Set texts of a list of nodes (NULL: leave).  -1: refused or no answer. */
int upd_slurm_set(struct updater *u, const char *nodes, const char *features,
                  const char *extra, const char *comment);
int upd_slurm_drain(struct updater *u, const char *node, const char *reason);
int upd_slurm_resume(struct updater *u, const char *node);
int upd_slurm_reconfigure(struct updater *u);

/* ---- updater_state.c: what must not be forgotten ---- */
void upd_state_load(struct updater *u);
void upd_state_save(const struct updater *u);

struct upd_node *upd_node_make(struct updater *u, const char *name);
int64_t upd_now(void);

#endif
