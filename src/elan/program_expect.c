/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elan/program_expect.h"

/* Shorter than a grace period, and no longer than tasks mostly take: a machine
 * that is so busy that they do has better things to do. */
#define MOVE_MS 5
#define MOVES 12

static void *move_nowhere(void *arg)
{
    struct program_expect *x = arg;

    for (int i = 0; i < MOVES && !atomic_load(&x->entered); i++) {
        if (write(x->procs, "0", 1) < 0)
            break;
        poll(NULL, 0, MOVE_MS);
    }
    close(x->procs);
    return NULL;
}

/* The group we are in is the one above our own. */
static int open_here(const struct program_cgroup *g)
{
    char path[sizeof(g->path) + sizeof("./cgroup.procs")];
    int above = (int)(strrchr(g->path, '/') - g->path);

    snprintf(path, sizeof(path), ".%.*s/cgroup.procs", above, g->path);
    return openat(g->tree, path, O_WRONLY | O_CLOEXEC);
}

void program_expect_begin(struct program_expect *x,
                          const struct program_cgroup *g)
{
    pthread_t thread;

    x->procs = g->own ? open_here(g) : -1;
    atomic_init(&x->entered, false);
    if (x->procs < 0)
        return;
    if (pthread_create(&thread, NULL, move_nowhere, x) == 0)
        pthread_detach(thread);
    else
        close(x->procs);
}

void program_expect_end(struct program_expect *x)
{
    atomic_store(&x->entered, true);
}
