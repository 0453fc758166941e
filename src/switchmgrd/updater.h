/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The updater: the process of switchmgrd that has power over Slurm.  It reads
 * records of fixed form from the collector, and no other input but Slurm's
 * own; decides with health/plan.h what is done; and keeps the caps, which the
 * collector cannot lift.
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
    bool again;  /* it came too late, the collector is asked again */
    bool dirty;  /* not yet compared with Slurm since something changed */
    int64_t wanted_at;
    char *features, *features_act, *extra, *comment, *reason;
    uint32_t state;
    bool drain, unusable, own;
    struct in_addr addr;
    char *addr_text;
    int64_t drained_since; /* fault that we drained it for; 0: none */
    int64_t undone;        /* ... and somebody took that back */
    int64_t own_seen;      /* wall clock: Slurm last had that drain; 0: no */
    int64_t lost;          /* fault whose drain slurmctld forgot, or 0 */
    int64_t capped;        /* fault that the caps left it undrained for, or 0 */
    bool capped_is_news;   /* not in the log yet */
    char *dry_told;        /* texts that a dry run has told of; owned */
    int64_t dry_drained, dry_resumed; /* faults that it has told of */
    bool told;                        /* the collector has it as it is */
    uint32_t told_flags;              /* ... with these flags */
    bool seen;                        /* during a load: still there */
    UT_hash_handle hh;
};

/* A job whose nodes the collector is told. */
struct upd_job {
    uint32_t id;
    char name[REC_JOB_NAME_MAX];
    char *nodes; /* NULL: it has gone */
    bool seen;   /* during a load: still there */
    bool told;
    UT_hash_handle hh;
};

struct updater {
    struct mgrconf *conf;
    const char *conf_path, *state_path;
    struct upd_node *nodes;
    struct caps caps, dry_caps;
    struct caps_conf caps_conf;
    struct rec_status status;
    int64_t last_update; /* of slurm_load_node(), seconds */
    int64_t boot_time;   /* of slurmctld, ms; -1: to be asked */
    int64_t next_poll, next_rpc;
    int64_t look_ms;       /* that the last look at all nodes took */
    int64_t looked;        /* its end; 0: something was changed since */
    int64_t ask_ms;        /* that the last question about one node took */
    int64_t next_topology; /* when a candidate is looked at again */
    bool reconfigure;      /* topology.conf has changed */
    bool reload;           /* the collector found switchmgr.conf good */
    struct {
        struct upd_job *by_id;
        int64_t next;                     /* look */
        int64_t last_update, conf_update; /* of Slurm's, seconds */
        bool is_private; /* slurm.conf has PrivateData=jobs, or is not known */
        bool untold;
    } jobs;
    int fd;
    bool gone;  /* who was at its other end */
    bool asked; /* it, for wants that were late */
};

/* What signals want of the updater; 0 or 1. */
struct updater_orders {
    volatile int stop;
    volatile int reload; /* the collector is still to be told of it */
};

/* Send the collector, over fd, the order of this signal (record.h), as a signal
 * handler may: it does not wait.  Returns 0, or -1: not now. */
int updater_order(int fd, int number);

/* Run until the collector has gone or orders->stop.  *conf is what conf_path
 * holds, and is read from there again when the collector says so.  Returns the
 * exit code. */
int updater_run(struct mgrconf *conf, const char *conf_path, int fd,
                const char *state_path, struct updater_orders *orders);

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

/* ---- updater_jobs.c: libslurm's jobs to the collector ---- */

void upd_jobs_look(struct updater *u); /* when it is time */
void upd_jobs_tell(struct updater *u); /* what it does not know */

/* ---- updater.c: the caps on drains, a dry run, what is not forgotten ---- */

/* May one more node be drained?  take: and it is. */
bool upd_caps_room(struct updater *u);
bool upd_caps_take(struct updater *u);

/* A dry run tells of the node as if it had told nothing. */
void upd_dry_forget(struct upd_node *n);

void upd_state_load(struct updater *u);
void upd_state_save(const struct updater *u);

/* Send the collector a record, waiting a moment while it has many to read.
 * False: it takes none now. */
bool upd_send(const struct updater *u, const void *rec, size_t len);

struct upd_node *upd_node_make(struct updater *u, const char *name);

#endif
