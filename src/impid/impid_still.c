/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_Init that stands still: the processes of a client wait for each other
 * inside the native MPI library, which has no time limit, and a rank that does
 * not come leaves all of them there.  Each agent knows how far its own
 * processes have come, and tells the user which of them are behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impid/impid.h"

/* From the start of a program; then again until all are through. */
#define STILL_SECONDS 20

/* How far a process has come, in order. */
enum stage {
    STAGE_NATIVE,
    STAGE_WAITS,
    STAGE_JOINED,
    STAGE_WORLD,
    STAGE_COPY,
    STAGE_READY,
    NSTAGES
};

/* What those do who are furthest behind.  NULL: they wait for others, of which
 * another agent tells. */
static const char *const doing[NSTAGES] = {
    [STAGE_NATIVE] = "not come out of the native MPI_Init",
    [STAGE_WORLD] = "not taken the world from impid",
    [STAGE_COPY] = "not made the native copy of MPI_COMM_WORLD",
};

static enum stage stage_of(const struct impid_client *c,
                           const struct impid_proc *p)
{
    if (p->stage >= TASK_STAGE_READY || p->finished)
        return STAGE_READY;
    if (p->stage >= TASK_STAGE_WORLD)
        return STAGE_COPY;
    if (p->joined)
        return c->spread ? STAGE_WORLD : STAGE_JOINED;
    if (c->pmi && pmi_waits(c->pmi, p->local))
        return STAGE_WAITS;
    return STAGE_NATIVE;
}

/* As the kernel has it: the letter of proc(5); 0: not known. */
static char state_of(pid_t pid)
{
    char path[64], text[512], *end;
    FILE *f;
    size_t n;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = pid > 0 ? fopen(path, "re") : NULL;
    if (!f)
        return 0;
    n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = '\0';
    end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : 0;
}

static const char *state_name(char state)
{
    switch (state) {
    case 'T':
        return ", stopped by a signal";
    case 't':
        return ", stopped by a debugger";
    case 'D':
        return ", waits for a device or a file system";
    case 'S':
        return ", sleeps";
    case 'R':
        return ", runs";
    default:
        return "";
    }
}

/* Neither runs nor waits for what may come: look there first. */
static bool is_held(char state)
{
    return state == 'T' || state == 't' || state == 'D';
}

/* Those of one stage, or of the later ones that are not through. */
struct found {
    uint32_t n;
    uint32_t *ranks;
    const struct impid_proc *look_at; /* one of them */
};

static void find(const struct impid_client *c, enum stage from, enum stage to,
                 struct found *f)
{
    f->n = 0;
    f->look_at = NULL;
    for (uint32_t i = 0; i < c->nlocal; i++) {
        const struct impid_proc *p = c->procs[i];
        enum stage at = p && !p->lost ? stage_of(c, p) : STAGE_READY;

        if (at < from || at > to)
            continue;
        if (!f->look_at ||
            (!is_held(state_of(f->look_at->pid)) && is_held(state_of(p->pid))))
            f->look_at = p;
        f->ranks[f->n++] = p->task->rank;
    }
}

static const char *ranks_text(const struct found *f, struct impi_holds *h)
{
    *h = (struct impi_holds){""};
    impi_holds_add(h, IMPI_HOLDS_NO_CLIENT, "rank", "ranks", f->ranks, f->n);
    return h->text;
}

static void tell(const struct impid_client *c, enum stage at,
                 const struct found *behind, const struct found *others)
{
    struct impid *a = c->round->impid;
    struct agent_msg msg = {.type = AGENT_NOTE};
    const struct impid_proc *p = behind->look_at;
    struct impi_holds who, rest;
    int n;

    n = snprintf(msg.text, sizeof(msg.text),
                 "SF-E410: MPI_Init stands still for %d seconds on node %.64s: "
                 "%s of client %u (%s) %s %s",
                 STILL_SECONDS, a->node_name, ranks_text(behind, &who),
                 impid_client_number(c), task_family_name(c->family),
                 behind->n == 1 ? "has" : "have", doing[at]);
    n += snprintf(msg.text + n, sizeof(msg.text) - (size_t)n,
                  " (rank %u is process %d%s)", p->task->rank, (int)p->pid,
                  state_name(state_of(p->pid)));
    if (others->n > 0)
        snprintf(msg.text + n, sizeof(msg.text) - (size_t)n, "; %s wait%s",
                 ranks_text(others, &rest), others->n == 1 ? "s" : "");
    impid_link_send(&a->link, &msg);
}

/* False: it is not the time yet to say something. */
static bool look_at(const struct impid_client *c)
{
    struct found behind, others;
    enum stage at = STAGE_NATIVE;
    bool told = false;

    behind.ranks = calloc(2 * (size_t)c->nlocal, sizeof(uint32_t));
    if (!behind.ranks)
        return false;
    others.ranks = behind.ranks + c->nlocal;
    find(c, at, at, &behind);
    while (behind.n == 0 && at < STAGE_READY) {
        at++;
        find(c, at, at, &behind);
    }
    if (at == STAGE_READY) {
        told = true;
    } else if (doing[at]) {
        find(c, at + 1, STAGE_COPY, &others);
        tell(c, at, &behind, &others);
        told = true;
    }
    free(behind.ranks);
    return told;
}

static void on_still(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct impid_round *r = w->data;
    bool all = true;

    for (uint32_t i = 0; i < r->nlocal; i++)
        if (r->local[i].ngone < r->local[i].nlocal)
            all &= look_at(&r->local[i]);
    if (all || r->impid->failed || r->impid->stopping)
        ev_timer_stop(loop, w);
}

void impid_still_start(struct impid_round *r)
{
    ev_timer_init(&r->still, on_still, STILL_SECONDS, STILL_SECONDS);
    r->still.data = r;
    ev_timer_start(r->impid->loop, &r->still);
}
