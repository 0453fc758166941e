/* SPDX-License-Identifier: BSD-3-Clause
 * The partition manager recovers what lived before: restarts, takeovers, and
 * crashes in any mix.
 */
#include "partition_bed.h"

/* As the job info comes back from Slurm's state file. */
static struct elan_jobinfo through_the_wire(const struct elan_jobinfo *info)
{
    struct elan_jobinfo got;
    void *buf;
    size_t len;

    assert_int_equal(elan_jobinfo_encode(info, &buf, &len, NULL), 0);
    assert_int_equal(elan_jobinfo_decode(&got, buf, len, NULL), 0);
    free(buf);
    return got;
}

static void restart_keeps_live_programs(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=7"), *next;
    struct program a, b, c, d;
    struct elan_jobinfo back;
    char text[ELAN_STATE_SIZE_MAX];

    assert_int_equal(build(pm, &a, 1, 2, 0, 4), 0);
    assert_int_equal(build(pm, &b, 2, 2, 0, 4), 0);
    elan_partition_state(pm, true, text);
    elan_partition_destroy(pm);

    next = manager("base_context=0,top_context=7");
    assert_int_equal(elan_partition_restore(next, "f", text, NULL), 0);
    back = through_the_wire(&a.info);
    assert_int_equal(elan_partition_recover(next, &back, NULL), 0);
    assert_int_equal(elan_partition_recover(next, &back, NULL), 0);
    assert_int_equal(elan_partition_programs(next), 1);
    /* b is gone with its job: its contexts are free, its number is not used
     * again. */
    assert_int_equal(build(next, &c, 3, 2, 0, 4), 0);
    assert_int_equal(c.info.low_context, b.info.low_context);
    assert_int_equal(c.info.prognum, b.info.prognum + 1);
    assert_int_equal(build(next, &d, 4, 1, 0, 1), EBUSY);
    assert_true(elan_partition_release(next, &back));
    assert_true(elan_partition_release(next, &c.info));
    assert_int_equal(elan_partition_contexts(next), 0);
    elan_jobinfo_free(&back);
    program_free(&a);
    program_free(&b);
    program_free(&c);
    elan_partition_destroy(next);
}

static void recovery_refuses_what_is_taken(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=7");
    struct program a;
    struct elan_jobinfo other, never;
    struct errbuf err;

    assert_int_equal(build(pm, &a, 1, 2, 0, 4), 0);
    assert_int_equal(elan_jobinfo_copy(&other, &a.info), 0);
    other.job_id = 2;
    assert_int_equal(elan_partition_recover(pm, &other, &err), -1);
    assert_int_equal(errno, EEXIST);
    assert_string_equal(err.text, "program 1000 is that of step 1.0");
    other.prognum++;
    assert_int_equal(elan_partition_recover(pm, &other, &err), -1);
    assert_int_equal(errno, EEXIST);
    assert_false(elan_partition_release(pm, &other));
    elan_jobinfo_init(&never, 9, 0, NO_COMPONENT);
    assert_int_equal(elan_partition_recover(pm, &never, &err), 0);
    assert_int_equal(elan_partition_programs(pm), 1);
    elan_jobinfo_free(&other);
    program_free(&a);
    elan_partition_destroy(pm);
}

/* A backup that was in charge before still has the steps of then. */
static void takeover_forgets_what_was_live_before(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=7");
    struct program a, b, c;

    assert_int_equal(build(pm, &a, 1, 2, 0, 4), 0);
    assert_int_equal(build(pm, &b, 2, 2, 0, 4), 0);
    elan_partition_forget(pm);
    assert_int_equal(elan_partition_contexts(pm), 0);
    assert_int_equal(elan_partition_recover(pm, &b.info, NULL), 0);
    assert_int_equal(build(pm, &c, 3, 1, 0, 4), 0);
    assert_false(elan_partition_release(pm, &a.info));
    assert_true(elan_partition_release(pm, &b.info));
    assert_true(elan_partition_release(pm, &c.info));
    assert_int_equal(elan_partition_contexts(pm), 0);
    program_free(&a);
    program_free(&b);
    program_free(&c);
    elan_partition_destroy(pm);
}

static void bad_state_changes_nothing(void **state)
{
    struct elan_partition *pm = manager(NULL);
    struct errbuf err;
    struct program p;

    assert_int_equal(elan_partition_restore(pm, "elan_state", "junk", &err),
                     -1);
    assert_int_equal(build(pm, &p, 1, 1, 0, 1), 0);
    assert_int_equal(p.info.prognum, 1000);
    program_free(&p);
    elan_partition_destroy(pm);
}

#define LIVE_MAX 300

struct world {
    struct elan_partition *pm;
    struct elan_jobinfo live[LIVE_MAX];
    uint32_t nlive;
    char disk[ELAN_STATE_SIZE_MAX];
    uint32_t last; /* highest number ever given out */
};

static bool clash(const struct elan_jobinfo *a, const struct elan_jobinfo *b)
{
    if (a->prognum == b->prognum)
        return true;
    if (a->low_context >= b->low_context + b->ncontexts ||
        b->low_context >= a->low_context + a->ncontexts)
        return false;
    for (uint32_t i = 0; i < a->nnodes; i++)
        for (uint32_t j = 0; j < b->nnodes; j++)
            if (a->nodes[i] == b->nodes[j])
                return true;
    return false;
}

static void step_begins(struct world *w, uint32_t job, uint32_t *seed)
{
    struct program p;
    int rc = build(w->pm, &p, job, next_random(seed) % 6 + 1,
                   next_random(seed) % 20, next_random(seed) % 8 + 1);

    if (rc != 0) {
        assert_int_equal(rc, EBUSY);
        assert_false(elan_partition_release(w->pm, &p.info));
        return;
    }
    if (elan_partition_wants_save(w->pm)) {
        elan_partition_state(w->pm, false, w->disk);
        elan_partition_saved(w->pm);
    }
    for (uint32_t i = 0; i < w->nlive; i++)
        assert_false(clash(&w->live[i], &p.info));
    assert_true(p.info.prognum > w->last);
    w->last = p.info.prognum;
    w->live[w->nlive++] = p.info;
    elan_payload_free(&p.payload);
}

static void step_ends(struct world *w, uint32_t i, bool known)
{
    assert_int_equal(elan_partition_release(w->pm, &w->live[i]), known);
    elan_jobinfo_free(&w->live[i]);
    w->live[i] = w->live[--w->nlive];
}

/* slurmctld dies; some steps are not in its state file and are lost. */
static void controller_restarts(struct world *w, bool orderly, uint32_t *seed)
{
    if (orderly)
        elan_partition_state(w->pm, true, w->disk);
    elan_partition_destroy(w->pm);
    w->pm = manager("base_context=0,top_context=40");
    assert_int_equal(elan_partition_restore(w->pm, "f", w->disk, NULL), 0);
    for (uint32_t i = 0; i < w->nlive;) {
        if (!orderly && next_random(seed) % 8 == 0) {
            step_ends(w, i, false);
            continue;
        }
        assert_int_equal(elan_partition_recover(w->pm, &w->live[i], NULL), 0);
        i++;
    }
}

static void churn_with_crashes_leaves_the_pool_empty(void **state)
{
    struct world w = {.pm = manager("base_context=0,top_context=40")};
    uint32_t seed = 31;

    elan_partition_state(w.pm, false, w.disk);
    for (uint32_t i = 0; i < 10000; i++) {
        uint32_t dice = next_random(&seed) % 200;

        if (dice == 0)
            controller_restarts(&w, next_random(&seed) % 2, &seed);
        else if (dice < 100 && w.nlive > 0)
            step_ends(&w, next_random(&seed) % w.nlive, true);
        else if (w.nlive < LIVE_MAX)
            step_begins(&w, i, &seed);
        assert_int_equal(elan_partition_programs(w.pm), w.nlive);
    }
    while (w.nlive > 0)
        step_ends(&w, 0, true);
    assert_int_equal(elan_partition_programs(w.pm), 0);
    assert_int_equal(elan_partition_contexts(w.pm), 0);
    elan_partition_destroy(w.pm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restart_keeps_live_programs),
        cmocka_unit_test(recovery_refuses_what_is_taken),
        cmocka_unit_test(takeover_forgets_what_was_live_before),
        cmocka_unit_test(bad_state_changes_nothing),
        cmocka_unit_test(churn_with_crashes_leaves_the_pool_empty),
    };

    return cmocka_run_group_tests_name("elan_recovery", tests, NULL, NULL);
}
