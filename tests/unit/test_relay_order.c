/* SPDX-License-Identifier: BSD-3-Clause
 * Order by relay (tests/mpi/order.c) in memory and by seed: one process behind
 * one host and three behind the other send each other bursts and receive them
 * from anybody and by name.  Every socket is slow, its reads and writes short;
 * processes go away in the middle, and then nobody serves their connection, or
 * one who may not ask for receives from anybody.  Short messages go straight
 * where they may (impi/fast.h).  Nothing is lost, overtaken or left standing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/fast.h"
#include "relay_sim.h"

#define SEEDS 150
#define BURST 30 /* messages of one process to another in a phase */
#define LONG 100 /* bytes of a message of several packets */
#define SHORT 4
#define AWAY_MAX 40 /* rounds */

enum mode { ANY, POSTED, NAMED, MIXED };

/* Each phase has a context of its own, so nobody waits for the others. */
static const struct phase {
    bool to_first; /* all to process 0, or it to all */
    enum mode mode;
} phases[] = {
    {true, ANY},    {true, POSTED}, {false, NAMED},  {true, MIXED},
    {false, MIXED}, {true, NAMED},  {false, POSTED}, {false, ANY},
};
#define NPHASES (sizeof(phases) / sizeof(phases[0]))
#define MOST (SIM_EACH * BURST)

/* What a process does; every function that waits is called again. */
struct program {
    uint32_t phase, done;     /* messages of the phase that are through */
    uint32_t next[SIM_PROCS]; /* the number of each one's next message */
    uint32_t turn;            /* NAMED and MIXED: whose turn it is */
    bool waits;
    uint32_t away;
    uint32_t nposted;
    struct impi_request req[MOST];
    uint8_t in[MOST][LONG];
};

struct job {
    struct sim *sim;
    struct program program[SIM_PROCS];
    uint8_t out[BURST][LONG];
    uint32_t put, put_part, taken; /* straight */
};

static const struct phase *phase_of(const struct program *g)
{
    return &phases[g->phase];
}

static size_t length(uint32_t n)
{
    return n % 11 == 10 ? LONG : SHORT;
}

static bool sends(const struct program *g, uint32_t i)
{
    return phase_of(g)->to_first == (i != 0);
}

/* ---- sending ---- */

/* As conns_put() of libimpi does: *part bytes are written. */
static bool put(struct job *j, struct sim_proc *p, const struct impi_send *args,
                size_t *part)
{
    uint8_t flat[SIM_PACKET];
    const void *head = impi_fast_send(p->channel, args);
    size_t len = args->buf.len;

    *part = 0;
    if (!head)
        return false;
    memcpy(flat, head, IMPI_PACKET_SIZE);
    memcpy(flat + IMPI_PACKET_SIZE, args->buf.base, len);
    *part = sim_put(j->sim, &p->up, flat, IMPI_PACKET_SIZE + len);
    if (*part < IMPI_PACKET_SIZE + len)
        return false;
    impi_fast_sent(p->channel, len);
    j->put++;
    return true;
}

static void start_send(struct job *j, uint32_t i)
{
    struct program *g = &j->program[i];
    struct sim_proc *p = &j->sim->proc[i];
    uint32_t npeers = sim_npeers(j->sim, i), n = g->done / npeers;
    struct impi_send args = {.peer = sim_peer(j->sim, i, g->done % npeers),
                             .rank = (int32_t)i,
                             .tag = (int32_t)n % 3,
                             .cid = g->phase,
                             .sync = n % 7 == 6,
                             .buf = {.base = j->out[n], .len = length(n)}};
    struct iovec iov[IMPI_TX_IOV];
    size_t part = 0;

    g->waits = args.sync || !put(j, p, &args, &part);
    if (!g->waits)
        return;
    impi_p2p_isend(p->p2p, &g->req[0], &args);
    if (part == 0)
        return;
    impi_channel_tx(p->channel, iov, IMPI_TX_IOV);
    impi_channel_tx_done(p->channel, part);
    j->put_part++;
}

static bool send_step(struct job *j, uint32_t i)
{
    struct program *g = &j->program[i];

    if (!g->waits)
        start_send(j, i);
    if (g->waits && !g->req[0].done)
        return false;
    g->waits = false;
    g->done++;
    return true;
}

/* ---- receiving ---- */

static void check(struct program *g, const struct impi_status *status,
                  const uint8_t *data)
{
    uint32_t source = (uint32_t)status->source, n;

    assert_in_range(source, 0, SIM_PROCS - 1);
    n = g->next[source]++;
    assert_int_equal(status->error, IMPI_OK);
    assert_int_equal(status->tag, n % 3);
    assert_int_equal(status->bytes, length(n));
    assert_int_equal(data[0], n);
    assert_int_equal(data[length(n) - 1], n);
}

static uint32_t in_all(const struct job *j, uint32_t i)
{
    return BURST * sim_npeers(j->sim, i);
}

static struct impi_recv from_anybody(struct program *g, uint32_t slot)
{
    return (struct impi_recv){.peer = IMPI_ANY_PEER,
                              .rank = IMPI_ANY_SOURCE,
                              .tag = IMPI_ANY_TAG,
                              .cid = g->phase,
                              .shared = true,
                              .buf = {.base = g->in[slot], .len = LONG}};
}

/* From whom something is still due, in turn. */
static struct impi_recv by_name(struct job *j, uint32_t i)
{
    struct program *g = &j->program[i];
    uint32_t peer;

    do
        peer = sim_peer(j->sim, i, g->turn++ % sim_npeers(j->sim, i));
    while (g->next[peer] == BURST);
    return (struct impi_recv){.peer = peer,
                              .rank = (int32_t)peer,
                              .tag = (int32_t)g->next[peer] % 3,
                              .cid = g->phase,
                              .buf = {.base = g->in[0], .len = LONG}};
}

/* As conns_take() of libimpi does with a socket. */
static bool take(struct job *j, struct sim_proc *p,
                 const struct impi_recv *want, struct impi_status *status)
{
    struct iovec iov;
    size_t n = p->down.len;

    if (!impi_fast_is_free(p->channel, want) || n == 0)
        return false;
    if (sim_random(j->sim, 4) == 0)
        n = 1 + sim_random(j->sim, (uint32_t)n);
    impi_channel_rx(p->channel, &iov, 1);
    n = n < iov.iov_len ? n : iov.iov_len;
    sim_take(&p->down, iov.iov_base, n);
    if (n < IMPI_PACKET_SIZE ||
        !impi_fast_take(p->channel, iov.iov_base, n - IMPI_PACKET_SIZE, want,
                        status)) {
        assert_int_equal(impi_channel_rx_done(p->channel, n), 0);
        return false;
    }
    memcpy(want->buf.base, (uint8_t *)iov.iov_base + IMPI_PACKET_SIZE,
           n - IMPI_PACKET_SIZE);
    j->taken++;
    return true;
}

static bool receive_one(struct job *j, uint32_t i, bool any)
{
    struct program *g = &j->program[i];
    struct sim_proc *p = &j->sim->proc[i];
    struct impi_status status;

    if (!g->waits) {
        struct impi_recv want = any ? from_anybody(g, 0) : by_name(j, i);

        /* Looks for some time, and serves nobody else meanwhile. */
        p->skips = p->down.len == 0 && sim_random(j->sim, 4) > 0;
        if (p->skips) {
            g->turn -= !any;
            return true;
        }
        if (take(j, p, &want, &status)) {
            check(g, &status, g->in[0]);
            g->done++;
            return true;
        }
        impi_p2p_irecv(p->p2p, &g->req[0], &want);
        g->waits = true;
    }
    if (!g->req[0].done)
        return false;
    check(g, &g->req[0].status, g->in[0]);
    g->waits = false;
    g->done++;
    return true;
}

static bool receive_posted(struct job *j, uint32_t i)
{
    struct program *g = &j->program[i];

    for (; g->nposted < in_all(j, i); g->nposted++) {
        struct impi_recv want = from_anybody(g, g->nposted);

        impi_p2p_irecv(j->sim->proc[i].p2p, &g->req[g->nposted], &want);
    }
    if (!g->req[g->done].done)
        return false;
    check(g, &g->req[g->done].status, g->in[g->done]);
    g->done++;
    return true;
}

static bool receive_step(struct job *j, uint32_t i)
{
    struct program *g = &j->program[i];
    enum mode mode = phase_of(g)->mode;

    if (mode == POSTED)
        return receive_posted(j, i);
    return receive_one(j, i, mode == ANY || (mode == MIXED && g->done % 2));
}

/* ---- all of it ---- */

/* False: it waits, or is through. */
static bool program_step(struct job *j, uint32_t i)
{
    struct program *g = &j->program[i];
    struct sim_proc *p = &j->sim->proc[i];
    bool moved;

    if (g->phase == NPHASES)
        return false;
    if (p->unsettled) {
        p->unsettled = false;
        impi_p2p_settle(p->p2p);
    }
    moved = sends(g, i) ? send_step(j, i) : receive_step(j, i);
    if (g->done == in_all(j, i)) { /* as many are sent as are received */
        g->phase++;
        g->done = g->turn = g->nposted = 0;
        memset(g->next, 0, sizeof(g->next));
    }
    return moved;
}

/* Away for some rounds, now and then: with a thread in its place or not. */
static bool is_away(struct job *j, uint32_t i)
{
    struct program *g = &j->program[i];
    struct sim_proc *p = &j->sim->proc[i];

    if (g->away > 0) {
        if (--g->away == 0)
            p->asleep = p->mute = false;
        return true;
    }
    if (sim_random(j->sim, 50) > 0)
        return false;
    g->away = 1 + sim_random(j->sim, AWAY_MAX);
    p->asleep = sim_random(j->sim, 2);
    p->mute = !p->asleep;
    return true;
}

static bool all_through(const struct job *j)
{
    for (uint32_t i = 0; i < j->sim->nprocs; i++)
        if (j->program[i].phase < NPHASES)
            return false;
    return true;
}

static void run(struct job *j, uint64_t seed)
{
    while (!all_through(j)) {
        bool moved = false;

        for (uint32_t i = 0; i < j->sim->nprocs; i++)
            moved |= is_away(j, i) || program_step(j, i);
        moved |= sim_step(j->sim) > 0;
        if (!moved)
            fail_msg("seed %llu: all stand still", (unsigned long long)seed);
    }
}

static void end(struct job *j)
{
    for (uint32_t i = 0; i < j->sim->nprocs; i++) {
        j->sim->proc[i].asleep = j->sim->proc[i].mute = false;
        impi_channel_fini(j->sim->proc[i].channel);
    }
    sim_settle(j->sim);
    for (uint32_t i = 0; i < j->sim->nprocs; i++) {
        assert_true(impi_channel_finished(j->sim->proc[i].channel));
        assert_false(impi_p2p_busy(j->sim->proc[i].p2p));
    }
}

static struct job *create(uint64_t seed)
{
    static const struct {
        uint32_t ackmark, hiwater;
    } flow[] = {{1, 1}, {2, 4}, {3, 3}, {10, 20}};
    const struct sim_options options = {.each = {1, 1 + seed % 3},
                                        .maxdatalen = 32,
                                        .ackmark = flow[seed % 4].ackmark,
                                        .hiwater = flow[seed % 4].hiwater,
                                        .pipe = seed % 5 ? 700 : 90,
                                        .pause = 300,
                                        .seed = seed};
    struct job *j = calloc(1, sizeof(*j));

    assert_non_null(j);
    j->sim = sim_create(&options);
    for (uint32_t n = 0; n < BURST; n++)
        memset(j->out[n], (int)n, LONG);
    return j;
}

static void bursts_by_relay_keep_order_and_never_stop(void **state)
{
    uint32_t straight = 0, parts = 0, taken = 0, kept = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct job *j = create(seed);

        run(j, seed);
        end(j);
        straight += j->put;
        parts += j->put_part;
        taken += j->taken;
        kept += j->sim->proc[0].claims;
        sim_destroy(j->sim);
        free(j);
    }
    /* All that can go wrong was there. */
    assert_true(straight > SEEDS && parts > SEEDS && taken > SEEDS);
    assert_true(kept > SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_by_relay_keep_order_and_never_stop),
    };

    return cmocka_run_group_tests_name("relay_order", tests, NULL, NULL);
}
