/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collective schedules of 4 096 ranks in 32 clients, all processes at once:
 * rounds between clients, beside those of the best algorithm that is known, and
 * what the busiest process sends to other clients.  A process sends one message
 * to another client in a round and takes one; within a client nothing takes
 * time.  A table is printed (doc/impi-chapter4.md).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/constants.h"
#include "impi/schedule.h"

#define SIZE 4096
#define CLIENTS 32
#define SLOTS 8

struct mail {
    uint32_t from;
    int32_t tag;
    bool taken;
    uint32_t round; /* it is there after this one */
};

struct process {
    struct impi_schedule s;
    size_t at, nmail, mail_size;
    struct mail *mail;
    uint32_t round;
    uint32_t slot; /* steps within the client */
    bool sent;     /* what the row at `at` sends */
    uint64_t messages, blocks;
};

/* A step of all of a client. */
struct slot {
    uint32_t come, last; /* how many; after which round */
    bool open;           /* the one that others wait for has come */
    uint32_t opened;
};

static struct {
    struct impi_group g;
    struct impi_coll_rules rules;
    struct process p[SIZE];
    struct slot slot[CLIENTS][SLOTS];
    uint32_t client[SIZE];
    uint32_t root;
} sim;

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void post(uint32_t from, const struct impi_step *s, uint32_t round)
{
    struct process *p = &sim.p[s->rank];

    if (p->nmail == p->mail_size) {
        p->mail_size = p->mail_size ? 2 * p->mail_size : 8;
        p->mail = realloc(p->mail, p->mail_size * sizeof(*p->mail));
        assert_non_null(p->mail);
    }
    p->mail[p->nmail++] = (struct mail){from, s->tag, false, round};
}

static struct mail *find(struct process *p, const struct impi_step *s)
{
    for (size_t i = 0; i < p->nmail; i++)
        if (p->mail[i].from == s->rank && p->mail[i].tag == s->tag &&
            !p->mail[i].taken)
            return &p->mail[i];
    return NULL;
}

/* How many blocks of one process are in it. */
static uint64_t blocks_of(const struct impi_step *s)
{
    uint64_t n = 0;
    uint32_t v;

    if (s->buf == IMPI_BUF_NONE)
        return 0;
    if (s->buf != IMPI_BUF_OUT || s->block < SIZE)
        return 1;
    v = s->block - SIZE;
    for (uint32_t i = v; i < v + impi_packed_span(&sim.g, &sim.rules, v); i++) {
        uint32_t num = impi_packed_client(&sim.g, sim.root, i);

        n += sim.g.first[num + 1] - sim.g.first[num];
    }
    return n;
}

static size_t row_end(const struct process *p)
{
    size_t end = p->at;

    while (p->s.steps[end].more)
        end++;
    return end + 1;
}

static void send_row(uint32_t r, size_t end)
{
    struct process *p = &sim.p[r];
    uint32_t round = p->round;

    for (size_t i = p->at; i < end; i++) {
        const struct impi_step *s = &p->s.steps[i];

        if (s->kind != IMPI_STEP_SEND)
            continue;
        if (!s->local) {
            round++;
            p->messages++;
            p->blocks += blocks_of(s);
        }
        post(r, s, round);
    }
    p->sent = true;
}

/* False: something has not come. */
static bool finish_row(uint32_t r, size_t end)
{
    struct process *p = &sim.p[r];
    uint32_t in = p->round, out = p->round, local = p->round;

    for (size_t i = p->at; i < end; i++)
        if (p->s.steps[i].kind == IMPI_STEP_RECV && !find(p, &p->s.steps[i]))
            return false;
    for (size_t i = p->at; i < end; i++) {
        const struct impi_step *s = &p->s.steps[i];
        struct mail *m = s->kind == IMPI_STEP_RECV ? find(p, s) : NULL;

        if (m)
            m->taken = true;
        if (m && s->local)
            local = later(local, m->round);
        else if (m)
            in = later(in + 1, m->round);
        else if (s->kind == IMPI_STEP_SEND && !s->local)
            out++;
    }
    p->round = later(later(in, out), local);
    p->at = end;
    p->sent = false;
    return true;
}

static bool together(uint32_t r, const struct impi_step *s)
{
    struct process *p = &sim.p[r];
    uint32_t num = sim.client[r];
    struct slot *slot = &sim.slot[num][p->slot];
    bool inward =
        s->kind == IMPI_STEP_LOCAL_FANIN || s->kind == IMPI_STEP_LOCAL_REDUCE;
    uint32_t others = sim.g.first[num + 1] - sim.g.first[num] - 1;

    if (s->rank == r && inward) {
        if (slot->come < others)
            return false;
        p->round = later(p->round, slot->last);
    } else if (s->rank == r) {
        slot->open = true;
        slot->opened = p->round;
    } else if (inward) {
        slot->come++;
        slot->last = later(slot->last, p->round);
    } else {
        if (!slot->open)
            return false;
        p->round = later(p->round, slot->opened);
    }
    p->slot++;
    assert_true(p->slot < SLOTS);
    p->at++;
    return true;
}

static bool is_together(uint8_t kind)
{
    return kind == IMPI_STEP_LOCAL_FANIN || kind == IMPI_STEP_LOCAL_FANOUT ||
           kind == IMPI_STEP_LOCAL_REDUCE || kind == IMPI_STEP_LOCAL_BCAST;
}

static bool move(uint32_t r)
{
    struct process *p = &sim.p[r];
    bool moved = false;

    while (p->at < p->s.count) {
        const struct impi_step *s = &p->s.steps[p->at];
        bool message = s->kind == IMPI_STEP_SEND || s->kind == IMPI_STEP_RECV;

        if (message) {
            size_t end = row_end(p);

            if (!p->sent) {
                send_row(r, end);
                moved = true;
            }
            if (!finish_row(r, end))
                return moved;
        } else if (!is_together(s->kind))
            p->at++;
        else if (!together(r, s))
            return moved;
        moved = true;
    }
    return moved;
}

struct counted {
    uint32_t rounds;   /* of the last one to end */
    uint64_t messages; /* between clients, in all */
    uint64_t busiest, blocks;
};

static struct counted count(void)
{
    struct counted c = {0};

    for (uint32_t r = 0; r < SIZE; r++) {
        struct process *p = &sim.p[r];

        assert_int_equal(p->at, p->s.count);
        for (size_t i = 0; i < p->nmail; i++)
            assert_true(p->mail[i].taken);
        c.rounds = later(c.rounds, p->round);
        c.messages += p->messages;
        if (p->messages > c.busiest)
            c.busiest = p->messages;
        if (p->blocks > c.blocks)
            c.blocks = p->blocks;
        impi_schedule_free(&p->s);
        free(p->mail);
    }
    memset(sim.p, 0, sizeof(sim.p));
    memset(sim.slot, 0, sizeof(sim.slot));
    return c;
}

/* Prints a line; best: rounds of the best algorithm that is known. */
static struct counted run(const char *what, uint32_t best)
{
    bool moved = true;
    struct counted c;

    while (moved) {
        moved = false;
        for (uint32_t r = 0; r < SIZE; r++)
            moved |= move(r);
    }
    c = count();
    print_message("# %-26s %4u rounds, best %2u; %5llu messages, busiest "
                  "process %4llu with %llu blocks\n",
                  what, c.rounds, best, (unsigned long long)c.messages,
                  (unsigned long long)c.busiest, (unsigned long long)c.blocks);
    return c;
}

#define ALL(call)                                                              \
    for (uint32_t r = 0; r < SIZE; r++)                                        \
    assert_int_equal(call, 0)

/* From even clients of 128, or of 1 to 255 ranks, one behind the other. */
static void begin(bool even)
{
    uint32_t rank = 0;

    sim.rules = (struct impi_coll_rules){.maxlinear = 4, .exchange = true};
    for (uint32_t k = 0; k < CLIENTS; k++) {
        uint32_t n = even               ? SIZE / CLIENTS
                     : k + 1 == CLIENTS ? SIZE - rank
                                        : 1 + 254 * k / (CLIENTS - 1);

        for (uint32_t i = 0; i < n; i++)
            sim.client[rank++] = k;
    }
    assert_int_equal(rank, SIZE);
    assert_int_equal(impi_group_init(&sim.g, sim.client, SIZE), 0);
}

static void each_collective(bool even)
{
    begin(even);
    ALL(impi_schedule_bcast(&sim.p[r].s, &sim.g, &sim.rules, r, 300));
    assert_int_equal(run("Bcast", 5).rounds, 5);
    ALL(impi_schedule_reduce(&sim.p[r].s, &sim.g, &sim.rules, r, 300, true));
    assert_int_equal(run("Reduce", 5).rounds, 5);
    ALL(impi_schedule_allreduce(&sim.p[r].s, &sim.g, &sim.rules, r, true));
    assert_int_equal(run("Allreduce", 5).rounds, 5);
    sim.root = 300;
    ALL(impi_schedule_packed(&sim.p[r].s, &sim.g, &sim.rules, r, 300, true));
    assert_true(run("Gather, short", 5).rounds <= 5);
    ALL(impi_schedule_packed(&sim.p[r].s, &sim.g, &sim.rules, r, 300, false));
    assert_true(run("Scatter, short", 5).rounds <= 5);
    ALL(impi_schedule_rounds(&sim.p[r].s, &sim.g, r, 1));
    assert_true(run("Alltoall, short", 5).rounds <= (even ? 5 : 12));
    /* more than the best: bounds of what there is */
    ALL(impi_schedule_barrier(&sim.p[r].s, &sim.g, &sim.rules, r));
    assert_true(run("Barrier", 5).rounds <= 10);
    ALL(impi_schedule_scan(&sim.p[r].s, &sim.g, r, true));
    assert_true(run("Scan", 5).rounds <= CLIENTS - 1);
    ALL(impi_schedule_exscan(&sim.p[r].s, &sim.g, r));
    assert_true(run("Exscan", 5).rounds <= CLIENTS - 1);
    ALL(impi_schedule_reduce_scatter(&sim.p[r].s, &sim.g, &sim.rules, r, true));
    assert_true(run("Reduce_scatter", 5).rounds <= SIZE + 5);
    ALL(impi_schedule_reduce(&sim.p[r].s, &sim.g, &sim.rules, r, 0, false));
    assert_true(run("Reduce, not commutative", 5).rounds <= SIZE);
    ALL(impi_schedule_allreduce(&sim.p[r].s, &sim.g, &sim.rules, r, false));
    assert_true(run("Allreduce, not commutative", 5).rounds <= SIZE + 5);
    impi_group_free(&sim.g);
}

static void rounds_of_even_clients(void **state)
{
    each_collective(true);
}

static void rounds_of_uneven_clients(void **state)
{
    each_collective(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_of_even_clients),
        cmocka_unit_test(rounds_of_uneven_clients),
    };

    return cmocka_run_group_tests_name("schedule_size", tests, NULL, NULL);
}
