/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules of blocks, of scans and of neighbours within one communicator.
 */
#include "schedule_sim.h"

#define EACH_WORLD                                                             \
    for (uint32_t size = 1; size <= 8; size++)                                 \
        for (uint32_t nclients = 1; nclients <= size; nclients++)

/* All messages between clients bear that tag. */
static void tags_are(uint32_t size, int32_t tag)
{
    for (uint32_t r = 0; r < size; r++) {
        const struct impi_schedule *s = &sim.p[r].s;

        for (size_t i = 0; i < s->count; i++) {
            if (s->steps[i].kind == IMPI_STEP_SEND ||
                s->steps[i].kind == IMPI_STEP_RECV)
                assert_int_equal(s->steps[i].tag, tag);
        }
    }
}

static void blocks_go_straight_to_and_from_any_root(void **state)
{
    EACH_WORLD for (uint32_t root = 0; root < size; root++)
    {
        begin(size, nclients);
        for (uint32_t r = 0; r < size; r++) {
            sim.p[r].single_out = true;
            assert_int_equal(impi_schedule_gather(&sim.p[r].s, &sim.g, r, root,
                                                  true, IMPI_GATHER_TAG),
                             0);
        }
        run();
        assert_int_equal(sim.messages, size);
        for (uint32_t r = 0; r < size; r++)
            is_block(&sim.p[root].in[r], r, 0);
        begin(size, nclients);
        for (uint32_t r = 0; r < size; r++) {
            sim.p[r].single_in = true;
            assert_int_equal(impi_schedule_scatter(&sim.p[r].s, &sim.g, r, root,
                                                   r % 2, IMPI_SCATTERV_TAG),
                             0);
        }
        run();
        for (uint32_t r = 0; r < size; r++) {
            if (r != root || r % 2)
                is_block(&sim.p[r].in[0], root, r);
        }
    }
}

/* What r has got of rank `from` under number `block`. */
static void is_bundle(uint32_t r, uint32_t block, uint32_t from)
{
    const char *s = sim.p[r].in[block].s;

    if (s[0] != '\0') {
        assert_int_equal(s[0], 'a' + from);
        assert_int_equal(s[1], '0' + block % 10);
    }
}

/* Whoever sends what: between clients there are as few messages as can be,
 * and bundles come from the master that they are named for (Gather), or go to
 * it (Scatter). */
static void try_packed(uint32_t size, uint32_t nclients, uint32_t root, bool up)
{
    struct impi_coll_rules rules = {.maxlinear = 3};

    begin(size, nclients);
    for (uint32_t r = 0; r < size; r++)
        assert_int_equal(
            impi_schedule_packed(&sim.p[r].s, &sim.g, &rules, r, root, up), 0);
    tags_are(size, up ? 130 : 150);
    run();
    assert_int_equal(sim.cross, nclients - 1);
    for (uint32_t r = 0; r < size; r++) {
        /* Rank r is of client r % nclients, whose master has that rank. */
        bool roots = r % nclients == root % nclients;
        uint32_t top = roots ? root : r % nclients;

        if (r != top)
            is_block(&sim.p[up ? top : r].in[r], up ? r : top, r % 10);
        for (uint32_t v = 1; up && v < nclients; v++)
            is_bundle(r, size + v, (root % nclients + v) % nclients);
    }
}

static void packed_through_masters(void **state)
{
    EACH_WORLD for (uint32_t root = 0; root < size; root++)
    {
        try_packed(size, nclients, root, true);
        try_packed(size, nclients, root, false);
    }
}

/* A subtree's bundle follows its own client's: the spans of all children and
 * oneself add up. */
static void bundles_add_up(void **state)
{
    struct impi_coll_rules rules = {.maxlinear = 1};

    for (uint32_t n = 2; n <= RANKS; n++) {
        begin(n, n);
        for (uint32_t v = 0; v < n; v++) {
            uint32_t sum = 1;

            for (uint32_t bit = 1; bit < n && !(v & bit); bit <<= 1)
                if ((v | bit) < n)
                    sum += impi_packed_span(&sim.g, &rules, v | bit);
            assert_int_equal(sum, impi_packed_span(&sim.g, &rules, v));
        }
        impi_group_free(&sim.g);
    }
}

static void every_block_of_an_alltoall_arrives(void **state)
{
    EACH_WORLD
    {
        begin(size, nclients);
        for (uint32_t r = 0; r < size; r++)
            assert_int_equal(impi_schedule_alltoall(&sim.p[r].s, &sim.g, r,
                                                    true, IMPI_ALLTOALL_TAG),
                             0);
        run();
        for (uint32_t r = 0; r < size; r++)
            for (uint32_t k = 0; k < size; k++)
                is_block(&sim.p[r].in[k], k, r);
    }
}

/* The only step of that kind with block k. */
static const struct impi_step *step_of(uint32_t r, enum impi_step_kind kind,
                                       uint32_t k)
{
    const struct impi_schedule *s = &sim.p[r].s;
    const struct impi_step *found = NULL;

    for (size_t i = 0; i < s->count; i++) {
        if (s->steps[i].kind != kind || s->steps[i].block != k)
            continue;
        assert_null(found);
        found = &s->steps[i];
    }
    assert_non_null(found);
    return found;
}

/* What is for the process at distance d is there after the rounds of d's bits;
 * each round is work, then a row of one receive and one send. */
static void alltoall_by_rounds_brings_every_block_home(void **state)
{
    for (uint32_t n = 1; n <= RANKS; n++) {
        uint32_t rounds = 0;

        begin(n, n);
        while (1u << rounds < n)
            rounds++;
        for (uint32_t r = 0; r < n; r++) {
            const struct impi_schedule *s = &sim.p[r].s;

            assert_int_equal(
                impi_schedule_rounds(&sim.p[r].s, &sim.g, r, IMPI_ALLTOALL_TAG),
                0);
            assert_int_equal(s->count, 3 * rounds + 1);
            for (size_t i = 0; i < s->count; i++) {
                assert_int_equal(s->steps[i].kind == IMPI_STEP_LOCAL_OTHER,
                                 i % 3 == 0);
                assert_int_equal(s->steps[i].more, i % 3 == 1);
            }
        }
        for (uint32_t r = 0; r < n; r++)
            for (uint32_t d = 0; d < n; d++) {
                uint32_t at = r;

                for (uint32_t k = 0; k < rounds; k++) {
                    uint32_t to = step_of(at, IMPI_STEP_SEND, k)->rank;

                    assert_int_equal(step_of(to, IMPI_STEP_RECV, k)->rank, at);
                    if (d >> k & 1)
                        at = to;
                }
                assert_int_equal(at, impi_rounds_ahead(n, r, d));
                assert_int_equal(impi_rounds_behind(n, at, d), r);
            }
        for (uint32_t r = 0; r < n; r++)
            impi_schedule_free(&sim.p[r].s);
        impi_group_free(&sim.g);
    }
}

/* Of eight, in two clients side by side, only the round of the highest bit goes
 * from one to the other. */
static void one_round_of_alltoall_goes_between_clients(void **state)
{
    begin(8, 8);
    for (uint32_t r = 0; r < 8; r++) {
        impi_schedule_rounds(&sim.p[r].s, &sim.g, r, IMPI_ALLTOALL_TAG);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal((step_of(r, IMPI_STEP_SEND, k)->rank ^ r) >= 4,
                             k == 2);
        impi_schedule_free(&sim.p[r].s);
    }
    impi_group_free(&sim.g);
}

/* Among our own, where the masters are a power of two: each sends as often as
 * that has bits, and all have the same bits. */
static void allreduce_by_exchange(void **state)
{
    struct impi_coll_rules rules = {.maxlinear = 4, .exchange = true};

    for (uint32_t n = 1; n <= 8; n++) {
        begin(n, n);
        for (uint32_t r = 0; r < n; r++) {
            sprintf(sim.p[r].buf[IMPI_BUF_OWN].s, "%c", 'a' + r);
            assert_int_equal(
                impi_schedule_allreduce(&sim.p[r].s, &sim.g, &rules, r, true),
                0);
        }
        run();
        if ((n & (n - 1)) == 0) /* else up and down a tree */
            assert_int_equal(sim.messages, n * (uint32_t)impi_cubedim(n));
        for (uint32_t r = 0; r < n; r++) {
            is_letters(sim.p[r].buf[IMPI_BUF_ACC].s, 0, n, false);
            assert_string_equal(sim.p[r].buf[IMPI_BUF_ACC].s,
                                sim.p[0].buf[IMPI_BUF_ACC].s);
        }
    }
}

static void scan_goes_from_rank_to_rank(void **state)
{
    struct impi_coll_rules rules = {.maxlinear = 4, .exchange = true};

    EACH_WORLD for (int exclusive = 0; exclusive < 2; exclusive++)
    {
        begin(size, nclients);
        for (uint32_t r = 0; r < size; r++) {
            struct process *p = &sim.p[r];

            sprintf(p->buf[exclusive ? IMPI_BUF_ACC : IMPI_BUF_OWN].s, "%c",
                    'a' + r);
            assert_int_equal(
                exclusive ? impi_schedule_exscan(&p->s, &sim.g, &rules, r)
                          : impi_schedule_scan(&p->s, &sim.g, &rules, r, true),
                0);
        }
        tags_are(size, 200);
        run();
        for (uint32_t r = 0; r < size; r++) {
            if (exclusive)
                is_letters(sim.p[r].buf[IMPI_BUF_DATA].s, 0, r, true);
            else
                is_letters(sim.p[r].buf[IMPI_BUF_ACC].s, 0, r + 1, true);
        }
    }
}

/* A ring of two: both neighbours are one process, tags tell the ways. */
static void neighbours_that_are_one_process(void **state)
{
    begin(2, 2);
    for (uint32_t r = 0; r < 2; r++) {
        struct impi_neighbour from[2] = {{1 - r, 0, 1}, {1 - r, 1, 0}};
        struct impi_neighbour to[2] = {{1 - r, 0, 0}, {1 - r, 1, 1}};

        assert_int_equal(
            impi_schedule_neighbours(&sim.p[r].s, &sim.g, r, from, 2, to, 2),
            0);
    }
    run();
    for (uint32_t r = 0; r < 2; r++) {
        is_block(&sim.p[r].in[0], 1 - r, 1);
        is_block(&sim.p[r].in[1], 1 - r, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_go_straight_to_and_from_any_root),
        cmocka_unit_test(packed_through_masters),
        cmocka_unit_test(bundles_add_up),
        cmocka_unit_test(every_block_of_an_alltoall_arrives),
        cmocka_unit_test(alltoall_by_rounds_brings_every_block_home),
        cmocka_unit_test(one_round_of_alltoall_goes_between_clients),
        cmocka_unit_test(allreduce_by_exchange),
        cmocka_unit_test(scan_goes_from_rank_to_rank),
        cmocka_unit_test(neighbours_that_are_one_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
