/* SPDX-License-Identifier: BSD-3-Clause
 * Leases: what slurmctld gives to the stepmgr of a job, what a node makes of
 * it, and a simulation of slurmctld and many stepmgrs that start, die and
 * start anew: no context on a node and no number is ever given twice.
 */
#include "elan/lease.h"
#include "elan/prognum.h"
#include "partition_bed.h"

static int lease_to(struct elan_partition *pm, struct elan_jobinfo *info,
                    uint32_t job, uint32_t nnodes, uint32_t first,
                    uint32_t width)
{
    struct elan_layout l = even_layout(nnodes, first, 1, false);
    int rc;

    elan_jobinfo_init(info, job, ELAN_LEASE_STEP, NO_COMPONENT);
    rc = elan_partition_lease(pm, &l, width, info, NULL);
    elan_layout_free(&l);
    return rc < 0 ? errno : 0;
}

/* As it comes to a node: slurmctld's words, by its seal. */
static struct elan_lease sealed(const struct elan_jobinfo *info)
{
    struct elan_lease lease = {
        .job_id = info->job_id,
        .uid = 1000,
        .prognum = info->prognum,
        .low_context = info->low_context,
        .ncontexts = info->ncontexts,
        .nodes = even_layout(info->nnodes, info->nodes[0], 1, false),
    };
    struct elan_lease got;
    void *buf;
    size_t len;

    assert_int_equal(elan_lease_encode(&lease, &buf, &len, NULL), 0);
    assert_int_equal(elan_lease_decode(&got, buf, len, NULL), 0);
    for (size_t cut = 0; cut < len; cut++) {
        struct elan_lease none;

        assert_int_equal(elan_lease_decode(&none, buf, cut, NULL), -1);
        assert_null(none.nodes.ids);
    }
    free(buf);
    elan_lease_free(&lease);
    return got;
}

static void a_stepmgr_gives_what_was_leased_and_no_more(void **state)
{
    struct elan_partition *pm = manager("base_context=0,top_context=26"), *sm;
    struct elan_jobinfo info;
    struct program a, b, c, other;
    struct elan_lease lease;

    assert_int_equal(lease_to(pm, &info, 1, 2, 0, 8), 0);
    assert_int_equal(info.prognum % ELAN_PROGNUM_BLOCK, 0);
    lease = sealed(&info);
    sm = elan_partition_create_leased(&info, NULL);
    assert_int_equal(build(sm, &a, 1, 2, 0, 5), 0);
    assert_int_equal(a.info.prognum, info.prognum);
    assert_int_equal(elan_lease_check(&lease, &a.payload, NULL), 0);
    assert_int_equal(build(sm, &b, 1, 1, 1, 3), 0);
    assert_int_equal(elan_lease_check(&lease, &b.payload, NULL), 0);
    assert_int_equal(build(sm, &c, 1, 1, 1, 1), EBUSY);
    assert_int_equal(build(sm, &c, 1, 1, 1, 9), E2BIG);
    /* slurmctld's own step beside it, on the same nodes. */
    assert_int_equal(build(pm, &other, 2, 2, 0, 19), 0);
    assert_true(other.info.low_context >= info.low_context + 8);
    assert_int_equal(elan_lease_check(&lease, &other.payload, NULL), -1);
    assert_int_equal(build(pm, &c, 2, 1, 0, 1), EBUSY);
    assert_true(elan_partition_release(pm, &info));
    assert_false(elan_partition_release(pm, &info));
    assert_int_equal(build(pm, &c, 2, 1, 0, 8), 0);
    program_free(&a);
    program_free(&b);
    program_free(&c);
    program_free(&other);
    elan_lease_free(&lease);
    elan_jobinfo_free(&info);
    elan_partition_destroy(sm);
    elan_partition_destroy(pm);
}

/* The whole block is used, then again what no program has. */
static void numbers_stay_in_the_block(void **state)
{
    struct elan_partition *pm = manager(NULL), *sm;
    struct elan_jobinfo info, second;
    struct program held, p;

    assert_int_equal(lease_to(pm, &info, 1, 1, 0, 2), 0);
    assert_int_equal(lease_to(pm, &second, 2, 1, 0, 2), 0);
    assert_int_equal(second.prognum, info.prognum + ELAN_PROGNUM_BLOCK);
    sm = elan_partition_create_leased(&info, NULL);
    assert_int_equal(build(sm, &held, 1, 1, 0, 1), 0);
    for (uint32_t n = 1; n < 2 * ELAN_PROGNUM_BLOCK; n++) {
        assert_int_equal(build(sm, &p, 1, 1, 0, 1), 0);
        assert_int_equal(elan_prognum_block(p.info.prognum), info.prognum);
        assert_int_not_equal(p.info.prognum, held.info.prognum);
        assert_true(elan_partition_release(sm, &p.info));
        program_free(&p);
    }
    program_free(&held);
    elan_jobinfo_free(&info);
    elan_jobinfo_free(&second);
    elan_partition_destroy(sm);
    elan_partition_destroy(pm);
}

static bool is_leased(uint32_t number, void *arg)
{
    return number == *(uint32_t *)arg;
}

/* Never number 0, and never one past the last. */
static void blocks_wrap(void **state)
{
    uint32_t last = ELAN_PROGNUM_MAX - ELAN_PROGNUM_BLOCK + 1, none = 0;
    uint32_t first = ELAN_PROGNUM_BLOCK;
    struct elan_prognum p;

    elan_prognum_init_saved(&p, last);
    assert_int_equal(elan_prognum_take_block(&p, 1, is_leased, &none), last);
    assert_int_equal(p.next, 1);
    assert_int_equal(elan_prognum_take_block(&p, 1, is_leased, &none), first);
    elan_prognum_init_saved(&p, last + 1);
    assert_int_equal(elan_prognum_take_block(&p, 2, is_leased, &first),
                     2 * first);
    assert_int_equal(elan_prognum_take_block(&p, 0, is_leased, &none), 0);
    elan_prognum_init_saved(&p, 5);
    elan_prognum_saved(&p);
    assert_false(elan_prognum_wants_save(&p));
    elan_prognum_take_block(&p, 1, is_leased, &none);
    assert_true(elan_prognum_wants_save(&p)); /* all in reserve is given */
}

/* What root of a node could make up, and the words of the refusal. */
static void a_node_sees_what_is_not_the_jobs(void **state)
{
    struct elan_partition *pm = manager(NULL), *sm;
    struct elan_jobinfo info;
    struct elan_lease lease;
    struct program a;
    struct errbuf err;

    assert_int_equal(lease_to(pm, &info, 1, 2, 4, 8), 0);
    lease = sealed(&info);
    sm = elan_partition_create_leased(&info, NULL);
    assert_int_equal(build(sm, &a, 1, 2, 4, 4), 0);
#define REFUSED(change, undo, words)                                           \
    change;                                                                    \
    assert_int_equal(elan_lease_check(&lease, &a.payload, &err), -1);          \
    assert_non_null(strstr(err.text, words));                                  \
    undo;                                                                      \
    assert_int_equal(elan_lease_check(&lease, &a.payload, &err), 0)
    REFUSED(a.payload.job_id = 2, a.payload.job_id = 1, "of job 1, not of");
    REFUSED(a.payload.uid = 0, a.payload.uid = 1000, "not of uid 0");
    REFUSED(a.payload.run++, a.payload.run--, "not of run 1");
    REFUSED(a.payload.prognum += ELAN_PROGNUM_BLOCK,
            a.payload.prognum -= ELAN_PROGNUM_BLOCK, "is not in");
    REFUSED(a.payload.caps[0].LowContext--, a.payload.caps[0].LowContext++,
            "contexts");
    REFUSED(a.payload.caps[0].HighContext += 5,
            a.payload.caps[0].HighContext -= 5, "contexts");
    REFUSED(a.payload.layout.ids[1] = 6, a.payload.layout.ids[1] = 5,
            "Elan id 6 is no node of the job");
    /* A rail that the lease does not speak of. */
    {
        struct elan_layout one = a.payload.layout, two = one;
        uint32_t ids[] = {4, 5, 4, 5};

        two.nrails = 2;
        two.ids = ids;
        REFUSED(a.payload.layout = two, a.payload.layout = one, "on rail 1");
    }
    program_free(&a);
    elan_lease_free(&lease);
    elan_jobinfo_free(&info);
    elan_partition_destroy(sm);
    elan_partition_destroy(pm);
}

/* Root of a node is believed with a lease, and without one SlurmUser alone. */
static void root_needs_a_lease(void **state)
{
    struct elan_partition *pm = manager(NULL);
    struct elan_jobinfo info;
    struct elan_lease lease;
    struct program a;
    struct errbuf err;
    struct elan_check check = {.encoder_uid = 0,
                               .slurm_uid = 64030,
                               .job_id = 1,
                               .het_comp = NO_COMPONENT,
                               .uid = 1000,
                               .node_id = 4,
                               .now = 5000,
                               .max_age = 3600};

    assert_int_equal(lease_to(pm, &info, 1, 2, 4, 8), 0);
    lease = sealed(&info);
    assert_int_equal(build(pm, &a, 1, 2, 4, 4), 0); /* slurmctld's own */
    assert_int_equal(elan_payload_check(&a.payload, &check, &err), -1);
    assert_int_equal(strncmp(err.text, "encoder uid: sealed by root", 27), 0);
    check.encoder_uid = 64030;
    assert_int_equal(elan_payload_check(&a.payload, &check, &err), 0);
    check.encoder_uid = 0;
    check.lease = &lease;
    assert_int_equal(elan_payload_check(&a.payload, &check, &err), -1);
    assert_int_equal(strncmp(err.text, "lease: ", 7), 0);
    program_free(&a);
    elan_lease_free(&lease);
    elan_jobinfo_free(&info);
    elan_partition_destroy(pm);
}

/* ---- a simulation -------------------------------------------------------- */

#define NODES 6
#define TOP 63
#define JOBS 12
#define STEPS 8

/* What is alive, as the nodes have it: nothing of it is read from books. */
struct job {
    uint32_t id; /* 0: none */
    uint32_t first, nnodes;
    struct elan_jobinfo lease;      /* prognum 0: slurmctld makes its steps */
    struct elan_partition *manager; /* NULL: its node has died */
    struct elan_jobinfo step[STEPS];
    uint32_t nsteps;
};

struct world {
    struct elan_partition *ctld;
    struct job job[JOBS];
    uint32_t next_job;
    uint32_t seed;
    uint32_t given, refused, leases, crashes, deaths;
};

static void assert_apart(const struct world *w, const struct elan_jobinfo *a)
{
    for (uint32_t j = 0; j < JOBS; j++)
        for (uint32_t s = 0; s < w->job[j].nsteps; s++) {
            const struct elan_jobinfo *b = &w->job[j].step[s];

            assert_int_not_equal(a->prognum, b->prognum);
            if (a->low_context >= b->low_context + b->ncontexts ||
                b->low_context >= a->low_context + a->ncontexts)
                continue;
            for (uint32_t n = 0; n < a->nnodes; n++)
                for (uint32_t m = 0; m < b->nnodes; m++)
                    assert_int_not_equal(a->nodes[n], b->nodes[m]);
        }
}

static void start_job(struct world *w, struct job *job)
{
    *job = (struct job){.id = w->next_job++};
    job->nnodes = 1 + next_random(&w->seed) % 3;
    job->first = next_random(&w->seed) % (NODES - job->nnodes + 1);
    if (next_random(&w->seed) % 2)
        return;
    if (lease_to(w->ctld, &job->lease, job->id, job->nnodes, job->first,
                 2 + next_random(&w->seed) % 14) != 0) {
        job->id = 0; /* it has nothing to give */
        return;
    }
    w->leases++;
    job->manager = elan_partition_create_leased(&job->lease, NULL);
}

static void start_step(struct world *w, struct job *job)
{
    struct elan_partition *pm = job->lease.prognum ? job->manager : w->ctld;
    uint32_t nnodes = 1 + next_random(&w->seed) % job->nnodes;
    struct program p;

    if (!pm || job->nsteps == STEPS)
        return;
    if (build(pm, &p, job->id, nnodes, job->first,
              (uint16_t)(1 + next_random(&w->seed) % 4)) != 0) {
        w->refused++;
        return;
    }
    assert_apart(w, &p.info);
    if (job->lease.prognum) {
        struct elan_lease lease = sealed(&job->lease);

        assert_int_equal(elan_lease_check(&lease, &p.payload, NULL), 0);
        elan_lease_free(&lease);
    }
    job->step[job->nsteps++] = p.info;
    elan_payload_free(&p.payload);
    w->given++;
}

static void end_step(struct world *w, struct job *job)
{
    struct elan_partition *pm = job->lease.prognum ? job->manager : w->ctld;
    struct elan_jobinfo *last;

    if (job->nsteps == 0)
        return;
    last = &job->step[--job->nsteps];
    if (pm)
        assert_true(elan_partition_release(pm, last));
    elan_jobinfo_free(last);
}

/* All its processes have ended, so its lease is given back. */
static void end_job(struct world *w, struct job *job)
{
    while (job->nsteps > 0)
        end_step(w, job);
    if (job->lease.prognum)
        assert_true(elan_partition_release(w->ctld, &job->lease));
    elan_jobinfo_free(&job->lease);
    elan_partition_destroy(job->manager);
    *job = (struct job){0};
}

/* slurmctld is killed, and knows what Slurm's state and its own file have. */
static void crash(struct world *w)
{
    char text[ELAN_STATE_SIZE_MAX];

    elan_partition_state(w->ctld, next_random(&w->seed) % 2, text);
    elan_partition_destroy(w->ctld);
    w->ctld = manager("base_context=0,top_context=63");
    assert_int_equal(elan_partition_restore(w->ctld, "f", text, NULL), 0);
    for (uint32_t j = 0; j < JOBS; j++) {
        struct job *job = &w->job[j];

        assert_int_equal(elan_partition_recover(w->ctld, &job->lease, NULL), 0);
        for (uint32_t s = 0; !job->lease.prognum && s < job->nsteps; s++)
            assert_int_equal(
                elan_partition_recover(w->ctld, &job->step[s], NULL), 0);
    }
    w->crashes++;
}

static void step_world(struct world *w)
{
    struct job *job = &w->job[next_random(&w->seed) % JOBS];
    uint32_t what = next_random(&w->seed) % 100;

    if (!job->id)
        start_job(w, job);
    else if (what < 50)
        start_step(w, job);
    else if (what < 90)
        end_step(w, job);
    else if (what < 95)
        end_job(w, job);
    else if (what < 98)
        crash(w);
    else if (job->manager) { /* its steps run on, elsewhere */
        elan_partition_destroy(job->manager);
        job->manager = NULL;
        w->deaths++;
    }
}

static void run_world(uint32_t seed)
{
    struct world w = {.next_job = 1, .seed = seed};

    w.ctld = manager("base_context=0,top_context=63");
    for (int i = 0; i < 5000; i++)
        step_world(&w);
    /* It was a world in which all of that happened. */
    assert_true(w.given > 1000 && w.refused > 50 && w.leases > 50);
    assert_true(w.crashes > 20 && w.deaths > 5);
    for (uint32_t j = 0; j < JOBS; j++)
        if (w.job[j].id)
            end_job(&w, &w.job[j]);
    assert_int_equal(elan_partition_contexts(w.ctld), 0);
    elan_partition_destroy(w.ctld);
}

static void nothing_is_given_twice(void **state)
{
    for (uint32_t seed = 1; seed <= 20; seed++)
        run_world(seed * 2654435761u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stepmgr_gives_what_was_leased_and_no_more),
        cmocka_unit_test(numbers_stay_in_the_block),
        cmocka_unit_test(blocks_wrap),
        cmocka_unit_test(a_node_sees_what_is_not_the_jobs),
        cmocka_unit_test(root_needs_a_lease),
        cmocka_unit_test(nothing_is_given_twice),
    };

    return cmocka_run_group_tests_name("elan_lease", tests, NULL, NULL);
}
