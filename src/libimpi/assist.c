/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread that serves the connections during a native collective.
 */
#include "libimpi/assist.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/quiet_thread.h"
#include "libimpi/background.h"
#include "libimpi/conns.h"

#define FDS_MAX 64
#define LOOK_MS 5

static struct {
    pthread_mutex_t one;
    unsigned users; /* threads of the program in such a call */
    pthread_t thread;
    bool running;
    bool stop;
    bool threads; /* as it was before */
    int wake;
} assist = {.one = PTHREAD_MUTEX_INITIALIZER, .wake = -1};

static void *serve(void *arg)
{
    struct pollfd fds[FDS_MAX];

    while (!__atomic_load_n(&assist.stop, __ATOMIC_ACQUIRE)) {
        bool moved;
        unsigned n;

        pthread_mutex_lock(&impi_be.lock);
        moved = background_round();
        n = conns_fds(fds + 1, FDS_MAX - 1);
        pthread_mutex_unlock(&impi_be.lock);
        fds[0] = (struct pollfd){.fd = assist.wake, .events = POLLIN};
        if (!moved)
            poll(fds, n + 1, LOOK_MS);
    }
    return NULL;
}

/* Without the thread the call goes on as it would have without us. */
static void begin(void)
{
    assist.threads = impi_be.threads;
    assist.stop = false;
    assist.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!assist.threads)
        impi_be.threads = true; /* callbacks of the program take the lock */
    assist.running =
        assist.wake >= 0 && quiet_thread(&assist.thread, serve, NULL) == 0;
}

static void end(void)
{
    uint64_t one = 1;

    if (assist.running) {
        __atomic_store_n(&assist.stop, true, __ATOMIC_RELEASE);
        if (write(assist.wake, &one, sizeof(one)) < 0)
            errno = 0; /* it looks again soon anyway */
        pthread_join(assist.thread, NULL);
    }
    if (assist.wake >= 0)
        close(assist.wake);
    if (!assist.threads)
        impi_be.threads = false;
}

/* Threads of the program never wait for each other here: two processes could
 * have them wait in different orders. */
void assist_begin(void)
{
    pthread_mutex_lock(&assist.one);
    if (assist.users++ == 0)
        begin();
    pthread_mutex_unlock(&assist.one);
}

void assist_end(void)
{
    pthread_mutex_lock(&assist.one);
    if (--assist.users == 0)
        end();
    pthread_mutex_unlock(&assist.one);
    be_lock();
    be_unlock(); /* notes whether anything is still pending */
}
