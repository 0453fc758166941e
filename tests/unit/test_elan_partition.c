/* SPDX-License-Identifier: BSD-3-Clause
 * The partition manager: steps come, go, and are recovered.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "base/mac.h"
#include "elan/partition.h"
#include "elan_util.h"

#define NO_COMPONENT 0xfffffffe

static struct elan_partition *manager(const char *site_text)
{
    struct elan_site site;
    struct errbuf err = {""};
    struct elan_partition *pm;

    assert_int_equal(elan_site_parse(&site, site_text, &err), 0);
    pm = elan_partition_create(&site, 999, &err);
    assert_non_null(pm);
    return pm;
}

struct program {
    struct elan_jobinfo info;
    struct elan_payload payload;
};

static void program_free(struct program *p)
{
    elan_jobinfo_free(&p->info);
    elan_payload_free(&p->payload);
}

/* 0 or errno.  Takes the layout. */
static int build_layout(struct elan_partition *pm, struct program *p,
                        uint32_t job, uint32_t step_id, uint32_t comp,
                        struct elan_layout l, struct elan_options options)
{
    struct elan_userkey keys[8];
    struct elan_step step = {
        .uid = 1000, .now = 5000, .options = options, .keys = keys};
    struct errbuf err = {""};
    int rc;

    assert_int_equal(mac_random(keys, sizeof(keys)), 0);
    elan_jobinfo_init(&p->info, job, step_id, comp);
    errno = 0;
    rc = elan_partition_build(pm, &step, &l, &p->info, &p->payload, &err);
    if (rc < 0) {
        assert_true(err.text[0] != '\0');
        assert_int_equal(p->info.prognum, 0);
        assert_null(p->info.nodes);
        assert_null(p->payload.caps);
        assert_non_null(l.procs);
        rc = errno;
    }
    elan_layout_free(&l);
    return rc;
}

static int build(struct elan_partition *pm, struct program *p, uint32_t job,
                 uint32_t nnodes, uint32_t first, uint16_t tasks)
{
    return build_layout(pm, p, job, 0, NO_COMPONENT,
                        even_layout(nnodes, first, tasks, false),
                        (struct elan_options){1, 0});
}

static void program_has_number_contexts_and_capability(void **state)
{
    struct elan_partition *pm = manager("base_context=100,top_context=199");
    struct program p;

    assert_int_equal(build(pm, &p, 42, 3, 10, 2), 0);
    assert_int_equal(p.info.prognum, 1000);
    assert_int_equal(p.info.ncontexts, 2);
    assert_in_range(p.info.low_context, 100, 198);
    assert_int_equal(p.info.nnodes, 3);
    assert_int_equal(p.info.nodes[2], 12);
    assert_int_equal(p.payload.prognum, 1000);
    assert_int_equal(p.payload.job_id, 42);
    assert_int_equal(p.payload.uid, 1000);
    assert_int_equal(p.payload.issued, 5000);
    assert_int_equal(p.payload.ncaps, 1);
    assert_int_equal(p.payload.caps[0].LowContext, p.info.low_context);
    assert_int_equal(p.payload.caps[0].HighContext, p.info.low_context + 1);
    assert_int_equal(p.payload.layout.nprocs, 6);
    assert_int_equal(elan_partition_programs(pm), 1);
    assert_int_equal(elan_partition_contexts(pm), 6);
    assert_true(elan_partition_release(pm, &p.info));
    program_free(&p);
    elan_partition_destroy(pm);
}

static void el_12_width_is_the_largest_number_of_tasks(void **state)
{
    const uint32_t ids[] = {1, 2, 3};
    const uint16_t tasks[] = {1, 4, 3};
    struct elan_partition *pm = manager(NULL);
    struct program p;

    assert_int_equal(build_layout(pm, &p, 1, 0, NO_COMPONENT,
                                  layout_of(3, ids, tasks, false, NULL),
                                  (struct elan_options){1, 0}),
                     0);
    assert_int_equal(p.info.ncontexts, 4);
    assert_int_equal(p.payload.caps[0].Entries, 8);
    program_free(&p);
    elan_partition_destroy(pm);
}

static void sl_13_extra_contexts_widen_the_range(void **state)
{
    struct elan_partition *pm = manager(NULL);
    struct program p;

    assert_int_equal(build_layout(pm, &p, 1, 0, NO_COMPONENT,
                                  even_layout(2, 0, 2, true),
                                  (struct elan_options){1, 3}),
                     0);
    assert_int_equal(p.info.ncontexts, 5);
    assert_int_equal(
        p.payload.caps[0].HighContext - p.payload.caps[0].LowContext + 1, 5);
    assert_int_equal(p.payload.caps[0].Entries, 4);
    program_free(&p);
    elan_partition_destroy(pm);
}

static void el_59_one_capability_per_rail(void **state)
{
    const uint32_t ids[] = {4, 5, 8, 9};
    const uint16_t tasks[] = {1, 1};
    struct elan_layout_spec spec = {2, 2, ids, tasks, NULL, false};
    struct elan_partition *pm = manager("rails=2");
    struct elan_layout l;
    struct program p;

    assert_int_equal(elan_layout_make(&l, &spec, NULL), 0);
    assert_int_equal(build_layout(pm, &p, 1, 0, NO_COMPONENT, l,
                                  (struct elan_options){2, 0}),
                     0);
    assert_int_equal(p.payload.ncaps, 2);
    assert_int_equal(p.payload.caps[0].RailMask, 1);
    assert_int_equal(p.payload.caps[1].RailMask, 2);
    assert_int_equal(p.payload.caps[1].LowNode, 8);
    assert_int_equal(p.payload.caps[1].LowContext,
                     p.payload.caps[0].LowContext);
    assert_memory_not_equal(&p.payload.caps[0].UserKey,
                            &p.payload.caps[1].UserKey, 16);
    program_free(&p);
    /* A layout of one rail for two is a mistake of the caller. */
    assert_int_equal(build_layout(pm, &p, 1, 0, NO_COMPONENT,
                                  even_layout(1, 0, 1, false),
                                  (struct elan_options){2, 0}),
                     EINVAL);
    elan_partition_destroy(pm);
}

static void el_56_components_are_programs_of_their_own(void **state)
{
    struct elan_partition *pm = manager(NULL);
    struct program a, b;
    struct elan_options one = {1, 0};

    assert_int_equal(
        build_layout(pm, &a, 7, 3, 0, even_layout(1, 0, 2, false), one), 0);
    assert_int_equal(
        build_layout(pm, &b, 7, 3, 1, even_layout(1, 0, 3, false), one), 0);
    assert_int_not_equal(a.info.prognum, b.info.prognum);
    assert_int_equal(a.payload.caps[0].Entries, 2);
    assert_int_equal(b.payload.caps[0].Entries, 3);
    assert_true(b.info.low_context >= a.info.low_context + 2 ||
                a.info.low_context >= b.info.low_context + 3);
    assert_memory_not_equal(&a.payload.caps[0].UserKey,
                            &b.payload.caps[0].UserKey, 16);
    assert_true(elan_partition_release(pm, &a.info));
    assert_int_equal(elan_partition_programs(pm), 1);
    program_free(&a);
    program_free(&b);
    elan_partition_destroy(pm);
}

static void el_18_exhausted_is_busy_until_release(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=3");
    struct program a, b;

    assert_int_equal(build(pm, &a, 1, 1, 0, 4), 0);
    assert_int_equal(build(pm, &b, 2, 1, 0, 4), EBUSY);
    assert_int_equal(build(pm, &b, 2, 1, 0, 5), E2BIG);
    assert_int_equal(elan_partition_programs(pm), 1);
    assert_true(elan_partition_release(pm, &a.info));
    assert_int_equal(build(pm, &b, 2, 1, 0, 4), 0);
    program_free(&a);
    program_free(&b);
    elan_partition_destroy(pm);
}

static void el_37_more_slots_than_a_bitmap_is_final(void **state)
{
    struct elan_partition *pm = manager(NULL);
    const uint32_t ids[] = {0, 16000};
    const uint16_t tasks[] = {2, 1};
    struct program p;

    assert_int_equal(build_layout(pm, &p, 1, 0, NO_COMPONENT,
                                  layout_of(2, ids, tasks, false, NULL),
                                  (struct elan_options){1, 0}),
                     E2BIG);
    assert_int_equal(elan_partition_contexts(pm), 0);
    elan_partition_destroy(pm);
}

static void sl_10_release_twice_never_built_and_failed(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=3");
    struct program a, b;
    struct elan_jobinfo never;

    assert_int_equal(build(pm, &a, 1, 2, 0, 4), 0);
    assert_int_equal(build(pm, &b, 2, 2, 0, 4), EBUSY);
    errno = EBUSY;
    assert_false(elan_partition_release(pm, &b.info));
    assert_int_equal(errno, EBUSY);
    elan_jobinfo_init(&never, 3, 0, NO_COMPONENT);
    assert_false(elan_partition_release(pm, &never));
    errno = EBUSY;
    assert_true(elan_partition_release(pm, &a.info));
    assert_int_equal(errno, EBUSY);
    assert_false(elan_partition_release(pm, &a.info));
    assert_int_equal(elan_partition_contexts(pm), 0);
    program_free(&a);
    elan_partition_destroy(pm);
}

/* A late second release must not free what another step got since. */
static void el_19_stale_release_spares_the_next_owner(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=3");
    struct program a, b;
    struct elan_jobinfo stale;

    assert_int_equal(build(pm, &a, 1, 1, 0, 4), 0);
    assert_true(elan_partition_release(pm, &a.info));
    assert_int_equal(build(pm, &b, 2, 1, 0, 4), 0);
    assert_false(elan_partition_release(pm, &a.info));
    stale = a.info;
    stale.prognum = b.info.prognum;
    assert_false(elan_partition_release(pm, &stale));
    assert_int_equal(elan_partition_contexts(pm), 4);
    program_free(&a);
    program_free(&b);
    elan_partition_destroy(pm);
}

static void sl_10_release_in_every_order(void **state)
{
    for (int order = 0; order < 24; order++) {
        struct elan_partition *pm = manager(NULL);
        struct program p[4];
        int left[4] = {0, 1, 2, 3}, code = order;

        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(build(pm, &p[i], i, 2, i, 3), 0);
        for (int n = 4; n > 0; n--) {
            int pick = code % n;

            code /= n;
            assert_true(elan_partition_release(pm, &p[left[pick]].info));
            assert_false(elan_partition_release(pm, &p[left[pick]].info));
            left[pick] = left[n - 1];
        }
        assert_int_equal(elan_partition_programs(pm), 0);
        assert_int_equal(elan_partition_contexts(pm), 0);
        for (int i = 0; i < 4; i++)
            program_free(&p[i]);
        elan_partition_destroy(pm);
    }
}

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

static void sl_11_restart_keeps_live_programs(void **state)
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

static void sl_11_recovery_refuses_what_is_taken(void **state)
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
static void sl_11_takeover_forgets_what_was_live_before(void **state)
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

static void sl_11_bad_state_changes_nothing(void **state)
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

static void reconfigured_range_holds_for_the_next_program(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=7");
    struct elan_site site;
    struct program a, b;

    assert_int_equal(build(pm, &a, 1, 1, 0, 8), 0);
    assert_int_equal(
        elan_site_parse(&site, "base_context=8,top_context=9", NULL), 0);
    assert_int_equal(elan_partition_configure(pm, &site, NULL), 0);
    assert_int_equal(build(pm, &b, 2, 1, 0, 2), 0);
    assert_int_equal(b.info.low_context, 8);
    assert_true(elan_partition_release(pm, &a.info));
    assert_true(elan_partition_release(pm, &b.info));
    assert_int_equal(elan_partition_contexts(pm), 0);
    program_free(&a);
    program_free(&b);
    elan_partition_destroy(pm);
}

static int compare_keys(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct elan_userkey));
}

static void assert_distinct(struct elan_userkey *keys, size_t n)
{
    qsort(keys, n, sizeof(*keys), compare_keys);
    for (size_t i = 1; i < n; i++)
        assert_memory_not_equal(&keys[i - 1], &keys[i], sizeof(*keys));
}

/* With a restart in the middle; numbers and keys are all different. */
static void el_02_10000_programs_are_all_different(void **state)
{
    struct elan_partition *pm = manager(NULL);
    struct elan_userkey *keys = calloc(10000, sizeof(*keys));
    uint32_t last = 0;
    char text[ELAN_STATE_SIZE_MAX];

    for (uint32_t i = 0; i < 10000; i++) {
        struct program p;

        if (i == 5000) {
            elan_partition_state(pm, true, text);
            elan_partition_destroy(pm);
            pm = manager(NULL);
            assert_int_equal(elan_partition_restore(pm, "f", text, NULL), 0);
        }
        assert_int_equal(build(pm, &p, i, 2, i % 50, 2), 0);
        assert_true(p.info.prognum > last);
        last = p.info.prognum;
        keys[i] = p.payload.caps[0].UserKey;
        assert_true(elan_partition_release(pm, &p.info));
        program_free(&p);
    }
    assert_distinct(keys, 10000);
    assert_int_equal(elan_partition_contexts(pm), 0);
    free(keys);
    elan_partition_destroy(pm);
}

static void el_30_100000_keys_and_none_twice(void **state)
{
    struct elan_userkey *keys = calloc(100000, sizeof(*keys));

    for (int i = 0; i < 100000; i++)
        assert_int_equal(mac_random(&keys[i], sizeof(keys[i])), 0);
    assert_distinct(keys, 100000);
    free(keys);
}

static void el_30_a_forked_process_makes_other_keys(void **state)
{
    struct elan_userkey mine, childs;
    int fd[2], status;
    pid_t pid;

    assert_int_equal(pipe(fd), 0);
    pid = fork();
    if (pid == 0) {
        mac_random(&mine, sizeof(mine));
        _exit(write(fd[1], &mine, sizeof(mine)) == sizeof(mine) ? 0 : 1);
    }
    assert_int_equal(mac_random(&mine, sizeof(mine)), 0);
    assert_int_equal(read(fd[0], &childs, sizeof(childs)), sizeof(childs));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_memory_not_equal(&mine, &childs, sizeof(mine));
    close(fd[0]);
    close(fd[1]);
}

/* ---- steps, crashes and restarts, watched by a list ---------------------- */

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

static void el_19_churn_with_crashes_leaves_the_pool_empty(void **state)
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
        cmocka_unit_test(program_has_number_contexts_and_capability),
        cmocka_unit_test(el_12_width_is_the_largest_number_of_tasks),
        cmocka_unit_test(sl_13_extra_contexts_widen_the_range),
        cmocka_unit_test(el_59_one_capability_per_rail),
        cmocka_unit_test(el_56_components_are_programs_of_their_own),
        cmocka_unit_test(el_18_exhausted_is_busy_until_release),
        cmocka_unit_test(el_37_more_slots_than_a_bitmap_is_final),
        cmocka_unit_test(sl_10_release_twice_never_built_and_failed),
        cmocka_unit_test(el_19_stale_release_spares_the_next_owner),
        cmocka_unit_test(sl_10_release_in_every_order),
        cmocka_unit_test(sl_11_restart_keeps_live_programs),
        cmocka_unit_test(sl_11_recovery_refuses_what_is_taken),
        cmocka_unit_test(sl_11_takeover_forgets_what_was_live_before),
        cmocka_unit_test(sl_11_bad_state_changes_nothing),
        cmocka_unit_test(reconfigured_range_holds_for_the_next_program),
        cmocka_unit_test(el_02_10000_programs_are_all_different),
        cmocka_unit_test(el_30_100000_keys_and_none_twice),
        cmocka_unit_test(el_30_a_forked_process_makes_other_keys),
        cmocka_unit_test(el_19_churn_with_crashes_leaves_the_pool_empty),
    };

    return cmocka_run_group_tests_name("elan_partition", tests, NULL, NULL);
}
