/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "impi/status_wire.h"
#include "plugins/mpi_impi/status.h"
#include "slurmabi/stepd.h"

#define REAP_MS 1000 /* from the end of a task until Slurm has reaped it */

/* One step per slurmstepd. */
static struct {
    const struct slurmabi_stepd *step;
    pthread_t thread;
    bool running;
    int fd;
} serving = {.fd = -1};

/* Slurm signals nobody when it has reaped, so look once a millisecond; the
 * end of the connection ends it at once. */
static int await_status(pid_t pid)
{
    struct pollfd p = {.fd = serving.fd, .events = POLLRDHUP};
    int status = slurmabi_stepd_task_status(serving.step, pid);

    for (int i = 0; status < 0 && i < REAP_MS && poll(&p, 1, 1) == 0; i++)
        status = slurmabi_stepd_task_status(serving.step, pid);
    return status;
}

static void *serve(void *arg)
{
    struct impi_status_request q;
    ssize_t n;

    /* A record of another length is not impid's: skip it. */
    while ((n = recv(serving.fd, &q, sizeof(q), MSG_TRUNC)) > 0) {
        struct impi_status_reply r = {.status = -1};

        if (n != (ssize_t)sizeof(q))
            continue;
        r.pid = q.pid;
        r.status = await_status(q.pid);
        send(serving.fd, &r, sizeof(r), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return NULL;
}

void impi_status_serve(const struct slurmabi_stepd *step, int fd)
{
    sigset_t all, old;

    serving.step = step;
    serving.fd = fd;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    serving.running = pthread_create(&serving.thread, NULL, serve, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void impi_status_stop(void)
{
    if (serving.fd < 0)
        return;
    shutdown(serving.fd, SHUT_RDWR);
    if (serving.running)
        pthread_join(serving.thread, NULL);
    close(serving.fd);
    serving.fd = -1;
}
