/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time of the IMPI server.  A step between two ticks counts two seconds at
 * most: a machine that slept does not find everybody late.  And for
 * authentication it counts only when bytes came from somebody meanwhile: a
 * job that is suspended as a whole loses nobody, and a silent stranger alone
 * harms nobody.
 */
#include <stdio.h>
#include <string.h>

#include "impi/server_priv.h"

#define TICK_MAX_MS 2000

static void end_late(struct impi_server *s)
{
    for (int i = 0; i < s->nsessions; i++) {
        struct session *c = &s->sessions[i];

        if (c->used && c->state <= SESSION_ANSWER &&
            s->counted - c->since > s->options.auth_timeout_ms)
            server_break(s, i, "SF-E206", "it did not authenticate in time");
    }
}

/* "1, 4" : ranks that have not joined. */
static void list_missing(const struct impi_server *s, char *buf, size_t size)
{
    size_t at = 0;

    buf[0] = '\0';
    for (uint32_t i = 0; i < s->options.nclients && at < size; i++)
        if (s->by_rank[i] < 0)
            at += (size_t)snprintf(buf + at, size - at, "%s%u", at ? ", " : "",
                                   i);
}

static void notice_missing(struct impi_server *s)
{
    char missing[160];

    s->noticed = true;
    list_missing(s, missing, sizeof(missing));
    server_event(s, IMPI_SERVER_WARNING, -1,
                 "SF-E209: still waiting for client %s of %u to join", missing,
                 s->options.nclients);
}

void impi_server_tick(struct impi_server *s, uint64_t now_ms)
{
    uint64_t step = s->have_time && now_ms > s->now ? now_ms - s->now : 0;

    if (step > TICK_MAX_MS)
        step = TICK_MAX_MS;
    s->have_time = true;
    s->now = now_ms;
    s->waited += step;
    if (s->moved)
        s->counted += step;
    s->moved = false;
    if (s->options.auth_timeout_ms)
        end_late(s);
    if (s->options.notice_ms && !s->started && !s->noticed &&
        s->waited > s->options.notice_ms)
        notice_missing(s);
}
