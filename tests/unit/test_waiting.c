/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How often a process that waits looks, offers the processor and sleeps, by how
 * many share the machine.  Processors, connections and sleep are played.
 */
#define _GNU_SOURCE /* cpu_set_t */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/look.h"
#include "libimpi/coll_run.h"
#include "libimpi/crowd.h"
#include "libimpi/conns.h"
#include "libimpi/progress.h"
#include "libimpi/req.h"

#define PROCESSORS 2
#define MOST 512

/* ---- the players ---- */

static struct {
    uint64_t now;
    uint64_t turn; /* how long the others are at it */
} play = {.now = 1};

static struct {
    unsigned looks, offers, naps;
    int nap_ms; /* of the last */
} count;

static const uint16_t place[MOST]; /* all at the first */
static struct impi_table_place here;
static struct impi_comm world_comm;
struct backend impi_be;
struct impi_real impi_real;

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid;
    (void)size;
    CPU_ZERO(set);
    for (int i = 0; i < PROCESSORS; i++)
        CPU_SET(i, set);
    return 0;
}

int sched_yield(void)
{
    count.offers++;
    play.now += play.turn;
    return 0;
}

bool conns_progress(void)
{
    count.looks++;
    return false;
}

bool conns_progress_awaited(void)
{
    return conns_progress();
}

void conns_wait(int ms)
{
    count.naps++;
    count.nap_ms = ms;
    play.now += (uint64_t)ms * 1000000;
}

bool conns_write_or_wait(int ms)
{
    if (ms > 0)
        conns_wait(ms);
    return false;
}

unsigned conns_rounds(void)
{
    return count.looks;
}

bool conns_is_quick(void)
{
    return false;
}

void conns_look(void)
{
}

bool conns_opening(void)
{
    return false;
}

bool win_progress(void)
{
    return false;
}

void req_reap(void)
{
}

bool coll_any(void)
{
    return false;
}

void coll_progress(void)
{
}

void impi_p2p_settle(struct impi_p2p *p)
{
    (void)p;
}

uint64_t clock_ns(void)
{
    return play.now;
}

void be_lock_slow(void)
{
}

void be_unlock(void)
{
    be_unlock_same();
}

void be_die(int code, const char *fmt, ...)
{
    (void)code;
    (void)fmt;
    abort();
}

static int native_iprobe(int source, int tag, MPI_Comm comm, int *flag,
                         MPI_Status *status)
{
    (void)source, (void)tag, (void)comm, (void)status;
    *flag = 0;
    return MPI_SUCCESS;
}

/* ---- a process among n on this machine ---- */

static void among(uint32_t n)
{
    play.turn = (uint64_t)n * 4000;
    play.now += 10000000000; /* what was before is forgotten */
    memset(&count, 0, sizeof(count));
    memset(&impi_be, 0, sizeof(impi_be));
    impi_real.Iprobe = native_iprobe;
    world_comm.native_size = (int)n;
    impi_be.world_comm = &world_comm;
    impi_be.agent.fd = -1;
    impi_be.world.nprocs = n;
    here.neighbours = n;
    impi_be.table = (struct impi_table){
        .nprocs = n, .place = place, .nplaces = 1, .places = &here};
    crowd_look();
}

/* It waits in vain for so many rounds. */
static void wait_in_vain(bool native, unsigned rounds)
{
    struct waiter w = {.native = native};

    be_lock();
    while (rounds--)
        progress_wait(&w);
    be_unlock();
}

/* After 200 offers it slept 1 ms at a time: 512 of them took both processors,
 * and who still offered his waited a minute for a turn. */
static void many_sleep_longer_and_offer_more(void **state)
{
    among(512);
    assert_true(impi_be.crowded);
    wait_in_vain(true, 1); /* it does not know the others yet */
    memset(&count, 0, sizeof(count));
    wait_in_vain(true, impi_be.crowd_wait.rounds - 1);
    assert_true(count.offers > 512);
    assert_int_equal(count.naps, 0);
    wait_in_vain(true, impi_be.crowd_wait.rounds + 9);
    assert_int_equal(count.naps, 10);
    assert_true(512 <= count.nap_ms * (int)IMPI_CROWD_WAKES * PROCESSORS);
}

/* Others were at MPI_Finalize in their own library, which keeps the processor:
 * each offer cost 100 ms and more. */
static void who_does_not_give_way_gets_few_offers(void **state)
{
    among(512);
    play.turn = 150000000;
    wait_in_vain(true, 1000);
    assert_true(count.naps > 900);
    assert_true(count.offers < 20);
}

static void offers_begin_again_when_others_give_way(void **state)
{
    among(512);
    play.turn = 150000000;
    wait_in_vain(true, 100);
    play.turn = 1000000;
    play.now += 10000000000;
    memset(&count, 0, sizeof(count));
    wait_in_vain(true, 1000);
    assert_int_equal(count.naps, 0);
    assert_int_equal(count.offers, 1000);
}

/* So do those that a connection wakes, for they ask the native library. */
static void who_waits_for_other_clients_likewise(void **state)
{
    among(512);
    wait_in_vain(false, 100);
    assert_true(count.naps > 0);
    assert_true(512 <= count.nap_ms * (int)IMPI_CROWD_WAKES * PROCESSORS);
}

static void a_few_sleep_shortly(void **state)
{
    among(8);
    assert_true(impi_be.crowded);
    wait_in_vain(true, 5000);
    assert_true(count.naps > 0);
    assert_int_equal(count.nap_ms, 1);
}

static void where_there_is_room_nothing_changes(void **state)
{
    among(PROCESSORS);
    assert_false(impi_be.crowded);
    wait_in_vain(false, 3000);
    assert_true(count.naps > 0);
    assert_int_equal(count.nap_ms, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_sleep_longer_and_offer_more),
        cmocka_unit_test(who_does_not_give_way_gets_few_offers),
        cmocka_unit_test(offers_begin_again_when_others_give_way),
        cmocka_unit_test(who_waits_for_other_clients_likewise),
        cmocka_unit_test(a_few_sleep_shortly),
        cmocka_unit_test(where_there_is_room_nothing_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
