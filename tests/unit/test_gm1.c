/* SPDX-License-Identifier: BSD-3-Clause
 * GM-1 mappers on small fabrics in virtual time: the table of states, the
 * timers; the other files of the program have the rest.
 */
#include "gm1_util.h"

static void states_form_the_cycle(void **state)
{
    static const struct {
        enum gm1_event event;
        enum gm1_state to;
    } cycle[] = {
        {GM1_EVENT_EXPLORE, GM1_STATE_EXPLORING},
        {GM1_EVENT_EXPLORED, GM1_STATE_QUERYING},
        {GM1_EVENT_GATHERED, GM1_STATE_CONFIGURING},
        {GM1_EVENT_CONFIGURED, GM1_STATE_SLEEPING},
        {GM1_EVENT_VERIFY, GM1_STATE_VERIFYING},
        {GM1_EVENT_UNCHANGED, GM1_STATE_SLEEPING},
        {GM1_EVENT_VERIFY, GM1_STATE_VERIFYING},
        {GM1_EVENT_OUTDATED, GM1_STATE_CONFIGURING},
        {GM1_EVENT_CONFIGURED, GM1_STATE_SLEEPING},
        {GM1_EVENT_VERIFY, GM1_STATE_VERIFYING},
        {GM1_EVENT_CHANGED, GM1_STATE_EXPLORING},
        {GM1_EVENT_FAILED, GM1_STATE_SLEEPING},
    };
    enum gm1_state at = GM1_STATE_SLEEPING;

    for (unsigned i = 0; i < sizeof(cycle) / sizeof(*cycle); i++) {
        at = gm1_next_state(at, cycle[i].event);
        assert_int_equal(at, cycle[i].to);
    }
    for (int s = 0; s < GM1_NSTATES; s++) {
        assert_string_not_equal(gm1_state_name(s), "?");
        if (s != GM1_STATE_DORMANT)
            assert_int_equal(gm1_next_state(s, GM1_EVENT_MET_HIGHER),
                             GM1_STATE_DORMANT);
    }
    for (int e = 0; e < GM1_NEVENTS; e++)
        assert_string_not_equal(gm1_event_name(e), "?");
}

/* ---- timers -------------------------------------------------------------- */

struct sends {
    uint64_t now;
    uint64_t at[100];
    unsigned n;
    enum gm1_subtype kind;
};

static void record(const uint8_t *route, size_t nroute, const void *body,
                   size_t len, void *arg)
{
    struct sends *s = arg;
    struct gm1_message msg;

    assert_int_equal(gm1_decode(&msg, body, len), 0);
    if (msg.subtype == s->kind && nroute == (s->kind == GM1_SCOUT ? 0u : 1u) &&
        s->n < 100)
        s->at[s->n++] = s->now;
}

/* A mapper whose cable leads nowhere. */
static void lonely(struct sends *s, const struct gm1_options *options)
{
    static const struct gm1_ops ops = {.send = record};
    struct gm1 *g = gm1_new(options, &ops, s, 0);

    while (gm1_deadline(g) < SECOND) {
        s->now = gm1_deadline(g);
        gm1_tick(g, s->now);
    }
    gm1_free(g);
}

static void retransmissions_and_their_timers(void **state)
{
    struct gm1_options options;
    struct sends s = {.kind = GM1_SCOUT};

    gm1_options_default(&options);
    options.host.address = NET_BUILD_HOST_ID;
    lonely(&s, &options);
    assert_int_equal(s.n, 4); /* one and three again */
    for (unsigned i = 1; i < s.n; i++)
        assert_int_equal(s.at[i] - s.at[i - 1], 10 * MS);
    s = (struct sends){.kind = GM1_PROBE};
    lonely(&s, &options);
    assert_int_equal(s.n, 4);
    for (unsigned i = 1; i < s.n; i++)
        assert_int_equal(s.at[i] - s.at[i - 1], 5 * MS);
    s = (struct sends){.kind = GM1_SCOUT};
    options.limits.tries = 2;
    options.limits.scout_wait = 70 * MS;
    lonely(&s, &options);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.at[1] - s.at[0], 70 * MS);
}

/* The first switch message that was sent. */
struct first {
    uint8_t body[GM1_SCOUT_SIZE];
    size_t len;
};

static void keep_first(const uint8_t *route, size_t nroute, const void *body,
                       size_t len, void *arg)
{
    struct first *f = arg;
    struct gm1_message msg;

    if (f->len > 0 || gm1_decode(&msg, body, len) < 0 ||
        msg.subtype != GM1_PROBE)
        return;
    memcpy(f->body, body, len);
    f->len = len;
}

/* Of two explorations in which nothing comes back the second one hears a
 * message of the first: it would take it for a crossbar. */
static void what_returns_of_an_older_phase_is_ignored(void **state)
{
    static const struct gm1_ops ops = {.send = keep_first};
    struct gm1_options options;
    struct first f = {.len = 0};
    struct gm1_status s;
    uint64_t once, late;
    struct gm1 *g;

    gm1_options_default(&options);
    options.host.address = NET_BUILD_HOST_ID;
    options.active_sleep = SECOND;
    g = gm1_new(&options, &ops, &f, 0);
    while (gm1_deadline(g) < SECOND)
        gm1_tick(g, gm1_deadline(g));
    gm1_status(g, &s);
    once = s.counters.switches;
    assert_true(once > 0 && f.len > 0);
    late = gm1_deadline(g); /* the second one begins */
    gm1_tick(g, late);
    gm1_input(g, late, f.body, f.len);
    while (gm1_deadline(g) < late + SECOND)
        gm1_tick(g, gm1_deadline(g));
    gm1_status(g, &s);
    assert_int_equal(s.counters.explorations, 2);
    assert_int_equal(s.counters.switches, 2 * once);
    gm1_free(g);
}

static void nobody_there_ends_the_cycle(void **state)
{
    struct gm1_options options;
    struct sends s = {.kind = GM1_VERIFY};

    gm1_options_default(&options);
    options.host.address = NET_BUILD_HOST_ID;
    lonely(&s, &options); /* comes back: its next deadline is the sleep's */
    assert_true(s.now < SECOND);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(states_form_the_cycle),
    cmocka_unit_test(retransmissions_and_their_timers),
    cmocka_unit_test(what_returns_of_an_older_phase_is_ignored),
    cmocka_unit_test(nobody_there_ends_the_cycle),
};

int main(void)
{
    static const struct suite here = SUITE(tests);
    const struct suite *const suites[] = {
        &here, &gm1_mapping, &gm1_many, &gm1_hosts, &gm1_answers, &gm1_ways,
    };

    return suites_run("test_gm1", suites, sizeof(suites) / sizeof(*suites));
}
