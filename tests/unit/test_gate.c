/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gate before a step, and switchmgr.conf.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/switch_elan/gate.h"
#include "plugins/switch_elan/hold.h"

#define NOW 1700000000000
#define SEC 1000

struct world {
    char dir[64], path[96];
    struct gate gate;
    struct mgrconf conf;
    struct elanhosts *hosts;
};

static int up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    strcpy(w->dir, "/tmp/gateXXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->path, sizeof(w->path), "%s/health", w->dir);
    assert_int_equal(mgrconf_parse(&w->conf, "conf", "", NULL, NULL), 0);
    w->hosts = elanhosts_natural();
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;

    unlink(w->path);
    rmdir(w->dir);
    gate_free(&w->gate);
    mgrconf_free(&w->conf);
    elanhosts_destroy(w->hosts);
    free(w);
    return 0;
}

/* A table with n3 down since `age` ms, refused on these rails. */
static void write_table(struct world *w, int64_t written, int64_t age,
                        uint8_t refuse)
{
    struct health_table_node n = {"n3", HEALTH_DOWN, NOW - age, 2,
                                  1,    refuse,      "mute"};
    struct health_table t = {written, 8, 7, &n, 1};
    struct errbuf err;

    assert_int_equal(health_table_write(w->path, &t, &err), 0);
}

static int check(struct world *w, const uint32_t *ids, uint32_t n,
                 uint32_t rails, bool *no_broadcast, struct errbuf *err)
{
    struct errbuf news;
    bool none = false;

    gate_look(&w->gate, w->path, w->hosts, NOW, &news);
    return gate_check(&w->gate, &w->conf, ids, n, rails, NOW,
                      no_broadcast ? no_broadcast : &none, err);
}

static const uint32_t with3[] = {1, 2, 3}, without3[] = {1, 2, 4};

static void step_on_a_down_node_is_refused(void **state)
{
    struct world *w = *state;
    struct errbuf err;

    write_table(w, NOW - SEC, 40 * SEC, 1);
    assert_int_equal(check(w, without3, 3, 1, NULL, &err), 0);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), -1);
    assert_int_equal(errno, EHOSTDOWN);
    assert_string_equal(err.text,
                        "the fabric of node n3 is down since 40 s (mute)");
}

static void busy_only_within_busy_grace(void **state)
{
    struct world *w = *state;
    struct errbuf err;

    write_table(w, NOW, 29 * SEC, 1);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), -1);
    assert_int_equal(errno, EBUSY);
    write_table(w, NOW, 30 * SEC, 1);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), -1);
    assert_int_equal(errno, EHOSTDOWN);
}

static int hold(struct world *w, const uint32_t *ids, uint32_t n,
                struct elan_hold *h)
{
    struct errbuf err;

    assert_int_equal(check(w, ids, n, 1, NULL, &err), -1);
    return gate_hold(&w->gate, &w->conf, ids, n, 1, NOW, h);
}

static void
a_node_with_a_young_fault_is_held_for_the_rest_of_busy_grace(void **state)
{
    struct world *w = *state;
    struct elan_hold h;

    write_table(w, NOW, 10 * SEC + 1, 1);
    assert_int_equal(hold(w, with3, 3, &h), 0);
    assert_int_equal(h.n, 1);
    assert_int_equal(h.nodes[0], 2);
    assert_int_equal(h.seconds, 20);
    write_table(w, NOW, 30 * SEC, 1);
    assert_int_equal(hold(w, with3, 3, &h), -1);
    assert_int_equal(errno, EHOSTDOWN);
    assert_int_equal(h.n, 0);
}

static void no_node_is_held_that_slurm_says_nothing_of(void **state)
{
    struct world *w = *state;
    struct elan_hold h;

    write_table(w, NOW, SEC, 1);
    w->conf.extra = false;
    assert_int_equal(hold(w, with3, 3, &h), -1);
    w->conf.extra = true;
    w->conf.dry_run = true;
    assert_int_equal(hold(w, with3, 3, &h), -1);
    w->conf.dry_run = false;
    assert_int_equal(hold(w, with3, 3, &h), 0);
}

static void extra_is_read_word_by_word(void **state)
{
    assert_false(hold_is_down(NULL, 1));
    assert_false(hold_is_down("", 1));
    assert_false(hold_is_down("fabric=up:rail0=up", 1));
    assert_true(hold_is_down("fabric=down:rail0=down:since=1:why=x", 1));
    assert_true(hold_is_down("rack=3 fabric=down:rail0=down", 1));
    assert_false(hold_is_down("fabric=down:rail0=up:rail1=down", 1));
    assert_true(hold_is_down("fabric=down:rail0=up:rail1=down", 2));
    assert_false(hold_is_down("fabric=up:rail0=up other:rail0=down", 1));
    assert_false(hold_is_down("fabric=up:rail0=downer", 1));
    assert_false(hold_is_down(":rail0=down", 1));
}

static void extra_becomes_a_line_of_the_table(void **state)
{
    struct health_table_node n = {.name = "n3"};

    assert_false(hold_read_extra(&n, NULL));
    assert_false(hold_read_extra(&n, "rack=7 infabric=down:rail0=down"));
    assert_true(hold_read_extra(&n, "rack=7 fabric=up:rail0=up"));
    assert_int_equal(n.state, HEALTH_HEALTHY);
    assert_int_equal(n.refuse, 0);
    assert_true(hold_read_extra(
        &n, "fabric=down:rail0=up:rail1=down:since=1700000000:count=2:why=no_"
            "carrier rack=7:rail0=down"));
    assert_string_equal(n.name, "n3");
    assert_int_equal(n.state, HEALTH_DOWN);
    assert_int_equal(n.refuse, 2);
    assert_int_equal(n.since, 1700000000000);
    assert_string_equal(n.why, "no_carrier");
}

/* Who may change a node's Extra can write there what he likes. */
static void extra_that_is_no_word_of_ours_refuses_nothing(void **state)
{
    static const char *const texts[] = {
        "fabric=",
        "fabric=:",
        "fabric=:::::",
        "fabric=:rail9=down",
        "fabric=:rail10=down",
        "fabric=:rail=down",
        "fabric=:rail0=",
        "fabric=:since=99999999999999999999999",
        "fabric=:since=-5",
        "fabric=:why=",
    };
    char longest[2 * SF_REPORT_WHY_MAX + 32] = "fabric=:rail0=down:why=";
    struct health_table_node n = {.name = "n3"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_true(hold_read_extra(&n, texts[i]));
        assert_int_equal(n.refuse, 0);
        assert_true(n.since >= 0);
    }
    memset(longest + strlen(longest), 'x', 2 * SF_REPORT_WHY_MAX);
    assert_true(hold_read_extra(&n, longest));
    assert_int_equal(n.refuse, 1);
    assert_int_equal(strlen(n.why), SF_REPORT_WHY_MAX - 1);
}

/* What a stepmgr has in place of the file. */
static void a_table_that_was_taken_refuses_like_the_file(void **state)
{
    struct world *w = *state;
    struct health_table t = {NOW, 8, 7, calloc(1, sizeof(*t.list)), 1};
    struct errbuf err;
    bool none = false;

    assert_non_null(t.list);
    strcpy(t.list->name, "n3");
    hold_read_extra(t.list, "fabric=down:rail0=down:since=1600000000");
    assert_int_equal(gate_hears_nothing(&w->gate, NOW - 1, NOW, &err),
                     GATE_GONE);
    assert_int_equal(
        gate_check(&w->gate, &w->conf, with3, 3, 1, NOW, &none, &err), 0);
    assert_int_equal(gate_take(&w->gate, &t, w->hosts, NOW, &err), GATE_GOOD);
    assert_null(t.list);
    assert_int_equal(
        gate_check(&w->gate, &w->conf, with3, 3, 1, NOW, &none, &err), -1);
    assert_int_equal(errno, EHOSTDOWN);
    assert_int_equal(
        gate_check(&w->gate, &w->conf, without3, 3, 1, NOW, &none, &err), 0);
    t.written = NOW;
    assert_int_equal(gate_take(&w->gate, &t, w->hosts, NOW, &err), GATE_SAME);
    assert_int_equal(
        gate_check(&w->gate, &w->conf, with3, 3, 1, NOW, &none, &err), 0);
}

/* A question without an answer that took so long, and when the next is put:
 * ms after its end. */
static int64_t pause_after(struct world *w, int64_t *now, int64_t took)
{
    struct errbuf news;
    int64_t asked = *now, end;

    *now += took;
    gate_hears_nothing(&w->gate, asked, *now, &news);
    end = *now;
    while (!gate_may_ask(&w->gate, *now))
        *now += 500;
    return *now - end;
}

static enum gate_news age_at(struct world *w, int64_t now)
{
    struct errbuf news;

    return gate_look_at_age(&w->gate, &w->conf, now, &news);
}

/* It was a minute, in which steps were built that nobody looked at. */
static void slurmctld_is_asked_again_soon(void **state)
{
    static const int64_t pauses[] = {0, 4, 8, 16, 32, 60, 60};
    struct world *w = *state;
    int64_t now = NOW;

    assert_true(gate_may_ask(&w->gate, now));
    for (uint32_t i = 0; i < sizeof(pauses) / sizeof(*pauses); i++)
        assert_int_equal(pause_after(w, &now, 20), pauses[i] * SEC);
}

static void questions_take_half_of_the_time_at_most(void **state)
{
    static const int64_t pauses[] = {10, 10, 10, 16, 32};
    struct world *w = *state;
    int64_t now = NOW;

    for (uint32_t i = 0; i < sizeof(pauses) / sizeof(*pauses); i++)
        assert_int_equal(pause_after(w, &now, 10 * SEC), pauses[i] * SEC);
    assert_int_equal(pause_after(w, &now, 500 * SEC), 60 * SEC);
}

static void what_was_said_counts_while_there_is_no_answer(void **state)
{
    struct world *w = *state;
    struct health_table t = {NOW, 8, 8, NULL, 0};
    struct errbuf news;
    int64_t now = NOW;

    assert_int_equal(gate_take(&w->gate, &t, w->hosts, NOW, &news), GATE_SAME);
    assert_false(gate_may_ask(&w->gate, NOW + SEC));
    assert_true(gate_may_ask(&w->gate, NOW + 2 * SEC));
    assert_int_equal(pause_after(w, &now, 20), 2 * SEC);
    assert_int_equal(pause_after(w, &now, 20), 4 * SEC);
    assert_int_equal(age_at(w, NOW + 30 * SEC), GATE_SAME);
    assert_int_equal(age_at(w, NOW + 31 * SEC), GATE_UNFIT);
    assert_int_equal(
        gate_hears_the_same(&w->gate, NOW + 40 * SEC, NOW + 41 * SEC, &news),
        GATE_GOOD);
    assert_int_equal(age_at(w, NOW + 41 * SEC), GATE_GOOD);
    assert_false(gate_may_ask(&w->gate, NOW + 42 * SEC));
    assert_true(gate_may_ask(&w->gate, NOW + 43 * SEC));
    assert_int_equal(pause_after(w, &now, 20), 2 * SEC);
}

static void a_clock_that_is_set_back_stops_no_questions(void **state)
{
    struct world *w = *state;
    struct health_table t = {NOW, 8, 8, NULL, 0};
    struct errbuf news;

    gate_take(&w->gate, &t, w->hosts, NOW, &news);
    assert_true(gate_may_ask(&w->gate, NOW - 3600 * SEC));
}

static void a_slurmctld_without_an_answer_is_told_once(void **state)
{
    struct world *w = *state;
    struct health_table t = {NOW, 8, 8, NULL, 0};
    struct errbuf news;

    assert_int_equal(gate_hears_nothing(&w->gate, NOW, NOW, &news), GATE_GONE);
    assert_string_equal(news.text,
                        "slurmctld does not say which nodes' fabric is down; "
                        "steps go by StalePolicy, and it is asked again");
    assert_int_equal(gate_hears_nothing(&w->gate, NOW, NOW, &news), GATE_SAME);
    assert_int_equal(gate_take(&w->gate, &t, w->hosts, NOW, &news), GATE_GOOD);
    assert_string_equal(news.text,
                        "slurmctld says again which nodes' fabric is down");
    assert_int_equal(gate_hears_nothing(&w->gate, NOW, NOW, &news), GATE_GONE);
}

static void a_held_node_goes_when_slurm_has_seen_it_well_again(void **state)
{
    struct hold h;

    hold_begin(&h, NOW, 20);
    assert_int_equal(hold_look(&h, NOW, true, true), HOLD_WAIT);
    assert_int_equal(hold_look(&h, NOW + SEC, false, false), HOLD_WAIT);
    assert_int_equal(hold_look(&h, NOW + 2 * SEC, true, false), HOLD_GO);
}

/* The table knows of a fault before Extra does. */
static void a_held_node_does_not_go_before_its_fault_is_told_of(void **state)
{
    struct hold h;

    hold_begin(&h, NOW, 20);
    assert_int_equal(hold_look(&h, NOW, true, false), HOLD_WAIT);
    assert_int_equal(hold_look(&h, NOW + SEC, true, true), HOLD_WAIT);
    assert_int_equal(hold_look(&h, NOW + 6 * SEC, true, true), HOLD_WAIT);
    hold_begin(&h, NOW, 20);
    assert_int_equal(hold_look(&h, NOW + HOLD_SETTLE_MS, true, false), HOLD_GO);
}

static void a_held_node_is_refused_when_its_time_is_over(void **state)
{
    struct hold h;

    hold_begin(&h, NOW, 20);
    assert_int_equal(hold_look(&h, NOW + 20 * SEC - 1, true, true), HOLD_WAIT);
    assert_int_equal(hold_look(&h, NOW + 20 * SEC, true, true), HOLD_REFUSE);
    hold_begin(&h, NOW, 20);
    assert_int_equal(hold_look(&h, NOW + 20 * SEC, false, false), HOLD_REFUSE);
}

static void only_the_rails_of_the_step_count(void **state)
{
    struct world *w = *state;
    struct errbuf err;

    write_table(w, NOW, 40 * SEC, 2);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), 0);
    assert_int_equal(check(w, with3, 3, 2, NULL, &err), -1);
}

static void policy_may_clear_broadcast_instead(void **state)
{
    struct world *w = *state;
    struct errbuf err;
    bool none = false;

    w->conf.on_down = MGR_DOWN_NOBROADCAST;
    write_table(w, NOW, 40 * SEC, 1);
    assert_int_equal(check(w, without3, 3, 1, &none, &err), 0);
    assert_false(none);
    assert_int_equal(check(w, with3, 3, 1, &none, &err), 0);
    assert_true(none);
}

static void stale_table_is_treated_by_policy(void **state)
{
    struct world *w = *state;
    struct errbuf err;

    write_table(w, NOW - 31 * SEC, 40 * SEC, 1);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), 0);
    w->conf.on_stale = MGR_STALE_REFUSE;
    assert_int_equal(check(w, without3, 3, 1, NULL, &err), -1);
    assert_int_equal(errno, EBUSY); /* it may come back soon */
    write_table(w, NOW - 62 * SEC, 40 * SEC, 1);
    assert_int_equal(check(w, without3, 3, 1, NULL, &err), -1);
    assert_int_equal(errno, EHOSTDOWN);
    assert_string_equal(err.text, "no health table that is newer than 30 s");
}

static enum gate_news look(struct world *w, struct errbuf *news)
{
    return gate_look(&w->gate, w->path, w->hosts, NOW, news);
}

static void absent_table_is_treated_by_policy(void **state)
{
    struct world *w = *state;
    struct errbuf err, news;

    assert_int_equal(check(w, with3, 3, 1, NULL, &err), 0);
    w->conf.on_stale = MGR_STALE_REFUSE;
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), -1);
    /* Told once, not for each step. */
    assert_int_equal(look(w, &news), GATE_SAME);
}

/* It was told without a number and without what to do. */
static void an_absent_table_is_told_with_what_to_do(void **state)
{
    struct world *w = *state;
    struct errbuf news;

    assert_int_equal(look(w, &news), GATE_NEVER);
    assert_non_null(strstr(news.text, w->path));
    assert_non_null(strstr(news.text, "No such file"));
    assert_non_null(strstr(news.text, "is switchmgrd running"));
    assert_null(strstr(news.text, "the last one"));
    assert_int_equal(look(w, &news), GATE_SAME);
    write_table(w, NOW, 0, 0);
    assert_int_equal(look(w, &news), GATE_GOOD);
    unlink(w->path);
    assert_int_equal(look(w, &news), GATE_GONE);
    assert_non_null(strstr(news.text, "the last one counts for StaleAfter"));
    assert_int_equal(look(w, &news), GATE_SAME);
}

static void torn_table_keeps_the_last_word(void **state)
{
    struct world *w = *state;
    struct errbuf err, news;
    FILE *f;

    write_table(w, NOW, 40 * SEC, 1);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), -1);
    f = fopen(w->path, "w");
    fputs("SFHEALTH 1 00", f);
    fclose(f);
    assert_int_equal(look(w, &news), GATE_UNFIT);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), -1);
    assert_int_equal(errno, EHOSTDOWN);
    assert_int_equal(check(w, without3, 3, 1, NULL, &err), 0);
}

static void most_of_the_cluster_down_is_not_believed(void **state)
{
    struct health_table_node n[] = {{"n3", HEALTH_DOWN, 0, 1, 1, 1, "mute"},
                                    {"n4", HEALTH_DOWN, 0, 1, 1, 1, "mute"}};
    struct health_table t = {NOW, 4, 2, n, 2};
    struct world *w = *state;
    struct errbuf err;

    assert_int_equal(health_table_write(w->path, &t, &err), 0);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), -1); /* half: yes */
    t.nodes = 3;
    assert_int_equal(health_table_write(w->path, &t, &err), 0);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), 0);
    w->conf.refuse_percent = 100;
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), -1);
}

static void each_node_of_the_step_is_looked_at(void **state)
{
    static const uint32_t first3[] = {3, 1, 2};
    struct world *w = *state;
    struct errbuf err;

    write_table(w, NOW, 40 * SEC, 1);
    assert_int_equal(check(w, first3, 3, 1, NULL, &err), -1);
}

static void policy_may_ignore_the_table(void **state)
{
    struct world *w = *state;
    struct errbuf err;
    bool none = false;

    w->conf.on_down = MGR_DOWN_IGNORE;
    write_table(w, NOW, 40 * SEC, 1);
    assert_int_equal(check(w, with3, 3, 1, &none, &err), 0);
    assert_false(none);
}

static void a_table_that_is_back_is_told_once(void **state)
{
    struct world *w = *state;
    struct errbuf news;

    assert_int_equal(look(w, &news), GATE_NEVER);
    write_table(w, NOW, 40 * SEC, 1);
    assert_int_equal(look(w, &news), GATE_GOOD);
    assert_string_equal(news.text, "the health table is there again");
    write_table(w, NOW + SEC, 40 * SEC, 1);
    assert_int_equal(look(w, &news), GATE_SAME);
}

static enum gate_news news_of_age(struct world *w, int64_t now)
{
    struct errbuf news;

    gate_look(&w->gate, w->path, w->hosts, now, &news);
    return gate_look_at_age(&w->gate, &w->conf, now, &news);
}

/* A switchmgrd that was gone showed by nothing in slurmctld's log. */
static void a_stale_table_is_told_once(void **state)
{
    struct world *w = *state;

    write_table(w, NOW, 0, 0);
    assert_int_equal(news_of_age(w, NOW + 30 * SEC), GATE_SAME);
    assert_int_equal(news_of_age(w, NOW + 31 * SEC), GATE_UNFIT);
    assert_int_equal(news_of_age(w, NOW + 32 * SEC), GATE_SAME);
    write_table(w, NOW + 33 * SEC, 0, 0);
    assert_int_equal(news_of_age(w, NOW + 33 * SEC), GATE_GOOD);
    assert_int_equal(news_of_age(w, NOW + 34 * SEC), GATE_SAME);
}

static void a_site_may_do_without_a_table(void **state)
{
    struct world *w = *state;

    assert_int_equal(news_of_age(w, NOW), GATE_SAME);
    w->conf.on_stale = MGR_STALE_REFUSE;
    assert_int_equal(news_of_age(w, NOW + SEC), GATE_UNFIT);
}

/* ---- what a step that was told to wait waits for -------------------------*/

static bool is_over(const struct world *w, struct health_table *t, int64_t now)
{
    struct health_table_reader r = {.table = *t, .known = true};

    return gate_wait_is_over(&w->gate.wait, &r, gate_refused(t), now);
}

/* srun was told only after one to two minutes. */
static void a_healed_node_ends_the_wait(void **state)
{
    struct health_table_node n[] = {{"n2", HEALTH_DOWN, NOW, 1, 1, 1, "x"},
                                    {"n3", HEALTH_DOWN, NOW, 1, 3, 3, "x"}};
    struct health_table t = {NOW, 8, 6, n, 2};
    struct world *w = *state;
    struct errbuf err;

    write_table(w, NOW, 10 * SEC, 3);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), -1);
    assert_int_equal(errno, EBUSY);
    assert_string_equal(w->gate.wait.node, "n3");
    assert_false(is_over(w, &t, NOW));
    n[1].refuse = 2; /* not the step's rail */
    assert_true(is_over(w, &t, NOW));
    n[1].refuse = 1;
    assert_false(is_over(w, &t, NOW));
    t.n = 1;
    assert_true(is_over(w, &t, NOW));
}

static void the_end_of_busy_grace_ends_the_wait(void **state)
{
    struct health_table_node n = {"n3", HEALTH_DOWN, NOW, 1, 1, 1, "x"};
    struct health_table t = {NOW + 19 * SEC, 8, 7, &n, 1};
    struct health_table_reader none = {0};
    struct world *w = *state;
    struct errbuf err;

    write_table(w, NOW, 10 * SEC, 1);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), -1);
    assert_false(is_over(w, &t, NOW + 20 * SEC - 1));
    assert_true(is_over(w, &t, NOW + 20 * SEC));
    assert_false(gate_wait_is_over(&w->gate.wait, &none, 0, NOW));
    assert_true(gate_wait_is_over(&w->gate.wait, &none, 0, NOW + 20 * SEC));
}

static void a_table_not_believed_ends_the_wait(void **state)
{
    struct health_table_node n[] = {{"n3", HEALTH_DOWN, NOW, 1, 1, 1, "x"},
                                    {"n4", HEALTH_DOWN, NOW, 1, 1, 1, "x"}};
    struct health_table t = {NOW, 3, 1, n, 2};
    struct world *w = *state;
    struct errbuf err;

    w->conf.busy_grace = 600;
    write_table(w, NOW, 10 * SEC, 1);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), -1);
    assert_true(is_over(w, &t, NOW)); /* too many */
    t.nodes = 4;
    assert_false(is_over(w, &t, NOW));
    assert_false(is_over(w, &t, NOW + 30 * SEC));
    assert_true(is_over(w, &t, NOW + 31 * SEC)); /* stale, which is allowed */
}

static void a_fresh_table_ends_the_wait_for_one(void **state)
{
    struct health_table_node n = {"n3", HEALTH_DOWN, NOW, 1, 1, 1, "x"};
    struct health_table t = {NOW - 40 * SEC, 8, 7, &n, 1};
    struct world *w = *state;
    struct errbuf err;

    w->conf.on_stale = MGR_STALE_REFUSE;
    write_table(w, NOW - 40 * SEC, 40 * SEC, 1);
    assert_int_equal(check(w, without3, 3, 1, NULL, &err), -1);
    assert_int_equal(errno, EBUSY);
    assert_false(is_over(w, &t, NOW));
    t.written = NOW;
    assert_true(is_over(w, &t, NOW));
}

static void one_node_is_always_believed(void **state)
{
    struct health_table_node n = {"n3", HEALTH_DOWN, 0, 1, 1, 1, "mute"};
    struct health_table t = {NOW, 1, 1, &n, 1};
    struct world *w = *state;
    struct errbuf err;

    assert_int_equal(health_table_write(w->path, &t, &err), 0);
    assert_int_equal(check(w, with3, 3, 1, NULL, &err), -1);
}

static void names_go_through_elanhosts(void **state)
{
    static const char text[] = "NodeName=n[0-3] ElanId=10-13\n";
    static const uint32_t thirteen = 13, three = 3;
    struct world *w = *state;
    struct errbuf err;

    write_table(w, NOW, 40 * SEC, 1);
    assert_int_equal(check(w, &three, 1, 1, NULL, &err), -1);
    gate_forget_hosts(&w->gate);
    elanhosts_destroy(w->hosts);
    w->hosts = elanhosts_parse("hosts", text, strlen(text), NULL, NULL);
    assert_non_null(w->hosts);
    assert_int_equal(check(w, &three, 1, 1, NULL, &err), 0);
    assert_int_equal(check(w, &thirteen, 1, 1, NULL, &err), -1);
}

struct told {
    int n;
    char last[256];
};

static void tell(const char *text, void *arg)
{
    struct told *t = arg;

    t->n++;
    snprintf(t->last, sizeof(t->last), "%s", text);
}

static void wrong_configuration_is_told_all_at_once(void **state)
{
    struct mgrconf c;
    struct told told = {0};

    assert_int_equal(mgrconf_parse(&c, "switchmgr.conf",
                                   "DrainAfter=-1\nNoSuch=1\nDrain=maybe\n",
                                   tell, &told),
                     -1);
    assert_int_equal(told.n, 3);
    told.n = 0;
    assert_int_equal(mgrconf_parse(&c, "switchmgr.conf",
                                   "StalePolicy=perhaps\nStaleAfter=5\n"
                                   "HealthTable=run/x\nDrainRails=some\n",
                                   tell, &told),
                     -1);
    assert_int_equal(told.n, 4);
    told.n = 0;
    assert_int_equal(mgrconf_parse(&c, "switchmgr.conf",
                                   "TopologyConf=/etc/slurm/tree.yaml\n", tell,
                                   &told),
                     -1);
    assert_int_equal(told.n, 1);
    assert_int_equal(mgrconf_parse(&c, "switchmgr.conf",
                                   "TopologyConf=/etc/slurm/topology.yaml\n",
                                   tell, &told),
                     0);
    mgrconf_free(&c);
    assert_int_equal(mgrconf_parse(&c, "switchmgr.conf",
                                   "StalePolicy=Refuse\nDrainRails=all\n"
                                   "DryRun=yes\n",
                                   tell, &told),
                     0);
    assert_int_equal(c.on_stale, MGR_STALE_REFUSE);
    assert_int_equal(c.drain_after, 10);
    mgrconf_free(&c);
    assert_int_equal(mgrconf_read(&c, "/nonexistent", false, NULL, NULL), -1);
    assert_int_equal(mgrconf_read(&c, "/nonexistent", true, NULL, NULL), 0);
    mgrconf_free(&c);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(step_on_a_down_node_is_refused),
        T(busy_only_within_busy_grace),
        T(a_node_with_a_young_fault_is_held_for_the_rest_of_busy_grace),
        T(no_node_is_held_that_slurm_says_nothing_of),
        T(extra_is_read_word_by_word),
        T(extra_becomes_a_line_of_the_table),
        T(extra_that_is_no_word_of_ours_refuses_nothing),
        T(a_table_that_was_taken_refuses_like_the_file),
        T(slurmctld_is_asked_again_soon),
        T(questions_take_half_of_the_time_at_most),
        T(what_was_said_counts_while_there_is_no_answer),
        T(a_clock_that_is_set_back_stops_no_questions),
        T(a_slurmctld_without_an_answer_is_told_once),
        T(a_held_node_goes_when_slurm_has_seen_it_well_again),
        T(a_held_node_does_not_go_before_its_fault_is_told_of),
        T(a_held_node_is_refused_when_its_time_is_over),
        T(only_the_rails_of_the_step_count),
        T(policy_may_clear_broadcast_instead),
        T(stale_table_is_treated_by_policy),
        T(absent_table_is_treated_by_policy),
        T(an_absent_table_is_told_with_what_to_do),
        T(torn_table_keeps_the_last_word),
        T(most_of_the_cluster_down_is_not_believed),
        T(each_node_of_the_step_is_looked_at),
        T(policy_may_ignore_the_table),
        T(a_table_that_is_back_is_told_once),
        T(a_stale_table_is_told_once),
        T(a_site_may_do_without_a_table),
        T(a_healed_node_ends_the_wait),
        T(the_end_of_busy_grace_ends_the_wait),
        T(a_table_not_believed_ends_the_wait),
        T(a_fresh_table_ends_the_wait_for_one),
        T(one_node_is_always_believed),
        T(names_go_through_elanhosts),
        cmocka_unit_test(wrong_configuration_is_told_all_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
