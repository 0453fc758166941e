/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NICs in virtual time, by seeds: nodes of two ports each, with the real judge
 * of nicd; in half of the runs a mapperd that sees the switch's end of each
 * cable, of which the reports alone are acted; one switchmgrd, whose collector
 * has the real model and the real policy, and whose updater makes the real
 * plans and keeps the real caps; and Slurm's nodes.
 *
 * What befalls a cluster beside faults: drivers loaded again, counters
 * cleared, one flap, reboots, daemons that die, stand still and are started
 * again, each by itself and all at once, clocks that are set, a slurmctld that
 * does not answer.  For none of that is a node drained, in Slurm or by what
 * the collector wants, whatever the counters stood at.  A cable that is pulled
 * is told once and drains its node once, and the node comes back.
 *
 *   sim_nics [FIRST [LAST]]       those seeds, each family
 *   sim_nics --hours N [FIRST]    long runs from that seed on, until N
 * simulated node-hours are through
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
#include "health/nic.h"
#include "health/plan.h"
#include "health/policy.h"
#include "net/rng.h"
#include "switchmgrd/record.h"
#include "tests/sim/model_state.h"

enum { NODES = 6, PORTS = 2, QUEUE = 32, WANTS = 8, SEEDS = 20 };
enum life { DEAD, STOPPED, LIVES };
#define SEC 1000

struct message {
    int64_t due;
    struct report report;
    struct report_record records[NIC_RECORDS_MAX];
};
_Static_assert(NIC_RECORDS_MAX >= NODES * PORTS + 1, "a map is one report");

/* Reports on their way; they come in order. */
struct queue {
    struct message at[QUEUE];
    unsigned head, tail;
};

struct cable {
    struct nic_port port; /* what does not change of it */
    int64_t pulled_until, away_until, flap_until, linked_at;
    int64_t flapped; /* when it last was down, whyever */
    uint64_t errors, downs;
    bool was_up;
};

struct node {
    char name[16];
    enum life nicd;
    struct nics *nics;
    uint64_t instance, seq;
    int64_t next, boots_until;
    struct cable cable[PORTS];
    int64_t faulty_until; /* a real fault may still show */
    struct queue reports;
    /* As slurmctld has it. */
    bool drain;
    char reason[SF_PLAN_TEXT_MAX];
    /* The collector's side of the updater (collector_nodes.c). */
    struct plan_want sent;
    bool has_sent, dirty;
    /* The updater's (struct upd_node). */
    struct plan_want want;
    bool wanted;
};

/* mapperd, which runs on the first node. */
struct mapper {
    enum life life;
    uint64_t instance, seq, version;
    bool link[NODES][PORTS]; /* as last told */
    bool knows, told;
    int64_t next;
    struct queue reports;
};

/* The process of switchmgrd that alone may change Slurm.  When it ends the
 * collector ends, too; it may stand still by itself. */
struct updater {
    bool stopped;
    struct {
        int64_t at;
        struct plan_want want;
    } wants[WANTS]; /* sent, not yet read */
    unsigned head, tail;
    struct caps caps;
    struct caps_conf conf;
};

struct sim {
    uint64_t seed;
    struct net_rng rng;
    int64_t now, started;
    int64_t pace;   /* ms between two looks */
    int64_t offset; /* of switchmgrd's clock, which may be set */
    struct node node[NODES];
    enum life switchmgrd;
    struct model_conf conf;
    struct policy_conf policy;
    struct model *model;
    struct model_state saved;
    uint64_t instances;
    bool has_mapper;
    struct mapper mapper;
    struct updater updater;
    int64_t slurm_away_until;
    int downs;  /* that were told */
    int drains; /* that Slurm was given */
    double node_hours;
};

static uint32_t draw(struct sim *s, uint32_t n)
{
    return (uint32_t)(net_rng_next(&s->rng) % n);
}

/* ---- a node -------------------------------------------------------------- */

static bool is_up(const struct sim *s, const struct cable *c)
{
    return s->now >= c->pulled_until && s->now >= c->flap_until &&
           s->now >= c->linked_at;
}

static void see(struct sim *s, unsigned n, int k, struct nic_port *p)
{
    struct cable *c = &s->node[n].cable[k];
    bool up = is_up(s, c);

    *p = c->port;
    p->link = up ? NIC_UP : NIC_DOWN;
    p->mbps = up ? 100000 : 0;
    strcpy(p->says, up ? "ACTIVE" : "Polling");
    c->downs += c->was_up && !up;
    c->was_up = up;
    /* Noise below half of the limit. */
    c->errors += draw(s, 5) * (uint64_t)(s->pace / SEC);
    p->value[TALLY_SYMBOL_ERROR] = c->errors;
    p->downs = c->downs;
}

static void make_port(struct cable *c, unsigned n, int k)
{
    c->port = (struct nic_port){.board = n * PORTS + (unsigned)k + 1,
                                .lanes = 4,
                                .has = 1u << TALLY_SYMBOL_ERROR,
                                .has_downs = true};
    snprintf(c->port.name, sizeof(c->port.name), "mlx5_%d/1", k);
    snprintf(c->port.model, sizeof(c->port.model), "MT4123");
}

/* *lost: one that was never delivered had to make room, as in the sender. */
static void send_report(struct sim *s, struct queue *q, const struct report *r,
                        const struct report_record *records, bool *lost)
{
    struct message *m = &q->at[q->tail % QUEUE];
    int64_t late = draw(s, 20) == 0 ? draw(s, 4000) : draw(s, 100);

    if (s->pace > SEC)
        late = 0; /* a step later would be silence */
    *lost = q->tail - q->head == QUEUE;
    q->head += *lost;
    memset(m, 0, sizeof(*m));
    m->due = s->now + late;
    if (q->tail > q->head && q->at[(q->tail - 1) % QUEUE].due > m->due)
        m->due = q->at[(q->tail - 1) % QUEUE].due;
    q->tail++;
    m->report = *r;
    memcpy(m->records, records, r->nrecords * sizeof(*records));
}

static void say(struct sim *s, unsigned n, struct report_record *r, size_t nr)
{
    struct node *h = &s->node[n];
    struct report report = {.from = REPORT_NICD,
                            .instance = h->instance,
                            .seq = ++h->seq,
                            .nrecords = nr};
    bool lost;

    memcpy(report.node, h->name, sizeof(h->name));
    send_report(s, &h->reports, &report, r, &lost);
    h->next = s->now + 5 * SEC;
}

static void nicd_lives(struct sim *s, unsigned n)
{
    struct node *h = &s->node[n];
    struct report_record r[NIC_RECORDS_MAX];
    struct nic_port port[PORTS];
    bool changed;
    size_t np = 0, nr;

    for (int k = 0; k < PORTS; k++)
        if (s->now >= h->cable[k].away_until)
            see(s, n, k, &port[np++]);
    assert_true(nics_look(h->nics, port, np, s->now));
    nr = nics_records(h->nics, h->name, 0, r, &changed, s->now);
    if (nr && (changed || s->now >= h->next))
        say(s, n, r, nr);
}

static void begin_nicd(struct sim *s, struct node *h)
{
    struct nic_rules rules;

    nic_rules_default(&rules);
    nics_free(h->nics);
    assert_non_null(h->nics = nics_new(&rules));
    h->nicd = LIVES;
    h->instance = ++s->instances;
    h->seq = 0;
    h->next = s->now;
}

/* ---- mapperd ------------------------------------------------------------- */

static void put_host(const struct sim *s, unsigned n, int k,
                     struct report_record *r)
{
    *r = (struct report_record){.kind = REPORT_HOST,
                                .seen = SEEN_UP,
                                .rail = (uint8_t)k,
                                .board = s->node[n].cable[k].port.board};
    snprintf(r->name, sizeof(r->name), "n%u", n);
    snprintf(r->peer, sizeof(r->peer), "leaf0:%u", n * PORTS + (unsigned)k + 1);
    if (!s->mapper.link[n][k]) {
        r->seen = SEEN_DOWN;
        snprintf(r->why, sizeof(r->why), "no link at %s: Polling", r->peer);
    }
}

/* A sweep: its reports are those of mapperd/run_ib.c. */
static void mapper_lives(struct sim *s)
{
    struct mapper *m = &s->mapper;
    struct report_record r[NODES * PORTS + 1];
    struct report report = {.from = REPORT_MAPPERD, .instance = m->instance};
    bool changed = !m->knows, lost;
    size_t nr = 0;

    for (unsigned n = 0; n < NODES; n++)
        for (int k = 0; k < PORTS; k++) {
            bool up = is_up(s, &s->node[n].cable[k]);

            changed |= up != m->link[n][k];
            m->link[n][k] = up;
        }
    m->knows = true;
    m->version += changed;
    if (!changed && m->told && s->now < m->next)
        return;
    memset(r, 0, sizeof(r));
    for (unsigned n = 0; n < NODES; n++)
        for (int k = 0; k < PORTS; k++)
            put_host(s, n, k, &r[nr++]);
    r[nr].kind = REPORT_XBAR;
    r[nr].seen = SEEN_UP;
    strcpy(r[nr++].name, "leaf0");
    report.seq = ++m->seq;
    report.map.present = report.map.leader = report.map.configured = true;
    report.map.version = m->version;
    if (changed || !m->told) {
        report.nrecords = nr;
        report.map.part = report.map.parts = 1;
    }
    strcpy(report.node, "n0");
    strcpy(report.map.leader_node, "n0");
    send_report(s, &m->reports, &report, r, &lost);
    m->told = !lost;
    m->next = s->now + 5 * SEC;
}

static void begin_mapper(struct sim *s)
{
    struct mapper *m = &s->mapper;

    m->life = LIVES;
    m->instance = ++s->instances;
    m->version = m->instance << 16;
    m->seq = 0;
    m->knows = m->told = false;
}

/* ---- switchmgrd ---------------------------------------------------------- */

static int64_t its_time(const struct sim *s)
{
    return s->now + s->offset;
}

static void changed(const struct health_item *item, enum health_state was,
                    int64_t now, void *arg)
{
    struct sim *s = arg;

    (void)was;
    (void)now;
    s->downs += item->state == HEALTH_DOWN;
}

static void begin_switchmgrd(struct sim *s, bool remembers)
{
    struct model_ops ops = {.changed = changed, .arg = s};

    model_free(s->model);
    s->model = model_new(&s->conf, &ops);
    s->switchmgrd = LIVES;
    s->started = its_time(s);
    s->mapper.told = false; /* it connects again */
    s->updater.stopped = false;
    s->updater.head = s->updater.tail = 0;
    for (unsigned n = 0; n < NODES; n++)
        s->node[n].has_sent = s->node[n].dirty = s->node[n].wanted = false;
    if (remembers)
        model_state_give(&s->saved, s->model, its_time(s), 600 * SEC);
}

/* False: one was refused. */
static bool deliver(struct sim *s, struct queue *q)
{
    struct errbuf err;
    bool taken = true;

    while (q->head < q->tail && q->at[q->head % QUEUE].due <= s->now) {
        struct message *m = &q->at[q->head++ % QUEUE];

        m->report.records = m->records;
        taken &= model_input(s->model, &m->report, its_time(s), &err) == 0;
    }
    return taken;
}

/* What the collector wants of a node; false: nothing is known of it. */
static bool want_of(const struct sim *s, unsigned n, struct plan_want *w)
{
    struct health_node node;
    struct policy_want pw;

    memset(w, 0, sizeof(*w));
    if (!model_node(s->model, s->node[n].name, &node))
        return false;
    pw = policy_decide(&s->policy, &node, false, its_time(s), s->started);
    plan_want_make(w, s->node[n].name, &node, &pw);
    return true;
}

static bool drains(const struct sim *s, unsigned n, bool *resumes)
{
    struct plan_want w;

    want_of(s, n, &w);
    *resumes = w.resume;
    return w.drain;
}

/* Each want that differs from the one before it, while there is room; what is
 * wanted when there is room again, else. */
static void tell_updater(struct sim *s)
{
    struct updater *u = &s->updater;
    struct plan_want w;

    for (unsigned n = 0; n < NODES; n++) {
        struct node *h = &s->node[n];

        if (!want_of(s, n, &w))
            continue;
        memcpy(w.why, h->sent.why, h->has_sent ? sizeof(w.why) : 0);
        if (h->has_sent && memcmp(&w, &h->sent, sizeof(w)) == 0)
            continue;
        h->sent = w;
        h->has_sent = h->dirty = true;
    }
    for (unsigned n = 0; n < NODES && u->tail - u->head < WANTS; n++) {
        if (!s->node[n].dirty)
            continue;
        u->wants[u->tail % WANTS].at = s->now;
        u->wants[u->tail++ % WANTS].want = s->node[n].sent;
        s->node[n].dirty = false;
    }
}

static uint32_t drained(const struct sim *s)
{
    uint32_t count = 0;

    for (unsigned n = 0; n < NODES; n++)
        count += s->node[n].drain;
    return count;
}

static _Noreturn void wrong(const struct sim *s, const char *what, unsigned n);

/* As updater.c does with a node. */
static void apply(struct sim *s, unsigned n)
{
    struct node *h = &s->node[n];
    struct plan_node is = {.reason = h->reason, .drain = h->drain};
    struct plan p;

    assert_true(plan_make(&h->want, &is, &p));
    if (p.state == PLAN_RESUME)
        h->drain = false;
    if (p.state != PLAN_DRAIN || !caps_take(&s->updater.caps, &s->updater.conf,
                                            its_time(s), NODES, drained(s)))
        return;
    if (h->faulty_until < s->now)
        wrong(s, "drained in Slurm without a fault", n);
    h->drain = true;
    memcpy(h->reason, p.reason, sizeof(h->reason));
    s->drains++;
}

static void updater_lives(struct sim *s)
{
    struct updater *u = &s->updater;

    while (u->head < u->tail) {
        struct plan_want *w = &u->wants[u->head % WANTS].want;
        bool late = s->now - u->wants[u->head++ % WANTS].at > REC_WANT_LATE_MS;

        assert_true(plan_want_valid(w));
        for (unsigned n = 0; n < NODES; n++)
            if (strcmp(s->node[n].name, w->node) == 0) {
                s->node[n].want = *w;
                s->node[n].wanted = !late;
                s->node[n].has_sent &= !late; /* REC_NODE_AGAIN */
            }
    }
    for (unsigned n = 0; n < NODES && s->now >= s->slurm_away_until; n++)
        if (s->node[n].wanted)
            apply(s, n);
}

/* ---- the run ------------------------------------------------------------- */

static _Noreturn void wrong(const struct sim *s, const char *what, unsigned n)
{
    const struct health_item *i;
    const char *name = s->node[n].name;

    for (uint8_t k = 0; k < PORTS; k++) {
        i = model_host(s->model, name, k);
        print_message("rail %u: %s, %s\n", k,
                      i ? health_state_name(i->state) : "?", i ? i->why : "?");
    }
    print_message("Slurm: %s%s; mapperd %s\n",
                  s->node[n].drain ? "drained, " : "not drained",
                  s->node[n].drain ? s->node[n].reason : "",
                  s->has_mapper ? "is there" : "is not there");
    fail_msg("seed %llu, %lld s: %s: %s; again: sim_nics %llu",
             (unsigned long long)s->seed, (long long)s->now / SEC, what, name,
             (unsigned long long)s->seed);
    abort();
}

static void step(struct sim *s)
{
    bool resumes;

    s->now += s->pace;
    s->node_hours += NODES * (double)s->pace / (3600. * SEC);
    for (unsigned n = 0; n < NODES; n++) {
        struct node *h = &s->node[n];

        for (int k = 0; k < PORTS; k++)
            if (s->now < h->cable[k].pulled_until ||
                (s->has_mapper && s->now < h->cable[k].linked_at))
                h->faulty_until = s->now + 90 * SEC;
        /* What nobody watched does not count (model_load()). */
        if (h->faulty_until >= s->now && s->switchmgrd != LIVES)
            h->faulty_until += s->pace;
        if (h->boots_until && s->now >= h->boots_until) {
            h->boots_until = 0;
            begin_nicd(s, h);
        }
        if (h->nicd == LIVES && !h->boots_until)
            nicd_lives(s, n);
    }
    if (s->mapper.life == LIVES && !s->node[0].boots_until)
        mapper_lives(s);
    if (s->switchmgrd != DEAD && !s->updater.stopped)
        updater_lives(s);
    if (s->switchmgrd != LIVES)
        return;
    for (unsigned n = 0; n < NODES; n++)
        deliver(s, &s->node[n].reports);
    s->mapper.told &= deliver(s, &s->mapper.reports);
    model_tick(s->model, its_time(s));
    tell_updater(s);
    for (unsigned n = 0; n < NODES; n++)
        if (s->node[n].faulty_until < s->now && drains(s, n, &resumes))
            wrong(s, "drained without a fault", n);
}

static void run(struct sim *s, int64_t seconds)
{
    while (seconds-- > 0)
        step(s);
}

/* Nothing befalls it: it is enough to look every ten seconds. */
static void idle(struct sim *s, int64_t seconds)
{
    s->pace = 10 * SEC;
    run(s, seconds / 10);
    s->pace = SEC;
}

/* What it wrote last is up to two seconds old. */
static void kill_switchmgrd(struct sim *s)
{
    if (s->switchmgrd != DEAD)
        model_state_keep(&s->saved, s->model, its_time(s));
    run(s, draw(s, 3));
    s->switchmgrd = DEAD;
}

/* Its machine's clock may have been set meanwhile: ahead, or back. */
static void restart_switchmgrd(struct sim *s, bool remembers)
{
    static const int64_t set[] = {0, 0, 0, 30, 4000, 100000};

    s->offset += set[draw(s, 6)] * SEC;
    begin_switchmgrd(s, remembers);
}

/* ---- what befalls it ----------------------------------------------------- */

/* Once, not again while it is being loaded: then it would be away for longer
 * than VanishAfter. */
static void load_driver_again(struct sim *s, struct cable *c)
{
    if (s->now < c->away_until + 10 * SEC)
        return;
    c->away_until = s->now + (2 + draw(s, 25)) * SEC;
    if (draw(s, 2)) /* some drivers begin their counters anew */
        c->errors = c->downs = 0;
}

/* Not while it is still in mind that it was down: four times is flapping. */
static void flap(struct sim *s, struct cable *c)
{
    if (s->now - c->flapped < 400 * SEC)
        return;
    c->flapped = s->now;
    c->flap_until = s->now + (1 + draw(s, 5)) * SEC;
}

static void reboot(struct sim *s, struct node *h)
{
    h->boots_until = s->now + (20 + draw(s, 300)) * SEC;
    if (s->has_mapper && h == &s->node[0])
        begin_mapper(s); /* then */
    for (int k = 0; k < PORTS; k++) {
        struct cable *c = &h->cable[k];

        c->linked_at = h->boots_until + draw(s, 50) * SEC;
        c->errors = c->downs = 0;
        c->was_up = false;
    }
}

/* Stopped, killed or let go on.  One of switchmgrd's two processes that is
 * killed takes the other one with it. */
static void harm_switchmgrd(struct sim *s)
{
    struct updater *u = &s->updater;

    if (s->switchmgrd == DEAD)
        restart_switchmgrd(s, draw(s, 4) != 0);
    else if (draw(s, 3) == 0)
        kill_switchmgrd(s);
    else if (draw(s, 2))
        u->stopped = !u->stopped;
    else
        s->switchmgrd = s->switchmgrd == STOPPED ? LIVES : STOPPED;
}

static void harm_daemon(struct sim *s, enum life *life)
{
    *life = *life == STOPPED && draw(s, 2) ? LIVES
            : draw(s, 2)                   ? STOPPED
                                           : DEAD;
}

static void harm(struct sim *s)
{
    struct node *h = &s->node[draw(s, NODES)];
    struct cable *c = &h->cable[draw(s, PORTS)];

    switch (draw(s, 10)) {
    case 0:
        load_driver_again(s, c);
        break;
    case 1:
        flap(s, c);
        break;
    case 2:
        reboot(s, h);
        break;
    case 3:
        c->errors = 0; /* somebody cleared it */
        break;
    case 4:
        harm_switchmgrd(s);
        break;
    case 5:
        s->slurm_away_until = s->now + draw(s, 120) * SEC;
        break;
    case 6:
        if (s->has_mapper && s->mapper.life == DEAD)
            begin_mapper(s);
        else if (s->has_mapper)
            harm_daemon(s, &s->mapper.life);
        break;
    default:
        if (h->nicd == DEAD)
            begin_nicd(s, h);
        else
            harm_daemon(s, &h->nicd);
        break;
    }
}

static void mend(struct sim *s)
{
    for (unsigned n = 0; n < NODES; n++) {
        struct node *h = &s->node[n];

        if (h->nicd == DEAD)
            begin_nicd(s, h);
        h->nicd = LIVES;
    }
    if (s->has_mapper && s->mapper.life == DEAD)
        begin_mapper(s);
    s->mapper.life = s->has_mapper ? LIVES : DEAD;
    if (s->switchmgrd == DEAD)
        restart_switchmgrd(s, true);
    s->switchmgrd = LIVES;
    s->updater.stopped = false;
}

static struct sim *sim_new(uint64_t seed)
{
    struct sim *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->seed = seed;
    s->rng = (struct net_rng){seed};
    s->now = 1700000000000;
    s->pace = SEC;
    model_conf_defaults(&s->conf);
    policy_conf_defaults(&s->policy);
    s->policy.start_grace = draw(s, 2) ? 0 : 60000;
    s->has_mapper = draw(s, 2);
    caps_conf_defaults(&s->updater.conf);
    s->updater.conf.max_percent = 50;
    begin_switchmgrd(s, false);
    for (unsigned n = 0; n < NODES; n++) {
        snprintf(s->node[n].name, sizeof(s->node[n].name), "n%u", n);
        for (int k = 0; k < PORTS; k++)
            make_port(&s->node[n].cable[k], n, k);
        begin_nicd(s, &s->node[n]);
    }
    if (s->has_mapper)
        begin_mapper(s);
    run(s, 120);
    return s;
}

static void sim_free(struct sim *s)
{
    for (unsigned n = 0; n < NODES; n++)
        nics_free(s->node[n].nics);
    model_free(s->model);
    free(s->saved.text);
    free(s);
}

static void all_is_well(struct sim *s)
{
    bool resumes;

    for (unsigned n = 0; n < NODES; n++)
        if (drains(s, n, &resumes) || !resumes || s->node[n].drain)
            wrong(s, "not well again", n);
}

/* A fault was told and given to Slurm, each once, and is over. */
static void was_told_once(struct sim *s, unsigned n, int told, int given)
{
    all_is_well(s);
    if (s->downs != told + 1)
        wrong(s, "not told once", n);
    if (s->drains != given + 1)
        wrong(s, "not drained once", n);
}

/* ---- the families -------------------------------------------------------- */

static void harm_drains_nobody(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    all_is_well(s);
    for (int i = 0; i < 80; i++) {
        for (uint32_t n = draw(s, 4); n > 0; n--)
            harm(s);
        run(s, draw(s, 3) ? draw(s, 10) : draw(s, 120));
    }
    mend(s);
    run(s, 900); /* the longest boot, FlapQuiet, ResumeAfter */
    all_is_well(s);
    sim_free(s);
}

static void all_at_once(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    for (int i = 0; i < 10; i++) {
        for (unsigned n = 0; n < NODES; n++)
            s->node[n].nicd = draw(s, 2) ? DEAD : STOPPED;
        s->mapper.life = draw(s, 2) ? DEAD : STOPPED;
        kill_switchmgrd(s);
        run(s, draw(s, 400));
        mend(s);
        run(s, draw(s, 90));
    }
    run(s, 500);
    all_is_well(s);
    sim_free(s);
}

/* Nothing else is amiss: told once, drained, and well again. */
static void a_pulled_cable_is_told_once(uint64_t seed)
{
    struct sim *s = sim_new(seed);
    bool resumes;

    for (int i = 0; i < 6; i++) {
        unsigned n = draw(s, NODES);
        int told = s->downs, given = s->drains;

        s->node[n].cable[draw(s, PORTS)].pulled_until = s->now + 120 * SEC;
        run(s, 100);
        if (!drains(s, n, &resumes) || !s->node[n].drain)
            wrong(s, "its fault is not told", n);
        run(s, 500);
        was_told_once(s, n, told, given);
    }
    sim_free(s);
}

static void faults_among_harm(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    for (int i = 0; i < 80; i++) {
        harm(s);
        if (draw(s, 6) == 0) {
            struct node *h = &s->node[draw(s, NODES)];

            h->cable[draw(s, PORTS)].pulled_until =
                s->now + (60 + draw(s, 300)) * SEC;
            h->faulty_until = s->now + 90 * SEC;
        }
        for (unsigned n = 0; n < NODES; n++) /* flapping counts what was */
            for (int k = 0; k < PORTS; k++)
                if (s->node[n].faulty_until >= s->now)
                    s->node[n].cable[k].flapped = s->now;
        run(s, draw(s, 3) ? draw(s, 10) : draw(s, 120));
    }
    mend(s);
    run(s, 1200);
    all_is_well(s);
    sim_free(s);
}

/* All daemons of a node, or switchmgrd, or everything at once, are killed and
 * started again while the fault is there and known. */
static void restart_some(struct sim *s, unsigned n)
{
    switch (draw(s, 6)) {
    case 0:
        begin_nicd(s, &s->node[n]);
        break;
    case 1:
        kill_switchmgrd(s);
        run(s, draw(s, 60));
        begin_switchmgrd(s, true);
        break;
    case 2:
        kill_switchmgrd(s);
        for (unsigned i = 0; i < NODES; i++)
            begin_nicd(s, &s->node[i]);
        if (s->has_mapper)
            begin_mapper(s);
        begin_switchmgrd(s, true);
        break;
    case 3:
        s->updater.stopped = true;
        run(s, draw(s, 60));
        s->updater.stopped = false;
        break;
    case 4:
        s->mapper.life = draw(s, 2) ? DEAD : STOPPED;
        run(s, draw(s, 60));
        if (s->has_mapper && s->mapper.life == DEAD)
            begin_mapper(s);
        s->mapper.life = s->has_mapper ? LIVES : DEAD;
        break;
    default:
        break;
    }
}

static void one_fault(struct sim *s)
{
    unsigned n = draw(s, NODES);
    int told = s->downs, given = s->drains;
    bool resumes;

    s->node[n].cable[draw(s, PORTS)].pulled_until =
        s->now + (400 + draw(s, 600)) * SEC;
    run(s, 100);
    if (!drains(s, n, &resumes))
        wrong(s, "its fault is not told", n);
    restart_some(s, n);
    run(s, 150);
    if (!drains(s, n, &resumes) || !s->node[n].drain)
        wrong(s, "forgotten over a restart", n);
    idle(s, 1200);
    was_told_once(s, n, told, given);
}

/* Bursts of harm, and faults, each alone; between them nothing for a while, as
 * in a cluster that runs. */
static void long_run(struct sim *s, double node_hours)
{
    while (s->node_hours < node_hours) {
        if (draw(s, 4) == 0) {
            one_fault(s);
        } else {
            for (uint32_t i = draw(s, 12); i > 0; i--) {
                harm(s);
                run(s, draw(s, 30));
            }
            mend(s);
            idle(s, 1200); /* the longest boot, FlapQuiet, ResumeAfter */
            all_is_well(s);
        }
        idle(s, draw(s, 8 * 3600));
    }
}

static uint64_t first = 1, last = SEEDS;

/* Runs of 600 node-hours. */
static int soak(double node_hours)
{
    double done = 0;

    for (uint64_t seed = first; done < node_hours; seed++) {
        struct sim *s = sim_new(seed);

        long_run(s, 600);
        done += s->node_hours;
        sim_free(s);
        if (seed % 50 == 0) {
            printf("# %.0f node-hours, seed %llu\n", done,
                   (unsigned long long)seed);
            fflush(stdout);
        }
        last = seed;
    }
    printf("%.0f node-hours, seeds %llu to %llu: no false drain, none that "
           "stays, each fault told once\n",
           done, (unsigned long long)first, (unsigned long long)last);
    return 0;
}

static void a_long_run(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    long_run(s, 60);
    sim_free(s);
}

static void over(void (*family)(uint64_t seed))
{
    for (uint64_t seed = first; seed <= last; seed++)
        family(seed);
}

static void drivers_reboots_and_restarts_drain_nobody(void **state)
{
    (void)state;
    over(harm_drains_nobody);
}

static void all_daemons_at_once_drain_nobody(void **state)
{
    (void)state;
    over(all_at_once);
}

static void each_true_fault_is_told_once_and_heals(void **state)
{
    (void)state;
    over(a_pulled_cable_is_told_once);
}

static void among_faults_who_has_none_is_not_drained(void **state)
{
    (void)state;
    over(faults_among_harm);
}

static void a_long_run_has_neither_false_nor_stuck_drains(void **state)
{
    (void)state;
    over(a_long_run);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drivers_reboots_and_restarts_drain_nobody),
        cmocka_unit_test(all_daemons_at_once_drain_nobody),
        cmocka_unit_test(each_true_fault_is_told_once_and_heals),
        cmocka_unit_test(among_faults_who_has_none_is_not_drained),
        cmocka_unit_test(a_long_run_has_neither_false_nor_stuck_drains),
    };

    if (argc > 2 && strcmp(argv[1], "--hours") == 0) {
        first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
        return soak(strtod(argv[2], NULL));
    }
    if (argc > 1)
        first = last = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        last = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
