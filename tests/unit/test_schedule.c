/* SPDX-License-Identifier: BSD-3-Clause
 * The collective schedules, each run by a simulation of all processes over
 * every layout of clients up to some size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/schedule.h"

#define RANKS 24
#define LOCAL_OPS 4

/* A vector is a text; the operation puts texts one behind the other. */
struct text {
    char s[2 * RANKS];
};

struct message {
    struct text text;
    int32_t tag;
    bool full;
};

struct local_op {
    uint32_t came;
    bool root_came;
    struct text text;
    bool gave[RANKS];
};

struct process {
    struct impi_schedule s;
    size_t at;
    unsigned nlocal; /* local operations done */
    bool posted;     /* the send it stands at is on its way */
    struct text buf[IMPI_BUF_TMP + 1];
};

struct sim {
    struct impi_group g;
    struct process p[RANKS];
    struct message wire[RANKS][RANKS]; /* one at a time is enough */
    struct local_op ops[RANKS][LOCAL_OPS];
    uint32_t held; /* this rank does not start; RANKS: none */
    unsigned messages, combines;
};

static struct text prepend(struct text a, const struct text *acc)
{
    strcat(a.s, acc->s);
    return a;
}

static bool do_send(struct sim *sim, uint32_t r, const struct impi_step *step)
{
    struct message *m = &sim->wire[r][step->rank];

    if (sim->p[r].posted) { /* as MPI_Ssend: until it is taken */
        if (m->full)
            return false;
        sim->p[r].posted = false;
        return true;
    }
    if (m->full)
        return false;
    *m = (struct message){sim->p[r].buf[step->buf], step->tag, true};
    sim->p[r].posted = true;
    assert_int_equal(step->local, impi_group_are_local(&sim->g, r, step->rank));
    sim->messages += !step->local;
    return false;
}

static bool do_recv(struct sim *sim, uint32_t r, const struct impi_step *step)
{
    struct message *m = &sim->wire[step->rank][r];

    if (!m->full)
        return false;
    assert_int_equal(m->tag, step->tag);
    sim->p[r].buf[step->buf] = m->text;
    m->full = false;
    return true;
}

static struct local_op *local_op(struct sim *sim, uint32_t r)
{
    unsigned k = sim->p[r].nlocal;

    assert_true(k < LOCAL_OPS);
    return &sim->ops[impi_group_local_master_num(&sim->g, r)][k];
}

/* Deposit once; afterwards only look whether it may go on. */
static bool do_local(struct sim *sim, uint32_t r, const struct impi_step *step)
{
    struct local_op *op = local_op(sim, r);
    bool root = step->rank == r;
    bool all;

    assert_true(impi_group_are_local(&sim->g, r, step->rank));
    if (!op->gave[r]) {
        op->gave[r] = true;
        op->came++;
        op->root_came |= root;
        if (step->kind == IMPI_STEP_LOCAL_REDUCE)
            op->text = prepend(sim->p[r].buf[IMPI_BUF_OWN], &op->text);
        if (step->kind == IMPI_STEP_LOCAL_BCAST && root)
            op->text = sim->p[r].buf[step->buf];
    }
    all = op->came == impi_group_num_local_to_rank(&sim->g, r);
    switch (step->kind) {
    case IMPI_STEP_LOCAL_FANIN:
        return !root || all;
    case IMPI_STEP_LOCAL_REDUCE:
        if (root && all)
            sim->p[r].buf[IMPI_BUF_ACC] = op->text;
        return !root || all;
    case IMPI_STEP_LOCAL_BCAST:
        if (op->root_came)
            sim->p[r].buf[step->buf] = op->text;
        return op->root_came;
    default:
        return op->root_came;
    }
}

static bool do_step(struct sim *sim, uint32_t r)
{
    struct process *p = &sim->p[r];
    const struct impi_step *step = &p->s.steps[p->at];

    switch (step->kind) {
    case IMPI_STEP_SEND:
        return do_send(sim, r, step);
    case IMPI_STEP_RECV:
        return do_recv(sim, r, step);
    case IMPI_STEP_COMBINE:
        p->buf[IMPI_BUF_ACC] =
            prepend(p->buf[step->buf], &p->buf[IMPI_BUF_ACC]);
        sim->combines++;
        return true;
    case IMPI_STEP_COPY:
        p->buf[IMPI_BUF_ACC] = p->buf[step->buf];
        return true;
    default:
        if (!do_local(sim, r, step))
            return false;
        p->nlocal++;
        return true;
    }
}

static bool finished(const struct sim *sim, uint32_t r)
{
    return sim->p[r].at == sim->p[r].s.count;
}

/* Until nobody can go on. */
static void run(struct sim *sim)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (uint32_t r = 0; r < sim->g.size; r++) {
            bool was = sim->p[r].posted;

            if (r == sim->held || finished(sim, r))
                continue;
            if (do_step(sim, r)) {
                sim->p[r].at++;
                moved = true;
            }
            moved |= sim->p[r].posted != was;
        }
    }
}

static void check_all_finished(struct sim *sim)
{
    for (uint32_t r = 0; r < sim->g.size; r++)
        assert_true(finished(sim, r));
    for (uint32_t a = 0; a < sim->g.size; a++) {
        for (uint32_t b = 0; b < sim->g.size; b++)
            assert_false(sim->wire[a][b].full);
    }
}

static struct sim *sim_new(const uint32_t *client, uint32_t size)
{
    struct sim *sim = calloc(1, sizeof(*sim));

    assert_non_null(sim);
    assert_int_equal(impi_group_init(&sim->g, client, size), 0);
    sim->held = RANKS;
    for (uint32_t r = 0; r < size; r++)
        sim->p[r].buf[IMPI_BUF_OWN].s[0] = (char)('a' + r);
    return sim;
}

static void sim_free(struct sim *sim)
{
    for (uint32_t r = 0; r < sim->g.size; r++)
        impi_schedule_free(&sim->p[r].s);
    impi_group_free(&sim->g);
    free(sim);
}

/* ---- every operation on one layout ---- */

static void check_order(const char *s, uint32_t size, bool sorted)
{
    unsigned seen = 0;

    assert_int_equal(strlen(s), size);
    for (uint32_t i = 0; i < size; i++) {
        seen |= 1u << (s[i] - 'a');
        if (sorted)
            assert_int_equal(s[i], 'a' + i);
    }
    assert_int_equal(seen, (1u << size) - 1);
}

static void try_barrier(const uint32_t *client, uint32_t size,
                        const struct impi_coll_rules *rules)
{
    for (uint32_t held = 0; held < size; held++) {
        struct sim *sim = sim_new(client, size);

        for (uint32_t r = 0; r < size; r++)
            assert_int_equal(
                impi_schedule_barrier(&sim->p[r].s, &sim->g, rules, r), 0);
        sim->held = held;
        run(sim);
        for (uint32_t r = 0; r < size; r++)
            assert_false(finished(sim, r));
        sim->held = RANKS;
        run(sim);
        check_all_finished(sim);
        assert_int_equal(sim->messages, 2 * (sim->g.nmasters - 1));
        sim_free(sim);
    }
}

static bool sends(const struct impi_schedule *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->steps[i].kind == IMPI_STEP_SEND)
            return true;
    return false;
}

static void try_bcast(const uint32_t *client, uint32_t size,
                      const struct impi_coll_rules *rules, uint32_t root)
{
    struct sim *sim = sim_new(client, size);

    for (uint32_t r = 0; r < size; r++)
        assert_int_equal(
            impi_schedule_bcast(&sim->p[r].s, &sim->g, rules, r, root), 0);
    strcpy(sim->p[root].buf[IMPI_BUF_DATA].s, "news");
    run(sim);
    check_all_finished(sim);
    for (uint32_t r = 0; r < size; r++)
        assert_string_equal(sim->p[r].buf[IMPI_BUF_DATA].s, "news");
    for (uint32_t r = 0; r < size; r++)
        if (rules->by_master >> sim->g.num_of[r] & 1)
            assert_true(impi_group_is_master(&sim->g, r) ||
                        !sends(&sim->p[r].s));
    assert_int_equal(sim->messages, sim->g.nmasters - 1);
    sim_free(sim);
}

static void try_reduce(const uint32_t *client, uint32_t size,
                       const struct impi_coll_rules *rules, uint32_t root,
                       bool commutes)
{
    struct sim *sim = sim_new(client, size);
    uint32_t foreign = size - impi_group_num_local_to_rank(&sim->g, root);

    for (uint32_t r = 0; r < size; r++)
        assert_int_equal(impi_schedule_reduce(&sim->p[r].s, &sim->g, rules, r,
                                              root, commutes),
                         0);
    run(sim);
    check_all_finished(sim);
    check_order(sim->p[root].buf[IMPI_BUF_ACC].s, size, !commutes);
    assert_int_equal(sim->messages, commutes ? sim->g.nmasters - 1 : foreign);
    assert_int_equal(sim->combines, commutes ? sim->g.nmasters - 1 : size - 1);
    sim_free(sim);
}

static void try_allreduce(const uint32_t *client, uint32_t size,
                          const struct impi_coll_rules *rules, bool commutes)
{
    struct sim *sim = sim_new(client, size);

    for (uint32_t r = 0; r < size; r++)
        assert_int_equal(
            impi_schedule_allreduce(&sim->p[r].s, &sim->g, rules, r, commutes),
            0);
    run(sim);
    check_all_finished(sim);
    for (uint32_t r = 0; r < size; r++)
        assert_string_equal(sim->p[r].buf[IMPI_BUF_ACC].s,
                            sim->p[0].buf[IMPI_BUF_ACC].s);
    check_order(sim->p[0].buf[IMPI_BUF_ACC].s, size, !commutes);
    sim_free(sim);
}

typedef void try_f(const uint32_t *client, uint32_t size,
                   const struct impi_coll_rules *rules);

/* Every way to deal `size` ranks to clients. */
static void each_layout(uint32_t size, uint32_t rank, uint32_t used,
                        uint32_t *client, const struct impi_coll_rules *rules,
                        try_f *try)
{
    if (rank == size) {
        try(client, size, rules);
        return;
    }
    for (uint32_t c = 0; c <= used; c++) {
        client[rank] = c;
        each_layout(size, rank + 1, c == used ? used + 1 : used, client, rules,
                    try);
    }
}

static void over_layouts(try_f *try, uint32_t up_to)
{
    uint32_t client[RANKS];

    for (uint32_t maxlinear = 1; maxlinear <= 4; maxlinear += 3) {
        struct impi_coll_rules rules = {.maxlinear = maxlinear};

        for (uint32_t size = 1; size <= up_to; size++)
            each_layout(size, 0, 0, client, &rules, try);
        for (uint32_t n = 5; n <= 17; n++) { /* many masters, interleaved */
            for (uint32_t r = 0; r < n + 3; r++)
                client[r] = (r * 5 + 2) % n;
            try(client, n + 3, &rules);
        }
    }
}

static void barrier_of(const uint32_t *client, uint32_t size,
                       const struct impi_coll_rules *rules)
{
    try_barrier(client, size, rules);
}

static void bcast_of(const uint32_t *client, uint32_t size,
                     const struct impi_coll_rules *rules)
{
    for (uint32_t root = 0; root < size; root++)
        try_bcast(client, size, rules, root);
}

/* Every set of clients whose master speaks for all its roots: what leaves
 * those clients comes from nobody else. */
static void bcast_by_master_of(const uint32_t *client, uint32_t size,
                               const struct impi_coll_rules *rules)
{
    for (uint32_t set = 1; set < 8; set++) {
        struct impi_coll_rules some = *rules;

        some.by_master = set;
        bcast_of(client, size, &some);
    }
}

static void reduce_of(const uint32_t *client, uint32_t size,
                      const struct impi_coll_rules *rules)
{
    for (uint32_t root = 0; root < size; root++)
        try_reduce(client, size, rules, root, true);
}

static void reduce_in_order_of(const uint32_t *client, uint32_t size,
                               const struct impi_coll_rules *rules)
{
    for (uint32_t root = 0; root < size; root++)
        try_reduce(client, size, rules, root, false);
}

static void allreduce_of(const uint32_t *client, uint32_t size,
                         const struct impi_coll_rules *rules)
{
    try_allreduce(client, size, rules, true);
    try_allreduce(client, size, rules, false);
}

static void barrier_over_all_layouts(void **state)
{
    over_layouts(barrier_of, 6);
}

static void bcast_over_all_layouts_and_roots(void **state)
{
    over_layouts(bcast_of, 6);
}

static void bcast_by_masters_over_all_layouts_and_roots(void **state)
{
    over_layouts(bcast_by_master_of, 5);
}

static void reduce_over_all_layouts_and_roots(void **state)
{
    over_layouts(reduce_of, 6);
}

static void reduce_keeps_rank_order_when_not_commutative(void **state)
{
    over_layouts(reduce_in_order_of, 6);
}

static void allreduce_gives_all_the_same_bits(void **state)
{
    over_layouts(allreduce_of, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barrier_over_all_layouts),
        cmocka_unit_test(bcast_over_all_layouts_and_roots),
        cmocka_unit_test(bcast_by_masters_over_all_layouts_and_roots),
        cmocka_unit_test(reduce_over_all_layouts_and_roots),
        cmocka_unit_test(reduce_keeps_rank_order_when_not_commutative),
        cmocka_unit_test(allreduce_gives_all_the_same_bits),
    };

    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
