/* SPDX-License-Identifier: BSD-3-Clause
 * Tasks whose MPI calls do not come to us: their LD_PRELOAD was replaced, so
 * that the loader left libimpi.so out.  Such a task runs alone, as rank 0 of 1,
 * and the others wait in MPI_Init for it.  An MPI library in a process without
 * libimpi.so shows it; we look only at tasks that are waited for.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impid/impid.h"

#define FIRST_LOOK 0.25 /* s; each later one comes twice as late */
#define LAST_LOOK 4.0
#define CHILDREN_MAX 64 /* of a task that are looked at */
#define ENVIRON_MAX (1024 * 1024)

/* What a process has mapped. */
struct mapped {
    char mpi[64]; /* file name of the MPI library; "": none */
    bool front;
};

static FILE *open_proc(pid_t pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

static void read_maps(pid_t pid, struct mapped *m)
{
    FILE *f = open_proc(pid, "maps");
    char *line = NULL, *name;
    size_t size = 0;

    *m = (struct mapped){.front = false};
    while (f && getline(&line, &size, f) > 0) {
        name = strrchr(line, '/');
        if (!name)
            continue;
        name[strcspn(name, " \n")] = '\0';
        if (strcmp(name, "/libimpi.so") == 0)
            m->front = true;
        else if (strncmp(name, "/libmpi.so", 10) == 0 ||
                 strncmp(name, "/libmpich.so", 12) == 0)
            snprintf(m->mpi, sizeof(m->mpi), "%s", name + 1);
    }
    free(line);
    if (f)
        fclose(f);
}

/* LD_PRELOAD as the program was started with. */
static void read_preload(pid_t pid, char *value, size_t size)
{
    FILE *f = open_proc(pid, "environ");
    char *text = NULL;
    size_t room = 0, total = 0;
    ssize_t n;

    value[0] = '\0';
    while (f && total < ENVIRON_MAX &&
           (n = getdelim(&text, &room, '\0', f)) > 0) {
        total += (size_t)n;
        if (strncmp(text, "LD_PRELOAD=", 11) == 0)
            snprintf(value, size, "%s", text + 11);
    }
    free(text);
    if (f)
        fclose(f);
}

/* The process, or a child of its, that has an MPI library without us; 0: none.
 * A kernel that does not tell children shows the process alone. */
static pid_t find_bypass(pid_t pid, struct mapped *m, unsigned *left)
{
    char path[80];
    FILE *f;
    int child;
    pid_t found = 0;

    read_maps(pid, m);
    if (m->mpi[0])
        return m->front ? 0 : pid;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
             (int)pid);
    f = fopen(path, "re");
    while (f && !found && *left > 0 && fscanf(f, "%d", &child) == 1) {
        --*left;
        found = find_bypass(child, m, left);
    }
    if (f)
        fclose(f);
    return found;
}

static bool is_waited_for(const struct impid_task *t)
{
    return t->registered && !t->ended && !t->proc && t->generation == 0;
}

static void fail_bypass(struct impid *a, const struct impid_task *t, pid_t pid,
                        const char *mpi)
{
    char preload[256], how[300];

    read_preload(pid, preload, sizeof(preload));
    if (preload[0])
        snprintf(how, sizeof(how), "LD_PRELOAD is \"%s\" there", preload);
    else
        snprintf(how, sizeof(how), "LD_PRELOAD was taken away there");
    impid_fail(a, 323, 1, NULL,
               "rank %u on node %s uses %s without libimpi.so, alone, while "
               "others wait for it: %s. To preload a tool say srun "
               "--export=ALL,LD_PRELOAD=TOOL, or LD_PRELOAD=TOOL:$LD_PRELOAD "
               "in what srun starts",
               t->rank, a->node_name, mpi, how);
}

static void on_look(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct impid *a = ev_userdata(loop);
    bool any = false;

    for (uint32_t i = 0; i < a->ntasks && !a->failed && !a->stopping; i++) {
        const struct impid_task *t = &a->tasks[i];
        unsigned left = CHILDREN_MAX;
        struct mapped m;
        pid_t pid;

        if (!is_waited_for(t))
            continue;
        any = true;
        pid = find_bypass(t->pid, &m, &left);
        if (pid && is_waited_for(t))
            fail_bypass(a, t, pid, m.mpi);
    }
    ev_timer_stop(loop, w);
    if (!any || a->failed || a->stopping)
        return;
    a->look_after = a->look_after < LAST_LOOK ? a->look_after * 2 : LAST_LOOK;
    ev_timer_set(w, a->look_after, 0);
    ev_timer_start(loop, w);
}

void impid_bypass_start(struct impid *a)
{
    a->look_after = FIRST_LOOK;
    ev_timer_init(&a->bypass, on_look, a->look_after, 0);
    ev_timer_start(a->loop, &a->bypass);
}
