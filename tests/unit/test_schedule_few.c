/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules of few rounds over worlds of every shape, by seed: the results are
 * those of a plain fold, in rank order where that matters and with the same
 * bits where all have them, and the rounds are no more than is said.
 */
#include "schedule_world.h"

#define SEEDS 600
#define MOST 70

static uint64_t seed;

static uint32_t draw(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

static uint32_t rounds_for(uint32_t n)
{
    return (uint32_t)impi_cubedim(n);
}

/* Of exchanges: two more than a power of two below needs. */
static uint32_t exchanges_for(uint32_t n)
{
    uint32_t low = (uint32_t)impi_hibit(n, 32);

    return (n & (n - 1)) == 0 ? low : low + 2;
}

/* Runs of ranks of one client: `runs` of them. */
static uint32_t count_runs(const uint32_t *client, uint32_t size)
{
    uint32_t runs = 1;

    for (uint32_t r = 1; r < size; r++)
        runs += client[r] != client[r - 1];
    return runs;
}

/* Blocks of any lengths, in turns, with stretches of one client, or at random.
 */
static void deal(uint32_t *client, uint32_t size, uint32_t nclients)
{
    uint32_t way = draw(4), now = 0;

    for (uint32_t r = 0; r < size; r++) {
        if (way == 0)
            now += draw(size) < nclients && now + 1 < nclients;
        else if (way == 1)
            now = r % nclients;
        else if (way == 2)
            now = draw(3) ? now : draw(nclients);
        else
            now = draw(nclients);
        client[r] = 1000 - now;
    }
}

static uint32_t shape(void)
{
    uint32_t client[MOST], size = 1 + draw(draw(2) ? 9 : MOST);

    deal(client, size, 1 + draw(size < 32 ? size : 32));
    world_begin(client, size);
    world.rules = (struct impi_coll_rules){
        .maxlinear = 1 + draw(5), .exchange = true, .few_rounds = true};
    return count_runs(client, size);
}

#define EACH_SHAPE                                                             \
    for (uint64_t number = 0; number < SEEDS; number++)                        \
        for (uint32_t runs = (seed = number, shape()); runs > 0;               \
             runs = 0, world_end())

static void scan_is_the_fold_of_the_lower_ranks(void **state)
{
    EACH_SHAPE
    {
        world_fill(IMPI_BUF_ACC);
        ALL(impi_schedule_scan(&world.p[r].s, &world.g, &world.rules, r,
                               draw(2)));
        assert_true(world_run().rounds <= rounds_for(runs));
        for (uint32_t r = 0; r < world.g.size; r++)
            value_is(&world.p[r].buf[IMPI_BUF_ACC], 0, r + 1);
    }
}

static void exscan_is_the_fold_of_those_below(void **state)
{
    EACH_SHAPE
    {
        world_fill(IMPI_BUF_ACC);
        ALL(impi_schedule_exscan(&world.p[r].s, &world.g, &world.rules, r));
        assert_true(world_run().rounds <= rounds_for(runs));
        for (uint32_t r = 0; r < world.g.size; r++)
            value_is(&world.p[r].buf[IMPI_BUF_DATA], 0, r);
    }
}

/* To any root. */
static void reduce_folds_in_order(void **state)
{
    EACH_SHAPE
    {
        uint32_t root = draw(world.g.size);

        world_fill(IMPI_BUF_NONE);
        ALL(impi_schedule_reduce(&world.p[r].s, &world.g, &world.rules, r, root,
                                 false));
        assert_true(world_run().rounds <= rounds_for(runs));
        value_is(&world.p[root].buf[IMPI_BUF_ACC], 0, world.g.size);
    }
}

static void all_have_the_same(void)
{
    for (uint32_t r = 0; r < world.g.size; r++) {
        value_is(&world.p[r].buf[IMPI_BUF_ACC], 0, world.g.size);
        assert_true(world.p[r].buf[IMPI_BUF_ACC].mark ==
                    world.p[0].buf[IMPI_BUF_ACC].mark);
    }
}

static void allreduce_folds_in_order_and_all_have_the_same_bits(void **state)
{
    EACH_SHAPE
    {
        world_fill(IMPI_BUF_NONE);
        ALL(impi_schedule_allreduce(&world.p[r].s, &world.g, &world.rules, r,
                                    false));
        assert_true(world_run().rounds <= exchanges_for(runs));
        all_have_the_same();
    }
}

static void commutative_allreduce_of_any_number_of_clients(void **state)
{
    EACH_SHAPE
    {
        uint32_t n = world.g.nmasters;

        world.any_order = true;
        world_fill(IMPI_BUF_NONE);
        ALL(impi_schedule_allreduce(&world.p[r].s, &world.g, &world.rules, r,
                                    true));
        assert_true(
            world_run().rounds <=
            (n <= world.rules.maxlinear ? 2 * (n - 1) : exchanges_for(n)));
        all_have_the_same();
    }
}

/* By halves and back, with parts for each client. */
static void long_allreduce_sends_few_bytes(void **state)
{
    EACH_SHAPE
    {
        uint32_t n = world.g.nmasters;
        struct counted c;

        world.any_order = true;
        world.rules.is_long = true;
        world_fill(IMPI_BUF_NONE);
        ALL(impi_schedule_allreduce(&world.p[r].s, &world.g, &world.rules, r,
                                    true));
        c = world_run();
        if ((n & (n - 1)) == 0)
            assert_true(c.vectors < 2);
        else if (n > 8)
            assert_true(c.vectors < 3.34);
        if (n > world.rules.maxlinear)
            assert_true(c.rounds <= 2 * exchanges_for(n));
        all_have_the_same();
    }
}

/* Of an operation that does not commute, in order and with the same bits. */
static void long_allreduce_in_order_sends_few_bytes(void **state)
{
    EACH_SHAPE
    {
        struct counted c;

        world.rules.is_long = world.rules.few_bytes = true;
        world_fill(IMPI_BUF_NONE);
        ALL(impi_schedule_allreduce(&world.p[r].s, &world.g, &world.rules, r,
                                    false));
        c = world_run();
        if ((runs & (runs - 1)) == 0)
            assert_true(c.vectors < 2);
        else if (runs > 8)
            assert_true(c.vectors < 3.34);
        assert_true(c.rounds <= 2 * exchanges_for(runs));
        all_have_the_same();
    }
}

/* Nobody sends or takes more than two vectors; between clients each goes once
 * to each. */
static void long_bcast_sends_few_bytes(void **state)
{
    EACH_SHAPE
    {
        uint32_t root = draw(world.g.size), n = world.g.nmasters;
        struct counted c;

        world.rules.is_long = world.rules.few_bytes = true;
        world.rules.pieces = 1 + draw(3);
        world_fill(IMPI_BUF_DATA);
        world.p[root].buf[IMPI_BUF_DATA].n = 70;
        ALL(impi_schedule_bcast(&world.p[r].s, &world.g, &world.rules, r,
                                root));
        c = world_run();
        assert_true(c.vectors < 2 && c.taken < 1.0001);
        assert_true(c.sum > n - 1.0001 && c.sum < n - 0.9999);
        for (uint32_t r = 0; r < world.g.size; r++)
            assert_int_equal(world.p[r].buf[IMPI_BUF_DATA].n, 70);
    }
}

/* The root takes two vectors at most, or one more where it is the one too many
 * of a pair. */
static void long_reduce_takes_few_bytes(void **state)
{
    EACH_SHAPE
    {
        uint32_t root = draw(world.g.size);
        bool commutes = draw(2);
        uint32_t n = commutes ? world.g.nmasters : runs;
        struct counted c;

        world.any_order = commutes;
        world.rules.is_long = world.rules.few_bytes = true;
        world_fill(IMPI_BUF_NONE);
        ALL(impi_schedule_reduce(&world.p[r].s, &world.g, &world.rules, r, root,
                                 commutes));
        c = world_run();
        if (n >= 4 && (n & (n - 1)) == 0)
            assert_true(c.taken < 2);
        else if (n > 8)
            assert_true(c.taken < 3.34 && c.vectors < 3);
        assert_true(n > world.rules.maxlinear ||
                    c.rounds <= 2 * exchanges_for(n) + 1);
        value_is(&world.p[root].buf[IMPI_BUF_ACC], 0, world.g.size);
    }
}

/* Each gets its own block, and what is in it is of all. */
static void blocks_are_by_rank(const struct impi_schedule *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->steps[i].buf == IMPI_BUF_OUT)
            assert_int_equal(s->steps[i].block, s->steps[i].rank);
}

static void reduce_scatter_hands_out_what_is_folded(void **state)
{
    EACH_SHAPE
    {
        bool commutes = draw(2), few_bytes = draw(2);
        uint32_t n = commutes ? world.g.nmasters : runs;
        struct counted c;

        world.any_order = commutes;
        world.rules.few_bytes = few_bytes;
        world_fill(IMPI_BUF_NONE);
        ALL(impi_schedule_reduce_scatter(&world.p[r].s, &world.g, &world.rules,
                                         r, commutes));
        for (uint32_t r = 0; r < world.g.size; r++)
            blocks_are_by_rank(&world.p[r].s);
        c = world_run();
        if (few_bytes || !commutes || n > world.rules.maxlinear)
            assert_true(c.rounds <= exchanges_for(n));
        if (few_bytes)
            assert_true(c.vectors <= 1);
        for (uint32_t r = 0; r < world.g.size; r++)
            value_is(&world.p[r].buf[IMPI_BUF_IN], 0, world.g.size);
    }
}

/* Nobody leaves before the last one has come: everybody's token is everywhere,
 * whatever the client of the one that is late. */
static void barrier_waits_for_everybody(void **state)
{
    EACH_SHAPE
    {
        bool heard[32] = {false};

        for (uint32_t n = 0; n < world.g.nmasters; n++) {
            struct impi_schedule *s = &world.p[world.g.masters[n]].s;
            uint32_t from = n;

            assert_int_equal(impi_schedule_barrier(s, &world.g, &world.rules,
                                                   world.g.masters[n]),
                             0);
            /* Who is heard of directly is at a power of two. */
            for (size_t i = 0; i < s->count; i++)
                if (s->steps[i].kind == IMPI_STEP_RECV) {
                    from = world.g.num_of[s->steps[i].rank];
                    heard[(n + world.g.nmasters - from) % world.g.nmasters] =
                        true;
                }
            impi_schedule_free(s);
        }
        for (uint32_t d = 1; d < world.g.nmasters; d++)
            assert_int_equal(heard[d], (d & (d - 1)) == 0);
        ALL(impi_schedule_barrier(&world.p[r].s, &world.g, &world.rules, r));
        assert_true(world_run().rounds <= rounds_for(world.g.nmasters));
    }
}

/* ---- without agreement ---- */

static uint64_t digest;

static void note(uint64_t n)
{
    digest = (digest ^ n) * UINT64_C(0x100000001b3);
}

static void note_steps(struct impi_schedule *s)
{
    static const char letter[] = {
        [IMPI_STEP_SEND] = 's',         [IMPI_STEP_RECV] = 'r',
        [IMPI_STEP_COMBINE] = 'c',      [IMPI_STEP_COMBINE_UNDER] = 'u',
        [IMPI_STEP_COPY] = '=',         [IMPI_STEP_LOCAL_FANIN] = 'i',
        [IMPI_STEP_LOCAL_FANOUT] = 'o', [IMPI_STEP_LOCAL_REDUCE] = 'R',
        [IMPI_STEP_LOCAL_BCAST] = 'B',  [IMPI_STEP_LOCAL_OTHER] = '?'};

    for (size_t i = 0; i < s->count; i++) {
        const struct impi_step *k = &s->steps[i];

        note((uint64_t)letter[k->kind]);
        note(k->buf);
        note(k->local + 2u * k->more);
        note((uint32_t)k->tag);
        note(k->rank);
        note(k->block);
    }
    note('.');
    impi_schedule_free(s);
}

static void note_all(const struct impi_group *g,
                     const struct impi_coll_rules *rules, uint32_t r)
{
    struct impi_schedule s = {0};

    impi_schedule_barrier(&s, g, rules, r);
    note_steps(&s);
    for (int commutes = 0; commutes < 2; commutes++) {
        impi_schedule_reduce(&s, g, rules, r, g->size / 2, commutes);
        note_steps(&s);
        impi_schedule_allreduce(&s, g, rules, r, commutes);
        note_steps(&s);
        impi_schedule_reduce_scatter(&s, g, rules, r, commutes);
        note_steps(&s);
    }
    impi_schedule_scan(&s, g, rules, r, true);
    note_steps(&s);
    impi_schedule_exscan(&s, g, rules, r);
    note_steps(&s);
}

/* A process of a release that does not know of few rounds does these steps; the
 * number is that of version 8 of the extensions. */
static void
without_agreement_the_steps_are_those_of_older_releases(void **state)
{
    digest = UINT64_C(0xcbf29ce484222325);
    EACH_SHAPE
    {
        struct impi_coll_rules rules = {.maxlinear = runs % 6,
                                        .exchange = number % 3 > 0};

        for (uint32_t r = 0; number < 200 && r < world.g.size; r++)
            note_all(&world.g, &rules, r);
    }
    assert_int_equal(digest, UINT64_C(0x7aaa183127cd08a3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_is_the_fold_of_the_lower_ranks),
        cmocka_unit_test(exscan_is_the_fold_of_those_below),
        cmocka_unit_test(reduce_folds_in_order),
        cmocka_unit_test(allreduce_folds_in_order_and_all_have_the_same_bits),
        cmocka_unit_test(commutative_allreduce_of_any_number_of_clients),
        cmocka_unit_test(long_allreduce_sends_few_bytes),
        cmocka_unit_test(long_allreduce_in_order_sends_few_bytes),
        cmocka_unit_test(long_bcast_sends_few_bytes),
        cmocka_unit_test(long_reduce_takes_few_bytes),
        cmocka_unit_test(reduce_scatter_hands_out_what_is_folded),
        cmocka_unit_test(barrier_waits_for_everybody),
        cmocka_unit_test(
            without_agreement_the_steps_are_those_of_older_releases),
    };

    return cmocka_run_group_tests_name("schedule_few", tests, NULL, NULL);
}
