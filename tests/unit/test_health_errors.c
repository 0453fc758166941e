/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health model: rates of frames that a cable loses or breaks.
 */
#include "base/jsonx.h"
#include "by_chance.h"
#include "health/policy.h"
#include "health_world.h"

/* ---- the rate alone ------------------------------------------------------ */

static const struct rate_conf conf = {
    .limit = 100, .least = 10, .traffic = 1000, .window = 60000, .clean = 3};

struct meter {
    struct rate rate;
    uint64_t bad, all;
    int64_t now;
};

static bool count(struct meter *x, uint64_t bad, uint64_t all, int64_t ms)
{
    x->bad += bad;
    x->all += all;
    x->now += ms;
    return rate_take(&x->rate, &conf, x->bad, x->all, false, x->now);
}

static void enough_errors_of_enough_frames_are_too_many(void **state)
{
    struct meter x = {.now = T0};

    assert_false(count(&x, 5000, 5000, 0)); /* before we looked */
    assert_false(count(&x, 1, 10, 1000));   /* one of ten */
    assert_false(count(&x, 8, 10000, 1000));
    assert_false(x.rate.high); /* nine */
    assert_true(count(&x, 1, 1, 1000));
    assert_true(x.rate.high);
    assert_int_equal(x.rate.rate, 10 * 1000000 / 10011);
}

static void few_frames_say_nothing(void **state)
{
    struct meter x = {.now = T0};

    count(&x, 0, 0, 0);
    assert_false(count(&x, 999, 999, 1000));
    assert_true(count(&x, 0, 1, 1000));
    assert_int_equal(x.rate.rate, 999000);
}

static void many_errors_of_very_many_frames_are_not(void **state)
{
    struct meter x = {.now = T0};

    count(&x, 0, 0, 0);
    for (int i = 0; i < 10000; i++)
        assert_false(count(&x, 99, 1000000, 1000));
    assert_false(x.rate.high);
    assert_true(count(&x, 100 * 60, 1000000, 1000));
}

/* A window goes on until it has seen enough: a quiet cable is judged, too. */
static void a_slow_trickle_is_judged(void **state)
{
    struct meter x = {.now = T0};

    count(&x, 0, 0, 0);
    for (int i = 0; i < 49; i++)
        assert_false(count(&x, i % 2, 20, 30000));
    assert_true(count(&x, 1, 20, 30000));
}

/* ... but errors of one window are not those of the next. */
static void windows_end(void **state)
{
    struct meter x = {.now = T0};

    count(&x, 0, 0, 0);
    for (int i = 0; i < 100; i++)
        assert_false(count(&x, 9, 1000, 60000));
    assert_false(x.rate.high);
}

static void well_again_after_clean_windows_in_a_row(void **state)
{
    struct meter x = {.now = T0};

    count(&x, 0, 0, 0);
    assert_true(count(&x, 20, 1000, 1000));
    assert_false(count(&x, 0, 20000, 60000));
    assert_false(count(&x, 0, 20000, 60000));
    assert_false(count(&x, 2, 20000, 60000)); /* more than half of the limit */
    assert_false(count(&x, 1, 20000, 60000));
    assert_false(count(&x, 0, 20000, 60000));
    assert_false(count(&x, 0, 999, 600000)); /* says nothing */
    assert_true(x.rate.high);
    assert_true(count(&x, 0, 1, 0));
    assert_false(x.rate.high);
}

/* It is told again only when it has become another. */
static void a_rate_is_told_once(void **state)
{
    struct meter x = {.now = T0};

    count(&x, 0, 0, 0);
    assert_true(count(&x, 20, 1000, 1000));
    assert_false(count(&x, 39, 1000, 60000));
    assert_false(count(&x, 11, 1000, 60000));
    assert_int_equal(x.rate.rate, 20000);
    assert_true(count(&x, 40, 1000, 60000));
    assert_int_equal(x.rate.rate, 40000);
    assert_true(count(&x, 20, 1000, 60000));
}

static void counters_that_begin_again_do_not_count(void **state)
{
    struct meter x = {.now = T0};

    count(&x, 0, 0, 0);
    assert_false(count(&x, 9, 1000000, 0));
    x.bad = 5; /* fewer than before, though more than enough of those */
    x.all = 2000000;
    assert_false(count(&x, 0, 0, 1000));
    assert_false(count(&x, 0, 0, 1000));
    x.bad = 1000; /* a new life has more of both */
    x.all = 3000000;
    assert_false(rate_take(&x.rate, &conf, x.bad, x.all, true, x.now));
    x.all = 0; /* cleared */
    assert_false(count(&x, 0, 0, 1000));
    assert_int_equal(x.rate.in_bad, 9);
}

/* Whatever a reporter says. */
/* A cable of which hsnd tells each second, clean for a time that the seed says,
 * then `part` of the frames are broken: ms until its rate is high; -1: not
 * within `most` s. */
static int64_t corrupts(uint64_t seed, uint32_t limit, double part,
                        uint64_t frames, int64_t most)
{
    struct rate_conf c = conf;
    struct rate r = {.seen = false};
    int64_t began = (int64_t)(by_chance_part(&seed) * 200) * SEC, now = 0;
    uint64_t bad = 0, all = 0;

    c.limit = limit;
    while (now < began + most * SEC) {
        now += SEC;
        all += frames;
        if (now > began)
            bad += by_chance_count(&seed, part * (double)frames);
        rate_take(&r, &c, bad, all, false, now);
        if (r.high)
            return now - began;
    }
    return -1;
}

/* doc/health.md says these times. */
static void corruption_is_seen_within(uint32_t limit, double part,
                                      uint64_t frames, int64_t most)
{
    int64_t worst = 0;

    for (uint64_t seed = 1; seed <= 500; seed++) {
        int64_t ms = corrupts(seed, limit, part, frames, most);

        assert_true(ms >= 0);
        worst = ms > worst ? ms : worst;
    }
    print_message("%g of %llu frames a second, ErrorRate=%u: within %lld s\n",
                  part, (unsigned long long)frames, limit,
                  (long long)(worst / SEC));
}

static void a_cable_that_corrupts_is_seen_within_the_stated_time(void **state)
{
    corruption_is_seen_within(1, 1e-6, 1000000, 300);
    corruption_is_seen_within(1, 2e-6, 1000000, 60);
    corruption_is_seen_within(1, 2e-6, 100000, 600);
    corruption_is_seen_within(100, 2e-4, 10000, 60);
}

/* One bit in 10^12, of frames of 8 KB, for six hours. */
static void a_clean_cable_is_never_called_corrupting(void **state)
{
    static const uint64_t frames[] = {1000, 100000, 1000000};

    for (uint64_t seed = 1; seed <= 100; seed++)
        assert_int_equal(corrupts(seed, 1, 6.6e-8, frames[seed % 3], 6 * 3600),
                         -1);
}

static void no_figure_overflows(void **state)
{
    struct rate r = {0};

    rate_take(&r, &conf, 0, 0, false, T0);
    assert_true(rate_take(&r, &conf, INT64_MAX, INT64_MAX, false, T0));
    assert_int_equal(r.rate, 1000000);
    rate_take(&r, &conf, 0, 0, true, T0);
    assert_true(rate_take(&r, &conf, INT64_MAX / 4, INT64_MAX, false, T0));
    assert_int_equal(r.rate, 250000);
    for (int i = 0; i < 9; i++) {
        rate_take(&r, &conf, 0, 0, true, T0);
        rate_take(&r, &conf, 0, INT64_MAX, false, T0);
    }
    rate_take(&r, &conf, 0, 0, true, T0);
    assert_false(rate_take(&r, &conf, 0, UINT64_MAX, false, T0));
    rate_take(&r, &conf, 0, 0, true, T0);
    rate_take(&r, &conf, UINT64_MAX, 1, false, T0);
    assert_true(r.high);
}

/* ---- in the model -------------------------------------------------------- */

struct told {
    const char *bad, *good;
    uint64_t nbad, ngood;
};

static void tell(struct world *w, int n, uint64_t instance,
                 const struct told *told, size_t ntold)
{
    struct report_counter c[4] = {{0}};
    struct report rep = {.from = REPORT_HSND,
                         .instance = instance,
                         .seq = ++w->seq,
                         .counters = c,
                         .ncounters = 2 * ntold};
    struct errbuf err;

    for (size_t i = 0; i < ntold; i++) {
        strcpy(c[2 * i].name, told[i].bad);
        c[2 * i].value = told[i].nbad;
        strcpy(c[2 * i + 1].name, told[i].good);
        c[2 * i + 1].value = told[i].ngood;
    }
    snprintf(rep.node, sizeof(rep.node), "n%d", n);
    assert_int_equal(model_input(w->m, &rep, w->now, &err), 0);
}

/* n1 on leaf1:0; the map comes again and again. */
static void maps(struct world *w)
{
    struct report_record r[] = {
        {.kind = REPORT_HOST, .seen = SEEN_UP, .name = "n1", .peer = "leaf1:0"},
        {.kind = REPORT_HOST, .seen = SEEN_UP, .name = "n2", .peer = "leaf1:1"},
        {.kind = REPORT_LINK,
         .seen = SEEN_UP,
         .name = "leaf1:0",
         .peer = "n1:0"},
        {.kind = REPORT_LINK,
         .seen = SEEN_UP,
         .name = "n2:0",
         .peer = "leaf1:1"},
    };

    assert_int_equal(mapper(w, "n2", 1, r, 4), 0);
}

/* So many seconds; each has 100 loops, of which `lost` are lost. */
static void loops(struct world *w, struct told *told, int seconds,
                  uint64_t lost)
{
    for (int i = 0; i < seconds; i++) {
        pass(w, SEC);
        if (i % 4 == 0)
            maps(w);
        told->ngood += 100;
        told->nbad += lost;
        assert_int_equal(hsnd(w, 1, SEEN_UP, "link up"), 0);
        assert_int_equal(hsnd(w, 2, SEEN_UP, "link up"), 0);
        tell(w, 1, 1, told, 1);
    }
}

static enum health_state link_state(struct world *w, const char *name)
{
    const struct health_item *i = model_find(w->m, REPORT_LINK, name);

    return i ? i->state : HEALTH_UNKNOWN;
}

static void a_cable_that_loses_frames_degrades_its_host(void **state)
{
    struct told told = {"loop_lost", "loop_sent", 70, 1000};
    struct world *w = *state;
    int changes;

    loops(w, &told, 20, 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    loops(w, &told, 15, 1);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    assert_int_equal(state_of(w, 2), HEALTH_HEALTHY);
    assert_string_equal(model_host(w->m, "n1", 0)->why,
                        "0.3448% of frames lost at leaf1:0 limit 0.01%");
    assert_int_equal(model_host(w->m, "n1", 0)->source, REPORT_HSND);
    assert_int_equal(link_state(w, "leaf1:0"), HEALTH_DEGRADED);
    assert_int_equal(link_state(w, "n2:0"), HEALTH_HEALTHY);
    changes = w->changes; /* told once */
    loops(w, &told, 60, 1);
    assert_int_equal(w->changes, changes);
    loops(w, &told, 4 * 61 + 11, 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(link_state(w, "leaf1:0"), HEALTH_HEALTHY);
    assert_int_equal(w->changes, changes + 2);
}

/* As the mapper that leads tells it: of a cable that has no host. */
static void between(struct world *w, enum report_seen seen, const char *why)
{
    struct report_record r[] = {
        {.kind = REPORT_HOST, .seen = SEEN_UP, .name = "n1", .peer = "leaf1:0"},
        {.kind = REPORT_HOST, .seen = SEEN_UP, .name = "n2", .peer = "leaf2:0"},
        {.kind = REPORT_XBAR, .seen = SEEN_UP, .name = "leaf1"},
        {.kind = REPORT_XBAR, .seen = SEEN_UP, .name = "leaf2"},
        {.kind = REPORT_LINK,
         .seen = seen,
         .name = "leaf1:4",
         .peer = "leaf2:4"},
    };

    snprintf(r[4].why, sizeof(r[4].why), "%s", why);
    assert_int_equal(mapper(w, "n2", 1, r, 5), 0);
    for (int i = 0; i < 20; i++) {
        pass(w, SEC);
        assert_int_equal(hsnd(w, 1, SEEN_UP, "link up"), 0);
        assert_int_equal(hsnd(w, 2, SEEN_UP, "link up"), 0);
        assert_int_equal(mapper(w, "n2", 1, NULL, 0), 0);
    }
}

static void a_cable_between_crossbars_degrades_nobody_else(void **state)
{
    struct world *w = *state;
    int changes;

    between(w, SEEN_UP, "");
    changes = w->changes;
    between(w, SEEN_DEGRADED, "1.04% of frames lost limit 0.1%");
    assert_int_equal(link_state(w, "leaf1:4"), HEALTH_DEGRADED);
    assert_int_equal(w->changes, changes + 1);
    between(w, SEEN_DEGRADED, "2.50% of frames lost limit 0.1%");
    assert_int_equal(w->changes, changes + 1); /* told once */
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    assert_int_equal(state_of(w, 2), HEALTH_HEALTHY);
    between(w, SEEN_UP, "");
    between(w, SEEN_UP, "");
    assert_int_equal(link_state(w, "leaf1:4"), HEALTH_HEALTHY);
}

/* What happens to it is the policy's: nothing, unless the site says so. */
static void errors_drain_by_policy_only(void **state)
{
    struct told told = {"loop_lost", "loop_sent", 0, 1};
    struct world *w = *state;
    struct policy_conf p;
    struct health_node h;

    loops(w, &told, 40, 2);
    assert_true(model_node(w->m, "n1", &h));
    policy_conf_defaults(&p);
    assert_false(policy_decide(&p, &h, false, w->now, T0 - 1000 * SEC).drain);
    assert_int_equal(
        policy_decide(&p, &h, false, w->now, T0 - 1000 * SEC).refuse, 0);
    p.drain_degraded = true;
    assert_true(policy_decide(&p, &h, false, w->now, T0 - 1000 * SEC).drain);
}

/* Broken frames may come from anywhere, if the own cable has been tested. */
static void the_test_of_the_own_cable_counts_before_others_frames(void **state)
{
    struct told told[] = {{"loop_lost", "loop_sent", 0, 1},
                          {"link_bad_packet", "received", 0, 0}};
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    for (int i = 0; i < 100; i++) {
        told[0].ngood += 100;
        told[1].ngood += 1000;
        told[1].nbad += 50;
        pass_saying(w, 1, SEEN_UP);
        tell(w, 1, 1, told, 2);
    }
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

static void without_a_test_broken_frames_count(void **state)
{
    struct told told[] = {{"loop_lost", "loop_sent", 0, 0},
                          {"link_bad_packet", "received", 0, 0}};
    struct world *w = *state;

    hsnd(w, 1, SEEN_UP, "");
    for (int i = 0; i < 10; i++) {
        told[1].ngood += 950;
        told[1].nbad += 50;
        pass_saying(w, 1, SEEN_UP);
        tell(w, 1, 1, told, 2);
    }
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    assert_string_equal(model_host(w->m, "n1", 0)->why,
                        "5% of frames broken limit 0.01%");
    /* The test begins to answer: its figures are others. */
    told[0].ngood = 1;
    tell(w, 1, 1, told, 2);
    for (int i = 0; i < 260; i++) {
        told[0].ngood += 100;
        told[1].nbad += 50;
        pass_saying(w, 1, SEEN_UP);
        tell(w, 1, 1, told, 2);
    }
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

/* hsnd begins again with other figures; what it says of the cable stays. */
static void a_restart_of_hsnd_neither_makes_nor_mends_it(void **state)
{
    struct told told = {"loop_lost", "loop_sent", 0, 1};
    struct world *w = *state;

    loops(w, &told, 20, 0);
    told = (struct told){"loop_lost", "loop_sent", 50, 5000};
    tell(w, 1, 2, &told, 1);
    pass_saying(w, 5, SEEN_UP);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    loops(w, &told, 20, 2);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    told = (struct told){"loop_lost", "loop_sent", 0, 1};
    tell(w, 1, 3, &told, 1);
    loops(w, &told, 30, 0);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
}

static void write_text(const char *text, size_t len, void *arg)
{
    fwrite(text, 1, len, arg);
}

/* switchmgrd is stopped and started. */
static void begin_again(struct world *w)
{
    struct json_object *o;
    struct errbuf err;
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    fputc('{', f);
    model_save(w->m, w->now, write_text, f);
    fputc('}', f);
    fclose(f);
    model_free(w->m);
    w->m = fresh(w);
    o = jsonx_parse(text, size, &err);
    assert_int_equal(model_load(w->m, o, w->now, 600000, &err), 0);
    json_object_put(o);
    free(text);
}

static void it_is_known_over_a_restart_of_switchmgrd(void **state)
{
    struct told told = {"loop_lost", "loop_sent", 0, 1};
    struct world *w = *state;

    loops(w, &told, 40, 2);
    begin_again(w);
    loops(w, &told, 20, 0);
    assert_int_equal(state_of(w, 1), HEALTH_DEGRADED);
    loops(w, &told, 4 * 61 + 11, 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

/* Who is silent is unknown, not degraded for what it said. */
static void what_a_silent_hsnd_counted_counts_no_more(void **state)
{
    struct told told = {"loop_lost", "loop_sent", 0, 1};
    struct world *w = *state;

    loops(w, &told, 40, 2);
    pass(w, w->conf.stale[REPORT_HSND] + SEC);
    assert_int_equal(state_of(w, 1), HEALTH_UNKNOWN);
}

static void a_limit_of_0_judges_nothing(void **state)
{
    struct told told = {"loop_lost", "loop_sent", 0, 1};
    struct world *w = *state;

    w->conf.errors.limit = 0;
    model_set_conf(w->m, &w->conf);
    loops(w, &told, 200, 50);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

/* ---- a cable that comes and goes ----------------------------------------- */

/* So many seconds with a report in each; `gaps` more in the first. */
static void gaps(struct world *w, uint64_t instance, struct told *told,
                 int seconds, uint64_t more)
{
    told->nbad += more;
    for (int i = 0; i < seconds; i++) {
        pass_saying(w, 1, SEEN_UP);
        if (i % 4 == 0)
            maps(w);
        tell(w, 1, instance, told, 1);
    }
}

/* Between two reports, which all say that the link is up. */
static void what_hsnd_counts_is_flapping(void **state)
{
    struct told told = {"loop_gaps", "link_flaps", 7, 3};
    struct world *w = *state;
    struct health_node h;
    int changes;

    gaps(w, 1, &told, 20, 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    gaps(w, 1, &told, 20, 3);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    told.ngood++; /* the interface noticed this one */
    gaps(w, 1, &told, 1, 0);
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    assert_string_equal(model_host(w->m, "n1", 0)->why,
                        "down 4 times in 300 s at leaf1:0");
    assert_int_equal(model_host(w->m, "n1", 0)->count, 4);
    assert_true(model_node(w->m, "n1", &h));
    assert_true(h.rail_proven[0] > 0); /* its crossbar did not answer */
    changes = w->changes;
    for (int i = 0; i < 100; i++)
        gaps(w, 1, &told, 2, 5);
    assert_int_equal(w->changes, changes); /* told once */
    assert_string_equal(model_host(w->m, "n1", 0)->why,
                        "down 4 times in 300 s at leaf1:0");
    gaps(w, 1, &told, 295, 0);
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    gaps(w, 1, &told, 10, 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

static void faults_far_apart_are_no_flapping(void **state)
{
    struct told told = {"loop_gaps", "link_flaps", 0, 0};
    struct world *w = *state;

    for (int i = 0; i < 20; i++) {
        gaps(w, 1, &told, 101, 1);
        assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    }
}

/* What an hsnd that was started again counts has begun again. */
static void a_restart_of_hsnd_is_no_flapping(void **state)
{
    struct told told = {"loop_gaps", "link_flaps", 0, 0};
    struct world *w = *state;

    for (uint64_t life = 1; life < 10; life++) {
        told.nbad = 100 * life;
        gaps(w, life, &told, 10, 0);
        told.nbad = 0; /* cleared */
        gaps(w, life, &told, 10, 0);
    }
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

/* That nothing is known for a moment is no fault: the quiet goes on. */
static void a_late_report_does_not_prolong_flapping(void **state)
{
    struct told told = {"loop_gaps", "link_flaps", 0, 0};
    struct world *w = *state;

    gaps(w, 1, &told, 10, 0);
    gaps(w, 1, &told, 290, 9);
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    pass(w, w->conf.stale[REPORT_HSND] + SEC);
    gaps(w, 1, &told, 2, 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
}

/* Its mapper and its routes may be gone by that, and nobody answers for long.
 */
static void a_cable_that_comes_and_goes_is_not_down(void **state)
{
    struct told told = {"loop_gaps", "link_flaps", 0, 0};
    struct world *w = *state;
    int changes;

    gaps(w, 1, &told, 10, 0);
    for (int i = 0; i < 20; i++) {
        pass_saying(w, 5, SEEN_DOWN);
        told.nbad += 3;
        tell(w, 1, 1, &told, 1);
        if (i == 2)
            changes = w->changes;
    }
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    assert_int_equal(w->changes, changes);
    pass_saying(w, 15, SEEN_DOWN);
    assert_int_equal(state_of(w, 1), HEALTH_DOWN);
}

static void flaps_are_known_over_a_restart_of_switchmgrd(void **state)
{
    struct told told = {"loop_gaps", "link_flaps", 0, 0};
    struct world *w = *state;

    gaps(w, 1, &told, 10, 0);
    gaps(w, 1, &told, 10, 3);
    begin_again(w);
    gaps(w, 1, &told, 10, 0);
    assert_int_equal(state_of(w, 1), HEALTH_HEALTHY);
    gaps(w, 1, &told, 10, 1);
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    assert_int_equal(model_host(w->m, "n1", 0)->count, 4);
    begin_again(w);
    gaps(w, 1, &told, 200, 1);
    assert_int_equal(state_of(w, 1), HEALTH_FLAPPING);
    assert_int_equal(model_host(w->m, "n1", 0)->count, 4);
    assert_string_equal(model_host(w->m, "n1", 0)->why,
                        "down 4 times in 300 s at leaf1:0");
}

/* ---- several rails ------------------------------------------------------- */

/* The hsnd of one NIC of n1: that nobody answers, and what it counts. */
static void nic(struct world *w, uint8_t rail, enum report_answered answered,
                uint64_t lost, uint64_t sent)
{
    static uint64_t seq[2];
    struct report_counter c[2] = {{rail, "loop_lost", lost},
                                  {rail, "loop_sent", sent}};
    struct report_record r = host(1, SEEN_UP, "link up");
    struct report rep = {.from = REPORT_HSND,
                         .node = "n1",
                         .instance = 10 + rail,
                         .seq = ++seq[rail],
                         .records = &r,
                         .nrecords = 1,
                         .counters = c,
                         .ncounters = 2};
    struct errbuf err;

    r.rail = rail;
    r.answered = (uint8_t)answered;
    r.asked = answered == ANSWERED_NO;
    assert_int_equal(model_input(w->m, &rep, w->now, &err), 0);
    rep.seq--; /* each has its own order */
    assert_int_equal(model_input(w->m, &rep, w->now, &err), -1);
    assert_int_equal(errno, EALREADY);
}

/* A node has an hsnd for each NIC.  They were taken for one that is started
 * again and again, so that nothing they counted was judged. */
static void each_nic_of_a_node_is_judged_by_itself(void **state)
{
    struct world *w = *state;

    for (uint64_t i = 1; i < 60; i++) {
        pass(w, SEC);
        nic(w, 0, ANSWERED_YES, 0, 100 * i);
        nic(w, 1, ANSWERED_YES, 2 * i, 100 * i);
    }
    assert_int_equal(model_host(w->m, "n1", 0)->state, HEALTH_HEALTHY);
    assert_int_equal(model_host(w->m, "n1", 1)->state, HEALTH_DEGRADED);
}

static void what_one_nic_says_is_proven_by_its_own_daemon(void **state)
{
    struct report_record other = {
        .kind = REPORT_HOST, .seen = SEEN_UP, .rail = 1, .name = "n2"};
    struct report rep = {.from = REPORT_HSND,
                         .node = "n2",
                         .instance = 5,
                         .records = &other,
                         .nrecords = 1};
    struct world *w = *state;
    struct errbuf err;

    other.answered = ANSWERED_YES;
    for (uint64_t i = 1; i < 60; i++) {
        pass(w, SEC);
        nic(w, 0, ANSWERED_YES, 0, i);
        nic(w, 1, ANSWERED_NO, 0, i);
        rep.seq = i;
        assert_int_equal(model_input(w->m, &rep, w->now, &err), 0);
    }
    assert_int_equal(model_host(w->m, "n1", 1)->state, HEALTH_DOWN);
    assert_true(model_host(w->m, "n1", 1)->proven > 0);
    assert_int_equal(model_host(w->m, "n1", 0)->state, HEALTH_HEALTHY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enough_errors_of_enough_frames_are_too_many),
        cmocka_unit_test(few_frames_say_nothing),
        cmocka_unit_test(many_errors_of_very_many_frames_are_not),
        cmocka_unit_test(a_slow_trickle_is_judged),
        cmocka_unit_test(windows_end),
        cmocka_unit_test(well_again_after_clean_windows_in_a_row),
        cmocka_unit_test(a_rate_is_told_once),
        cmocka_unit_test(counters_that_begin_again_do_not_count),
        cmocka_unit_test(a_cable_that_corrupts_is_seen_within_the_stated_time),
        cmocka_unit_test(a_clean_cable_is_never_called_corrupting),
        cmocka_unit_test(no_figure_overflows),
        HEALTH_TEST(a_cable_that_loses_frames_degrades_its_host),
        HEALTH_TEST(a_cable_between_crossbars_degrades_nobody_else),
        HEALTH_TEST(errors_drain_by_policy_only),
        HEALTH_TEST(the_test_of_the_own_cable_counts_before_others_frames),
        HEALTH_TEST(without_a_test_broken_frames_count),
        HEALTH_TEST(a_restart_of_hsnd_neither_makes_nor_mends_it),
        HEALTH_TEST(it_is_known_over_a_restart_of_switchmgrd),
        HEALTH_TEST(what_a_silent_hsnd_counted_counts_no_more),
        HEALTH_TEST(a_limit_of_0_judges_nothing),
        HEALTH_TEST(what_hsnd_counts_is_flapping),
        HEALTH_TEST(faults_far_apart_are_no_flapping),
        HEALTH_TEST(a_restart_of_hsnd_is_no_flapping),
        HEALTH_TEST(a_late_report_does_not_prolong_flapping),
        HEALTH_TEST(a_cable_that_comes_and_goes_is_not_down),
        HEALTH_TEST(each_nic_of_a_node_is_judged_by_itself),
        HEALTH_TEST(what_one_nic_says_is_proven_by_its_own_daemon),
        HEALTH_TEST(flaps_are_known_over_a_restart_of_switchmgrd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
