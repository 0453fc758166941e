/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What slurmctld tells root on the nodes of a step and nobody else: the
 * program, its layout and its capabilities, bound to job, step, component,
 * user and nodes.  The bytes travel sealed (base/seal.h); sealing and opening
 * is the caller's.  They hold keys: clear them with explicit_bzero() after
 * use (elan_payload_free() does it for the structure).
 */
#ifndef SF_ELAN_PAYLOAD_H
#define SF_ELAN_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/limits.h"
#include "elan/capability.h"
#include "elan/layout.h"

/* Default and most of max_age and of the seal's time to live, seconds:
 * munged's own upper limit. */
#define ELAN_PAYLOAD_MAX_AGE 3600
/* Clocks of controller and node may differ by this much, seconds. */
#define ELAN_PAYLOAD_CLOCK_SKEW 300

/* Nodes whose tasks are held, and for how long at most. */
#define ELAN_HOLD_NODES_MAX 16
#define ELAN_HOLD_SECONDS_MAX 86400

struct elan_lease;

/* The fabric of these nodes has a young fault: their tasks begin when it is
 * well, within so many seconds, or not at all. */
struct elan_hold {
    uint32_t seconds;
    uint32_t n;                          /* 0: none */
    uint32_t nodes[ELAN_HOLD_NODES_MAX]; /* of the layout, ascending */
};

struct elan_payload {
    uint32_t job_id;
    uint32_t step_id;
    uint32_t het_comp; /* Slurm's step_het_comp */
    uint32_t uid;      /* owner of the job */
    uint32_t run;      /* of the job: how often it was requeued */
    uint32_t prognum;
    uint64_t issued; /* seconds since the epoch, controller's clock */
    struct elan_layout layout;
    uint32_t ncaps;               /* one for each rail of the layout */
    struct elan_capability *caps; /* [ncaps], owned */
    struct elan_hold hold;
};

/* Clear the keys and free what *p holds, not p itself. */
void elan_payload_free(struct elan_payload *p);

/* Encode into *buf (allocated; explicit_bzero() and free() it).  Returns 0,
 * or -1 with errno and text: EMSGSIZE longer than SF_SEAL_PAYLOAD_MAX,
 * ENOMEM. */
int elan_payload_encode(const struct elan_payload *p, void **buf, size_t *len,
                        struct errbuf *err);

/* What the node knows by itself. */
struct elan_check {
    uid_t encoder_uid; /* who sealed it, by munged's word */
    bool expired;      /* munged says that its time to live is over */
    uid_t slurm_uid;   /* SlurmUser */
    /* What slurmctld leased to the job (lease.h); NULL: none came.  With it
     * root is good as well: a stepmgr. */
    const struct elan_lease *lease;
    uint32_t job_id;
    uint32_t step_id;
    uint32_t het_comp;
    uint32_t uid;     /* owner of the job, by slurmstepd's word */
    uint32_t run;     /* of the job, by slurmctld's signed word */
    uint32_t node_id; /* own Elan id on rail 0 */
    uint32_t nodeid;  /* own index in the step */
    uint64_t now;     /* seconds since the epoch */
    uint64_t max_age; /* seconds */
};

/* Decode the opened payload buf[0..len) into *p (elan_payload_free() it;
 * cleared on failure), then check, each step by itself and in this order:
 * decode, magic, encoder uid, job, step, component, uid, run, node set, age,
 * lease.
 * Returns 0, or -1 with errno and a text that begins with the name of the
 * failed check ("job: ..."): EPROTO decode or magic, EPROTONOSUPPORT version,
 * EPERM any of the others, ENOMEM. */
int elan_payload_open(struct elan_payload *p, const void *buf, size_t len,
                      const struct elan_check *check, struct errbuf *err);

/* The two halves of elan_payload_open(). */
int elan_payload_decode(struct elan_payload *p, const void *buf, size_t len,
                        struct errbuf *err);
int elan_payload_check(const struct elan_payload *p,
                       const struct elan_check *check, struct errbuf *err);

#endif
