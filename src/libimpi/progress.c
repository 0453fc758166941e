/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting.
 */
#include "libimpi/progress.h"

#include <sched.h>

#include "base/clock.h"
#include "base/look.h"
#include "libimpi/coll_run.h"
#include "libimpi/conns.h"
#include "libimpi/req.h"
#include "libimpi/win.h"

#define SPIN_QUIET 200 /* empty rounds before the processor is offered */
#define SPIN_QUICK 500 /* likewise where a round takes no system call */
#define SPIN_MAX 1800  /* such offers, then it sleeps */
/* Where waits have lately ended soon after that, it looks for so long before it
 * sleeps: the process that it waits for may be held up for some milliseconds by
 * something urgent. */
#define SPIN_LONG_NS 10000000u
#define NATIVE_EVERY 32 /* rounds between looks at the native library */
#define SLEEP_LONG_MS 100
#define WHOLE_EVERY 16 /* in a crowd: looks of which one is at everything */

/* A turn of all who share a processor takes some 10 us, one of a process that
 * computes milliseconds. */
static struct look crowd = {
    .most = LOOK_MOST_NS, .kept = 100000, .least = 10000000};

/* Likewise for a process that waits for the native library: as long as others
 * give way, it may take long. */
static struct look offers = {.most = UINT64_MAX, .least = 10000000};

/* Likewise where each process has a processor. */
static struct look disturbed = {
    .most = SPIN_LONG_NS, .kept = 100000, .least = 10000000};

/* What has been moved may have more behind it.  True when windows moved, which
 * no connection need have told. */
static bool follow_up(void)
{
    bool moved = false;

    if (unlikely(impi_be.unsettled)) {
        impi_be.unsettled = false;
        impi_p2p_settle(impi_be.p2p);
    }
    if (unlikely(impi_be.windows > 0))
        moved = win_progress();
    req_reap();
    if (coll_any())
        coll_progress();
    return moved;
}

bool progress_once(void)
{
    bool moved = conns_progress();

    return follow_up() || moved;
}

void progress_native(void)
{
    int flag;

    impi_real.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, impi_be.world_comm->hidden,
                     &flag, MPI_STATUS_IGNORE);
}

static void offer_processor(void)
{
    be_unlock();
    sched_yield();
    be_lock();
}

static void sleep_for(const struct waiter *w)
{
    bool alone = impi_be.world_comm->native_size == 1;

    conns_wait(alone && !w->native ? SLEEP_LONG_MS : impi_be.crowd_wait.nap_ms);
    if (!alone && !w->native)
        progress_native();
}

static void rest_crowded(const struct waiter *w)
{
    offers.kept = impi_be.crowd_wait.turn_ns;
    if (w->idle < impi_be.crowd_wait.rounds && look_idle(&offers, clock_ns()))
        offer_processor();
    else
        sleep_for(w);
    look_found(&offers, clock_ns());
}

static void rest(const struct waiter *w)
{
    unsigned quiet = conns_is_quick() ? SPIN_QUICK : SPIN_QUIET;

    if (w->idle < quiet)
        return;
    if (w->native || w->idle < quiet + SPIN_MAX ||
        look_idle(&disturbed, clock_ns()))
        offer_processor();
    else
        sleep_for(w);
}

/* Others want the processor, and nothing but a connection has news for us. */
static bool is_crowded(const struct waiter *w)
{
    return impi_be.crowded && !w->native && !impi_be.threads &&
           !conns_opening();
}

/* Nothing is here.  Where the others give way, too, the processor is offered
 * between looks (base/look.h says when that pays); else once, so that all of
 * them have had a turn and more news than one may be there, and then there is
 * nothing to do but sleep. */
static bool rest_in_crowd(const struct waiter *w)
{
    bool again = look_idle(&crowd, clock_ns());

    if (again || w->idle == 0) {
        offer_processor();
        return false;
    }
    if (conns_write_or_wait(impi_be.crowd_wait.nap_ms))
        return true;
    if (impi_be.world_comm->native_size > 1)
        progress_native();
    return false;
}

static void wait_in_crowd(struct waiter *w)
{
    bool moved = conns_rounds() % WHOLE_EVERY == 0 ? conns_write_or_wait(0)
                                                   : conns_progress_awaited();

    if (!moved)
        moved = rest_in_crowd(w);
    if (moved)
        look_found(&crowd, clock_ns());
    w->idle = moved ? 0 : w->idle + 1;
    follow_up();
}

void progress_wait(struct waiter *w)
{
    if (is_crowded(w)) {
        wait_in_crowd(w);
        return;
    }
    if (progress_once()) {
        if (disturbed.idle)
            look_found(&disturbed, clock_ns());
        w->idle = 0;
        return;
    }
    w->idle++;
    if (conns_is_quick() && !impi_be.crowded && !w->native)
        conns_look();
    if (!w->native && w->idle % NATIVE_EVERY == 0 &&
        impi_be.world_comm->native_size > 1)
        progress_native();
    if (impi_be.threads) {
        be_unlock();
        be_lock();
    }
    if (impi_be.crowded)
        rest_crowded(w);
    else
        rest(w);
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
