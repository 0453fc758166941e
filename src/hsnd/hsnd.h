/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hsnd: owns the NIC of a node (one hsnd per NIC) and serves endpoints.
 *
 *   conf.c      hsn.conf
 *   identity.c  who we are, and which board has which Elan id
 *   listen.c    connections and their requests
 *   port.c      endpoints: rings, delivery
 *   pages.c     pages that they share
 *   pump.c      from the endpoints' rings to the engine; the loop
 *   elan.c      contexts: attach, frames
 *   program.c   programs that holders register
 *   echo.c      echoes to the neighbours
 *   loop.c      the test of our own cable
 *   control.c   control socket
 *   metrics.c   what hsnd counts, as JSON and for Prometheus
 *   health.c    reports to switchmgrd
 */
#ifndef SF_HSND_H
#define SF_HSND_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytebuf.h"
#include "base/clerk.h"
#include "base/clock.h"
#include "base/ctl.h"
#include "base/errbuf.h"
#include "base/look.h"
#include "base/repeat.h"
#include "base/ring.h"
#include "elan/elanhosts.h"
#include "elan/program_cgroup.h"
#include "elan/program_register.h"
#include "health/pace.h"
#include "health/sender.h"
#include "hsn/attach.h"
#include "hsn/alone.h"
#include "hsn/echo_round.h"
#include "hsn/engine.h"
#include "hsn/libhsn.h"
#include "hsn/loop_test.h"
#include "hsn/nic_link.h"
#include "hsn/port_record.h"
#include "hsn/port_wire.h"

struct hsnd_conf {
    char *node, *board, *elanhosts;
    char *socket, *control, *control_group, *raw_group, *dgram_group;
    char *nic, *fabric, *link, *interface, *peer_mac, *service_user, *munge;
    char *routes, *health, *log_level;
    bool trusted, syslog;
    long rail, page_size, fragment_ms, send_ms, batch, ring_kb, spin_us, echo_s;
    long health_s;
};

enum port_kind { PORT_RAW, PORT_DGRAM, PORT_ELAN };

/* Counted per endpoint and for all. */
struct port_counts {
    uint64_t sent, received;
    uint64_t full;      /* for it, its ring being full */
    uint64_t malformed; /* from it, invalid records */
};

struct hsnd;
struct conn;
struct client_program;

/* An endpoint. */
struct port {
    struct hsnd *d;
    enum port_kind kind;
    int bell; /* the connection */
    int pidfd;
    pid_t pid;
    uid_t uid;
    ev_io bell_io, pid_io;
    struct ring from, to;           /* from the process, to it */
    uint16_t number;                /* type, module or context */
    struct client_program *program; /* elan */
    struct hsn_elan_sender sender;  /* elan */
    uint8_t *scratch;               /* elan: headers of what is under way */
    struct page_pool *pool;         /* NULL: no pages */
    uint16_t slice;                 /* of the pool */
    unsigned npages;                /* that it has */
    uint32_t granted;               /* pages, ever */
    uint32_t sending;               /* n: page n - 1 is under way; 0: none */
    bool passed;                    /* ... and is another's by now */
    struct port_counts counts;
    bool active;   /* its ring is looked at in each round */
    unsigned at;   /* active: where in d->act */
    bool dirty;    /* something was put into its ring: ring the bell */
    bool underway; /* its oldest record is the engine's */
    bool held;     /* its oldest record waits for room at its receiver */
    bool slow;     /* as a receiver: it made no room in time */
    uint64_t held_since;
    bool dead; /* to be freed when nothing is under way */
    struct port *next, *prev, *next_dirty;
};

/* A program of a holder. */
struct client_program {
    struct hsnd *d;
    struct page_pool *pool; /* of its endpoints; NULL: none */
    struct hsn_program *known;
    struct program_cgroup group;
    int fd;
    ev_io io;
    struct client_program *next;
};

/* Counted beside the engine's own. */
struct hsnd_counts {
    uint64_t attached, detached;
    uint64_t refused_capability, refused_user, refused_member, refused_range,
        refused_busy, refused_port, refused_share;
    uint64_t elan_sent, elan_received;
    uint64_t elan_malformed, elan_stranger, elan_tag, elan_replay, elan_spoofed,
        elan_no_context, elan_unknown_node;
    uint64_t port_full, port_malformed, broken_rings;
    uint64_t port_copied; /* bytes of data put into rings of processes */
    uint64_t page_copied; /* ... into pages of theirs */
    uint64_t page_passed; /* ... that changed hands with their page */
    uint64_t page_short;  /* of port_copied: its process had no page left */
    uint64_t bells, rounds, sleeps;
};

/* An answer in the making. */
struct answer {
    struct be_writer w;
    uint8_t buf[SF_HSN_REQUEST_MAX];
    int fds[2];        /* -1: none */
    struct port *port; /* opened */
};

/* A connection that is no endpoint (yet). */
struct conn {
    struct hsnd *d;
    int fd;
    uid_t uid; /* of the process that connected */
    ev_io io;
    struct hsn_peer *peers; /* loading */
    size_t npeers;
    bool changing; /* ... in the places of those that are loaded */
    uint32_t map_version, host_type;
    bool configured;
    struct conn *next;
};

struct hsnd {
    struct ev_loop *loop;
    struct clerk *clerk; /* asks munged */
    struct hsnd_conf conf;
    const char *conf_path; /* borrowed */
    uint64_t board;
    char node[HSN_NODE_MAX];
    struct elanhosts *hosts;
    uint64_t *board_of; /* by Elan id, 0: by the rule */
    bool has_elan;
    uint32_t elan_id;
    gid_t raw_gid, dgram_gid;
    bool has_raw_gid, has_dgram_gid;

    struct hsn_nic *nic;
    struct repeat nic_trouble;
    struct hsn_engine *engine;
    struct hsn_contexts contexts;
    struct client_program *programs;
    struct port *ports; /* all, active ones too */
    struct port *dirty; /* whose bells are to be rung */
    unsigned nports, nactive;
    struct port *act[SF_HSN_PORTS_MAX];     /* the active ones */
    struct port *dgram[65536], *raw[65536]; /* by module, by type */
    struct hsnd_counts counts;

    int listener;
    int spare; /* base/accept.h */
    ev_io listen_io, nic_io;
    int nic_fd; /* that nic_io watches; -1 */
    ev_timer timer, echo_timer, echo_due, alone_timer, health_timer;
    ev_timer loop_timer;
    struct hsn_loop loop_test;
    uint64_t loop_key;  /* by which we know our frames */
    uint64_t loop_back; /* so many of them came back */
    struct hsn_echo echo;
    struct hsn_alone alone;
    ev_signal sigterm, sigint, sighup;
    struct conn *conns, *loader; /* who is loading routes */
    struct conn *loaded_by;      /* whose routes there are; NULL: nobody's */
    unsigned nconns;
    size_t user_share; /* connections and endpoints of one user but root */
    struct ctl_server *ctl;
    struct sender *sender;
    struct pace report_pace;
    uint64_t health_begin; /* when reports began */
    bool had_link;         /* since then */
    bool link_seen;        /* up, as last reported */
    uint64_t instance, report_seq;
    bool stopping, holding; /* holding: somebody is held back */
    uint8_t request[SF_HSN_REQUEST_MAX + 1];
    struct answer answer;
    uint64_t now;
    struct look look;
    uint64_t said[sizeof(struct hsnd_counts) / 8]; /* when last */
    bool sweep;                                    /* endpoints have ended */
};

/* conf.c */
void hsnd_conf_default(struct hsnd_conf *c);
/* Read it; 0, or -1 and all errors were reported. */
int hsnd_conf_read(struct hsnd_conf *c, const char *path, bool must,
                   conf_error_f *report, void *arg);
void hsnd_conf_free(struct hsnd_conf *c);

/* identity.c */
int hsnd_identity(struct hsnd *d, struct errbuf *err);
/* Board of an Elan id on our rail; 0: there is none. */
uint64_t hsnd_board_of(const struct hsnd *d, uint32_t elan_id);

/* listen.c: connections and what is answered */
int hsnd_listen(struct hsnd *d, struct errbuf *err);
void hsnd_listen_stop(struct hsnd *d);

/* permit.c */
/* Raw ports and routes; modules below HSN_MODULE_FREE. */
bool hsnd_may_raw(const struct conn *c);
bool hsnd_may_dgram(const struct conn *c);
/* Counts and tells it; returns error. */
int hsnd_refuse(struct conn *c, const char *what, uint32_t number, int error);

/* load.c */
/* Verbs of the socket: an errno, or 0. */
int hsnd_routes_begin(struct conn *c, struct hsn_request *r, struct answer *a);
int hsnd_routes_add(struct conn *c, struct hsn_request *r, struct answer *a);
int hsnd_routes_end(struct conn *c, struct hsn_request *r, struct answer *a);
/* The connection ends. */
void hsnd_load_gone(struct conn *c);
int hsnd_routes_file(struct hsnd *d, const char *path, struct errbuf *err);

/* port.c */
/* A new endpoint for the process at the other end of c; NULL with errno.  The
 * caller puts it into its table. */
struct port *port_new(struct conn *c, enum port_kind kind, uint16_t number,
                      int fds[2]);
/* c's connection is the endpoint's from now on. */
void port_start(struct port *p, int fd);
/* End it at once; its memory goes when nothing is under way any more. */
void port_end(struct port *p);
void port_sweep(struct hsnd *d);
/* Copy a message into its ring; counted and dropped when that is full. */
void port_deliver(struct port *p, const struct hsn_record *r,
                  const struct iovec *data, size_t ndata,
                  const struct iovec *header);
void port_ring_bells(struct hsnd *d);
void port_deactivate(struct port *p);
extern const struct hsn_module_ops port_dgram_ops;
extern const struct hsn_raw_ops port_raw_ops;
void port_complete(void *arg, uint64_t cookie, int error);

/* pages.c */
/* The verb: an errno, or 0. */
int hsnd_pages(struct conn *c, struct hsn_request *r, struct answer *a);
/* The endpoint ends, and nothing is under way: its pages are the pool's. */
void pages_leave(struct port *p);
void pages_program_ends(struct client_program *p);
/* The process sends what lies in that page: where, or NULL: it may not. */
const uint8_t *pages_sent(struct port *p, const struct hsn_record *r);
/* What it sent is done: it gets the page again, or another one. */
void pages_done(struct port *p);
/* The process gives pages back; false: some are not its own. */
bool pages_freed(struct port *p, const uint8_t *numbers, size_t len);
/* Does so much data come to this endpoint in a page, if there is one? */
bool pages_wanted(const struct port *p, size_t data_len);
/* The data in a page of the endpoint's, from now on its own: the number, plus
 * one; 0: there is none. */
uint32_t pages_deliver(struct port *p, const struct iovec *data, size_t ndata);

/* pump.c */
void hsnd_run(struct hsnd *d);

/* elan.c */
/* Count one of d->counts.  True: say it; once a second for each, so that a
 * process fills no log. */
bool hsnd_count(struct hsnd *d, uint64_t *count);
int elan_open(struct hsnd *d);
/* An errno, or 0 and *port. */
int elan_attach(struct conn *c, const struct hsn_request *r, struct port **port,
                int fds[2]);
void elan_detach(struct port *p);
/* Send a record of an attached context.  As hsn_engine_send(). */
int elan_send(struct port *p, const struct hsn_record *r,
              const struct iovec *data, const struct iovec *header);

/* program.c */
/* The message of a holder; the connection is the program's when it returns
 * true. */
bool program_register(struct conn *c, const void *buf, size_t len);
void program_end(struct client_program *p);

/* echo.c */
int echo_open(struct hsnd *d);

/* loop.c */
int loop_open(struct hsnd *d);
void loop_receive(struct hsnd *d, const struct iovec *parts, size_t nparts);
/* A raw packet is done.  False: it was none of these frames. */
bool loop_complete(struct hsnd *d, uint64_t cookie, int error);

/* control.c, metrics.c, health.c */
extern const struct ctl_verb hsnd_verbs[];
extern const size_t hsnd_nverbs;
int control_open(struct hsnd *d, struct errbuf *err);
struct json_object *metrics_json(const struct hsnd *d);
void metrics_text(const struct hsnd *d, struct bytebuf *out);
int health_open(struct hsnd *d, struct errbuf *err);
/* Something has changed that switchmgrd is to hear of: the next turn of the
 * loop reports, once a second at most. */
void health_soon(struct hsnd *d);
/* The host itself is up or down now: at once, whatever was told before. */
void health_now(struct hsnd *d);

#endif
