/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting.
 */
#define _GNU_SOURCE /* sched_getaffinity, struct ucred */
#include "libimpi/progress.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libimpi/coll_run.h"
#include "libimpi/net.h"
#include "libimpi/req.h"

#define SPIN_QUIET 200  /* empty rounds before the processor is offered */
#define SPIN_QUICK 500  /* likewise where a round takes no system call */
#define SPIN_MAX 1800   /* such offers before the process sleeps */
#define CROWD_LEAST 200 /* likewise where others want the processor */
#define NATIVE_EVERY 32 /* rounds between looks at the native library */
#define SLEEP_MS 1      /* while the native library may have news */
#define SLEEP_LONG_MS 100
/* A few that crowd a machine are through with theirs sooner than one wakes up
 * again: rounds before sleeping, divided among them. */
#define CROWD_ROUNDS 32000

bool progress_once(void)
{
    bool moved = net_progress();

    if (unlikely(impi_be.unsettled)) {
        impi_be.unsettled = false;
        impi_p2p_settle(impi_be.p2p);
    }
    req_reap();
    if (coll_any())
        coll_progress();
    return moved;
}

void progress_native(void)
{
    int flag;

    impi_real.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, impi_be.world_comm->hidden,
                     &flag, MPI_STATUS_IGNORE);
}

static void rest(const struct waiter *w)
{
    bool alone = impi_be.world_comm->native_size == 1, yield;
    unsigned quiet = net_is_quick() ? SPIN_QUICK : SPIN_QUIET;

    if (impi_be.crowded)
        yield = w->idle < impi_be.crowd_rounds;
    else if (w->idle < quiet)
        return;
    else
        yield = w->native || w->idle < quiet + SPIN_MAX;
    if (yield) {
        be_unlock();
        sched_yield();
        be_lock();
        return;
    }
    net_wait(alone && !w->native ? SLEEP_LONG_MS : SLEEP_MS);
    if (!alone && !w->native)
        progress_native();
}

void progress_wait(struct waiter *w)
{
    if (progress_once()) {
        w->idle = 0;
        return;
    }
    w->idle++;
    if (net_is_quick() && !impi_be.crowded && !w->native)
        net_look();
    if (!w->native && w->idle % NATIVE_EVERY == 0 &&
        impi_be.world_comm->native_size > 1)
        progress_native();
    if (impi_be.threads) {
        be_unlock();
        be_lock();
    }
    rest(w);
}

static uint32_t cpus_of(pid_t pid)
{
    cpu_set_t set;

    return sched_getaffinity(pid, sizeof(set), &set) == 0
               ? (uint32_t)CPU_COUNT(&set)
               : 0;
}

/* This process may be bound to one of many; its agent is not. */
static uint32_t processors(void)
{
    struct ucred agent = {.pid = 0};
    socklen_t len = sizeof(agent);
    uint32_t own = cpus_of(0), n = 0;

    if (getsockopt(impi_be.agent.fd, SOL_SOCKET, SO_PEERCRED, &agent, &len) ==
            0 &&
        agent.pid > 0)
        n = cpus_of(agent.pid);
    if (n == 0)
        n = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    return own > n ? own : n;
}

bool progress_is_crowded(uint32_t nprocs)
{
    impi_be.crowd_rounds = nprocs ? CROWD_ROUNDS / nprocs : 0;
    if (impi_be.crowd_rounds < CROWD_LEAST)
        impi_be.crowd_rounds = CROWD_LEAST;
    return nprocs > processors();
}

int progress_native_wait(MPI_Request *request, MPI_Status *status)
{
    struct waiter w = {.native = true};
    int rc, flag;

    be_lock();
    while ((rc = impi_real.Test(request, &flag, status)) == MPI_SUCCESS &&
           !flag)
        progress_wait(&w);
    be_unlock();
    return rc;
}
