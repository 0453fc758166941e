/* SPDX-License-Identifier: BSD-3-Clause
 *
 * impid: the agent of one component on one node.  It stands between Slurm
 * and the process management of the MPI libraries: knows the tasks, forms
 * IMPI clients with the other agents, serves PMI-1, PMI-2 and PMIx to the
 * processes, joins the clients to one world, and ends the job when something
 * dies.
 *
 *   impid.c         main(), start and end; what goes wrong: report, kill
 *   impid_proc.c    the tasks of this node and the connections of their MPI
 *                   processes (task_wire)
 *   impid_memory.c  memory of others that a process in a container cannot open
 *   impid_proof.c   who the user is, for another world that it meets
 *   impid_status.c  how a process ended
 *   impid_link.c    the connection to impi-server (agent_wire)
 *   impid_tree.c    its place in the tree of a large step's agents
 *   impid_round.c   one generation: who is in it, clients, environments
 *   impid_pmi.c     the native process management: PMI-1 for MPICH, PMIx for
 *                   Open MPI
 *   impid_join.c    from native worlds to the one world
 *   impid_relay.c   packets between hosts, when only these are connected
 *   impid_bypass.c  tasks that run MPI without us
 *   impid_still.c   who is behind in MPI_Init
 *   impid_topology.c  the node's topology, for the libraries' own start
 *
 * A *task* is what Slurm started; a *process* is one MPI program that a task
 * runs (itself or a child); a *round* is the g-th program of all tasks.
 */
#ifndef SF_IMPID_IMPID_H
#define SF_IMPID_IMPID_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <ev.h>

#include "base/repeat.h"
#include "impi/agent_wire.h"
#include "impi/clients.h"
#include "impi/holds.h"
#include "impi/task_wire.h"
#include "impi/world.h"
#include "impid/impid_conf.h"
#include "impid/impid_link.h"
#include "impid/impid_stream.h"
#include "impid/impid_tree.h"
#include "pmi/pmi.h"
#include "pmi/pmix_host.h"

struct impid;
struct impid_round;
struct impid_client;
struct impid_question;
struct clerk;

/* One MPI process: its connection, and the PMI socket of an MPICH one. */
struct impid_proc {
    LIST_ENTRY(impid_proc) link; /* of the agent's */
    struct impid *impid;
    struct impid_stream stream;
    struct impid_stream pmi;
    struct impid_task *task; /* NULL before HELLO */
    struct impid_round *round;
    struct impid_client *client; /* NULL before the round is formed */
    uint32_t local;              /* number among the client's on this node */
    uint32_t family;
    uint32_t build;         /* of the MPI library, see task_wire.h */
    char dir[TASK_DIR_MAX]; /* how it knows the step's directory */
    uint64_t memory, users; /* of its container, see task_wire.h */
    uint32_t said_pid;      /* its own */
    pid_t pid;
    int pidfd;
    ev_io ended;             /* pidfd is readable */
    ev_timer linger;         /* connection lost: the end should show soon */
    bool in_pmi, out_of_pmi; /* native init and finalize seen */
    bool joined;
    uint32_t stage; /* enum task_stage, in MPI_Init */
    bool finished;
    bool aborted;    /* its MPI library ends it */
    bool lost;       /* connection is gone */
    int32_t exiting; /* argument of exit(), if it said so */
    bool said_exiting;
    bool asked;                      /* slurmstepd, how it ended */
    struct impid_question *question; /* to munged, for this one */
};

/* One task of this node. */
struct impid_task {
    uint32_t rank; /* in the world */
    bool registered;
    bool ended;
    pid_t pid;
    int pidfd;
    int status; /* of its end; -1: not known */
    bool looked;
    ev_io watch;
    uint32_t generation;     /* of its running or else next program */
    struct impid_proc *proc; /* the running one */
};

/* slurmstepd is asked how a task ended that others may wait for in MPI_Init. */
struct impid_ending {
    struct impid_task *task; /* NULL: none is */
    ev_timer patience;
};

struct impid {
    struct ev_loop *loop;
    struct impid_conf conf;
    char node_name[SF_AGENT_NODE_MAX];
    ev_io listen;
    ev_timer relisten;
    ev_io alive;   /* slurmstepd's socket */
    ev_io records; /* of tasks that register */
    ev_signal sigterm;
    ev_idle stop; /* orderly end once nothing else is to be done */
    struct impid_link link;
    struct impid_tree tree;
    struct impid_task *tasks;
    uint32_t ntasks; /* of this node */
    uint32_t nended;
    LIST_HEAD(, impid_proc) procs;
    SLIST_HEAD(, impid_round) rounds;
    const struct pmix_host_api *pmix; /* NULL until one wants it */
    ev_async pmix_wake;
    uint8_t host_addr[16];     /* processes listen here */
    ev_timer patience;         /* with a link that is being made */
    bool told;                 /* SIGTERM came */
    bool leaving;              /* as soon as it is made, or the tree allows */
    bool failed;               /* an abort was sent or a kill received */
    struct agent_msg *doubted; /* an abort that is not sent yet; or NULL */
    ev_timer doubt;
    bool stopping;
    bool orphan;           /* slurmstepd is gone */
    struct repeat refused; /* processes: what is logged of them */
    uint32_t nasked;       /* processes whose status slurmstepd will tell */
    struct impid_ending ending;
    struct clerk *clerk; /* asks munged; NULL: was not needed */
    ev_timer bypass;     /* the next look for tasks without libimpi */
    bool looked_at_node;
    char *topology; /* the file with what was found; NULL: none */
    double look_after;
};

/* impid_bypass.c: fail the job when a task that is waited for runs MPI without
 * libimpi. */
void impid_bypass_start(struct impid *a);

/* impid_proc.c */
int impid_task_start(struct impid *a, struct errbuf *err);
/* Where slurmstepd's tasks register, if that is open. */
#define IMPID_TASKS_FD 6
/* Take what they have sent. */
void impid_task_records(struct impid *a);
/* Whose end is there to be seen, but was not looked at yet, has ended. */
void impid_task_look(struct impid *a);
bool impid_task_any_running(const struct impid *a);
void impid_task_kill_all(struct impid *a);
void impid_proc_accept(struct impid *a, int fd);
void impid_proc_send_env(struct impid_proc *p, const struct task_env *env,
                         int pass_fd);
/* The world: its head, and a descriptor of the node's table. */
void impid_proc_send_world(struct impid_proc *p, const struct impi_world *world,
                           int table);
/* The socket of its packets, when only hosts are connected. */
void impid_proc_send_relay(struct impid_proc *p, int fd);
void impid_proc_error(struct impid_proc *p, const char *text);
void impid_proc_free(struct impid_proc *p);
/* What became of a step that one has had started. */
void impid_proc_spawned(struct impid *a, const struct agent_spawn *m);
/* slurmstepd says how a process ended. */
void impid_proc_status(struct impid *a, pid_t pid, int status);

/* impid_memory.c */
/* How others get at its memory. */
struct memory_view impid_memory_view(const struct impid_proc *p);
/* CLAIM.  -1: it breaks the rules. */
int impid_memory_claim(struct impid_proc *p, const struct task_frame *f);

/* impid_proof.c: PROVE or CHECK of a process.  -1: it breaks the rules. */
int impid_proof_ask(struct impid_proc *p, const struct task_frame *f);
/* The process goes. */
void impid_proof_forget(struct impid_proc *p);

/* impid_round.c */
struct impid_round *impid_round_get(struct impid *a, uint32_t generation);
void impid_round_finished(struct impid_round *r, struct impid_proc *p);
void impid_round_proc_gone(struct impid_round *r, struct impid_proc *p);
void impid_rounds_free(struct impid *a);
void impid_family_hello(struct impid_round *r, struct impid_proc *p);
/* A task ended and so will not be in its next round. */
void impid_family_task_gone(struct impid *a, struct impid_task *t);
/* slurmstepd says how a task ended. */
void impid_family_status(struct impid *a, pid_t pid, int status);

/* PMIx fences of one set of participants that were seen so far. */
struct impid_fence_count {
    struct impid_fence_count *next;
    uint64_t hash;
    uint32_t count;
};

/* One client of a round on this node. */
struct impid_client {
    struct impid_round *round;
    uint32_t number;
    uint32_t family;
    uint32_t host;   /* this node's place among the client's hosts, */
    uint32_t nhosts; /* which are so many */
    uint8_t *agents; /* the set of their agents */
    uint32_t nlocal;
    uint32_t nfinished, njoined, ngone;
    struct impid_proc **procs; /* [nlocal], by native rank */
    struct task_join *joins;   /* [nlocal] */
    struct pmi *pmi;
    uint32_t pmi_seq;
    ev_timer leave; /* since all local processes have finished */
    char nspace[128];
    bool nspace_known;
    struct impid_fence_count *fences;
    struct impid_speaker *speaker; /* of its first host only */
    struct impid_relay *relay;     /* where only hosts are connected */
    bool spread;                   /* the world is with its processes */
};

struct impid_round {
    SLIST_ENTRY(impid_round) link;
    struct impid *impid;
    uint32_t generation;
    uint32_t nhello;           /* local processes that said HELLO */
    struct impid_proc **procs; /* [local tasks]: who did */
    bool put;                  /* our part of the family exchange is out */
    bool formed;
    struct impi_clients clients;
    char **node_names; /* of every agent, from the exchange */
    uint32_t nnodes;
    uint32_t nlocal; /* clients on this node */
    struct impid_client *local;
    /* What all processes here read of the world: sealed, and mapped. */
    int table;
    const void *image; /* NULL: there is none yet */
    size_t image_len;
    ev_timer still; /* started when it has formed */
};

/* impid_still.c: tell who is behind when MPI_Init stands still. */
void impid_still_start(struct impid_round *r);

/* impid_pmi.c */
int impid_pmi_start(struct impid_client *c, struct errbuf *err);
void impid_pmi_stop(struct impid_client *c);
/* All local processes of the client have come to the native MPI_Finalize. */
void impid_pmi_finished(struct impid_client *c);
/* Variables of one process, and for MPICH the PMI socket to pass (else
 * -1; the caller closes it).  free with impid_pmi_free_env(). */
char **impid_pmi_env(struct impid_proc *p, int *pass_fd, struct errbuf *err);
void impid_pmi_free_env(char **env);

/* Its rank among all clients of the job. */
uint32_t impid_client_number(const struct impid_client *c);

/* Make the frame that says whom this agent holds; r: the latest round, NULL
 * before one has formed. */
void impid_holds(struct agent_msg *msg, const struct impid *a,
                 const struct impid_round *r);

/* impid_join.c */
void impid_join_add(struct impid_proc *p, const struct task_join *join);
void impid_join_finished(struct impid_client *c);
void impid_join_drop_table(struct impid_round *r);
void impid_speaker_world_at(struct impid *a, const struct agent_world_at *at);
/* Its connection is still open. */
bool impid_speaker_active(const struct impid_client *c);
void impid_speaker_free(struct impid_client *c);

/* impid.c */
/* The job must end: tell impi-server the first cause, SF-E<id> and text (doc/
 * errors.md); code is srun's exit code, p whose fault it is, or NULL. */
__attribute__((format(printf, 5, 6))) void
impid_fail(struct impid *a, int id, int32_t code, const struct impid_proc *p,
           const char *fmt, ...);
/* The same when p's MPI library ends it, which it may do because it saw another
 * process go: that one's end is the cause, if it shows within a moment. */
__attribute__((format(printf, 5, 6))) void
impid_fail_unless(struct impid *a, int id, int32_t code, struct impid_proc *p,
                  const char *fmt, ...);
/* Processes that still wait for their environment are told why. */
void impid_refuse_waiting(struct impid *a, const char *text);
/* The job ends: kill what runs here. */
void impid_killed(struct impid *a, const char *text);

/* The link is up or down. */
void impid_link_settled(struct impid *a);
void impid_maybe_leave(struct impid *a);

#endif
