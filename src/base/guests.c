/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/guests.h"
#include "base/limits.h"

void guests_free(struct guests *t)
{
    free(t->all);
    free(t->sorted);
    *t = (struct guests){0};
}

static int make_room(struct guests *t)
{
    size_t room = t->room ? 2 * t->room : 16;
    struct guest **all, **sorted;

    if (t->n < t->room)
        return 0;
    all = reallocarray(t->all, room, sizeof(struct guest *));
    if (!all)
        return -1;
    t->all = all;
    sorted = reallocarray(t->sorted, room, sizeof(struct guest *));
    if (!sorted)
        return -1;
    t->sorted = sorted;
    t->room = room;
    return 0;
}

int guests_enter(struct guests *t, struct guest *g, int fd)
{
    if (make_room(t) < 0)
        return -1;
    *g = (struct guest){.fd = fd, .at = t->n, .order = t->entered++};
    t->all[t->n++] = g;
    return 0;
}

void guests_leave(struct guests *t, struct guest *g)
{
    if (g->at >= t->n || t->all[g->at] != g)
        return;
    t->all[g->at] = t->all[--t->n];
    t->all[g->at]->at = g->at;
}

/* <0: a's source goes before b's; 0: they are one. */
static int by_source(const struct guest_source *a, const struct guest_source *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == GUEST_REMOTE)
        return memcmp(&a->from, &b->from, sizeof(a->from));
    if (a->kind != GUEST_UNKNOWN && a->uid != b->uid)
        return a->uid < b->uid ? -1 : 1;
    return 0;
}

static int by_place(const void *x, const void *y)
{
    const struct guest *a = *(struct guest *const *)x;
    const struct guest *b = *(struct guest *const *)y;
    int c = by_source(&a->source, &b->source);

    if (c != 0)
        return c;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The source that pays: *n of them, one after the other, oldest first. */
static struct guest **most_frequent(struct guests *t, size_t *n)
{
    struct guest **all = t->sorted, **most = all;

    *n = 0;
    for (size_t i = 0, end; i < t->n; i = end) {
        for (end = i + 1; end < t->n; end++)
            if (by_source(&all[i]->source, &all[end]->source) != 0)
                break;
        if (all[i]->source.kind != all[0]->source.kind)
            break;
        if (end - i > *n) {
            most = all + i;
            *n = end - i;
        }
    }
    return most;
}

struct guest *guests_choose(struct guests *t, guest_ask_f *ask, void *arg,
                            uint64_t random)
{
    struct guest **source, *silent = NULL;
    size_t n, nsilent = 0;

    for (size_t i = 0; i < t->n; i++) {
        struct guest *g = t->sorted[i] = t->all[i];

        if (!g->asked)
            ask(arg, g, &g->source);
        g->asked = true;
    }
    qsort(t->sorted, t->n, sizeof(struct guest *), by_place);
    source = most_frequent(t, &n);
    for (size_t i = n; i-- > 0;)
        if (!source[i]->spoke) {
            silent = source[i];
            nsilent++;
        }
    if (4 * nsilent > n)
        return silent;
    return source[random % n];
}

unsigned guests_pause(unsigned tries, uint64_t random)
{
    unsigned most = SF_RETRY_MS_MIN;

    while (tries-- > 1 && most < SF_RETRY_MS_MAX)
        most *= 2;
    if (most > SF_RETRY_MS_MAX)
        most = SF_RETRY_MS_MAX;
    return most / 2 + (unsigned)(random % (most / 2 + 1));
}
