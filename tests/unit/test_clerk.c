/* SPDX-License-Identifier: BSD-3-Clause
 * The thread beside the loop: order, limits, end.
 */
#include <errno.h>
#include <ev.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clerk.h"

struct job {
    struct clerk_job job;
    sem_t *go, *began;
    struct ev_loop *loop; /* stop it when done */
    int *log, *n;         /* numbers of jobs that are done, cancelled: -1 */
    int number;
    bool worked;
};

static void work(struct clerk_job *job)
{
    struct job *j = (struct job *)(void *)job;

    if (j->began)
        sem_post(j->began);
    if (j->go)
        sem_wait(j->go);
    j->worked = true;
}

static void done(struct clerk_job *job, bool cancelled)
{
    struct job *j = (struct job *)(void *)job;

    j->log[(*j->n)++] = cancelled ? -1 : j->number;
    assert_true(cancelled || j->worked);
    if (j->loop)
        ev_break(j->loop, EVBREAK_ALL);
}

static void jobs_are_done_in_order_beside_the_loop(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct clerk *c = clerk_new(loop, 10);
    int log[10], n = 0;
    struct job j[3];
    sem_t go;

    assert_non_null(c);
    sem_init(&go, 0, 0);
    for (int i = 0; i < 3; i++) {
        j[i] = (struct job){
            {work, done, NULL}, .go = &go, .log = log, .n = &n, .number = i};
        assert_int_equal(clerk_give(c, &j[i].job), 0);
    }
    j[2].loop = loop;
    assert_int_equal(clerk_pending(c), 3); /* and we are still here */
    for (int i = 0; i < 3; i++)
        sem_post(&go);
    ev_run(loop, 0);
    assert_int_equal(n, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(log[i], i);
    assert_int_equal(clerk_pending(c), 0);
    assert_true(clerk_free(c));
    sem_destroy(&go);
    ev_loop_destroy(loop);
}

static void too_many_are_refused_and_what_is_left_is_cancelled(void **state)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct clerk *c = clerk_new(loop, 2);
    int log[10], n = 0;
    struct job j[4];
    sem_t go, began;

    sem_init(&go, 0, 0);
    sem_init(&began, 0, 0);
    for (int i = 0; i < 4; i++)
        j[i] = (struct job){
            {work, done, NULL}, .go = &go, .log = log, .n = &n, .number = i};
    j[0].began = &began;
    assert_int_equal(clerk_give(c, &j[0].job), 0);
    sem_wait(&began);
    assert_int_equal(clerk_give(c, &j[1].job), 0);
    assert_int_equal(clerk_give(c, &j[2].job), 0);
    assert_int_equal(clerk_give(c, &j[3].job), -1);
    assert_int_equal(errno, EAGAIN);
    for (int i = 0; i < 3; i++)
        sem_post(&go);
    while (clerk_pending(c) > 0)
        sched_yield(); /* the loop does not run: nothing is done() */
    assert_int_equal(n, 0);
    assert_true(clerk_free(c));
    assert_int_equal(n, 3);
    assert_int_equal(log[2], -1);
    sem_destroy(&go);
    sem_destroy(&began);
    ev_loop_destroy(loop);
}

static void without_a_clerk_all_is_done_at_once(void **state)
{
    int log[1], n = 0;
    struct job j = {{work, done, NULL}, .log = log, .n = &n, .number = 5};

    assert_int_equal(clerk_give(NULL, &j.job), 0);
    assert_int_equal(n, 1);
    assert_int_equal(log[0], 5);
    assert_true(clerk_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_done_in_order_beside_the_loop),
        cmocka_unit_test(too_many_are_refused_and_what_is_left_is_cancelled),
        cmocka_unit_test(without_a_clerk_all_is_done_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
