/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network side of switchmgrd: takes reports, keeps the health model,
 * writes the health table, serves control socket and metrics, and tells the
 * updater what it wants of Slurm.  It runs as an ordinary user and has no
 * power over Slurm; all parsers of foreign bytes are here.
 */
#ifndef SF_SWITCHMGRD_NET_H
#define SF_SWITCHMGRD_NET_H

#include <ev.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <uthash.h>

#include "base/ctl.h"
#include "elan/elanhosts.h"
#include "health/mgrconf.h"
#include "health/model.h"
#include "health/table.h"
#include "switchmgrd/net_clock.h"
#include "switchmgrd/offenders.h"
#include "switchmgrd/record.h"

/* A node that Slurm has, or that somebody reports about. */
struct net_peer {
    char name[SF_REPORT_NAME_MAX];
    struct in_addr configured; /* from Reporters=, 0: not there */
    struct in_addr in_table;   /* Slurm's NodeAddr, 0: not known */
    bool in_slurm;
    bool maintenance;
    bool dirty; /* the updater does not have its want yet */
    bool has_sent;
    bool in_map;           /* seen while a topology.conf is made */
    uint32_t flags;        /* of rec_node */
    struct plan_want sent; /* what the updater has */
    UT_hash_handle hh;
};

struct net_event {
    uint64_t id;
    int64_t at;
    char text[256];
};

struct metrics;
struct net_listener {
    ev_io io;
    int fd;
};
struct linksrc;

struct net {
    struct ev_loop *loop;
    struct mgrconf conf;
    const char *conf_path;
    struct policy_conf policy;
    struct elanhosts *hosts;
    struct model *model;
    struct net_peer *peers;
    struct rec_status updater;
    struct net_event *events; /* ring of SF_SWITCHMGR_EVENTS_MAX */
    uint64_t nevents;
    int64_t started;
    int64_t saved; /* when the state file was written */
    bool unsaved;  /* a state has changed since */
    struct {
        uint64_t accepted, refused_munge, refused_uid, refused_host,
            refused_model, malformed, connections, turned_away;
    } count;
    uint32_t nconns, conns_max;
    TAILQ_HEAD(, conn) strangers; /* net_reports.c */
    struct offenders offenders;
    struct net_listener tcp, unix_;
    int spare; /* base/accept.h */
    int updater_fd;
    bool updater_full; /* wait until its socket takes more */
    bool reloaded;     /* the updater has not been told yet */
    ev_io updater_in, updater_out;
    ev_timer tick, state_timer, table_timer, link_timer, topology_timer;
    ev_timer soon; /* a state changed: judge the wants in a moment */
    ev_signal sigterm, sigint, sighup;
    struct ctl_server *ctl;
    struct metrics *metrics;
    struct clerk *clerk; /* asks munged */
    struct linksrc *links;
    uint64_t link_seq;
    uid_t service_uid, mapper_uid;
    int exit_code;
};

/* Opens everything as root, becomes conf->user, runs the loop; returns the
 * exit code.  *conf is taken over. */
int net_run(struct mgrconf *conf, const char *conf_path, int updater_fd);

/* net_peers.c: nodes, wants */
struct net_peer *net_peer_find(struct net *n, const char *name);
struct net_peer *net_peer_make(struct net *n, const char *name);
/* What cannot be taken of Reporters and Maintenance: -1. */
int net_peers_check(const struct mgrconf *conf, struct errbuf *err);
/* Where its reports must come from; 0: nowhere. */
struct in_addr net_peer_addr(const struct net_peer *p);
/* net_check.c: what else of a configuration that could be read cannot be used
 * here; -1 with "FILE:LINE: KEY: what" (base/conf.h). */
int net_check(const struct mgrconf *conf, const char *path, struct errbuf *err);
/* "A.B.C.D:PORT", ":PORT" or "A.B.C.D", whose port is `port` then (0: it must
 * be there).  -1 with "KEY: not ADDRESS:PORT: TEXT". */
int net_address(const char *key, const char *text, uint16_t port,
                struct sockaddr_in *sa, struct errbuf *err);
int net_peers_configure(struct net *n, struct errbuf *err);
void net_peers_judge(struct net *n); /* all wants anew */
void net_peers_send(struct net *n);  /* what is dirty */
void net_peers_start(struct net *n);
void net_peers_table(struct net *n); /* write the health table */

/* net_events.c */
void net_event(struct net *n, int64_t now, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void net_events_changed(const struct health_item *item, enum health_state was,
                        int64_t now, void *arg);
void net_events_alarm(const char *text, int64_t now, void *arg);
struct json_object *net_events_since(const struct net *n, uint64_t id,
                                     size_t max);

/* net_reports.c: listeners.  -1 with text. */
int net_reports_open(struct net *n, struct errbuf *err);
/* Begin to take them; more than once is fine. */
void net_reports_start(struct net *n);

/* net_auth.c: one credential, which munged opens beside the loop: one that
 * hangs holds up reports and nothing else.  `from` is the address that it was
 * sent from, 0 when it was sent on this machine.  done() tells what became of
 * the report, unless the asker forgot it.  NULL: too many wait, or no memory.
 */
enum net_verdict {
    NET_ACCEPTED,
    NET_REFUSED, /* of a reporter, who may be right next time */
    NET_BAD      /* of nobody who may report, or no report */
};
typedef void net_auth_done_f(enum net_verdict verdict, void *arg);
struct opening;
struct opening *net_auth_ask(struct net *n, const char *cred, size_t len,
                             struct in_addr from, net_auth_done_f *done,
                             void *arg);
void net_auth_forget(struct opening *opening);

/* net_verbs.c */
extern const struct ctl_verb net_verbs[];
extern const size_t net_nverbs;

/* metrics.c */
struct metrics *metrics_open(struct net *n, struct errbuf *err);
void metrics_close(struct metrics *m);

/* net_state.c: the model and the peers over a restart */
void net_state_load(struct net *n);
void net_state_save(struct net *n);

/* Take up a changed switchmgr.conf (but for sockets and users).  -1: it is
 * wrong, all stays. */
int net_reload(struct net *n, struct errbuf *err);

#endif
