/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier's inside: verify.c has the calls and the stages,
 * verify_jobs.c the questions, verify_answer.c what answers mean,
 * verify_tour.c the routes of its probes.
 *
 * A link (of two crossbars) is unknown, sound or lost in this round.  First
 * tours go over all links that are not lost, then, where tours did not come
 * back, shorter and shorter ones that reach the links in question over sound
 * links alone: one that fails with a single such link has found a lost one.
 */
#ifndef SF_MAPPER_VERIFY_PRIV_H
#define SF_MAPPER_VERIFY_PRIV_H

#include "mapper/verify.h"
#include "mapper/window.h"

enum vlink_state { VLINK_UNKNOWN, VLINK_SOUND, VLINK_LOST };

enum vstage {
    VERIFY_TOURS,
    VERIFY_BISECT,
    VERIFY_HOSTS,
    VERIFY_RINGS,
    VERIFY_IDS,
    VERIFY_EMPTY,
    VERIFY_END
};

struct vlink {
    uint32_t a, b; /* global ports, the nearer one first */
    uint8_t state;
    bool out; /* a tour with it is under way, or failed in this pass */
};

/* A probe and what it stands for. */
struct vjob {
    enum vstage stage;
    uint8_t tries;
    uint8_t nlinks;
    bool scout;    /* empty ports: scout, then loop */
    uint32_t node; /* host or crossbar asked; link in the ring; crossbar with
                    * empty port */
    int port;
    uint32_t next; /* spare, or ready */
    uint32_t links[PROBE_ROUTE_MAX];
    struct probe probe;
};

struct verify {
    struct prober_limits limits;
    struct verify_options options;
    const struct net *map;
    uint32_t me, root; /* root: the crossbar on our cable, or NET_NONE */
    struct window window;
    enum vstage stage;
    struct vlink *links;
    uint32_t nlinks, at_link;
    uint32_t *link_of; /* global port: its link, or NET_NONE */
    uint32_t *need;    /* node: links of it to be toured */
    uint32_t *parent;  /* node: port of it that leads home, or NET_NONE */
    uint16_t *dist;    /* crossbars before it */
    uint32_t *queue;
    unsigned most; /* links of one tour */
    uint32_t at_node;
    int at_port;
    struct vjob *jobs;
    uint32_t njobs, cap_jobs, spare_job, ready_job;
    struct verify_change *changes;
    uint32_t nchanges, cap_changes;
    struct probe_host *answers; /* by host's order */
    uint32_t *answer_of;        /* node: index in answers, or NET_NONE */
    uint32_t nanswers, cap_answers;
    bool failed;
};

/* verify.c */
void verify_fail(struct verify *v);
void verify_add_change(struct verify *v, const struct verify_change *change);
void verify_lose_link(struct verify *v, uint32_t l);
void verify_job_free(struct verify *v, uint32_t j);

/* verify_jobs.c: the stage's next question; false: none left. */
bool verify_make_job(struct verify *v, struct vjob *job);

/* verify_answer.c */
void verify_host_lost(struct verify *v, uint32_t host);
void verify_job_silent(struct verify *v, uint32_t j);
void verify_job_answered(struct verify *v, uint32_t j,
                         const struct probe_answer *answer);

/* verify_tour.c: the tree of ways home over links that are not lost (sure:
 * sound ones). */
void tour_plan(struct verify *v, bool sure);
/* A tour of up to v->most links that need one, from links[at_link] on; false:
 * none can be reached. */
bool tour_make(struct verify *v, struct vjob *job, bool sure);
/* There by the one end's way, over the link, home by the other's: comes back
 * only if the link leads from the one to the other.  False: a link of the
 * tree itself, or too far. */
bool tour_make_ring(struct verify *v, struct vjob *job, uint32_t l);
/* The way to a port of a crossbar: route bytes there (loop: and back).
 * False: not to be reached, or too far. */
bool tour_to_port(const struct verify *v, uint32_t node, int port, bool loop,
                  struct probe *probe);

#endif
