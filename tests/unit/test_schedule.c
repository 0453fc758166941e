/* SPDX-License-Identifier: BSD-3-Clause
 * Groups of section 4.2 and the collective schedules, each run by a simulation
 * of all processes over every layout of clients up to some size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/constants.h"
#include "impi/schedule.h"

#define RANKS 24
#define LOCAL_OPS 4

/* ---- groups ---- */

/* The example of section 4.2: clients A, B, C. */
static const uint32_t example[8] = {0, 0, 1, 1, 0, 1, 2, 2};

static void im_162_masters_of_the_example(void **state)
{
    struct impi_group g;

    assert_int_equal(impi_group_init(&g, example, 8), 0);
    assert_int_equal(impi_group_num_masters(&g), 3);
    assert_int_equal(impi_group_master_rank(&g, 0), 0);
    assert_int_equal(impi_group_master_rank(&g, 1), 2);
    assert_int_equal(impi_group_master_rank(&g, 2), 6);
    impi_group_free(&g);
}

static void im_163_helpers_over_the_example(void **state)
{
    static const int64_t master_num[8] = {0, -1, 1, -1, -1, -1, 2, -1};
    static const uint32_t num[8] = {0, 0, 1, 1, 0, 1, 2, 2};
    static const uint32_t index[8] = {0, 1, 0, 1, 2, 2, 0, 1};
    static const uint32_t count[3] = {3, 3, 2};
    static const uint32_t locals[3][3] = {{0, 1, 4}, {2, 3, 5}, {6, 7}};
    struct impi_group g;

    assert_int_equal(impi_group_init(&g, example, 8), 0);
    for (uint32_t r = 0; r < 8; r++) {
        assert_int_equal(impi_group_is_master(&g, r), master_num[r] >= 0);
        assert_int_equal(impi_group_master_num(&g, r), master_num[r]);
        assert_int_equal(impi_group_local_master_num(&g, r), num[r]);
        assert_int_equal(impi_group_local_master_rank(&g, r),
                         locals[num[r]][0]);
        assert_int_equal(impi_group_num_local_to_rank(&g, r), count[num[r]]);
        assert_int_equal(impi_group_local_index(&g, r), index[r]);
        for (uint32_t k = 0; k < 8; k++)
            assert_int_equal(impi_group_are_local(&g, r, k), num[r] == num[k]);
    }
    for (uint32_t n = 0; n < 3; n++) {
        assert_int_equal(impi_group_num_local_to_master(&g, n), count[n]);
        assert_memory_equal(impi_group_locals_to_master(&g, n), locals[n],
                            4 * count[n]);
    }
    impi_group_free(&g);
}

static void im_164_cubedim_and_hibit(void **state)
{
    for (uint32_t n = 1; n <= 33; n++) {
        int i = impi_cubedim(n);

        assert_true(n <= UINT32_C(1) << i);
        assert_true(i == 0 || n > UINT32_C(1) << (i - 1));
    }
    assert_int_equal(impi_cubedim(0), -1);
    assert_int_equal(impi_hibit(0, 5), -1);
    assert_int_equal(impi_hibit(1, 5), 0);
    assert_int_equal(impi_hibit(0x14, 5), 4);
    assert_int_equal(impi_hibit(0x14, 4), 2);
    assert_int_equal(impi_hibit(0x14, 2), -1);
    assert_int_equal(impi_hibit(0xffffffff, 32), 31);
}

static void im_195_constants_of_chapter_4(void **state)
{
    static const int tags[] = {
        IMPI_BARRIER_TAG,  IMPI_BCAST_TAG,     IMPI_GATHER_TAG,
        IMPI_GATHERV_TAG,  IMPI_SCATTER_TAG,   IMPI_SCATTERV_TAG,
        IMPI_ALLTOALL_TAG, IMPI_ALLTOALLV_TAG, IMPI_REDUCE_TAG,
        IMPI_SCAN_TAG,     IMPI_DUP_TAG,       IMPI_MERGE_TAG,
        IMPI_COMM_FREE_TAG};

    for (int i = 0; i < 13; i++)
        assert_int_equal(tags[i], 110 + 10 * i);
    assert_true(IMPI_MAX_CID == UINT64_MAX - 15);
    assert_int_equal(IMPI_COLL_XSIZE_DEFAULT, 1024);
    assert_int_equal(IMPI_COLL_MAXLINEAR_DEFAULT, 4);
}

/* ---- the simulation ---- */

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

static void im_158_im_197_barrier_over_all_layouts(void **state)
{
    over_layouts(barrier_of, 6);
}

static void im_158_im_197_bcast_over_all_layouts_and_roots(void **state)
{
    over_layouts(bcast_of, 6);
}

static void im_158_im_197_reduce_over_all_layouts_and_roots(void **state)
{
    over_layouts(reduce_of, 6);
}

static void im_188_reduce_keeps_rank_order_when_not_commutative(void **state)
{
    over_layouts(reduce_in_order_of, 6);
}

static void im_192_allreduce_gives_all_the_same_bits(void **state)
{
    over_layouts(allreduce_of, 7);
}

/* ---- golden traces ---- */

/* "s3 r0": global sends and receives of a process that is alone in its
 * client, as the standard's algorithm orders them. */
static void check_trace(const struct impi_schedule *s, int32_t tag,
                        const char *want)
{
    char got[200] = "", one[20];

    for (size_t i = 0; i < s->count; i++) {
        const struct impi_step *step = &s->steps[i];

        if (step->kind != IMPI_STEP_SEND && step->kind != IMPI_STEP_RECV)
            continue;
        assert_int_equal(step->tag, tag);
        snprintf(one, sizeof(one), "%s%c%u", got[0] ? " " : "",
                 step->kind == IMPI_STEP_SEND ? 's' : 'r', step->rank);
        strcat(got, one);
    }
    assert_string_equal(got, want);
}

static void one_each(struct impi_group *g, uint32_t n)
{
    uint32_t client[RANKS];

    for (uint32_t r = 0; r < n; r++)
        client[r] = n - r; /* numbers of clients do not matter */
    assert_int_equal(impi_group_init(g, client, n), 0);
}

static const struct impi_coll_rules four = {.maxlinear = 4};

static void im_180_barrier_linear_trace(void **state)
{
    static const char *const want[] = {"r1 r2 r3 s1 s2 s3", "s0 r0", "s0 r0",
                                       "s0 r0"};
    struct impi_schedule s = {0};
    struct impi_group g;

    one_each(&g, 4);
    for (uint32_t r = 0; r < 4; r++) {
        assert_int_equal(impi_schedule_barrier(&s, &g, &four, r), 0);
        check_trace(&s, 110, want[r]);
    }
    impi_schedule_free(&s);
    impi_group_free(&g);
}

static void im_181_barrier_tree_trace(void **state)
{
    static const char *const want[] = {"r4 r2 r1 s1 s2 s4",
                                       "r5 r3 s0 r0 s3 s5",
                                       "s0 r0",
                                       "s1 r1",
                                       "s0 r0",
                                       "s1 r1"};
    struct impi_schedule s = {0};
    struct impi_group g;

    one_each(&g, 6);
    for (uint32_t r = 0; r < 6; r++) {
        assert_int_equal(impi_schedule_barrier(&s, &g, &four, r), 0);
        check_trace(&s, 110, want[r]);
    }
    impi_schedule_free(&s);
    impi_group_free(&g);
}

static void im_183_bcast_traces(void **state)
{
    static const char *const linear[] = {"r2", "r2", "s0 s1 s3", "r2"};
    /* root 4 of 6: vertices 4 5 0 1 2 3 */
    static const char *const tree[] = {"r4", "r5",       "r4",
                                       "r5", "s5 s0 s2", "r4 s1 s3"};
    struct impi_schedule s = {0};
    struct impi_group g;

    one_each(&g, 4);
    for (uint32_t r = 0; r < 4; r++) {
        assert_int_equal(impi_schedule_bcast(&s, &g, &four, r, 2), 0);
        check_trace(&s, 120, linear[r]);
    }
    impi_group_free(&g);
    one_each(&g, 6);
    for (uint32_t r = 0; r < 6; r++) {
        assert_int_equal(impi_schedule_bcast(&s, &g, &four, r, 4), 0);
        check_trace(&s, 120, tree[r]);
    }
    impi_schedule_free(&s);
    impi_group_free(&g);
}

static void im_187_reduce_traces(void **state)
{
    static const char *const linear[] = {"s2", "s2", "r0 r1 r3", "s2"};
    static const char *const tree[] = {"r1 s4", "s0",       "r3 s4",
                                       "s2",    "r5 r0 r2", "s4"};
    struct impi_schedule s = {0};
    struct impi_group g;

    one_each(&g, 4);
    for (uint32_t r = 0; r < 4; r++) {
        assert_int_equal(impi_schedule_reduce(&s, &g, &four, r, 2, true), 0);
        check_trace(&s, 190, linear[r]);
    }
    impi_group_free(&g);
    one_each(&g, 6);
    for (uint32_t r = 0; r < 6; r++) {
        assert_int_equal(impi_schedule_reduce(&s, &g, &four, r, 4, true), 0);
        check_trace(&s, 190, tree[r]);
    }
    impi_schedule_free(&s);
    impi_group_free(&g);
}

static void im_182_exactly_maxlinear_masters_switch(void **state)
{
    struct impi_coll_rules below = {.maxlinear = 4, .linear_below = true};
    struct impi_group g;

    one_each(&g, 4);
    assert_true(impi_coll_is_linear(&g, &four));
    assert_false(impi_coll_is_linear(&g, &below));
    impi_group_free(&g);
    one_each(&g, 5);
    assert_false(impi_coll_is_linear(&g, &four));
    impi_group_free(&g);
    one_each(&g, 3);
    assert_true(impi_coll_is_linear(&g, &below));
    impi_group_free(&g);
}

/* The root stands in for its client's master. */
static void im_183_im_187_root_that_is_no_master(void **state)
{
    static const uint32_t client[4] = {0, 0, 1, 1};
    struct impi_schedule s = {0};
    struct impi_group g;

    assert_int_equal(impi_group_init(&g, client, 4), 0);
    impi_schedule_bcast(&s, &g, &four, 1, 1);
    check_trace(&s, 120, "s2");
    impi_schedule_bcast(&s, &g, &four, 0, 1);
    check_trace(&s, 120, "");
    impi_schedule_reduce(&s, &g, &four, 2, 1, true);
    check_trace(&s, 190, "s1");
    impi_schedule_reduce(&s, &g, &four, 0, 1, true);
    check_trace(&s, 190, "");
    impi_schedule_free(&s);
    impi_group_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(im_162_masters_of_the_example),
        cmocka_unit_test(im_163_helpers_over_the_example),
        cmocka_unit_test(im_164_cubedim_and_hibit),
        cmocka_unit_test(im_195_constants_of_chapter_4),
        cmocka_unit_test(im_158_im_197_barrier_over_all_layouts),
        cmocka_unit_test(im_158_im_197_bcast_over_all_layouts_and_roots),
        cmocka_unit_test(im_158_im_197_reduce_over_all_layouts_and_roots),
        cmocka_unit_test(im_188_reduce_keeps_rank_order_when_not_commutative),
        cmocka_unit_test(im_192_allreduce_gives_all_the_same_bits),
        cmocka_unit_test(im_180_barrier_linear_trace),
        cmocka_unit_test(im_181_barrier_tree_trace),
        cmocka_unit_test(im_183_bcast_traces),
        cmocka_unit_test(im_187_reduce_traces),
        cmocka_unit_test(im_182_exactly_maxlinear_masters_switch),
        cmocka_unit_test(im_183_im_187_root_that_is_no_master),
    };

    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
