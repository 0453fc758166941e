/* SPDX-License-Identifier: BSD-3-Clause
 * A step that Slurm suspends without calling a plugin: the program stops when
 * Slurm has stopped the tasks, and goes on when Slurm lets them.
 */
#include <pthread.h>

#include "elan_util.h"
#include "plugins/switch_elan/suspend_watch.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t looked;
    bool ordered, stand, fails, stopped;
    unsigned looks, stops, continues;
} slurm = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .looked = PTHREAD_COND_INITIALIZER};

static bool is_suspended(void)
{
    bool ordered;

    pthread_mutex_lock(&slurm.lock);
    slurm.looks++;
    pthread_cond_signal(&slurm.looked);
    ordered = slurm.ordered;
    pthread_mutex_unlock(&slurm.lock);
    return ordered;
}

static bool tasks_stand(const void *arg)
{
    bool stand;

    assert_ptr_equal(arg, &slurm);
    pthread_mutex_lock(&slurm.lock);
    stand = slurm.stand;
    pthread_mutex_unlock(&slurm.lock);
    return stand;
}

static bool suspend(bool stop)
{
    bool fails;

    pthread_mutex_lock(&slurm.lock);
    *(stop ? &slurm.stops : &slurm.continues) += 1;
    fails = slurm.fails;
    if (!fails)
        slurm.stopped = stop;
    pthread_mutex_unlock(&slurm.lock);
    return !fails;
}

static const struct suspend_watch_calls calls = {.is_suspended = is_suspended,
                                                 .tasks_stand = tasks_stand,
                                                 .suspend = suspend,
                                                 .arg = &slurm};

/* Slurm's state becomes that, and has been looked at: the first look may have
 * begun before, the second is done when the third begins. */
static void after(bool ordered, bool stand, bool fails)
{
    unsigned until;

    pthread_mutex_lock(&slurm.lock);
    slurm.ordered = ordered;
    slurm.stand = stand;
    slurm.fails = fails;
    until = slurm.looks + 3;
    while (slurm.looks < until)
        pthread_cond_wait(&slurm.looked, &slurm.lock);
    pthread_mutex_unlock(&slurm.lock);
}

static struct suspend_watch *begin(void)
{
    struct suspend_watch *w;

    slurm.stopped = false;
    slurm.stops = slurm.continues = 0;
    w = suspend_watch_begin(&calls);
    assert_non_null(w);
    return w;
}

static void a_program_stops_after_its_tasks_and_goes_on(void **state)
{
    struct suspend_watch *w = begin();

    after(false, true, false); /* its user stopped them */
    assert_int_equal(slurm.stops, 0);
    after(true, false, false); /* they may prepare */
    assert_int_equal(slurm.stops, 0);
    after(true, true, false);
    assert_true(slurm.stopped);
    after(true, false, false); /* what is frozen is not looked at */
    assert_int_equal(slurm.stops, 1);
    assert_int_equal(slurm.continues, 0);
    after(false, false, false);
    assert_false(slurm.stopped);
    after(true, true, false);
    assert_true(slurm.stopped);
    suspend_watch_end(w);
    assert_true(slurm.stopped);
    assert_int_equal(slurm.stops, 2);
    assert_int_equal(slurm.continues, 1);
}

static void what_fails_is_tried_again(void **state)
{
    struct suspend_watch *w = begin();

    after(true, true, true);
    assert_true(slurm.stops > 1);
    assert_false(slurm.stopped);
    after(true, true, false);
    assert_true(slurm.stopped);
    after(false, false, true);
    assert_true(slurm.continues > 1);
    assert_true(slurm.stopped);
    after(false, false, false);
    assert_false(slurm.stopped);
    suspend_watch_end(w);
}

static void it_ends_at_any_time(void **state)
{
    suspend_watch_end(NULL);
    for (int i = 0; i < 100; i++)
        suspend_watch_end(begin());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_stops_after_its_tasks_and_goes_on),
        cmocka_unit_test(what_fails_is_tried_again),
        cmocka_unit_test(it_ends_at_any_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
