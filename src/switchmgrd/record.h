/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records of fixed form between the two processes of switchmgrd, over a
 * SOCK_SEQPACKET pair, one per packet.
 *
 *   collector -> updater   struct rec_want: how a node should be
 *                             struct rec_reload: switchmgr.conf is good, read
 *                             it again
 *   updater -> collector   struct rec_node: a node that Slurm has
 *                             struct rec_job: a job that runs, and its nodes
 *                             struct rec_status: how the updater fares
 *                             struct rec_order: end, or read switchmgr.conf
 *                             again; no signal, which the updater of a unit has
 *                             no right to send to another user's process
 *
 * A want replaces the one before of the same node, so that nothing queues up:
 * the collector sends what changed as fast as the updater reads.  While the
 * updater stands still there is no room for the latest; so a want that had to
 * wait long counts for nothing, and the updater asks for it again.
 */
#ifndef SF_SWITCHMGRD_RECORD_H
#define SF_SWITCHMGRD_RECORD_H

#include <netinet/in.h>
#include <stdint.h>

#include "health/plan.h"

enum rec_type {
    REC_WANT = 1,
    REC_NODE,
    REC_STATUS,
    REC_RELOAD,
    REC_JOB,
    REC_ORDER
};

struct rec_want {
    uint32_t type;
    int64_t at; /* sent: ms of this machine's steady clock (base/clock.h) */
    struct plan_want want;
};
#define REC_WANT_LATE_MS 10000 /* longer than an update of Slurm may take */

struct rec_reload {
    uint32_t type;
};

struct rec_order {
    uint32_t type;
    int32_t number; /* of the signal that would do it: SIGTERM, SIGHUP */
};

enum {
    REC_NODE_OWN_DRAIN = 1,
    REC_NODE_DRAIN = 2,
    REC_NODE_CAPPED = 4, /* should be drained, but the caps are reached */
    REC_NODE_UNDONE = 8, /* somebody took our drain of this fault back */
    REC_NODE_AGAIN = 16  /* its want came too late: to be sent again */
};

struct rec_node {
    uint32_t type;
    uint32_t flags;
    struct in_addr addr; /* 0: not known */
    char name[SF_REPORT_NAME_MAX];
};

#define REC_JOB_NAME_MAX 32
#define REC_JOB_PIECE 1000

enum { REC_JOB_LAST = 1, REC_JOB_GONE = 2 };

/* A list of nodes may be longer than a record: its pieces come in order, and
 * one `at` 0 begins anew.  The job is known with the last. */
struct rec_job {
    uint32_t type;
    uint32_t flags;
    uint32_t id;
    uint32_t at, len; /* of the list */
    char name[REC_JOB_NAME_MAX];
    char nodes[REC_JOB_PIECE];
};

struct rec_status {
    uint32_t type;
    uint32_t reachable;  /* slurmctld answered last time */
    uint32_t nodes;      /* that Slurm has */
    uint32_t own_drains; /* now */
    uint32_t waiting;    /* nodes whose update is not done yet */
    uint64_t updates;    /* RPCs that changed something */
    uint64_t failures;   /* RPCs that failed */
    uint64_t drains, resumes;
    uint64_t capped;            /* drains that the caps prevented */
    uint64_t topology_looks;    /* its file compared with the map's */
    uint64_t topology_installs; /* and replaced */
    uint64_t max_ms;            /* longest time from a want to its update */
    char error[128];
};

#endif
