/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elan/program_expect.h"

/* The time between two moves is shorter than a grace period.  All of them
 * together take about as long as tasks need to start; a machine so busy that
 * tasks need longer has better things to do. */
#define MOVE_MS 5
#define MOVES 12

/* cgroup.procs of the group in which the program's own is made, usually the
 * holder's. */
static int open_here(const struct program_cgroup *g)
{
    char path[sizeof(g->path) + sizeof("./cgroup.procs")];
    int above = (int)(strrchr(g->path, '/') - g->path);

    snprintf(path, sizeof(path), ".%.*s/cgroup.procs", above, g->path);
    return openat(g->tree, path, O_WRONLY | O_CLOEXEC);
}

void program_expect_init(struct program_expect *x)
{
    *x = (struct program_expect){.procs = -1};
}

void program_expect_begin(struct program_expect *x,
                          const struct program_cgroup *g)
{
    program_expect_end(x);
    x->procs = g->own ? open_here(g) : -1;
    x->left = MOVES;
}

void program_expect_begin_by(struct program_expect *x, int procs)
{
    program_expect_end(x);
    x->procs = procs < 0 ? -1 : fcntl(procs, F_DUPFD_CLOEXEC, 0);
    x->left = MOVES;
}

int program_expect_move(struct program_expect *x)
{
    if (x->procs < 0)
        return -1;
    if (x->left-- > 0 && write(x->procs, "0", 1) == 1)
        return MOVE_MS;
    program_expect_end(x);
    return -1;
}

void program_expect_end(struct program_expect *x)
{
    if (x->procs >= 0)
        close(x->procs);
    x->procs = -1;
}
