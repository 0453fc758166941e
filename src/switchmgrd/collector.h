/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collector, one of the two processes of switchmgrd: takes reports, keeps
 * the health model, writes the health table, serves control socket and metrics,
 * and tells the updater what it wants of Slurm.  It runs as an ordinary user
 * and has no power over Slurm; all parsers of foreign bytes are here.
 */
#ifndef SF_SWITCHMGRD_COLLECTOR_H
#define SF_SWITCHMGRD_COLLECTOR_H

#include <ev.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <uthash.h>

#include "base/ctl.h"
#include "elan/elanhosts.h"
#include "health/mgrconf.h"
#include "health/model.h"
#include "health/table.h"
#include "switchmgrd/collector_history.h"
#include "switchmgrd/steady_clock.h"
#include "switchmgrd/offenders.h"
#include "switchmgrd/throttle.h"
#include "switchmgrd/record.h"

/* A node that Slurm has, or that somebody reports about. */
struct collector_node {
    char name[SF_REPORT_NAME_MAX];
    struct in_addr configured; /* from Reporters=, 0: not there */
    struct in_addr in_table;   /* Slurm's NodeAddr, 0: not known */
    bool in_slurm;
    bool maintenance;
    bool dirty; /* the updater does not have its want yet: among n->dirty */
    bool has_sent;
    bool at_rest;          /* what is sent need not be looked at anew */
    bool fresh;            /* a host of it changed: among n->fresh */
    bool in_map;           /* seen while a topology.conf is made */
    uint32_t flags;        /* of rec_node */
    struct plan_want sent; /* what the updater has */
    enum { UNHEARD_OF, WELL, UNWELL } is; /* for the health table */
    struct collector_unwell *unwell;      /* its line there, if it is so */
    STAILQ_ENTRY(collector_node) next_dirty, next_fresh;
    UT_hash_handle hh;
};

/* A line of the health table, but that `since` is of steady_now(). */
struct collector_unwell {
    struct health_table_node line;
    LIST_ENTRY(collector_unwell) link;
};

struct collector_event {
    uint64_t id;
    int64_t at;
    char text[256];
};

struct metrics;
struct collector_listener {
    ev_io io;
    int fd;
};
struct linksrc;

struct collector {
    struct ev_loop *loop;
    struct mgrconf conf;
    const char *conf_path;
    struct policy_conf policy;
    struct elanhosts *hosts;
    struct model *model;
    struct collector_node *nodes;
    struct rec_status updater;
    struct collector_event *events; /* ring of SF_SWITCHMGR_EVENTS_MAX */
    uint64_t nevents;
    struct collector_held *held; /* what is not told yet: collector_events.c */
    int64_t started;
    int64_t saved;                   /* when the state file was written */
    bool unsaved;                    /* a state has changed since */
    struct throttle judged, written; /* all nodes, and the table; that file */
    struct throttle ticked;          /* all nodes, by the time alone */
    struct {
        uint64_t credentials, accepted, refused_munge, refused_uid,
            refused_host, refused_model, refused_key, malformed, connections,
            turned_away;
    } count;
    uint32_t nconns, conns_max;
    TAILQ_HEAD(, conn) strangers; /* collector_reports.c */
    struct offenders offenders;
    struct collector_listener tcp, unix_;
    int spare; /* base/accept.h */
    int updater_fd;
    bool updater_full;                   /* wait until its socket takes more */
    bool reloaded;                       /* the updater has not been told yet */
    STAILQ_HEAD(, collector_node) dirty; /* wants to be sent, the first first */
    STAILQ_HEAD(, collector_node) fresh; /* to be judged, before all are */
    LIST_HEAD(, collector_unwell) unwell;
    uint32_t nheard, nwell, nunwell; /* nodes of which anything is known */
    ev_io updater_in, updater_out;
    ev_timer tick, state_timer, table_timer, link_timer, topology_timer;
    ev_timer soon; /* a state changed: judge the wants in a moment */
    ev_signal sigterm, sigint, sighup;
    struct ctl_server *ctl;
    struct metrics *metrics;
    struct page *page;    /* with the metrics */
    struct jobs *jobs;    /* for the page */
    struct clerk *clerk;  /* asks munged */
    struct clerk *writer; /* waits for the disk */
    struct clerk *reader; /* so does it, with history */
    bool saving;          /* it has the state */
    struct linksrc *links;
    struct collector_history *history; /* NULL: none is kept */
    uint32_t mappers_late;             /* a bit for each rail: no map in time */
    uint64_t link_seq;
    uid_t service_uid, mapper_uid;
    int exit_code;
};

/* Opens everything as root, becomes conf->user, runs the loop; returns the
 * exit code.  *conf is taken over. */
int collector_run(struct mgrconf *conf, const char *conf_path, int updater_fd);

/* collector_nodes.c: nodes, wants */
struct collector_node *collector_node_find(struct collector *n,
                                           const char *name);
struct collector_node *collector_node_make(struct collector *n,
                                           const char *name);
/* What cannot be taken of Reporters and Maintenance: -1. */
int collector_nodes_check(const struct mgrconf *conf, struct errbuf *err);
/* Where its reports must come from; 0: nowhere. */
struct in_addr collector_node_addr(const struct collector_node *p);
/* collector_check.c: what else of a configuration that could be read cannot be
 * used here; -1 with "FILE:LINE: KEY: what" (base/conf.h). */
int collector_check(const struct mgrconf *conf, const char *path,
                    struct errbuf *err);
/* "A.B.C.D:PORT", ":PORT" or "A.B.C.D", whose port is `port` then.  With 0 it
 * must be there, and "PORT" is one of 127.0.0.1.  -1 with "KEY: not
 * ADDRESS:PORT: TEXT". */
int collector_address(const char *key, const char *text, uint16_t port,
                      struct sockaddr_in *sa, struct errbuf *err);
int collector_nodes_configure(struct collector *n, struct errbuf *err);
void collector_nodes_init(struct collector *n);
void collector_nodes_judge(struct collector *n); /* all wants anew */
/* The same of those with a host that has changed since, and no others. */
void collector_nodes_follow(struct collector *n);
void collector_nodes_send(struct collector *n); /* what is dirty */
/* Of model_ops: what is wanted of its node may change. */
void collector_nodes_stir(const struct health_item *host, void *arg);
/* The same: it has changed. */
void collector_nodes_changed(struct collector *n,
                             const struct health_item *host);
void collector_nodes_start(struct collector *n);
void collector_nodes_table(struct collector *n); /* write the health table */

/* collector_events.c */
void collector_event(struct collector *n, int64_t now, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Held until collector_events_tell(). */
void collector_events_changed(struct collector *n,
                              const struct health_item *item,
                              enum health_state was, int64_t now);
/* Something that a person should look at, told once a minute at most.  Of
 * model_ops; arg is the collector. */
void collector_events_alarm(const char *text, int64_t now, void *arg);
/* Tell what is held: in a moment after a change, and with each tick. */
void collector_events_tell(struct collector *n, int64_t now);
struct json_object *collector_events_since(const struct collector *n,
                                           uint64_t id, size_t max);

/* collector_reports.c: listeners.  -1 with text. */
int collector_reports_open(struct collector *n, struct errbuf *err);
/* Begin to take them; more than once is fine. */
void collector_reports_start(struct collector *n);

/* collector_verbs.c */
extern const struct ctl_verb collector_verbs[];
extern const size_t collector_nverbs;

/* metrics.c */
struct metrics *metrics_open(struct collector *n, struct errbuf *err);
void metrics_close(struct metrics *m);

/* collector_state.c: the model and the nodes over a restart */
void collector_state_load(struct collector *n);
void collector_state_save(struct collector *n);

/* Take up a changed switchmgr.conf (but for sockets and users).  -1: it is
 * wrong, all stays. */
int collector_reload(struct collector *n, struct errbuf *err);

#endif
