/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "swfabd/greet.h"

static struct greeting *of(struct clerk_job *job)
{
    return (struct greeting *)(void *)job; /* its first member */
}

static void greet_free(struct greeting *g)
{
    softlink_free(g->link);
    explicit_bzero(g, sizeof(*g));
    free(g);
}

static void make_answer(struct clerk_job *job)
{
    struct greeting *g = of(job);

    g->rc = softlink_answer(g->link, clock_ns(), &g->hello, &g->err);
}

static void finish(struct greeting *g)
{
    if (g->rc < 0)
        g->seat = NULL;
    g->answer(g);
    greet_free(g);
}

static void answer_made(struct clerk_job *job, bool cancelled)
{
    if (cancelled)
        greet_free(of(job));
    else
        finish(of(job));
}

static void open_hello(struct clerk_job *job)
{
    struct greeting *g = of(job);

    g->rc = softlink_read_hello(&g->hello, &g->d->ops, g->buf, g->len, &g->err);
}

static void hello_opened(struct clerk_job *job, bool cancelled)
{
    struct greeting *g = of(job);

    if (cancelled) {
        greet_free(g);
        return;
    }
    g->seat = g->rc == 0 ? g->admit(g) : NULL;
    if (g->seat) {
        g->link = softlink_new_called(g->seat->slot, &g->d->ops);
        g->job.work = make_answer;
        g->job.done = answer_made;
        if (g->link && clerk_give(g->d->clerk, &g->job) == 0)
            return;
        g->rc = errprintf(&g->err, "too many attach at once, try again");
    }
    finish(g);
}

struct greeting *swfabd_greet_new(struct swfabd *d, const uint8_t *buf,
                                  size_t len, struct errbuf *err)
{
    struct greeting *g =
        len <= SOFTLINK_CONTROL_MAX ? calloc(1, sizeof(*g)) : NULL;

    if (!g) {
        errprintf(err, "no HELLO is that long, or no memory");
        return NULL;
    }
    g->d = d;
    g->job.work = open_hello;
    g->job.done = hello_opened;
    memcpy(g->buf, buf, len);
    g->len = len;
    return g;
}

int swfabd_greet(struct greeting *g, struct errbuf *err)
{
    if (clerk_give(g->d->clerk, &g->job) == 0)
        return 0;
    greet_free(g);
    return errprintf(err, "too many attach at once, try again");
}
