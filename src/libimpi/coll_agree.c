/* SPDX-License-Identifier: BSD-3-Clause */
#include "libimpi/coll_agree.h"

#include <stdlib.h>

#include "impi/constants.h"
#include "libimpi/req.h"
#include "libimpi/state.h"

/* What is under way. */
enum stage { NOTHING, HERE, MASTERS, HOME, ANSWER };

static bool is_master(const struct coll *x)
{
    return impi_group_is_master(&x->c->group, (uint32_t)x->c->rank);
}

static uint32_t nmasters(const struct coll *x)
{
    return impi_group_num_masters(&x->c->group);
}

static bool is_alone(const struct coll *x)
{
    return x->c->native_size == 1;
}

/* All of the client. */
static void ask_here(struct coll *x)
{
    x->said = x->heard[nmasters(x)] = x->rc != MPI_SUCCESS;
    if (!is_alone(x))
        coll_note(
            x, coll_started(x, impi_real.Iallreduce(
                                   &x->said, &x->heard[nmasters(x)], 1, MPI_INT,
                                   MPI_MAX, x->c->hidden, coll_native(x))));
}

static void move(struct coll *x, int peer, int *flag, bool recv)
{
    struct message m = {.buf = flag,
                        .count = 1,
                        .type = MPI_INT,
                        .peer = peer,
                        .tag = IMPI_AGREE_TAG + x->c->tag_base,
                        .comm = x->c,
                        .cid = x->c->cid + 1,
                        .straight = true};

    coll_note(x, coll_cross(x, &m, recv));
}

/* A process that speaks for its client with the others that do so. */
static void ask_masters(struct coll *x, bool only_home)
{
    if (!is_master(x))
        return;
    for (uint32_t n = 0; n < nmasters(x); n++) {
        int rank = (int)impi_group_master_rank(&x->c->group, n);

        if (rank == x->c->rank ||
            (only_home && (uint32_t)x->c->world[rank] >= impi_be.home))
            continue;
        move(x, rank, &x->heard[n], true);
        move(x, rank, &x->said, false);
    }
}

/* Who could not say it has failed, too. */
static void take_answers(struct coll *x)
{
    if (x->rc != MPI_SUCCESS)
        x->said = 1;
    for (uint32_t n = 0; n <= nmasters(x); n++) {
        if (x->heard[n])
            x->said = 1;
        x->heard[n] = 0;
    }
}

static void answer(struct coll *x)
{
    uint32_t own =
        impi_group_local_master_rank(&x->c->group, (uint32_t)x->c->rank);

    if (!is_alone(x))
        coll_note(
            x, coll_started(x, impi_real.Ibcast(&x->said, 1, MPI_INT,
                                                x->c->native[own], x->c->hidden,
                                                coll_native(x))));
}

static bool end(struct coll *x)
{
    x->agreeing = NOTHING;
    if (x->said)
        coll_note(x, MPI_ERR_OTHER);
    return true;
}

static void begin(struct coll *x)
{
    if (!x->heard)
        x->heard = calloc(nmasters(x) + 1, sizeof(int));
    if (!x->heard)
        be_die(1, "SF-E403: no memory for a collective call");
    ask_here(x);
}

bool coll_agree(struct coll *x)
{
    switch ((enum stage)x->agreeing) {
    case NOTHING:
        begin(x);
        break;
    case HERE:
        take_answers(x);
        if (nmasters(x) < 3)
            return end(x);
        ask_masters(x, false);
        break;
    case MASTERS:
        take_answers(x);
        ask_masters(x, true);
        break;
    case HOME:
        take_answers(x);
        answer(x);
        break;
    case ANSWER:
        return end(x);
    }
    x->agreeing++;
    return false;
}
