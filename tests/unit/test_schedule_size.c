/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collective schedules of 4 096 ranks in 32 clients, all processes at once:
 * rounds between clients, beside those of the best algorithm that is known, and
 * what the busiest process sends to other clients.  A table is printed
 * (doc/impi-chapter4.md).
 */
#include "schedule_world.h"

#define SIZE 4096
#define CLIENTS 32

static struct counted run(const char *what, uint32_t best)
{
    struct counted c = world_run();

    print_message("# %-26s %4u rounds, best %2u; %5llu messages, busiest "
                  "process %4llu with %llu blocks\n",
                  what, c.rounds, best, (unsigned long long)c.messages,
                  (unsigned long long)c.busiest, (unsigned long long)c.blocks);
    return c;
}

enum shape {
    EVEN,   /* clients of 128 ranks, one behind the other */
    UNEVEN, /* of 1 to 255 */
    DEALT   /* to each client in its turn */
};

static void begin(enum shape shape, bool few_rounds)
{
    static uint32_t client[SIZE];
    uint32_t rank = 0;

    for (uint32_t k = 0; k < CLIENTS; k++) {
        uint32_t n = shape != UNEVEN    ? SIZE / CLIENTS
                     : k + 1 == CLIENTS ? SIZE - rank
                                        : 1 + 254 * k / (CLIENTS - 1);

        for (uint32_t i = 0; i < n; i++, rank++)
            client[rank] = shape == DEALT ? rank % CLIENTS : k;
    }
    assert_int_equal(rank, SIZE);
    world_begin(client, SIZE);
    world.rules = (struct impi_coll_rules){.maxlinear = 4,
                                           .exchange = true,
                                           .few_rounds = few_rounds,
                                           .few_bytes = few_rounds};
}

/* Not more rounds than `most`. */
static void takes(const char *what, uint32_t most)
{
    assert_true(run(what, 5).rounds <= most);
}

/* Nor a process more of its vector than so often all of it. */
static void sends(const char *what, uint32_t best, uint32_t most,
                  double vectors)
{
    struct counted c = run(what, best);

    print_message("#   %.2f vectors sent by one, %.2f taken, %.2f in all\n",
                  c.vectors, c.taken, c.sum);
    assert_true(c.rounds <= most);
    assert_true(c.vectors <= vectors && c.taken <= vectors);
}

static void all_have_all(void)
{
    for (uint32_t r = 0; r < SIZE; r++) {
        value_is(&world.p[r].buf[IMPI_BUF_ACC], 0, SIZE);
        assert_true(world.p[r].buf[IMPI_BUF_ACC].mark ==
                    world.p[0].buf[IMPI_BUF_ACC].mark);
    }
}

/* What has been so from the beginning. */
static void commutative(void)
{
    world.any_order = true;
    world_fill(IMPI_BUF_DATA);
    ALL(impi_schedule_bcast(&world.p[r].s, &world.g, &world.rules, r, 300));
    takes("Bcast", 5);
    world_fill(IMPI_BUF_NONE);
    ALL(impi_schedule_reduce(&world.p[r].s, &world.g, &world.rules, r, 300,
                             true));
    takes("Reduce", 5);
    value_is(&world.p[300].buf[IMPI_BUF_ACC], 0, SIZE);
    world_fill(IMPI_BUF_NONE);
    ALL(impi_schedule_allreduce(&world.p[r].s, &world.g, &world.rules, r,
                                true));
    takes("Allreduce", 5);
    all_have_all();
    world.rules.is_long = true;
    world_fill(IMPI_BUF_NONE);
    ALL(impi_schedule_allreduce(&world.p[r].s, &world.g, &world.rules, r,
                                true));
    sends("Allreduce, long", 10, 10, 2);
    all_have_all();
    world_fill(IMPI_BUF_DATA);
    ALL(impi_schedule_bcast(&world.p[r].s, &world.g, &world.rules, r, 300));
    sends("Bcast, long", 10, 10, 2);
    world_fill(IMPI_BUF_NONE);
    ALL(impi_schedule_reduce(&world.p[r].s, &world.g, &world.rules, r, 300,
                             true));
    sends("Reduce, long", 10, 10, 2);
    value_is(&world.p[300].buf[IMPI_BUF_ACC], 0, SIZE);
    world.rules.is_long = false;
    world.root = 300;
    ALL(impi_schedule_packed(&world.p[r].s, &world.g, &world.rules, r, 300,
                             true));
    takes("Gather, short", 5);
    ALL(impi_schedule_packed(&world.p[r].s, &world.g, &world.rules, r, 300,
                             false));
    takes("Scatter, short", 5);
    world.any_order = false;
}

static void barrier(uint32_t most)
{
    ALL(impi_schedule_barrier(&world.p[r].s, &world.g, &world.rules, r));
    takes("Barrier", most);
}

static void scans(uint32_t most)
{
    world_fill(IMPI_BUF_ACC);
    ALL(impi_schedule_scan(&world.p[r].s, &world.g, &world.rules, r, true));
    takes("Scan", most);
    for (uint32_t r = 0; r < SIZE; r++)
        value_is(&world.p[r].buf[IMPI_BUF_ACC], 0, r + 1);
    world_fill(IMPI_BUF_ACC);
    ALL(impi_schedule_exscan(&world.p[r].s, &world.g, &world.rules, r));
    takes("Exscan", most);
    for (uint32_t r = 0; r < SIZE; r++)
        value_is(&world.p[r].buf[IMPI_BUF_DATA], 0, r);
}

static void in_order(uint32_t reduce, uint32_t allreduce)
{
    world_fill(IMPI_BUF_NONE);
    ALL(impi_schedule_reduce(&world.p[r].s, &world.g, &world.rules, r, 300,
                             false));
    takes("Reduce, not commutative", reduce);
    value_is(&world.p[300].buf[IMPI_BUF_ACC], 0, SIZE);
    world_fill(IMPI_BUF_NONE);
    ALL(impi_schedule_allreduce(&world.p[r].s, &world.g, &world.rules, r,
                                false));
    takes("Allreduce, not commutative", allreduce);
    all_have_all();
    if (!world.rules.few_bytes)
        return;
    world.rules.is_long = true;
    world_fill(IMPI_BUF_NONE);
    ALL(impi_schedule_allreduce(&world.p[r].s, &world.g, &world.rules, r,
                                false));
    sends("Allreduce, not comm., long", 10, 2 * allreduce, 2);
    all_have_all();
    world_fill(IMPI_BUF_NONE);
    ALL(impi_schedule_reduce(&world.p[r].s, &world.g, &world.rules, r, 300,
                             false));
    sends("Reduce, not comm., long", 10, 2 * reduce, 2);
    value_is(&world.p[300].buf[IMPI_BUF_ACC], 0, SIZE);
    world.rules.is_long = false;
}

/* vectors: what a process may send. */
static void reduce_scatters(uint32_t most, double vectors)
{
    for (int commutes = 0; commutes < 2; commutes++) {
        world.any_order = commutes;
        world_fill(IMPI_BUF_NONE);
        ALL(impi_schedule_reduce_scatter(&world.p[r].s, &world.g, &world.rules,
                                         r, commutes));
        sends(commutes ? "Reduce_scatter" : "Reduce_scatter, not comm.", 5,
              most, vectors);
        for (uint32_t r = 0; r < SIZE; r++)
            value_is(&world.p[r].buf[IMPI_BUF_IN], 0, SIZE);
    }
    world.any_order = false;
}

static void alltoall(uint32_t most)
{
    ALL(impi_schedule_rounds(&world.p[r].s, &world.g, r, 1));
    takes("Alltoall, short", most);
}

static void allgather(void)
{
    world_fill(IMPI_BUF_DATA);
    ALL(impi_schedule_allgather(&world.p[r].s, &world.g, r, 1));
    sends("Allgather", 5, 5, 1);
}

typedef int blocks_f(struct impi_schedule *s, uint32_t r);

static int gather_f(struct impi_schedule *s, uint32_t r)
{
    return impi_schedule_gather(s, &world.g, r, 300, false, 1);
}

static int scatter_f(struct impi_schedule *s, uint32_t r)
{
    return impi_schedule_scatter(s, &world.g, r, 300, false, 1);
}

static int alltoall_f(struct impi_schedule *s, uint32_t r)
{
    return impi_schedule_alltoall(s, &world.g, r, false, 1);
}

/* Straight: as many messages between clients as there are blocks that have to
 * go there. */
static void straight(const char *what, blocks_f *make, uint64_t blocks)
{
    uint64_t n = 0, busiest = 0;

    for (uint32_t r = 0; r < SIZE; r++) {
        struct impi_schedule s = {0};
        uint64_t own = 0;

        assert_int_equal(make(&s, r), 0);
        for (size_t i = 0; i < s.count; i++)
            own += s.steps[i].kind == IMPI_STEP_SEND && !s.steps[i].local;
        impi_schedule_free(&s);
        n += own;
        busiest = own > busiest ? own : busiest;
    }
    print_message("# %-26s %llu blocks between clients, best %llu; busiest "
                  "process sends %llu\n",
                  what, (unsigned long long)n, (unsigned long long)blocks,
                  (unsigned long long)busiest);
    assert_true(n == blocks);
}

/* Of all to all those of other clients. */
static uint64_t blocks_away(void)
{
    uint64_t n = 0;

    for (uint32_t r = 0; r < SIZE; r++)
        n += SIZE - impi_group_num_local_to_rank(&world.g, r);
    return n;
}

static void long_blocks_go_once(void **state)
{
    uint64_t away = SIZE - SIZE / CLIENTS;

    begin(EVEN, true);
    straight("Gather, long", gather_f, away);
    straight("Scatter, long", scatter_f, away);
    straight("Alltoall, straight", alltoall_f, blocks_away());
    world_end();
    begin(UNEVEN, true);
    straight("Alltoall, straight, uneven", alltoall_f, blocks_away());
    world_end();
}

static void rounds_of_even_clients(void **state)
{
    begin(EVEN, true);
    commutative();
    barrier(5);
    scans(5);
    in_order(5, 5);
    reduce_scatters(5, 1);
    allgather();
    alltoall(5);
    world_end();
}

static void rounds_of_uneven_clients(void **state)
{
    begin(UNEVEN, true);
    commutative();
    barrier(5);
    scans(5);
    in_order(5, 5);
    reduce_scatters(5, 1);
    allgather();
    alltoall(12);
    world_end();
}

static void rounds_of_ranks_that_are_dealt_out(void **state)
{
    begin(DEALT, true);
    commutative();
    barrier(5);
    scans(5);
    in_order(5, 5);
    reduce_scatters(5, 1);
    allgather();
    alltoall(5);
    world_end();
}

/* With a client of an older release, or a foreign one. */
static void rounds_that_are_not_agreed(void **state)
{
    begin(EVEN, false);
    barrier(10);
    scans(CLIENTS - 1);
    in_order(SIZE, SIZE + 5);
    reduce_scatters(2 * SIZE, SIZE);
    world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_of_even_clients),
        cmocka_unit_test(rounds_of_uneven_clients),
        cmocka_unit_test(rounds_of_ranks_that_are_dealt_out),
        cmocka_unit_test(rounds_that_are_not_agreed),
        cmocka_unit_test(long_blocks_go_once),
    };

    return cmocka_run_group_tests_name("schedule_size", tests, NULL, NULL);
}
