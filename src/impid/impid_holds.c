/* SPDX-License-Identifier: BSD-3-Clause
 * Who is lost with this agent: impi-server tells it if that happens.
 */
#include <stdio.h>
#include <stdlib.h>

#include "impi/holds.h"
#include "impid/impid.h"

/* The ranks here of a client of the round, or all; how many. */
static uint32_t ranks_of(const struct impid *a, const struct impid_client *c,
                         uint32_t *ranks)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < a->ntasks; i++)
        if (!c || c->round->clients.client[a->tasks[i].rank] == c->number)
            ranks[n++] = a->tasks[i].rank;
    return n;
}

/* c: NULL before clients are known; but who starts us as one of several
 * says which. */
static void add(struct impi_holds *h, const struct impid *a,
                const struct impid_client *c, uint32_t *ranks)
{
    uint32_t n = ranks_of(a, c, ranks);

    if (a->conf.foreign.port)
        impi_holds_add(h, a->conf.client, "process", "processes", ranks, n);
    else
        impi_holds_add(h, c ? (int64_t)c->number : IMPI_HOLDS_NO_CLIENT, "rank",
                       "ranks", ranks, n);
}

void impid_holds(struct agent_msg *msg, const struct impid *a,
                 const struct impid_round *r)
{
    uint32_t *ranks = calloc(a->ntasks ? a->ntasks : 1, sizeof(*ranks));
    struct impi_holds h = {""};

    for (uint32_t i = 0; ranks && r && i < r->nlocal; i++)
        add(&h, a, &r->local[i], ranks);
    if (ranks && !r)
        add(&h, a, NULL, ranks);
    free(ranks);
    msg->type = AGENT_HOLDS;
    snprintf(msg->text, sizeof(msg->text), "%s", h.text);
}
