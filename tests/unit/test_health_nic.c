/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the model makes of nicd's words: ports known again over restarts and by
 * both ends of a cable, ports never cabled, others of their kind, silence.
 */
#include "health_world.h"

#include "base/jsonx.h"
#include "health/policy.h"

static struct report_record nic(const char *name, uint64_t board,
                                enum report_seen seen, const char *why)
{
    struct report_record r = {.kind = REPORT_HOST,
                              .seen = seen,
                              .board = board,
                              .mbps = seen == SEEN_UP ? 100000 : 0};

    snprintf(r.nic, sizeof(r.nic), "MT4123 %s", name);
    snprintf(r.why, sizeof(r.why), "%s", why);
    return r;
}

/* A report of node n's nicd, in its life `instance`. */
static int nicd(struct world *w, int n, uint64_t instance,
                struct report_record *r, size_t nr)
{
    struct report rep = {.from = REPORT_NICD,
                         .instance = instance,
                         .seq = ++w->seq,
                         .records = r,
                         .nrecords = nr};
    struct errbuf err;

    snprintf(rep.node, sizeof(rep.node), "n%d", n);
    for (size_t i = 0; i < nr; i++)
        if (!r[i].name[0])
            memcpy(r[i].name, rep.node, sizeof(r[i].name));
    return model_input(w->m, &rep, w->now, &err);
}

/* n1's nicd says so each second. */
static void saying(struct world *w, int seconds, uint64_t instance,
                   struct report_record *r, size_t nr)
{
    for (int i = 0; i < seconds; i++) {
        assert_int_equal(nicd(w, 1, instance, r, nr), 0);
        pass(w, SEC);
    }
}

static const struct health_item *rail(struct world *w, uint8_t n)
{
    const struct health_item *i = model_host(w->m, "n1", n);

    assert_non_null(i);
    return i;
}

static void is(struct world *w, uint8_t n, enum health_state state,
               const char *why)
{
    assert_string_equal(rail(w, n)->why, why);
    assert_int_equal(rail(w, n)->state, state);
}

static bool drains(struct world *w)
{
    struct policy_conf conf;
    struct health_node n;

    policy_conf_defaults(&conf);
    assert_true(model_node(w->m, "n1", &n));
    return policy_decide(&conf, &n, false, w->now, T0 - 3600 * SEC).drain;
}

static void a_port_that_is_down_drains_and_heals(void **state)
{
    struct world *w = *state;
    struct report_record r[2] = {nic("mlx5_0/1", 0x10, SEEN_UP, ""),
                                 nic("mlx5_1/1", 0x20, SEEN_UP, "")};

    r[1].rail = 1;
    saying(w, 5, 7, r, 2);
    is(w, 0, HEALTH_HEALTHY, "");
    r[1] = nic("mlx5_1/1", 0x20, SEEN_DOWN, "mlx5_1/1 no link: Polling");
    r[1].rail = 1;
    saying(w, 5, 7, r, 2);
    assert_false(drains(w));
    saying(w, 10, 7, r, 2);
    is(w, 1, HEALTH_DOWN, "mlx5_1/1 no link: Polling");
    assert_true(drains(w));
    r[1] = nic("mlx5_1/1", 0x20, SEEN_UP, "");
    r[1].rail = 1;
    saying(w, 15, 7, r, 2);
    is(w, 1, HEALTH_HEALTHY, "");
    assert_false(drains(w));
}

static void nicd_speaks_of_its_own_node_only(void **state)
{
    struct world *w = *state;
    struct report_record r[2 * SF_ELAN_RAILS_MAX + 1] = {
        nic("mlx5_0/1", 0x10, SEEN_DOWN, "")};

    strcpy(r[0].name, "n2");
    assert_int_equal(nicd(w, 1, 7, r, 1), -1);
    strcpy(r[0].name, "");
    r[0].kind = REPORT_XBAR;
    assert_int_equal(nicd(w, 1, 7, r, 1), -1);
    r[0].kind = REPORT_HOST;
    assert_int_equal(nicd(w, 1, 7, r, 2 * SF_ELAN_RAILS_MAX + 1), -1);
    assert_int_equal(nicd(w, 1, 7, r, 1), 0);
}

static void silence_of_nicd_is_unknown_and_drains_nobody(void **state)
{
    struct world *w = *state;
    struct report_record r = nic("mlx5_0/1", 0x10, SEEN_UP, "");

    saying(w, 5, 7, &r, 1);
    for (int i = 0; i < 1000; i++) {
        pass(w, SEC);
        assert_false(drains(w));
    }
    is(w, 0, HEALTH_DEGRADED, "nicd is silent for long");
    saying(w, 15, 8, &r, 1);
    is(w, 0, HEALTH_HEALTHY, "");
}

/* ---- never cabled -------------------------------------------------------- */

static struct report_record never(uint64_t board)
{
    struct report_record r =
        nic("mlx5_0/1", board, SEEN_DOWN, "mlx5_0/1 no link: Polling");

    r.never = true;
    return r;
}

/* n1 says that, the others that they are up, or were never. */
static void among(struct world *w, struct report_record r, int others, int up)
{
    for (int s = 0; s < 15; s++) {
        for (int i = 0; i < others; i++) {
            struct report_record o =
                i < up ? nic("mlx5_0/1", 0x100u + (unsigned)i, SEEN_UP, "")
                       : never(0x100u + (unsigned)i);

            assert_int_equal(nicd(w, 10 + i, 7, &o, 1), 0);
        }
        saying(w, 1, 7, &r, 1);
    }
}

static void a_port_that_was_never_cabled_is_compared(void **state)
{
    struct world *w = *state;

    among(w, never(0x10), 4, 1); /* nobody uses these ports */
    is(w, 0, HEALTH_HEALTHY, "mlx5_0/1 never had a link");
    among(w, never(0x10), 4, 4);
    is(w, 0, HEALTH_DEGRADED, "mlx5_0/1 never had a link: 4 of 4 like it do");
    assert_false(drains(w));
    w->conf.nic_uncabled = TALLY_IGNORE;
    model_set_conf(w->m, &w->conf);
    among(w, never(0x10), 4, 4);
    is(w, 0, HEALTH_HEALTHY, "mlx5_0/1 never had a link");
    w->conf.nic_uncabled = TALLY_DRAIN;
    model_set_conf(w->m, &w->conf);
    among(w, never(0x10), 4, 4);
    assert_true(drains(w));
}

/* The node was booted, and its cable is gone: nicd cannot know, the model does.
 */
static void a_link_lost_over_a_reboot_is_down(void **state)
{
    struct world *w = *state;
    struct report_record r = nic("mlx5_0/1", 0x10, SEEN_UP, "");

    saying(w, 5, 7, &r, 1);
    pass(w, 120 * SEC);
    r = nic("mlx5_0/1", 0x10, SEEN_UNKNOWN, "mlx5_0/1 has no link yet");
    r.never = true;
    saying(w, 30, 8, &r, 1);
    assert_false(drains(w));
    r = never(0x10);
    saying(w, 15, 8, &r, 1);
    is(w, 0, HEALTH_DOWN, "mlx5_0/1 no link: Polling");
    assert_true(drains(w));
}

/* Until the new one knows, its port is as it was; not long enough for a drain
 * of a port that was down for a moment only, as when a machine goes down. */
static void a_port_that_is_down_is_told_once_over_a_restart(void **state)
{
    struct world *w = *state;
    struct report_record down =
        nic("mlx5_0/1", 0x10, SEEN_DOWN, "mlx5_0/1 no link: Polling");
    struct report_record yet =
        nic("mlx5_0/1", 0x10, SEEN_UNKNOWN, "mlx5_0/1 has no link yet");
    struct report_record r = nic("mlx5_0/1", 0x10, SEEN_UP, "");
    int told;

    yet.never = true;
    saying(w, 5, 7, &r, 1);
    told = w->changes;
    saying(w, 2, 7, &down, 1);
    saying(w, 60, 8, &yet, 1);
    is(w, 0, HEALTH_DOWN, "mlx5_0/1 has no link yet");
    assert_false(drains(w));
    r = never(0x10);
    saying(w, 15, 8, &r, 1);
    assert_true(drains(w));
    assert_int_equal(w->changes, told + 1);
    assert_int_equal(rail(w, 0)->count, 1);
}

static void slower_than_most_of_its_kind_is_degraded(void **state)
{
    struct world *w = *state;
    struct report_record r = nic("mlx5_0/1", 0x10, SEEN_UP, "");

    r.mbps = 50000;
    among(w, r, 1, 1);
    is(w, 0, HEALTH_HEALTHY, "");
    among(w, r, 4, 4);
    is(w, 0, HEALTH_DEGRADED, "mlx5_0/1 runs 50 Gb/s: 4 like it 100 Gb/s");
    assert_int_equal(state_of(w, 10), HEALTH_HEALTHY); /* faster than it */
    r.mbps = 100000;
    among(w, r, 4, 4);
    is(w, 0, HEALTH_HEALTHY, "");
}

/* ---- who is who ---------------------------------------------------------- */

/* Of two devices the first is gone when nicd begins again: the second, now
 * its first, is what it was. */
static void ports_keep_their_rails_over_a_restart(void **state)
{
    struct world *w = *state;
    struct report_record r[2] = {nic("mlx5_0/1", 0x10, SEEN_UP, ""),
                                 nic("mlx5_1/1", 0x20, SEEN_UP, "")};

    r[1].rail = 1;
    saying(w, 5, 7, r, 2);
    r[1].rail = 0;
    saying(w, 30, 8, &r[1], 1);
    is(w, 1, HEALTH_HEALTHY, "");
    assert_int_equal(rail(w, 1)->board, 0x20);
    is(w, 0, HEALTH_DEGRADED, "mlx5_0/1 has vanished");
    assert_false(drains(w));
    r[1].rail = 1;
    saying(w, 15, 9, r, 2);
    is(w, 0, HEALTH_HEALTHY, "");
}

static void a_new_card_takes_the_place_of_the_old(void **state)
{
    struct world *w = *state;
    struct report_record r[2] = {nic("mlx5_0/1", 0x10, SEEN_UP, ""),
                                 nic("mlx5_1/1", 0x20, SEEN_UP, "")};

    r[1].rail = 1;
    saying(w, 5, 7, r, 2);
    r[0].board = 0x99;
    saying(w, 30, 8, r, 2);
    is(w, 0, HEALTH_HEALTHY, "");
    assert_int_equal(rail(w, 0)->board, 0x99);
    assert_null(model_host(w->m, "n1", 2));
}

static void what_is_left_out_is_forgotten_at_once(void **state)
{
    struct world *w = *state;
    struct report_record r = nic("mlx5_0/1", 0x10, SEEN_DOWN, "mlx5_0/1 down");

    saying(w, 15, 7, &r, 1);
    assert_true(drains(w));
    r.out = true;
    saying(w, 1, 8, &r, 1);
    assert_null(model_host(w->m, "n1", 0));
}

/* The switch's end and the HCA's own: one port, one fault, told once.  mapperd
 * has no port without a cable, so its rails are others. */
static void both_ends_of_a_cable_tell_one_fault(void **state)
{
    struct world *w = *state;
    struct report_record r[2] = {never(0x2010),
                                 nic("mlx5_1/1", 0x2020, SEEN_UP, "")};
    struct report_record map[2] = {
        {.kind = REPORT_HOST, .seen = SEEN_UP, .board = 0x2020, .name = "n1"},
        {.kind = REPORT_HOST, .seen = SEEN_UP, .board = 0x2030, .name = "n3"}};
    int told;

    r[1].rail = 1;
    saying(w, 5, 7, r, 2);
    for (int i = 0; i < 15; i++) {
        assert_int_equal(mapper(w, "n9", 1, map, 2), 0);
        saying(w, 1, 7, r, 2);
    }
    assert_false(rail(w, 0)->evidence[REPORT_MAPPERD].known);
    assert_true(rail(w, 1)->evidence[REPORT_MAPPERD].known);
    told = w->changes;
    r[1] = nic("mlx5_1/1", 0x2020, SEEN_DOWN, "mlx5_1/1 no link: Polling");
    r[1].rail = 1;
    saying(w, 2, 7, r, 2);
    map[0].seen = SEEN_DOWN;
    strcpy(map[0].why, "no link at leaf0:3: Polling");
    for (int i = 0; i < 15; i++) {
        assert_int_equal(mapper(w, "n9", 2, map, 2), 0);
        saying(w, 1, 7, r, 2);
    }
    is(w, 1, HEALTH_DOWN, "no link at leaf0:3: Polling");
    assert_int_equal(w->changes, told + 1);
    assert_int_equal(rail(w, 1)->count, 1);
}

/* A map that came first: nicd's words go to the rails that it has. */
static void rails_of_a_map_are_kept(void **state)
{
    struct world *w = *state;
    struct report_record r[2] = {nic("mlx5_0/1", 0x2010, SEEN_UP, ""),
                                 nic("mlx5_1/1", 0x2020, SEEN_UP, "")};
    struct report_record map[2] = {
        {.kind = REPORT_HOST, .seen = SEEN_UP, .board = 0x2020, .name = "n1"},
        {.kind = REPORT_HOST, .seen = SEEN_UP, .board = 0x2030, .name = "n3"}};

    r[1].rail = 1;
    assert_int_equal(mapper(w, "n9", 1, map, 2), 0);
    saying(w, 5, 7, r, 2);
    assert_int_equal(rail(w, 0)->board, 0x2020);
    assert_int_equal(rail(w, 1)->board, 0x2010);
}

/* ---- flaps and restarts -------------------------------------------------- */

static void flaps_between_reports_make_it_flapping(void **state)
{
    struct world *w = *state;
    struct report_record r = nic("mlx5_0/1", 0x10, SEEN_UP, "");

    r.count = 3;
    saying(w, 5, 7, &r, 1);
    r.count = 4; /* one flap is none */
    saying(w, 5, 7, &r, 1);
    assert_int_equal(rail(w, 0)->state, HEALTH_HEALTHY);
    r.count = 1; /* of another life */
    saying(w, 5, 8, &r, 1);
    r.count = 0;
    saying(w, 5, 9, &r, 1);
    assert_int_equal(rail(w, 0)->state, HEALTH_HEALTHY);
    r.count = 10;
    saying(w, 5, 9, &r, 1);
    assert_int_equal(rail(w, 0)->state, HEALTH_FLAPPING);
    saying(w, 320, 9, &r, 1);
    is(w, 0, HEALTH_HEALTHY, "");
}

static void keep(const char *text, size_t len, void *arg)
{
    fwrite(text, 1, len, arg);
}

static void a_restarted_switchmgrd_knows_what_was_up(void **state)
{
    struct world *w = *state;
    struct report_record r = nic("mlx5_0/1", 0x10, SEEN_UP, "");
    struct json_object *o;
    struct errbuf err;
    char *text = NULL;
    size_t len;
    FILE *f;

    saying(w, 5, 7, &r, 1);
    f = open_memstream(&text, &len);
    fputc('{', f);
    model_save(w->m, w->now, keep, f);
    fputc('}', f);
    fclose(f);
    model_free(w->m);
    w->m = fresh(w);
    assert_non_null(o = jsonx_parse(text, len, &err));
    assert_int_equal(model_load(w->m, o, w->now, 600 * SEC, &err), 0);
    json_object_put(o);
    free(text);
    r = never(0x10);
    saying(w, 15, 8, &r, 1);
    is(w, 0, HEALTH_DOWN, "mlx5_0/1 no link: Polling");
}

/* ---- the same again ---- */

#define TWIN_NODES 4
#define TWIN_PORTS 2
#define TWIN_SEEDS 60
#define TWIN_STEPS 400

/* Two models that hear the same at the same time: one takes each report in
 * full, the other takes what is the same again by the short way. */
struct twins {
    struct world full, quick;
    struct {
        struct report_record ports[TWIN_PORTS];
        size_t n;
        uint64_t instance, seq, lost;
        bool again; /* nothing has changed since its last report */
        struct model_word word;
    } node[TWIN_NODES];
    unsigned random;
    unsigned long shortcuts, rests;
    struct health_node is[TWIN_NODES]; /* in `quick`, after the last pass */
};

static unsigned any(struct twins *t, unsigned below)
{
    t->random = t->random * 1103515245u + 12345u;
    return (t->random >> 16) % below;
}

static void twins_report(struct twins *t, int i)
{
    struct report rep = {.from = REPORT_NICD,
                         .instance = t->node[i].instance,
                         .seq = t->node[i].seq += any(t, 20) ? 1 : 0,
                         .records = t->node[i].ports,
                         .nrecords = t->node[i].n};
    struct model_word *word = &t->node[i].word;
    struct errbuf err;
    int full, quick = 0;

    snprintf(rep.node, sizeof(rep.node), "n%d", i);
    full = model_input(t->full.m, &rep, t->full.now, &err);
    if (t->node[i].again && model_again(t->quick.m, &rep, word, t->quick.now))
        t->shortcuts++;
    else
        quick = model_take(t->quick.m, &rep, word, t->quick.now, &err);
    assert_int_equal(full, quick);
    t->node[i].again = full == 0;
}

static void twins_change(struct twins *t, int i)
{
    unsigned k = any(t, TWIN_PORTS);
    struct report_record *r = &t->node[i].ports[k];

    t->node[i].again = false;
    switch (any(t, 7)) {
    case 0: /* nicd began again */
        t->node[i].instance++;
        t->node[i].seq = 0;
        break;
    case 1:
        r->count++;
        break;
    case 2:
        r->out = !r->out;
        break;
    case 3:
        t->node[i].n = 1 + any(t, TWIN_PORTS);
        break;
    default:
        r->seen = any(t, 3) ? SEEN_UP : SEEN_DOWN;
        r->mbps = r->seen != SEEN_UP ? 0 : any(t, 3) ? 100000 : 25000;
        snprintf(r->why, sizeof(r->why), "%s",
                 r->seen == SEEN_UP ? "" : "no link");
    }
}

/* Somebody else speaks of a port: a map has it, by its board. */
static void twins_map(struct twins *t)
{
    struct report_record hosts[TWIN_NODES];
    uint64_t version = 1 + any(t, 3);
    size_t n = 0;

    for (int i = 0; i < TWIN_NODES; i++) {
        if (!any(t, 8))
            continue;
        hosts[n] = host(i, any(t, 5) ? SEEN_UP : SEEN_DOWN, "by the map");
        hosts[n].rail = (uint8_t)any(t, 2);
        hosts[n++].board = any(t, 2) ? 0x9000 + 2 * (unsigned)i : 0;
    }
    assert_int_equal(mapper(&t->full, "n0", version, hosts, n),
                     mapper(&t->quick, "n0", version, hosts, n));
}

/* Nothing behind the end of a text. */
static void wipe(char *text, size_t size)
{
    size_t len = strlen(text);

    memset(text + len, 0, size - len);
}

static struct health_item shown(const struct health_item *i)
{
    struct health_item s;

    memcpy(&s, i, sizeof(s));
    wipe(s.peer, sizeof(s.peer));
    wipe(s.why, sizeof(s.why));
    for (int from = 0; from < REPORT_FROMS; from++)
        wipe(s.evidence[from].why, sizeof(s.evidence[from].why));
    return s;
}

static void twins_are_alike(struct twins *t)
{
    struct health_item x, y;
    const struct health_item *a = NULL, *b;
    const struct health_reporter *r = NULL, *q = NULL;

    while ((a = model_next(t->full.m, REPORT_HOST, a))) {
        b = model_host(t->quick.m, a->name, a->rail);
        assert_non_null(b);
        x = shown(a);
        y = shown(b);
        assert_memory_equal(&x, &y, sizeof(x));
    }
    while ((r = model_next_reporter(t->full.m, r))) {
        q = model_next_reporter(t->quick.m, q);
        assert_string_equal(r->node, q->node);
        assert_int_equal(r->seq, q->seq);
        assert_int_equal(r->at, q->at);
        assert_int_equal(r->accepted, q->accepted);
        assert_int_equal(r->refused, q->refused);
    }
    assert_int_equal(t->full.changes, t->quick.changes);
    assert_int_equal(t->full.alarms, t->quick.alarms);
}

static void same_node(const struct health_node *a, const struct health_node *b)
{
    assert_int_equal(a->rails, b->rails);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->silent, b->silent);
    assert_int_equal(a->since, b->since);
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->rail_state, b->rail_state, sizeof(a->rail_state));
    assert_memory_equal(a->rail_since, b->rail_since, sizeof(a->rail_since));
    assert_memory_equal(a->rail_proven, b->rail_proven, sizeof(a->rail_proven));
}

/* A node that was at rest is as it was, unless it has stirred. */
static void twins_rest(struct twins *t)
{
    for (int i = 0; i < TWIN_NODES; i++) {
        struct health_node was = t->is[i];
        char name[8];

        snprintf(name, sizeof(name), "n%d", i);
        t->is[i].at_rest = false;
        if (!model_node(t->quick.m, name, &t->is[i]))
            t->is[i].at_rest = false;
        if (was.at_rest && !(t->quick.stirred & 1u << i))
            same_node(&was, &t->is[i]);
        t->rests += t->is[i].at_rest;
    }
    t->quick.stirred = 0;
}

static void twins_pass(struct twins *t, int64_t ms)
{
    pass(&t->full, ms);
    pass(&t->quick, ms);
    twins_are_alike(t);
    twins_rest(t);
}

static void twins_begin(struct twins *t, struct world *w, unsigned seed)
{
    *t = (struct twins){.random = seed};
    t->full.conf = t->quick.conf = w->conf;
    t->full.now = t->quick.now = T0;
    t->full.m = fresh(&t->full);
    t->quick.m = fresh(&t->quick);
    for (int i = 0; i < TWIN_NODES; i++) {
        t->node[i].n = TWIN_PORTS;
        t->node[i].instance = 1;
        for (unsigned k = 0; k < TWIN_PORTS; k++) {
            struct report_record *r = &t->node[i].ports[k];

            *r = nic(k ? "mlx5_1/1" : "mlx5_0/1", 0x9000 + 2 * (unsigned)i + k,
                     SEEN_UP, "");
            r->rail = (uint8_t)k;
            snprintf(r->name, sizeof(r->name), "n%d", i);
        }
    }
}

/* They are judged with each tick, so are looked at after it. */
static void twins_run(struct twins *t)
{
    for (int step = 0; step < TWIN_STEPS; step++) {
        for (int i = 0; i < TWIN_NODES; i++) {
            if (!any(t, 30))
                twins_change(t, i);
            if (any(t, 10))
                twins_report(t, i);
        }
        if (!any(t, 40))
            twins_map(t);
        if (!any(t, 60)) {
            t->full.conf.nic_slow = t->quick.conf.nic_slow =
                any(t, 3) ? TALLY_DEGRADE : TALLY_SHOW;
            model_set_conf(t->full.m, &t->full.conf);
            model_set_conf(t->quick.m, &t->quick.conf);
        }
        twins_pass(t, SEC);
        if (!any(t, 100)) /* nobody speaks for a while */
            twins_pass(t, (int64_t)any(t, 40) * SEC);
    }
}

static void the_same_again_is_as_good_as_all_of_it(void **state)
{
    unsigned long shortcuts = 0, rests = 0;
    struct twins t;

    for (unsigned seed = 1; seed <= TWIN_SEEDS; seed++) {
        twins_begin(&t, *state, seed);
        twins_run(&t);
        shortcuts += t.shortcuts;
        rests += t.rests;
        model_free(t.full.m);
        model_free(t.quick.m);
    }
    /* It is worth something. */
    assert_true(shortcuts > TWIN_SEEDS * TWIN_STEPS * TWIN_NODES / 10);
    assert_true(rests > TWIN_SEEDS * TWIN_STEPS * TWIN_NODES / 100);
}

/* Of a board that the identity table has elsewhere each report gives the alarm.
 */
static void the_same_again_hides_no_conflict(void **state)
{
    struct world *w = *state;
    struct report_record r = nic("mlx5_0/1", 0x1002, SEEN_UP, "");
    struct report rep = {.from = REPORT_NICD,
                         .node = "n1",
                         .instance = 1,
                         .records = &r,
                         .nrecords = 1};
    struct model_word word;
    struct errbuf err;

    snprintf(r.name, sizeof(r.name), "n1");
    for (int i = 1; i <= 3; i++) {
        rep.seq++;
        if (i == 1 || !model_again(w->m, &rep, &word, w->now))
            assert_int_equal(model_take(w->m, &rep, &word, w->now, &err), 0);
        assert_int_equal(w->alarms, i);
        pass(w, SEC);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEALTH_TEST(a_port_that_is_down_drains_and_heals),
        HEALTH_TEST(nicd_speaks_of_its_own_node_only),
        HEALTH_TEST(silence_of_nicd_is_unknown_and_drains_nobody),
        HEALTH_TEST(a_port_that_was_never_cabled_is_compared),
        HEALTH_TEST(a_link_lost_over_a_reboot_is_down),
        HEALTH_TEST(a_port_that_is_down_is_told_once_over_a_restart),
        HEALTH_TEST(slower_than_most_of_its_kind_is_degraded),
        HEALTH_TEST(ports_keep_their_rails_over_a_restart),
        HEALTH_TEST(a_new_card_takes_the_place_of_the_old),
        HEALTH_TEST(what_is_left_out_is_forgotten_at_once),
        HEALTH_TEST(both_ends_of_a_cable_tell_one_fault),
        HEALTH_TEST(rails_of_a_map_are_kept),
        HEALTH_TEST(flaps_between_reports_make_it_flapping),
        HEALTH_TEST(a_restarted_switchmgrd_knows_what_was_up),
        HEALTH_TEST(the_same_again_is_as_good_as_all_of_it),
        HEALTH_TEST(the_same_again_hides_no_conflict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
