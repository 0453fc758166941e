/* SPDX-License-Identifier: BSD-3-Clause
 * Two hosts whose processes flood each other through the relay, in memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "relay_sim.h"

#define NEACH 3 /* processes of a host */
#define NPROCS (2 * NEACH)
#define DATALEN 20
#define HIWATER 4
#define ACKMARK 2
#define PAUSE 300
#define NSENDS 40 /* of each process to each of the others */
#define LENGTH 70
#define PACKET_MAX (IMPI_PACKET_SIZE + DATALEN)

struct job {
    struct sim *sim;
    struct impi_request send[NPROCS][NEACH][NSENDS];
    struct impi_request recv[NPROCS][NEACH][NSENDS];
    uint8_t out[LENGTH], in[NPROCS][NEACH][NSENDS][LENGTH];
};

static struct job *make(void)
{
    const struct sim_options options = {.each = {NEACH, NEACH},
                                        .maxdatalen = DATALEN,
                                        .ackmark = ACKMARK,
                                        .hiwater = HIWATER,
                                        .pipe = 37,
                                        .pause = PAUSE};
    struct job *j = calloc(1, sizeof(*j));

    assert_non_null(j);
    j->sim = sim_create(&options);
    return j;
}

static void drop(struct job *j)
{
    sim_destroy(j->sim);
    free(j);
}

/* ---- messages ---- */

static void flood(struct job *j, uint32_t i)
{
    for (int n = 0; n < NSENDS; n++)
        for (uint32_t k = 0; k < NEACH; k++) {
            struct impi_send args = {.peer = sim_peer(j->sim, i, k),
                                     .rank = (int32_t)i,
                                     .tag = n,
                                     .sync = n % 7 == 0,
                                     .buf = {.base = j->out, .len = LENGTH}};

            impi_p2p_isend(j->sim->proc[i].p2p, &j->send[i][k][n], &args);
        }
}

/* The last first. */
static void take(struct job *j, uint32_t i)
{
    for (int n = NSENDS - 1; n >= 0; n--)
        for (uint32_t k = 0; k < NEACH; k++) {
            struct impi_recv args = {
                .peer = sim_peer(j->sim, i, k),
                .rank = (int32_t)sim_peer(j->sim, i, k),
                .tag = n,
                .buf = {.base = j->in[i][k][n], .len = LENGTH}};

            impi_p2p_irecv(j->sim->proc[i].p2p, &j->recv[i][k][n], &args);
        }
}

static void all_done(struct job *j, uint32_t i, uint32_t k)
{
    for (int n = 0; n < NSENDS; n++) {
        assert_true(j->recv[i][k][n].done);
        assert_memory_equal(j->in[i][k][n], j->out, LENGTH);
    }
}

/* Flow control is the bound: of each pair one way hiwater packets that count,
 * and the acknowledgements of the other. */
static void queues_were_short(const struct job *j)
{
    size_t most =
        NEACH * (HIWATER * PACKET_MAX + HIWATER / ACKMARK * IMPI_PACKET_SIZE);

    for (uint32_t h = 0; h < 2; h++) {
        assert_true(j->sim->host[h].other.queue.peak <=
                    PAUSE + NEACH * PACKET_MAX);
        for (uint32_t i = 0; i < NEACH; i++)
            assert_true(j->sim->host[h].procs[i].queue.peak <= most);
    }
}

static void hosts_that_flood_each_other_never_stop(void **state)
{
    struct job *j = make();

    for (uint32_t i = 0; i < NPROCS; i++)
        flood(j, i);
    sim_settle(j->sim);
    for (uint32_t i = 0; i < NPROCS; i++)
        take(j, i);
    sim_settle(j->sim);
    for (uint32_t i = 0; i < NPROCS; i++)
        for (uint32_t k = 0; k < NEACH; k++)
            all_done(j, i, k);
    queues_were_short(j);
    drop(j);
}

/* All flood it, and it does not look: the others get theirs meanwhile. */
static void a_process_that_does_not_read_holds_up_nobody(void **state)
{
    struct job *j = make();

    j->sim->proc[0].asleep = true;
    for (uint32_t i = 1; i < NPROCS; i++) {
        flood(j, i);
        take(j, i);
    }
    sim_settle(j->sim);
    for (uint32_t i = 1; i < NPROCS; i++)
        for (uint32_t k = 0; k < NEACH; k++)
            if (sim_peer(j->sim, i, k) != 0)
                all_done(j, i, k);
    queues_were_short(j);
    j->sim->proc[0].asleep = false;
    flood(j, 0);
    take(j, 0);
    sim_settle(j->sim);
    for (uint32_t k = 0; k < NEACH; k++) {
        all_done(j, 0, k);
        all_done(j, sim_peer(j->sim, 0, k), 0);
    }
    drop(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_that_flood_each_other_never_stop),
        cmocka_unit_test(a_process_that_does_not_read_holds_up_nobody),
    };

    return cmocka_run_group_tests_name("relay_flood", tests, NULL, NULL);
}
