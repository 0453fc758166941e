/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Without MPI_THREAD_MULTIPLE the program takes the lock with two plain
 * instructions and no fence: `inside` counts up, then it looks at `away`.
 * The thread does it the other way round, `away` first, with a fence in every
 * thread of the process between the two (membarrier), which is dear, but rare.
 * So at least one of them sees the other, and the thread is the one who gives
 * way.
 */
#define _GNU_SOURCE /* pthread_setname_np */
#include "libimpi/background.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/quiet_thread.h"
#include "libimpi/conns.h"
#include "libimpi/state.h"
#include "libimpi/win.h"

#define LOOK_MS 100   /* between looks while the program serves itself */
#define SERVE_MS 10   /* in its place: between rounds without news */
#define SERVE_EMPTY 5 /* such rounds until it only looks again */
#define INSIDE_MS 1   /* with windows: until the program may be away again */
#define FDS_MAX 64    /* of the connections; news of others waits a bit */
#define STACK_SIZE (256 * 1024)

static struct {
    pthread_t thread;
    bool running;
    bool stop;
    int wake;
    unsigned seen; /* conns_rounds() at the last look */
    bool asleep;   /* until something wakes it */
} background = {.wake = -1};

static int fence_all(int command)
{
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

bool background_round(void)
{
    bool moved;

    impi_be.mute = !impi_be.multiple;
    moved = conns_progress_whole();
    if (impi_be.windows > 0 && win_progress())
        moved = true;
    impi_be.mute = false;
    /* From here on shared memory rings its bell. */
    return !conns_sleep() || moved;
}

/* ---- the lock, for a thread that is not the program's ---- */

static void let_go(void)
{
    __atomic_store_n(&impi_be.away, false, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&impi_be.lock);
}

static bool take_lock(void)
{
    if (__atomic_load_n(&impi_be.inside, __ATOMIC_RELAXED) > 0)
        return false;
    pthread_mutex_lock(&impi_be.lock);
    __atomic_store_n(&impi_be.away, true, __ATOMIC_RELAXED);
    if (fence_all(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0 &&
        __atomic_load_n(&impi_be.inside, __ATOMIC_ACQUIRE) == 0)
        return true;
    let_go();
    return false;
}

void be_lock_slow(void)
{
    if (impi_be.inside > 1)
        return; /* it saw the outer one */
    do {
        pthread_mutex_lock(&impi_be.lock);
        pthread_mutex_unlock(&impi_be.lock);
    } while (__atomic_load_n(&impi_be.away, __ATOMIC_ACQUIRE));
}

/* ---- the thread ---- */

static bool stopping(void)
{
    return __atomic_load_n(&background.stop, __ATOMIC_ACQUIRE);
}

/* Has the program served the connections since we looked? */
static bool program_is_there(void)
{
    unsigned now = conns_rounds();
    bool there = now != background.seen;

    background.seen = now;
    return there;
}

/* One round in the program's place: 1 something moved, 0 nothing, -1 it is
 * back.  *n: how many of fds to wait for. */
static int serve_once(struct pollfd *fds, unsigned *n)
{
    bool moved;

    if (program_is_there() || !take_lock())
        return -1;
    moved = background_round();
    be_note_pending();
    *n = conns_fds(fds, FDS_MAX);
    background.seen = conns_rounds();
    let_go();
    return moved;
}

static void serve(void)
{
    struct pollfd fds[FDS_MAX + 1];
    int empty = 0, moved;
    unsigned n;

    while (empty < SERVE_EMPTY && !stopping() &&
           (moved = serve_once(fds + 1, &n)) >= 0) {
        empty = moved ? 0 : empty + 1;
        fds[0] = (struct pollfd){.fd = background.wake, .events = POLLIN};
        if (!moved)
            poll(fds, n + 1, SERVE_MS);
    }
}

/* Woken up: once for all who did so. */
static void wait_for(struct pollfd *fds, unsigned n, int ms)
{
    uint64_t times;

    fds[0] = (struct pollfd){.fd = background.wake, .events = POLLIN};
    if (poll(fds, n, ms) > 0 && fds[0].revents &&
        read(background.wake, &times, sizeof(times)) < 0)
        errno = 0;
}

static bool has_windows(void)
{
    return __atomic_load_n(&impi_be.served, __ATOMIC_RELAXED) > 0;
}

/* While the program has a window, sleep on the connections: what comes is
 * served at once, unless the program is inside and does so itself. */
static void serve_windows(void)
{
    struct pollfd fds[FDS_MAX + 1];

    while (has_windows() && !stopping()) {
        bool moved = false, there = take_lock();
        unsigned n = 0;

        if (there) {
            moved = background_round();
            be_note_pending();
            n = conns_fds(fds + 1, FDS_MAX);
            /* Before the program, which may have news for us, is in again. */
            __atomic_store_n(&background.asleep, !moved, __ATOMIC_RELAXED);
            let_go();
        }
        if (!moved)
            wait_for(fds, n + 1, there ? LOOK_MS : INSIDE_MS);
        __atomic_store_n(&background.asleep, false, __ATOMIC_RELAXED);
    }
}

static void *look(void *arg)
{
    struct pollfd wake;

    while (!stopping()) {
        wait_for(&wake, 1, LOOK_MS);
        serve_windows();
        if (!stopping() && !program_is_there())
            serve();
    }
    return NULL;
}

static int start_thread(void)
{
    pthread_attr_t attr;
    int rc;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    rc = quiet_thread_with(&background.thread, &attr, look, NULL);
    pthread_attr_destroy(&attr);
    if (rc == 0)
        pthread_setname_np(background.thread, "impi");
    return rc;
}

static bool is_set_to(const char *value)
{
    const char *text = getenv("SLURM_IMPI_THREAD");

    return text && strcmp(text, value) == 0;
}

bool background_may_call(void)
{
    return is_set_to("multiple");
}

void background_start(void)
{
    if (background.running || is_set_to("no") ||
        fence_all(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) < 0)
        return;
    background.stop = false;
    background.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    background.running = background.wake >= 0 && start_thread() == 0;
}

void background_wake(void)
{
    uint64_t one = 1;

    if (background.running && write(background.wake, &one, sizeof(one)) < 0)
        errno = 0; /* it looks again soon anyway */
}

void background_hurry(void)
{
    if (__atomic_exchange_n(&background.asleep, false, __ATOMIC_RELAXED))
        background_wake();
}

void background_stop(void)
{
    if (background.running) {
        __atomic_store_n(&background.stop, true, __ATOMIC_RELEASE);
        background_wake();
        pthread_join(background.thread, NULL);
        background.running = false;
    }
    if (background.wake >= 0)
        close(background.wake);
    background.wake = -1;
}
