/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cables that lose and break frames, in virtual time, by seeds.  Real are the
 * crossbars (swfab), the test of each host's own cable (hsn/loop_test.h) and
 * the model; hsnd's event loop, its ring and its reports are acted.  Hosts are
 * busy: their rings overflow, daemons stand still and are started again,
 * cables are pulled, crossbars die, reports get lost.
 *
 *   sim_cables [FIRST [LAST]]    those seeds, each family
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "health/model.h"
#include "hsn/loop_test.h"
#include "net/format.h"
#include "net/rng.h"
#include "swfab/swfab.h"

enum { HOSTS = 8, LEAVES = 3, RING = 96, STEP = 50, STUCK = 16384, SEEDS = 20 };
#define MINUTE 60000

struct frame {
    uint32_t number;
    uint8_t index;
};

struct sim_host {
    struct hsn_loop loop;
    struct frame ring[RING]; /* that has arrived and was not looked at */
    unsigned held;           /* places of it, others' frames too */
    unsigned nring;
    uint64_t crowded;
    int64_t stands_until; /* hsnd does nothing */
    int64_t look_next, report_next;
    unsigned flapping; /* how often it was told so */
    unsigned leaf, port;
    uint64_t instance, seq;
    uint32_t node;
};

struct sim {
    uint64_t seed;
    struct net_rng rng;
    int64_t now, fabric_stands;
    struct net *net;
    struct swfab *fab;
    unsigned nhosts, nleaves;
    struct sim_host host[HOSTS];
    struct frame stuck[STUCK]; /* frames in crossbars that stand still */
    uint8_t stuck_of[STUCK];
    unsigned nstuck;
    struct model *model;
    uint64_t instances, mapper_seq;
    unsigned kinds; /* of trouble */
};

static uint32_t draw(struct sim *s, uint32_t n)
{
    return net_rng_below(&s->rng, n);
}

/* ---- the fabric ---------------------------------------------------------- */

static void make_net(struct sim *s)
{
    char text[2048];
    struct errbuf err;
    size_t n = 0;

    for (unsigned l = 0; l < s->nleaves; l++)
        n +=
            (size_t)snprintf(text + n, sizeof(text) - n, "xbar leaf%u 16\n", l);
    n += (size_t)snprintf(text + n, sizeof(text) - n, "xbar spine0 8\n");
    for (unsigned h = 0; h < s->nhosts; h++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "host n%u %012x\ncable n%u leaf%u:%u\n", h, h + 1,
                              h, s->host[h].leaf, s->host[h].port);
    for (unsigned l = 0; l < s->nleaves; l++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "cable leaf%u:15 spine0:%u\n", l, l);
    s->net = net_parse_text("sim", text, n, &err);
    assert_non_null(s->net);
    s->fab = swfab_new(s->net);
    assert_non_null(s->fab);
    swfab_seed(s->fab, s->seed);
    for (unsigned h = 0; h < s->nhosts; h++) {
        char name[16];

        snprintf(name, sizeof(name), "n%u", h);
        s->host[h].node = net_find_name(s->net, name);
    }
}

static void arrive(struct sim_host *h, uint32_t number, uint8_t index)
{
    if (h->held >= RING)
        return; /* no room; known at the next look */
    h->held++;
    h->ring[h->nring++] = (struct frame){number, index};
}

struct sending {
    struct sim *s;
    unsigned host;
};

static bool send_frame(void *arg, uint32_t number, unsigned index)
{
    struct sending *a = arg;
    struct sim *s = a->s;
    struct swfab_arrival out;
    struct net_packet p;
    uint8_t route = net_route_byte(0), body[64] = {0}, packet[128];
    size_t len;

    be_store32(body, number);
    body[4] = (uint8_t)index;
    p = (struct net_packet){.route = &route,
                            .nroute = 1,
                            .type = 0x702,
                            .payload = body,
                            .len = sizeof(body)};
    len = net_packet_make(packet, sizeof(packet), &p);
    if (!swfab_send(s->fab, s->host[a->host].node, packet, len, &out) ||
        out.node != s->host[a->host].node ||
        net_packet_parse(&p, out.packet, out.len) < 0 || !p.crc_ok)
        return true;
    number = be_load32(p.payload);
    if (s->now < s->fabric_stands) {
        if (s->nstuck < STUCK) {
            s->stuck[s->nstuck] = (struct frame){number, p.payload[4]};
            s->stuck_of[s->nstuck++] = (uint8_t)a->host;
        }
        return true;
    }
    arrive(&s->host[a->host], number, p.payload[4]);
    return true;
}

/* ---- hsnd and the model -------------------------------------------------- */

static void report(struct sim *s, unsigned host)
{
    struct sim_host *h = &s->host[host];
    struct report_counter c[3] = {
        {.name = "loop_sent", .value = h->loop.sent},
        {.name = "loop_lost", .value = h->loop.lost},
        {.name = "loop_gaps", .value = h->loop.gaps},
    };
    struct report_record me = {.kind = REPORT_HOST, .seen = SEEN_UP};
    struct report r = {.from = REPORT_HSND,
                       .instance = h->instance,
                       .seq = ++h->seq,
                       .records = &me,
                       .nrecords = 1,
                       .counters = c,
                       .ncounters = 3};
    struct errbuf err;

    snprintf(me.name, sizeof(me.name), "n%u", host);
    snprintf(r.node, sizeof(r.node), "n%u", host);
    if (draw(s, 20)) /* some get lost */
        assert_int_equal(model_input(s->model, &r, s->now, &err), 0);
}

static void map(struct sim *s)
{
    struct report_record r[HOSTS];
    struct report rep = {.from = REPORT_MAPPERD,
                         .node = "n0",
                         .instance = 1,
                         .seq = ++s->mapper_seq,
                         .map = {.present = true,
                                 .leader = true,
                                 .version = 1,
                                 .part = 1,
                                 .parts = 1},
                         .records = r,
                         .nrecords = s->nhosts};
    struct errbuf err;

    memset(r, 0, sizeof(r));
    for (unsigned h = 0; h < s->nhosts; h++) {
        r[h].kind = REPORT_HOST;
        r[h].seen = SEEN_UP;
        snprintf(r[h].name, sizeof(r[h].name), "n%u", h);
        snprintf(r[h].peer, sizeof(r[h].peer), "leaf%u:%u", s->host[h].leaf,
                 s->host[h].port);
    }
    model_input(s->model, &rep, s->now, &err);
}

/* hsnd looks at its ring, then at the clock. */
static void host_lives(struct sim *s, unsigned host)
{
    struct sim_host *h = &s->host[host];
    struct sending a = {s, host};

    if (s->now < h->stands_until || s->now < h->look_next)
        return;
    h->crowded += h->held >= RING;
    for (unsigned i = 0; i < h->nring; i++)
        hsn_loop_returned(&h->loop, h->ring[i].number, h->ring[i].index);
    h->held = h->nring = 0;
    hsn_loop_look(&h->loop, h->crowded, send_frame, &a);
    h->look_next = s->now + (int64_t)(hsn_loop_pause(&h->loop) / 1000000);
    if (s->now < h->report_next)
        return;
    h->report_next = s->now + 5000;
    report(s, host);
}

static void restart(struct sim *s, unsigned host)
{
    struct sim_host *h = &s->host[host];

    memset(&h->loop, 0, sizeof(h->loop));
    h->instance = ++s->instances;
    h->seq = 0;
    h->held = h->nring = 0;
}

static void step(struct sim *s)
{
    s->now += STEP;
    if (s->now >= s->fabric_stands) {
        for (unsigned i = 0; i < s->nstuck; i++)
            arrive(&s->host[s->stuck_of[i]], s->stuck[i].number,
                   s->stuck[i].index);
        s->nstuck = 0;
    }
    for (unsigned i = 0; i < s->nhosts; i++)
        host_lives(s, i);
    if (s->now % 1000 == 0)
        model_tick(s->model, s->now);
    if (s->now % 5000 == 0)
        map(s);
}

/* ---- what is no fault of a cable ----------------------------------------- */

enum { STANDSTILLS = 5, ALL = 9 };

static void busy(struct sim *s, unsigned kinds)
{
    unsigned host = draw(s, s->nhosts);
    struct sim_host *h = &s->host[host];

    switch (draw(s, kinds)) {
    case 0: /* a flood of others' frames: the ring is full or nearly so */
        h->held += draw(s, 2 * RING);
        break;
    case 1:
        h->stands_until = s->now + draw(s, 20000);
        break;
    case 2: /* ... and a flood meanwhile */
        h->stands_until = s->now + draw(s, 3000);
        h->held += draw(s, 2 * RING);
        break;
    case 3:
        restart(s, host);
        break;
    case 4:
        if (s->now > s->fabric_stands + 1000) /* never as long as the wait */
            s->fabric_stands = s->now + draw(s, 3000);
        break;
    case 5:
        swfab_set_link(s->fab, h->node, 0, false);
        break;
    case 6:
        swfab_set_xbar_dead(
            s->fab, swfab_node_of(s->fab, swfab_peer(s->fab, h->node, 0)),
            true);
        break;
    default:
        for (unsigned i = 0; i < s->nhosts; i++)
            swfab_set_link(s->fab, s->host[i].node, 0, true);
        for (uint32_t n = 0; n < swfab_nnodes(s->fab); n++)
            swfab_set_xbar_dead(s->fab, n, false);
    }
}

/* ---- the families -------------------------------------------------------- */

static bool is_told(struct sim *s, unsigned host)
{
    char name[16];
    const struct health_item *i;

    snprintf(name, sizeof(name), "n%u", host);
    i = model_host(s->model, name, 0);
    return i && i->state == HEALTH_DEGRADED && strstr(i->why, "of frames");
}

static enum health_state state_of(const struct sim *s, unsigned host)
{
    char name[16];

    snprintf(name, sizeof(name), "n%u", host);
    return model_host(s->model, name, 0)->state;
}

static _Noreturn void wrong(const struct sim *s, const char *what, unsigned h)
{
    const struct hsn_loop *x = &s->host[h].loop;
    const struct health_item *i;
    char name[16];

    snprintf(name, sizeof(name), "n%u", h);
    i = model_host(s->model, name, 0);
    fail_msg("seed %llu, %lld s: %s: %s, %llu of %llu lost, %llu gaps, %s "
             "(%s); again: sim_cables %llu",
             (unsigned long long)s->seed, (long long)s->now / 1000, what, name,
             (unsigned long long)x->lost, (unsigned long long)x->sent,
             (unsigned long long)x->gaps, i ? health_state_name(i->state) : "?",
             i ? i->why : "?", (unsigned long long)s->seed);
    abort();
}

/* Time passes; with trouble so often.  But for `bad` nobody is accused. */
static void run(struct sim *s, int64_t ms, unsigned trouble, unsigned bad)
{
    for (int64_t end = s->now + ms; s->now < end;) {
        if (trouble && draw(s, trouble) == 0)
            busy(s, s->kinds);
        step(s);
        for (unsigned i = 0; i < s->nhosts && s->now % 1000 == 0; i++)
            if (i != bad && is_told(s, i))
                wrong(s, "its cable is well", i);
    }
}

static void changed(const struct health_item *item, enum health_state was,
                    int64_t now, void *arg)
{
    struct sim *s = arg;

    if (item->kind == REPORT_HOST && item->state == HEALTH_FLAPPING)
        s->host[strtoul(item->name + 1, NULL, 10)].flapping++;
}

static struct sim *sim_new(uint64_t seed)
{
    struct sim *s = calloc(1, sizeof(*s));
    struct model_ops ops = {.changed = changed, .arg = s};
    struct model_conf conf;

    s->seed = seed;
    s->rng = (struct net_rng){seed};
    s->now = 1700000000000;
    s->nhosts = 2 + draw(s, HOSTS - 1);
    s->nleaves = 1 + draw(s, LEAVES);
    for (unsigned h = 0; h < s->nhosts; h++) {
        s->host[h].leaf = draw(s, s->nleaves);
        s->host[h].port = h;
        restart(s, h);
    }
    make_net(s);
    model_conf_defaults(&conf);
    s->kinds = ALL;
    s->model = model_new(&conf, &ops);
    run(s, MINUTE, 0, HOSTS);
    return s;
}

static void sim_free(struct sim *s)
{
    model_free(s->model);
    swfab_free(s->fab);
    net_free(s->net);
    free(s);
}

/* Two hours of all that happens to hosts and crossbars, and sound cables. */
static void sound_cables(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    run(s, 120 * (int64_t)MINUTE, 4 * (1 + draw(s, 200)), HOSTS);
    sim_free(s);
}

/* Whoever stands still: no cable goes down and up by that. */
static void standstills(uint64_t seed)
{
    struct sim *s = sim_new(seed);

    s->kinds = STANDSTILLS;
    run(s, 60 * (int64_t)MINUTE, 4 * (1 + draw(s, 100)), HOSTS);
    for (unsigned i = 0; i < s->nhosts; i++)
        if (s->host[i].flapping)
            wrong(s, "its cable does not flap", i);
    sim_free(s);
}

/* One cable goes down and up, from ten times a second to once in five. */
static void a_flapping_cable(uint64_t seed)
{
    struct sim *s = sim_new(seed);
    unsigned host = draw(s, s->nhosts);
    int64_t half = (int64_t)(50 * pow(50, draw(s, 101) / 100.)), end;

    for (end = s->now + 20 * MINUTE; s->now < end;) {
        swfab_set_link(s->fab, s->host[host].node, 0, s->now / half % 2 == 0);
        run(s, STEP, 0, host);
        if (end - s->now < 17 * MINUTE && s->host[host].flapping != 1)
            wrong(s, "it flaps, which is to be told once", host);
    }
    for (unsigned i = 0; i < s->nhosts; i++)
        if (state_of(s, i) != (i == host ? HEALTH_FLAPPING : HEALTH_HEALTHY))
            wrong(s, "not as it is", i);
    swfab_set_link(s->fab, s->host[host].node, 0, true);
    run(s, 8 * MINUTE, 0, host);
    if (state_of(s, host) != HEALTH_HEALTHY)
        wrong(s, "it flaps no more", host);
    sim_free(s);
}

/* Three reports lost in a row make it unknown for a moment. */
static void until(struct sim *s, unsigned host, enum health_state state,
                  int64_t most, unsigned trouble)
{
    int64_t end = s->now + most;

    while (state_of(s, host) != state && s->now < end)
        run(s, 1000, trouble, host);
}

/* One cable is bad, from 1e-3 to 2e-2 of its frames. */
static void a_bad_cable(uint64_t seed)
{
    struct sim *s = sim_new(seed);
    unsigned host = draw(s, s->nhosts);
    double p = 1e-3 * pow(20, draw(s, 1001) / 1000.);
    bool loses = draw(s, 2) != 0;

    if (loses)
        swfab_set_loss(s->fab, s->host[host].node, 0, p);
    else
        swfab_set_corruption(s->fab, s->host[host].node, 0, p);
    until(s, host, HEALTH_DEGRADED, 10 * MINUTE, 0);
    if (!is_told(s, host))
        wrong(s, loses ? "its losses are not told" : "its breaks are not told",
              host);
    run(s, 20 * (int64_t)MINUTE, 0, host);
    until(s, host, HEALTH_DEGRADED, MINUTE / 4, 0);
    if (!is_told(s, host))
        wrong(s, "its fault is not told any more", host);
    swfab_set_loss(s->fab, s->host[host].node, 0, 0);
    swfab_set_corruption(s->fab, s->host[host].node, 0, 0);
    until(s, host, HEALTH_HEALTHY, 10 * MINUTE, 0);
    if (state_of(s, host) != HEALTH_HEALTHY)
        wrong(s, "it was mended", host);
    run(s, 60 * (int64_t)MINUTE, 400, HOSTS);
    sim_free(s);
}

/* ... among all the rest; and a cable between crossbars, which is no host's. */
static void a_bad_cable_among_trouble(uint64_t seed)
{
    struct sim *s = sim_new(seed);
    unsigned host = draw(s, s->nhosts);
    double p = 1e-3 * pow(20, draw(s, 1001) / 1000.);

    swfab_set_corruption(s->fab, net_find_name(s->net, "spine0"), 0, 0.02);
    run(s, 30 * (int64_t)MINUTE, 600, HOSTS);
    swfab_set_loss(s->fab, s->host[host].node, 0, p);
    until(s, host, HEALTH_DEGRADED, 60 * MINUTE, 600);
    if (!is_told(s, host))
        wrong(s, "its losses are not told", host);
    sim_free(s);
}

static uint64_t first = 1, last = SEEDS;

static void over_seeds(void (*family)(uint64_t))
{
    for (uint64_t seed = first; seed <= last; seed++)
        family(seed);
}

static void sound_cables_of_busy_hosts_are_never_accused(void **state)
{
    over_seeds(sound_cables);
}

static void a_bad_cable_is_told_and_heals(void **state)
{
    over_seeds(a_bad_cable);
}

static void a_bad_cable_is_told_among_trouble(void **state)
{
    over_seeds(a_bad_cable_among_trouble);
}

static void standstills_are_no_flaps(void **state)
{
    over_seeds(standstills);
}

static void a_flapping_cable_is_told_once_and_heals(void **state)
{
    over_seeds(a_flapping_cable);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_cables_of_busy_hosts_are_never_accused),
        cmocka_unit_test(a_bad_cable_is_told_and_heals),
        cmocka_unit_test(a_bad_cable_is_told_among_trouble),
        cmocka_unit_test(standstills_are_no_flaps),
        cmocka_unit_test(a_flapping_cable_is_told_once_and_heals),
    };

    if (argc > 1)
        first = last = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        last = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
