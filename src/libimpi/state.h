/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a back end.  MPI is a property of the process, so there is
 * one of it.  Everything below `lock` belongs to whoever holds it; with less
 * than MPI_THREAD_MULTIPLE only the thread in the background (background.h)
 * takes it, and the program says in `inside` that it must not.
 */
#ifndef LIBIMPI_STATE_H
#define LIBIMPI_STATE_H

#include <pthread.h>
#include <sys/types.h>

#include "impi/crowd.h"
#include "impi/hostaddr.h"
#include "impi/p2p.h"
#include "impi/table.h"
#include "impi/world.h"
#include "libimpi/agent.h"
#include "libimpi/comm.h"
#include "libimpi/family.h"
#include "libimpi/tolerate.h"

struct backend {
    /* Fixed by MPI_Init. */
    bool started;  /* impid has answered: we are part of an IMPI step */
    bool spanning; /* more than one client: MPI_COMM_WORLD is ours */
    bool multiple; /* MPI_THREAD_MULTIPLE */
    bool native;   /* user data travel as they are in memory */
    struct tolerated tolerated; /* for the sake of a client not ours */
    bool crowded;               /* more processes than processors: never spin */
    struct impi_crowd_wait crowd_wait; /* how long to sleep */
    pid_t pid;                         /* a child after fork is none of us */
    int rank;                          /* in MPI_COMM_WORLD */
    uint32_t home; /* processes of the own world; others are behind them */
    bool coupled;  /* has met another world, or may */
    /* Where this process listens, and the ports that it may take. */
    uint8_t own_addr[IMPI_HOSTID_SIZE];
    uint16_t port_lo, port_hi;
    int tagub;    /* negotiated */
    int universe; /* MPI_UNIVERSE_SIZE: all there are */
    int relay;    /* socket of all packets, or -1: straight to each peer */
    uint32_t generation;
    uint32_t client;
    struct impi_world world; /* with the node's table */
    struct impi_table table;
    const void *image; /* of it: mapped, so many bytes */
    size_t image_len;
    /* All know of all who shares a machine with more than it has processors,
     * and may meet each other. */
    bool flat;
    uint64_t max_cid; /* highest context id in use */
    struct impi_comm *world_comm;
    struct agent_conn agent;

    /* Where the last probe for MPI_ANY_SOURCE told of a message of the library,
     * which the next receive from anybody takes before others. */
    const struct impi_comm *probed;

    /* Native calls must not block: something crosses between clients right
     * now, or others want the processor, which a native library keeps while
     * it waits.  Written under the lock, read without. */
    bool pending;

    int windows; /* that span */
    int served;  /* of them: where others are served all the time */

    bool threads;   /* the lock is wanted */
    int inside;     /* without it: how often be_lock() was called */
    bool away;      /* the thread in the background is inside, or wants to be */
    bool mute;      /* it is, and may not call MPI */
    bool unsettled; /* then a message came whose match it could not tell */
    pthread_mutex_t lock;
    struct impi_p2p *p2p;
};

extern struct backend impi_be;

static inline bool cross_pending(void)
{
    return unlikely(__atomic_load_n(&impi_be.pending, __ATOMIC_RELAXED));
}

/* The thread in the background was in our place: wait until it is out. */
void be_lock_slow(void);

static inline void be_lock(void)
{
    if (impi_be.threads) {
        pthread_mutex_lock(&impi_be.lock);
        return;
    }
    __atomic_store_n(&impi_be.inside, impi_be.inside + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (unlikely(__atomic_load_n(&impi_be.away, __ATOMIC_ACQUIRE)))
        be_lock_slow();
}

/* The client of a process, by its rank in the world. */
static inline uint32_t client_of(int rank)
{
    return impi_world_client(&impi_be.world, (uint32_t)rank);
}

/* Where a process of the world listens. */
static inline struct netaddr listens_at(uint32_t rank)
{
    struct impi_proc p = impi_world_proc(&impi_be.world, rank);

    return impi_hostaddr(p.addr, p.port);
}

/* Also notes whether anything is pending. */
void be_unlock(void);

/* The same where that has not changed. */
static inline void be_unlock_same(void)
{
    if (impi_be.threads)
        pthread_mutex_unlock(&impi_be.lock);
    else
        __atomic_store_n(&impi_be.inside, impi_be.inside - 1, __ATOMIC_RELEASE);
}
void be_note_pending(void); /* and nothing else; under the lock */

/* This process may meet other worlds from now on: it takes connections, also
 * where its world has one client only.  0, or -1 and why it cannot. */
int world_open(struct errbuf *err);

/* Tell the user (stderr): "slurm-fabric: CODE: rank N: text". */
void be_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Cannot go on: say why, end the whole job, _exit(code). */
void be_die(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));
/* The same where the user has been told. */
__attribute__((noreturn)) void be_end(int code, const char *text);

/* If this is an error, comm's error handler shall have it when the call of the
 * program ends (failed.h).  Returns the code. */
int be_raise_error(MPI_Comm comm, int code);
static inline int be_raise(MPI_Comm comm, int code)
{
    return likely(code == MPI_SUCCESS) ? code : be_raise_error(comm, code);
}

/* So many more (or less) that others reach without a call here: windows, files'
 * pointers.  Under the lock, without which the background thread looks. */
static inline void be_serve(int more)
{
    __atomic_store_n(&impi_be.served, impi_be.served + more, __ATOMIC_RELAXED);
}

#endif
