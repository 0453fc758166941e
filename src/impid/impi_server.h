/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside impi-server, the meeting point of a step's agents: one process,
 * started by srun, driven by one libev loop.
 *
 *   impi_server.c          main: start, and the end when srun goes
 *   impi_server_start.c    the line that says what to do
 *   impi_server_net.c      which address, which port
 *   impi_server_agents.c   agent connections: opening, reading, writing; what
 *                          they ask; lines to srun and the end of the job
 *   impi_server_presence.c nodes whose agent has not started
 *   impi_server_tree.c     the tree by which results reach many agents
 *   impi_server_spawn.c    steps that processes ask for
 *   impi_server_worlds.c   an IMPI server for each generation, and how its
 *                          clients authenticate
 *   out_queue.c            output queues with shared frames
 *
 * It runs as the job's user and trusts srun.  Agents are believed after they
 * have proved that they know the step's secret; a stranger costs a slot.
 */
#ifndef SF_IMPID_IMPI_SERVER_H
#define SF_IMPID_IMPI_SERVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <ev.h>

#include "base/bytebuf.h"
#include "base/errbuf.h"
#include "base/guests.h"
#include "base/repeat.h"
#include "base/netaddr.h"
#include "base/tcp_peer.h"
#include "impi/agent_tree.h"
#include "impi/agent_wire.h"
#include "impi/chan_open.h"
#include "impi/rendezvous.h"
#include "impi/server.h"
#include "impid/out_queue.h"

/* ---- the start line ---- */

#define SERVER_PATH_MAX 108 /* of a unix socket, NUL included */

#define SERVER_AUTH_MAX 128 /* a preference list of methods */

struct server_start {
    uint8_t secret[IMPI_CHAN_SECRET_SIZE];
    uint32_t job, step;
    uint32_t agents, tasks;
    uint32_t fanout;             /* of the agents' tree */
    struct in6_addr bind;        /* ::, any */
    struct in6_addr advertise;   /* ::, automatic */
    uint16_t port_lo, port_hi;   /* 0, 0: any */
    char munge[SERVER_PATH_MAX]; /* empty: munged's default */
    bool listener;               /* fd 4 is the listener */
    bool presence;               /* fd 5 is that of nodes without an agent */
    uint32_t lines;              /* of such nodes, from fd 6 on */
    bool stdio; /* behind them srun's output and standard error */
    /* Not for the agents of a step: one IMPI server for so many clients, as
     * impirun starts it. */
    uint32_t world;
    char auth[SERVER_AUTH_MAX]; /* preference list, empty: strongest first */
    bool withhold; /* labels beyond 0.0 from those that do not say them */
};

/* Where srun leaves the listener that it has made, so that it knows the
 * address before we run. */
#define SERVER_LISTENER_FD 4
#define SERVER_PRESENCE_FD 5
#define SERVER_LINES_FD 6

/* Parse "start key=value ...", without its newline.  Unknown keys are an
 * error, so that srun and server can not misunderstand each other. */
int server_start_parse(struct server_start *start, const char *line,
                       struct errbuf *err);

/* ---- network ---- */

/* The address that nodes are told (doc/rendezvous.md, "Address"). */
struct in6_addr server_net_choose(const struct server_start *start);
/* A listening, nonblocking socket at start->bind in the port range; *port is
 * the one it got.  -1 with text. */
int server_net_listen(const struct server_start *start, uint16_t *port,
                      struct errbuf *err);
/* The agents' listener: the one that srun has made, or a new one. */
int server_net_adopt(const struct server_start *start, uint16_t *port,
                     struct errbuf *err);
/* Accept one connection, nonblocking, without delay.  -1 with errno; peer is
 * "address:port". */
int server_net_accept(int fd, char *peer, size_t size);

/* ---- the server ---- */

struct server;

enum agent_state {
    AGENT_OPENING, /* has not proved anything */
    AGENT_SILENT,  /* proved; JOB is awaited */
    AGENT_UP,
    AGENT_BYE_SAID, /* orderly: may close */
};

struct agent {
    struct guest guest; /* first; while it opens */
    struct server *server;
    enum agent_state state;
    int fd;
    ev_io read, write;
    struct impi_chan_open open;
    struct bytebuf in;
    struct out_queue out;
    uint32_t index;
    bool dead;      /* closed; freed before the loop waits again */
    uint64_t since; /* counted seconds when it came */
    char peer[64];
    char node[SF_AGENT_NODE_MAX];
    char holds[SF_AGENT_HOLDS_MAX]; /* who is lost with it; "" before it said */
    TAILQ_ENTRY(agent) next;        /* oldest first */
};

struct world_conn;
struct spawned;
struct opener;
struct presence;

struct world {
    struct server *server;
    uint32_t generation, nclients;
    int fd; /* listener, -1 when everybody is in */
    uint16_t port;
    ev_io accept;
    struct impi_server *engine;
    struct impi_auth_munge_arg munge;
    struct impi_auth_method methods[3];
    struct world_conn **conns; /* by the engine's number */
    int nconns;
    struct guests guests; /* of them: have not authenticated */
    unsigned nrefused, nwarned, nlogged;
    char lost[SF_ERRBUF_SIZE]; /* a client that went, when it is not yet told */
    int lost_client;
    ev_timer lost_timer;
    LIST_ENTRY(world) next;
};

struct server {
    struct ev_loop *loop;
    struct server_start start;
    struct in6_addr address; /* as advertised */
    int fd;                  /* agents' listener */
    uint16_t port;
    ev_io accept;
    ev_timer tick;
    ev_prepare sweep;
    uint64_t counted; /* seconds in which some agent moved */
    bool moved;
    TAILQ_HEAD(, agent) agents;
    struct guests opening;
    struct repeat refused; /* openings: what is logged of them */
    int netlink;           /* base/tcp_peer.h */
    bool came; /* an agent has proved itself: a task has called MPI */
    struct agent **by_index; /* start.agents entries */
    bool *reported;          /* the same: has ever been here */
    bool *orphaned;          /* the same: its slurmstepd was killed */
    unsigned ticks;
    uint32_t nlive; /* agents that proved it and are connected */
    uint32_t nbye;
    ev_io presence_accept;
    TAILQ_HEAD(presence_list, presence) presences;
    uint32_t npresences;
    uint32_t *standing;    /* start.agents entries: lines of that node */
    struct guests unknown; /* presences that have not said who they are */
    struct rendezvous *rendezvous;
    struct agent_tree *tree;  /* NULL: so few agents that there is none */
    struct agent_at *listens; /* with it: of each agent, if it does */
    LIST_HEAD(, world) worlds;
    struct opener *opener; /* of credentials; NULL before the first */
    /* control */
    ev_io control_read, control_write;
    struct bytebuf control_out;
    bool aborted, ended, leaving;
    bool asked;         /* srun expects nothing more */
    int code;           /* of the step, so far */
    struct chunk *kill; /* the KILL frame, once aborted */
    ev_timer leave_timer;
    double leave_began;
    bool left; /* nothing is to be done but to wait for spawned steps */
    /* Steps that processes have had started. */
    char srun[256];     /* who started us; "": not srun */
    int out_fd, err_fd; /* where it writes; -1: not known */
    LIST_HEAD(, spawned) spawned;
    uint32_t nspawned;
};

/* control */
#define SERVER_CONTROL_FD 3
void server_control_start(struct server *s);
void server_control_line(struct server *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void server_note(struct server *s, const char *text);
/* End the job: the first cause is told to srun, all agents get KILL. */
struct server_cause {
    int code;
    int rank, client; /* -1: not known */
    const char *node; /* "-": not known */
    bool lost;        /* nobody can kill on that node, so Slurm must */
    const char *text;
};
void server_abort(struct server *s, const struct server_cause *cause);
/* An agent said BYE: after the last one, srun hears `end`. */
void server_bye(struct server *s);

/* agents */
int server_agents_start(struct server *s, struct errbuf *err);
void server_agents_tick(struct server *s);
void server_agents_stop(struct server *s);
/* To one, if it is connected. */
void server_agent_tell(struct server *s, uint32_t agent,
                       const struct agent_msg *msg);

/* To one that is connected, or not any more. */
void server_agent_send_chunk(struct agent *a, struct chunk *c);

/* the tree */
int server_tree_start(struct server *s, struct errbuf *err);
void server_tree_stop(struct server *s);
/* An agent has said JOB; its connection is closed. */
void server_tree_came(struct server *s, uint32_t agent);
void server_tree_gone(struct server *s, uint32_t agent);
/* What agents say: 0, or -1 with the rule that was broken. */
int server_tree_listens(struct agent *a, const struct agent_msg *msg,
                        struct errbuf *err);
int server_tree_attached(struct agent *a, const struct agent_msg *msg,
                         struct errbuf *err);
int server_tree_leaving(struct agent *a, const struct agent_msg *msg,
                        struct errbuf *err);
int server_tree_left(struct agent *a, const struct agent_msg *msg,
                     struct errbuf *err);
/* A key is complete: to all who get it. */
void server_spread(struct server *s, const struct rendezvous_result *result);

/* spawned steps */
void server_spawn_begin(struct server *s);
void server_spawn_step(struct server *s, uint32_t agent,
                       const struct agent_spawn *m);
/* The launch fails: its children end, too. */
void server_spawn_kill(struct server *s);
void server_spawn_stop(struct server *s);
/* The last one has ended: nothing keeps a server that leaves. */
void server_spawned_all(struct server *s);

/* presence: wake who is there, and miss who goes without an agent. */
int server_presence_start(struct server *s, struct errbuf *err);
/* An agent has said BYE. */
void server_presence_bye(struct server *s, uint32_t agent, const char *node);
/* The first agent has proved itself. */
void server_presence_came(struct server *s);
void server_presence_tick(struct server *s);
void server_presence_stop(struct server *s);

/* worlds */
struct world *server_world_get(struct server *s, uint32_t generation,
                               uint32_t nclients, struct errbuf *err);
void server_worlds_tick(struct server *s);
void server_worlds_stop(struct server *s);

void server_credential_stop(struct server *s);

#endif
