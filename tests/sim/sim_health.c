/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Health in virtual time, by seeds: some hosts on leaf crossbars, each with an
 * hsnd, whose judge of its own echoes is the real one (hsn/alone.h), and a
 * mapperd, of which the reports alone are acted; one switchmgrd with the real
 * model and the real policy.  Daemons are killed, stopped and started again at
 * random, and reports come late.
 *
 *   sim_health [FIRST [LAST]]    those seeds, each family
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/model.h"
#include "health/policy.h"
#include "hsn/alone.h"
#include "net/rng.h"
#include "tests/sim/model_state.h"

enum { HOSTS = 8, LEAVES = 3, QUEUE = 512, TICK = 200, SEEDS = 30 };
enum life { DEAD, STOPPED, LIVES };

struct message {
    int64_t due;
    struct report report;
    struct report_record records[HOSTS + LEAVES];
};

struct sim_host {
    enum life hsnd, mapperd;
    uint32_t routes; /* that hsnd has, a bit for each host */
    struct hsn_routes table;
    struct hsn_alone alone;
    bool heard; /* an echo is answered before the next look */
    bool link;  /* swfabd is at the other end */
    uint64_t instance[2], seq[2];
    int64_t hsnd_next, mapper_next;
    uint32_t map, version;
    bool leaf_on_map, lost_hsnd, sends_map;
    int64_t changes_at; /* when the mapper will have found what differs */
    unsigned leaf;
    bool pulled;
    int64_t away_until;   /* its NIC has no link, for a moment */
    int64_t shown_until;  /* which may still show */
    int64_t faulty_until; /* a real fault may still show */
    struct message queue[QUEUE];
    unsigned head, tail;
};

struct sim {
    uint64_t seed;
    struct net_rng rng;
    int64_t now, started;
    unsigned nhosts, nleaves;
    bool leaf_dead[LEAVES];
    struct sim_host host[HOSTS];
    enum life switchmgrd, swfabd;
    struct model_conf conf;
    struct policy_conf policy;
    struct model *model;
    struct model_state saved;
    uint64_t instances;
};

static uint32_t draw(struct sim *s, uint32_t n)
{
    return (uint32_t)(net_rng_next(&s->rng) % n);
}

/* ---- the fabric ---------------------------------------------------------- */

static bool has_fault(const struct sim *s, unsigned h)
{
    return s->swfabd != LIVES || s->host[h].pulled ||
           s->leaf_dead[s->host[h].leaf];
}

static bool has_link(const struct sim *s, unsigned h)
{
    return s->swfabd != DEAD && s->now >= s->host[h].away_until;
}

static bool on_fabric(const struct sim *s, unsigned h)
{
    return !has_fault(s, h) && has_link(s, h);
}

static bool reaches(const struct sim *s, unsigned a, unsigned b)
{
    return on_fabric(s, a) && on_fabric(s, b);
}

/* ---- hsnd ---------------------------------------------------------------- */

static const char *resolve(uint64_t board, uint8_t *rail, void *arg)
{
    static char name[16];

    (void)arg;
    *rail = 0;
    snprintf(name, sizeof(name), "n%d", (int)board - 1);
    return board >= 1 && board <= HOSTS ? name : NULL;
}

static void load_routes(struct sim_host *h, uint32_t routes)
{
    struct hsn_peer peer[HOSTS];
    size_t n = 0;

    if (h->hsnd != LIVES)
        return;
    memset(peer, 0, sizeof(peer));
    for (unsigned i = 0; i < HOSTS; i++) {
        if (!(routes & 1u << i))
            continue;
        peer[n].address = i + 1;
        peer[n].neighbour = n < 2;
        peer[n].nroutes = 1;
        peer[n++].route[0] = (struct hsn_route){1, {0x81}};
    }
    hsn_routes_free(&h->table);
    memset(&h->table, 0, sizeof(h->table));
    assert_int_equal(hsn_routes_make(&h->table, peer, n, NULL, NULL), 0);
    h->routes = routes;
}

struct asking {
    struct sim *s;
    unsigned host;
};

static bool answers(const struct sim *s, unsigned from, unsigned to)
{
    return s->host[to].hsnd == LIVES && reaches(s, from, to) &&
           s->host[to].routes & 1u << from;
}

static void ask(void *arg, uint64_t board, uint8_t by, uint64_t number)
{
    struct asking *a = arg;

    (void)by;
    (void)number;
    if (answers(a->s, a->host, (unsigned)board - 1))
        a->s->host[a->host].heard = true;
}

/* Another report on its way; it comes after those before it. */
static struct message *say(struct sim *s, unsigned host, enum report_from from)
{
    struct sim_host *h = &s->host[host];
    struct message *m = &h->queue[h->tail % QUEUE], *before;
    int64_t late = draw(s, 20) == 0 ? draw(s, 4000) : draw(s, 100);

    if (h->tail - h->head == QUEUE) { /* as the sender does */
        h->head++;
        h->sends_map = true;
    }
    memset(m, 0, sizeof(*m));
    m->due = s->now + late;
    before = h->tail > h->head ? &h->queue[(h->tail - 1) % QUEUE] : NULL;
    if (before && before->due > m->due)
        m->due = before->due;
    h->tail++;
    m->report.from = from;
    m->report.instance = h->instance[from];
    m->report.seq = ++h->seq[from];
    snprintf(m->report.node, sizeof(m->report.node), "n%u", host);
    m->report.records = m->records;
    return m;
}

static void hsnd_reports(struct sim *s, unsigned host)
{
    struct sim_host *h = &s->host[host];
    struct report_record *r = say(s, host, REPORT_HSND)->records;
    int n = hsn_alone_answers(&h->alone, &h->table, &r->asked);

    r->kind = REPORT_HOST;
    r->seen = n < 0 ? SEEN_DOWN : SEEN_UP;
    r->answered = n < 0   ? ANSWERED_NO
                  : n > 0 ? ANSWERED_YES
                          : ANSWERED_NOT_SAID;
    r->turned = on_fabric(s, host) ? ANSWERED_YES : ANSWERED_NO;
    if (!h->link) {
        r->seen = SEEN_DOWN;
        r->answered = r->turned = ANSWERED_NOT_SAID;
    }
    r->board = host + 1;
    snprintf(r->name, sizeof(r->name), "n%u", host);
    snprintf(r->why, sizeof(r->why), "%s",
             !h->link ? "no link"
             : n < 0  ? "nobody answers"
                      : "link up");
    h->queue[(h->tail - 1) % QUEUE].report.nrecords = 1;
    h->hsnd_next = s->now + 5000;
}

static void hsnd_lives(struct sim *s, unsigned host)
{
    struct sim_host *h = &s->host[host];
    struct asking a = {s, host};
    bool changed;

    for (unsigned i = 0; i < s->nhosts; i++)
        if (s->now % 1000 == 0 && h->routes & 1u << i)
            ask(&a, i + 1, 1, 0); /* a round of echoes */
    changed = h->heard && hsn_alone_answer(&h->alone);
    h->heard = false;
    changed |= hsn_alone_look(&h->alone, &h->table, 0, ask, &a);
    changed |= h->link != has_link(s, host);
    h->link = has_link(s, host);
    if (changed || s->now >= h->hsnd_next)
        hsnd_reports(s, host);
}

/* ---- mapperd ------------------------------------------------------------- */

static uint32_t visible(const struct sim *s, unsigned from, bool *leaf)
{
    uint32_t set = 1u << from;

    *leaf = s->host[from].hsnd == LIVES && on_fabric(s, from);
    for (unsigned i = 0; *leaf && i < s->nhosts; i++)
        if (s->host[i].hsnd == LIVES && s->host[i].mapperd == LIVES &&
            reaches(s, from, i))
            set |= 1u << i;
    return set;
}

static bool leads(const struct sim_host *h, unsigned host)
{
    return !h->lost_hsnd && h->map >> host == 1;
}

static void mapper_reports(struct sim *s, unsigned host, bool whole)
{
    struct sim_host *h = &s->host[host];
    struct message *m = say(s, host, REPORT_MAPPERD);
    size_t n = 0;

    m->report.map.present = true;
    m->report.map.version = h->version;
    m->report.map.leader = leads(h, host);
    h->mapper_next = s->now + (m->report.map.leader ? 5000 : 75000);
    if (!m->report.map.leader || !(whole || h->sends_map))
        return;
    h->sends_map = false;
    m->report.map.part = m->report.map.parts = 1;
    for (unsigned i = 0; i < s->nhosts; i++) {
        if (!(h->map & 1u << i))
            continue;
        m->records[n].seen = SEEN_UP;
        m->records[n++].board = i + 1;
    }
    for (unsigned x = 0; h->leaf_on_map && x < s->nleaves; x++) {
        if (s->leaf_dead[x])
            continue;
        m->records[n].kind = REPORT_XBAR;
        m->records[n].seen = SEEN_UP;
        snprintf(m->records[n++].name, SF_REPORT_NAME_MAX, "leaf%u", x);
    }
    m->report.nrecords = n;
}

static void mapper_lives(struct sim *s, unsigned host)
{
    struct sim_host *h = &s->host[host];
    bool leaf, gone = h->hsnd == DEAD;
    uint32_t set = visible(s, host, &leaf);

    if (gone != h->lost_hsnd) {
        h->lost_hsnd = gone;
        h->changes_at = 0;
        if (gone)
            mapper_reports(s, host, false);
        else
            load_routes(h, h->map & ~(1u << host));
    }
    if (gone)
        return;
    if (set == h->map && leaf == h->leaf_on_map) {
        h->changes_at = 0;
    } else if (!h->changes_at) {
        h->changes_at = s->now + 400 + draw(s, 3000);
    } else if (s->now >= h->changes_at) {
        h->changes_at = 0;
        h->map = set;
        h->leaf_on_map = leaf;
        h->version = (uint32_t)(s->now / TICK) * HOSTS + host;
        if (leaf || h->routes == 0)
            load_routes(h, set & ~(1u << host));
        mapper_reports(s, host, true);
        return;
    }
    if (s->now >= h->mapper_next)
        mapper_reports(s, host, false);
}

/* ---- switchmgrd ---------------------------------------------------------- */

static void begin_switchmgrd(struct sim *s, bool remembers)
{
    struct model_ops ops = {.resolve = resolve, .arg = s};

    model_free(s->model);
    s->model = model_new(&s->conf, &ops);
    s->switchmgrd = LIVES;
    s->started = s->now;
    for (unsigned i = 0; i < s->nhosts; i++)
        s->host[i].sends_map = true; /* its sender connects again */
    if (remembers)
        model_state_give(&s->saved, s->model, s->now, 600000);
}

static void deliver(struct sim *s, unsigned host)
{
    struct sim_host *h = &s->host[host];
    struct errbuf err;

    while (h->head < h->tail && h->queue[h->head % QUEUE].due <= s->now) {
        struct message *m = &h->queue[h->head++ % QUEUE];

        m->report.records = m->records;
        if (model_input(s->model, &m->report, s->now, &err) < 0)
            h->sends_map = true;
    }
}

static bool is_down(const struct sim *s, unsigned host)
{
    const struct health_item *i;
    char name[16];

    snprintf(name, sizeof(name), "n%u", host);
    i = model_host(s->model, name, 0);
    return i && i->state == HEALTH_DOWN;
}

static bool drains(const struct sim *s, unsigned host, bool *resumes)
{
    struct health_node n;
    struct policy_want w;
    char name[16];

    snprintf(name, sizeof(name), "n%u", host);
    *resumes = false;
    if (!model_node(s->model, name, &n))
        return false;
    w = policy_decide(&s->policy, &n, false, s->now, s->started);
    *resumes = w.resume;
    return w.drain;
}

/* ---- the run ------------------------------------------------------------- */

static _Noreturn void wrong(const struct sim *s, const char *what, unsigned h)
{
    char name[16];
    const struct health_item *i;

    snprintf(name, sizeof(name), "n%u", h);
    i = model_host(s->model, name, 0);
    for (unsigned k = 0; k < s->nhosts; k++)
        print_message("n%u: hsnd %d, mapperd %d, leaf %u%s, map %02x, routes "
                      "%02x, reports behind %u\n",
                      k, (int)s->host[k].hsnd, (int)s->host[k].mapperd,
                      s->host[k].leaf, on_fabric(s, k) ? "" : " (cut off)",
                      (unsigned)s->host[k].map, (unsigned)s->host[k].routes,
                      s->host[k].tail - s->host[k].head);
    fail_msg("seed %llu, %lld s: %s: %s (%s, %s); again: sim_health %llu",
             (unsigned long long)s->seed, (long long)s->now / 1000, what, name,
             i ? health_state_name(i->state) : "?", i ? i->why : "?",
             (unsigned long long)s->seed);
    abort();
}

static void step(struct sim *s)
{
    bool resumes;

    s->now += TICK;
    for (unsigned i = 0; i < s->nhosts; i++) {
        if (s->host[i].hsnd == LIVES)
            hsnd_lives(s, i);
        if (s->host[i].mapperd == LIVES)
            mapper_lives(s, i);
        if (has_fault(s, i)) /* FlapQuiet, when all crossbars come and go */
            s->host[i].faulty_until =
                s->now + (s->swfabd == LIVES ? 60000 : 400000);
        /* What nobody watched does not count. */
        if (s->switchmgrd != LIVES && s->host[i].shown_until >= s->now)
            s->host[i].shown_until += TICK;
    }
    if (s->switchmgrd != LIVES)
        return;
    for (unsigned i = 0; i < s->nhosts; i++)
        deliver(s, i);
    if (s->now % 400 == 0)
        model_tick(s->model, s->now);
    if (s->now % 2000 == 0)
        model_state_keep(&s->saved, s->model, s->now);
    if (s->now % 400 != 0)
        return; /* switchmgrd decides when it has looked */
    for (unsigned i = 0; i < s->nhosts; i++) {
        if (s->host[i].faulty_until >= s->now)
            continue;
        if (drains(s, i, &resumes))
            wrong(s, "drained without a fault", i);
        if (is_down(s, i) && s->host[i].shown_until < s->now)
            wrong(s, "called down without a fault", i);
    }
}

static void run(struct sim *s, int64_t ms)
{
    for (int64_t end = s->now + ms; s->now < end;)
        step(s);
}

static void begin_hsnd(struct sim *s, struct sim_host *h, uint64_t board)
{
    h->hsnd = LIVES;
    memset(&h->alone, 0, sizeof(h->alone));
    h->alone.board = board;
    h->heard = false;
    load_routes(h, 0);
    h->instance[REPORT_HSND] = ++s->instances;
    h->seq[REPORT_HSND] = 0;
    h->hsnd_next = s->now + 500;
    /* A mapper that lives has seen it go, and gives it routes. */
    h->lost_hsnd |= h->mapperd == LIVES;
}

static void begin_mapperd(struct sim *s, struct sim_host *h)
{
    h->mapperd = LIVES;
    h->map = 0;
    h->leaf_on_map = h->lost_hsnd = false;
    h->changes_at = 0;
    h->instance[REPORT_MAPPERD] = ++s->instances;
    h->seq[REPORT_MAPPERD] = 0;
    h->mapper_next = s->now + 5000;
    h->sends_map = true;
}

static void harm_switchmgrd(struct sim *s)
{
    if (s->switchmgrd == LIVES)
        s->switchmgrd = draw(s, 2) ? STOPPED : DEAD;
    else if (s->switchmgrd == STOPPED)
        s->switchmgrd = LIVES;
    else
        begin_switchmgrd(s, draw(s, 4) != 0);
}

/* Kill, stop, start or wake some daemon of some host. */
static void harm(struct sim *s)
{
    unsigned host = draw(s, s->nhosts);
    struct sim_host *h = &s->host[host];
    uint32_t which = draw(s, 9);
    enum life *life = which < 4 ? &h->hsnd : &h->mapperd;

    if (which == 8)
        harm_switchmgrd(s);
    else if (*life == LIVES)
        *life = draw(s, 2) ? STOPPED : DEAD;
    else if (*life == STOPPED && draw(s, 2))
        *life = LIVES;
    else if (which < 4)
        begin_hsnd(s, h, host + 1);
    else
        begin_mapperd(s, h);
}

static void mend(struct sim *s)
{
    for (unsigned i = 0; i < s->nhosts; i++) {
        struct sim_host *h = &s->host[i];

        h->pulled = false;
        if (h->hsnd == DEAD)
            begin_hsnd(s, h, i + 1);
        if (h->mapperd == DEAD)
            begin_mapperd(s, h);
        h->hsnd = h->mapperd = LIVES;
    }
    memset(s->leaf_dead, 0, sizeof(s->leaf_dead));
    s->swfabd = LIVES;
    if (s->switchmgrd == DEAD)
        begin_switchmgrd(s, true);
    s->switchmgrd = LIVES;
}

static struct sim *sim_new(uint64_t seed)
{
    struct sim *s = calloc(1, sizeof(*s));

    s->seed = seed;
    s->rng = (struct net_rng){seed};
    s->now = 1700000000000;
    s->nhosts = 2 + draw(s, HOSTS - 1);
    s->nleaves = 1 + draw(s, LEAVES);
    model_conf_defaults(&s->conf);
    policy_conf_defaults(&s->policy);
    s->policy.start_grace = draw(s, 2) ? 0 : 60000;
    s->policy.drain_degraded = draw(s, 2) != 0;
    s->policy.drain_after = draw(s, 2) ? 1000 : 10000;
    s->swfabd = LIVES;
    begin_switchmgrd(s, false);
    for (unsigned i = 0; i < s->nhosts; i++) {
        s->host[i].link = true;
        s->host[i].leaf = draw(s, s->nleaves);
        begin_hsnd(s, &s->host[i], i + 1);
        begin_mapperd(s, &s->host[i]);
    }
    run(s, 120000);
    return s;
}

static void sim_free(struct sim *s)
{
    for (unsigned i = 0; i < s->nhosts; i++)
        hsn_routes_free(&s->host[i].table);
    model_free(s->model);
    free(s->saved.text);
    free(s);
}

static void assert_all_well(struct sim *s)
{
    bool resumes;

    for (unsigned i = 0; i < s->nhosts; i++)
        if (drains(s, i, &resumes) || !resumes)
            wrong(s, "not well again", i);
}

/* ---- the families -------------------------------------------------------- */

static void deaths_of_daemons(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    assert_all_well(s);
    for (int i = 0; i < 60; i++) {
        for (uint32_t n = draw(s, 4); n > 0; n--)
            harm(s);
        run(s, draw(s, 3) ? draw(s, 5000) : draw(s, 60000));
    }
    mend(s);
    run(s, 500000); /* FlapQuiet and ResumeAfter */
    assert_all_well(s);
    sim_free(s);
}

static void all_at_once(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    for (int i = 0; i < 10; i++) {
        for (unsigned k = 0; k < s->nhosts; k++)
            s->host[k].hsnd = s->host[k].mapperd = draw(s, 2) ? DEAD : STOPPED;
        if (draw(s, 2))
            s->switchmgrd = DEAD;
        run(s, draw(s, 40000));
        mend(s);
        run(s, draw(s, 90000));
    }
    run(s, 500000);
    assert_all_well(s);
    sim_free(s);
}

static unsigned strike(struct sim *s)
{
    unsigned host = draw(s, s->nhosts);

    if (draw(s, 3) == 0 && s->nleaves > 1)
        s->leaf_dead[s->host[host].leaf] = true;
    else
        s->host[host].pulled = true;
    return host;
}

/* Somebody must be left who can tell that it is so. */
static bool somebody_is_left(const struct sim *s)
{
    for (unsigned i = 0; i < s->nhosts; i++)
        if (on_fabric(s, i))
            return true;
    return false;
}

static void a_true_fault(uint64_t seed)
{
    struct sim *s = sim_new(seed);
    bool resumes;

    for (int i = 0; i < 5; i++) {
        strike(s);
        run(s, 60000 + (int64_t)s->policy.drain_after);
        for (unsigned k = 0; k < s->nhosts && somebody_is_left(s); k++)
            if (!on_fabric(s, k) && !drains(s, k, &resumes))
                wrong(s, "its fault is not told", k);
        mend(s);
        run(s, 500000);
        assert_all_well(s);
    }
    sim_free(s);
}

/* Both: who has no fault is never drained, and all comes back. */
static void faults_among_deaths(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    for (int i = 0; i < 40; i++) {
        for (uint32_t n = draw(s, 3); n > 0; n--)
            harm(s);
        if (draw(s, 4) == 0)
            strike(s);
        if (draw(s, 8) == 0)
            mend(s);
        run(s, draw(s, 30000));
    }
    mend(s);
    run(s, 500000);
    assert_all_well(s);
    sim_free(s);
}

static void assert_nobody_drained(struct sim *s)
{
    bool resumes;

    for (unsigned i = 0; i < s->nhosts; i++)
        if (drains(s, i, &resumes))
            wrong(s, "drained for crossbars that were started again", i);
}

/* swfabd is all crossbars.  Started again well within DrainAfter it drains
 * nobody; dead for longer that is told of each host; and all comes back. */
static void swfabd_dies(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    s->policy.drain_after = 10000;
    for (int i = 0; i < 6; i++) {
        bool dies = draw(s, 2);

        s->swfabd = dies ? DEAD : STOPPED;
        for (int64_t end = s->now + draw(s, 5000); s->now < end;) {
            step(s);
            assert_nobody_drained(s);
        }
        s->swfabd = LIVES;
        for (int64_t end = s->now + 60000; s->now < end;) {
            step(s);
            assert_nobody_drained(s);
        }
        s->swfabd = dies ? DEAD : STOPPED;
        for (uint32_t n = draw(s, 3); n > 0; n--)
            harm(s);
        run(s, draw(s, 120000));
        for (unsigned k = 0; k < s->nhosts; k++)
            if (dies && s->now - s->started > 30000 && !is_down(s, k) &&
                s->host[k].hsnd == LIVES && s->switchmgrd == LIVES &&
                s->host[k].head == s->host[k].tail)
                wrong(s, "its crossbar is dead, and it is not told", k);
        mend(s);
        run(s, 800000);
        assert_all_well(s);
    }
    sim_free(s);
}

/* A cable is gone for a moment, seldom enough not to flap; the hsnd that told
 * of it may die or stand still before it can say that it is back. */
static void cables_gone_for_a_moment(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    s->policy.drain_after = 10000;
    for (int i = 0; i < 40; i++) {
        unsigned host = draw(s, s->nhosts);
        struct sim_host *h = &s->host[host];

        if (s->now - h->away_until > 400000) {
            h->away_until = s->now + 1000 + draw(s, 4000);
            h->shown_until = h->away_until + 60000;
        }
        run(s, draw(s, 3000));
        if (draw(s, 2) && h->hsnd == LIVES)
            h->hsnd = draw(s, 2) ? STOPPED : DEAD;
        else if (draw(s, 2))
            harm(s);
        run(s, draw(s, 30000));
        if (draw(s, 4) == 0)
            mend(s);
    }
    mend(s);
    run(s, 500000);
    assert_all_well(s);
    sim_free(s);
}

static uint64_t first = 1, last = SEEDS;

static void over_seeds(void (*family)(uint64_t))
{
    for (uint64_t seed = first; seed <= last; seed++)
        family(seed);
}

static void deaths_of_daemons_alone_drain_nobody(void **state)
{
    over_seeds(deaths_of_daemons);
}

static void all_daemons_restarted_at_once_drain_nobody(void **state)
{
    over_seeds(all_at_once);
}

static void a_true_fault_is_told_and_heals(void **state)
{
    over_seeds(a_true_fault);
}

static void crossbars_started_again_drain_nobody(void **state)
{
    over_seeds(swfabd_dies);
}

static void one_flap_and_a_dead_hsnd_drain_nobody(void **state)
{
    over_seeds(cables_gone_for_a_moment);
}

static void faults_among_deaths_drain_nobody_else(void **state)
{
    over_seeds(faults_among_deaths);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deaths_of_daemons_alone_drain_nobody),
        cmocka_unit_test(all_daemons_restarted_at_once_drain_nobody),
        cmocka_unit_test(a_true_fault_is_told_and_heals),
        cmocka_unit_test(crossbars_started_again_drain_nobody),
        cmocka_unit_test(one_flap_and_a_dead_hsnd_drain_nobody),
        cmocka_unit_test(faults_among_deaths_drain_nobody_else),
    };

    if (argc > 1)
        first = last = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        last = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
