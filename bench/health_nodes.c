/* SPDX-License-Identifier: BSD-3-Clause
 *
 * As many reporters as a big cluster has nodes: each with a connection of its
 * own to switchmgrd and a MUNGE credential for each report, spread evenly.
 *
 *     health_nodes SERVER MUNGE_SOCKET NODES[/SHARE] SECONDS [nics]
 *
 * They report every so many seconds as hsnd does, or, nics, as nicd of two
 * ports.  SHARE nodes have one connection: for a machine that lets switchmgrd
 * have too few descriptors.  (What is sent for a report that says the same as
 * the connection's last is then never seen.)
 * Nodes are f0, f1, ...  Commands on standard input: "map NET": f0 leads the
 * mappers and tells the map of that net, whose hosts are the nodes; "down K":
 * every (NODES/K)th says down at once, and a new map lacks them; "up": these
 * say up again; "count": print "taken" with how many were accepted, and the
 * time in ms.  Prints "ready" when each has been heard once, "telling" and
 * "mapped" with the number of the map and the time in ms when one is sent and
 * has been taken, and at the end how many reports were accepted and refused.
 */
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "health/sender.h"
#include "net/build.h"

#define TICK 0.02
#define COUNTERS 40 /* about as many as hsnd has */

struct node {
    uint64_t seq;
    bool down;
};

/* The fabric of the nodes as their leading mapper tells it. */
struct fabric {
    struct net *net; /* NULL: there is none */
    struct sender *sender;
    struct report report;
    long *host;     /* which node a host of the net is */
    uint64_t whole; /* accepted reports when all of the map is taken */
    uint64_t connects, mishaps; /* of the sender, when it was told */
    uint64_t lost;              /* that had no answer on an old connection */
    bool told;                  /* that it is */
    ev_timer beat;
};

struct world {
    struct node *nodes;
    struct sender **senders; /* of `share` nodes each */
    struct fabric fabric;
    long n, share, next, down;
    double interval, last;
    double due; /* reports that should have gone by now */
    bool ready, nics;
    struct sender_options way;
    struct report_counter counters[COUNTERS];
    ev_timer tick;
    ev_io in;
};

static void say_when(const char *what, uint64_t n)
{
    printf("%s %llu %llu\n", what, (unsigned long long)n,
           (unsigned long long)(clock_ns() / 1000000));
    fflush(stdout);
}

static void speak(struct world *w, long i)
{
    struct node *node = &w->nodes[i];
    struct report_record me = {.kind = REPORT_HOST,
                               .seen = node->down ? SEEN_DOWN : SEEN_UP};
    struct report r = {.from = REPORT_HSND,
                       .instance = (uint64_t)getpid(),
                       .seq = ++node->seq,
                       .records = &me,
                       .nrecords = 1,
                       .counters = w->counters,
                       .ncounters = COUNTERS};
    struct errbuf err;

    snprintf(r.node, sizeof(r.node), "f%ld", i);
    snprintf(me.name, sizeof(me.name), "f%ld", i);
    snprintf(me.why, sizeof(me.why), "%s", node->down ? "no link" : "link up");
    if (sender_put(w->senders[i / w->share], &r, &err) < 0)
        fprintf(stderr, "health_nodes: %s\n", err.text);
}

static void speak_of_nics(struct world *w, long i)
{
    struct node *node = &w->nodes[i];
    struct report_record ports[2];
    struct report r = {.from = REPORT_NICD,
                       .instance = (uint64_t)getpid(),
                       .seq = ++node->seq,
                       .records = ports,
                       .nrecords = 2};
    struct errbuf err;

    snprintf(r.node, sizeof(r.node), "f%ld", i);
    for (unsigned k = 0; k < 2; k++) {
        bool down = node->down && k == 0;

        ports[k] = (struct report_record){.kind = REPORT_HOST,
                                          .seen = down ? SEEN_DOWN : SEEN_UP,
                                          .rail = (uint8_t)k,
                                          .board = 2 * (uint64_t)i + k + 1,
                                          .mbps = down ? 0 : 100000};
        snprintf(ports[k].name, sizeof(ports[k].name), "f%ld", i);
        snprintf(ports[k].nic, sizeof(ports[k].nic), "MT4123 mlx5_%u/1", k);
        if (down)
            snprintf(ports[k].why, sizeof(ports[k].why),
                     "mlx5_0/1 no link: Polling");
    }
    if (sender_put(w->senders[i / w->share], &r, &err) < 0)
        fprintf(stderr, "health_nodes: %s\n", err.text);
}

static void say(struct world *w, long i)
{
    if (w->nics)
        speak_of_nics(w, i);
    else
        speak(w, i);
}

static void count(const struct world *w, uint64_t *accepted, uint64_t *refused)
{
    *accepted = *refused = 0;
    for (long i = 0; i < w->n; i += w->share) {
        struct sender_stats s;

        sender_stats(w->senders[i / w->share], &s);
        *accepted += s.accepted;
        *refused += s.refused;
    }
}

/* ---- the map ------------------------------------------------------------- */

static void name_part(const struct fabric *f, uint32_t node, char *name)
{
    if (net_is_host(f->net, node))
        snprintf(name, SF_REPORT_NAME_MAX, "f%ld", f->host[node]);
    else
        snprintf(name, SF_REPORT_NAME_MAX, "x%u", node);
}

static void name_port(const struct fabric *f, uint32_t port, char *name)
{
    char part[SF_REPORT_NAME_MAX];

    name_part(f, f->net->ports[port].node, part);
    snprintf(name, SF_REPORT_NAME_MAX, "%.50s:%u", part,
             net_port_number(f->net, port));
}

static bool is_out(const struct world *w, uint32_t node)
{
    return net_is_host(w->fabric.net, node) &&
           w->nodes[w->fabric.host[node]].down;
}

static size_t fill_map(const struct world *w, struct report_record *r)
{
    const struct fabric *f = &w->fabric;
    const struct net *net = f->net;
    size_t n = 0;

    for (uint32_t i = 0; i < net->nnodes; i++) {
        bool host = net_is_host(net, i);

        if (is_out(w, i))
            continue;
        r[n].kind = host ? REPORT_HOST : REPORT_XBAR;
        r[n].seen = SEEN_UP;
        name_part(f, i, r[n].name);
        if (host)
            name_port(f, net->ports[net->nodes[i].first].peer, r[n].peer);
        n++;
    }
    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q == NET_NONE || q < p || net_is_host(net, net->ports[p].node) ||
            net_is_host(net, net->ports[q].node))
            continue;
        r[n].kind = REPORT_LINK;
        r[n].seen = SEEN_UP;
        name_port(f, p, r[n].name);
        name_port(f, q, r[n++].peer);
    }
    return n;
}

static void put_of_map(struct fabric *f, struct report_record *records,
                       size_t n)
{
    struct errbuf err;

    f->report.records = records;
    f->report.nrecords = n;
    f->report.seq++;
    if (sender_put(f->sender, &f->report, &err) < 0)
        fprintf(stderr, "health_nodes: %s\n", err.text);
}

/* After these the map is told again, as mapperd does (map_sender.c). */
static bool has_mishap(const struct fabric *f, const struct sender_stats *s)
{
    return s->connects > f->connects || s->refused + s->dropped > f->mishaps;
}

static void note_mishaps(struct fabric *f, const struct sender_stats *s)
{
    if (s->connects > f->connects)
        f->lost = s->sent - s->accepted - s->refused;
    f->connects = s->connects ? s->connects : 1; /* the first one is to come */
    f->mishaps = s->refused + s->dropped;
}

static void tell_map(struct world *w)
{
    struct fabric *f = &w->fabric;
    struct report_record *records =
        calloc((size_t)f->net->nnodes + f->net->ncables, sizeof(*records));
    size_t n = records ? fill_map(w, records) : 0, part;
    struct sender_stats s;

    f->report.map.version++;
    f->report.map.part = 0;
    f->report.map.parts =
        (uint32_t)((n + SF_REPORT_RECORDS_MAX - 1) / SF_REPORT_RECORDS_MAX);
    sender_stats(f->sender, &s);
    note_mishaps(f, &s);
    f->whole = s.sent - s.refused - f->lost + s.queued + f->report.map.parts;
    f->told = false;
    say_when("telling", f->report.map.version);
    for (size_t at = 0; at < n; at += part) {
        part = n - at < SF_REPORT_RECORDS_MAX ? n - at : SF_REPORT_RECORDS_MAX;
        f->report.map.part++;
        put_of_map(f, records + at, part);
    }
    f->report.map.part = f->report.map.parts = 0;
    free(records);
}

static void on_beat(struct ev_loop *loop, ev_timer *t, int events)
{
    struct world *w = t->data;
    struct fabric *f = &w->fabric;
    struct sender_stats s;

    sender_stats(f->sender, &s);
    if (has_mishap(f, &s)) {
        tell_map(w);
        return;
    }
    if (s.queued == 0)
        put_of_map(f, NULL, 0);
    if (f->told || s.accepted < f->whole)
        return;
    f->told = true;
    say_when("mapped", f->report.map.version);
}

/* The hosts of a net are its nodes in their order. */
static bool read_net(struct fabric *f, const char *name, struct errbuf *err)
{
    long host = 0;

    f->net = net_build_named(name, err);
    f->host = f->net ? calloc(f->net->nnodes, sizeof(*f->host)) : NULL;
    if (!f->host)
        return false;
    for (uint32_t i = 0; i < f->net->nnodes; i++) {
        if (net_is_host(f->net, i))
            f->host[i] = host++;
    }
    return true;
}

static void begin_map(struct world *w, struct ev_loop *loop, const char *name)
{
    struct fabric *f = &w->fabric;
    struct errbuf err;

    if (f->net)
        return;
    f->sender = sender_new(loop, &w->way, &err);
    if (!f->sender || !read_net(f, name, &err) || f->net->nhosts > w->n) {
        fprintf(stderr, "health_nodes: no map of %s: %s\n", name, err.text);
        ev_break(loop, EVBREAK_ALL);
        return;
    }
    f->report = (struct report){.from = REPORT_MAPPERD,
                                .node = "f0",
                                .instance = (uint64_t)getpid(),
                                .map = {.present = true,
                                        .leader = true,
                                        .configured = true,
                                        .leader_node = "f0"}};
    ev_timer_init(&f->beat, on_beat, 1., 1.);
    f->beat.data = w;
    ev_timer_start(loop, &f->beat);
    tell_map(w);
}

/* -------------------------------------------------------------------------- */

static void on_tick(struct ev_loop *loop, ev_timer *t, int events)
{
    struct world *w = t->data;
    uint64_t accepted, refused;

    w->due += (double)w->n * (ev_now(loop) - w->last) / w->interval;
    w->last = ev_now(loop);
    for (; w->due >= 1; w->due--) {
        say(w, w->next);
        w->next = (w->next + 1) % w->n;
    }
    if (w->ready || w->next)
        return;
    count(w, &accepted, &refused);
    w->ready = accepted >= (uint64_t)w->n;
    if (w->ready)
        puts("ready");
    fflush(stdout);
}

static void change(struct world *w, long k, bool down)
{
    for (long i = 0; i < k; i++) {
        long which = i * (w->n / k);

        w->nodes[which].down = down;
        say(w, which);
    }
    if (w->fabric.net)
        tell_map(w);
}

static void tell_count(const struct world *w)
{
    uint64_t accepted, refused;

    count(w, &accepted, &refused);
    say_when("taken", accepted);
}

static void on_command(struct ev_loop *loop, ev_io *io, int events)
{
    struct world *w = io->data;
    char line[64], net[32];
    ssize_t n = read(0, line, sizeof(line) - 1);

    if (n <= 0) {
        ev_break(loop, EVBREAK_ALL);
        return;
    }
    line[n] = '\0';
    if (sscanf(line, "down %ld", &w->down) == 1 && w->down > 0)
        change(w, w->down, true);
    else if (strncmp(line, "up", 2) == 0 && w->down > 0)
        change(w, w->down, false);
    else if (sscanf(line, "map %31s", net) == 1)
        begin_map(w, loop, net);
    else if (strncmp(line, "count", 5) == 0)
        tell_count(w);
}

static bool make_nodes(struct world *w, struct ev_loop *loop, char **argv)
{
    const char *share = strchr(argv[3], '/');
    struct errbuf err;

    w->way = (struct sender_options){
        .to = argv[1], .munge_socket = argv[2], .reader = (uid_t)-1};
    w->n = atol(argv[3]);
    w->share = share ? atol(share + 1) : 1;
    w->interval = atof(argv[4]);
    if (w->n <= 0 || w->share <= 0)
        return false;
    w->nodes = calloc((size_t)w->n, sizeof(*w->nodes));
    w->senders = calloc((size_t)w->n, sizeof(*w->senders));
    for (long i = 0; w->nodes && w->senders && i < w->n; i += w->share) {
        w->senders[i / w->share] = sender_new(loop, &w->way, &err);
        if (!w->senders[i / w->share]) {
            fprintf(stderr, "health_nodes: %s\n", err.text);
            return false;
        }
    }
    for (int i = 0; i < COUNTERS; i++)
        w->counters[i] = (struct report_counter){0, "counter", 1234567};
    for (int i = 0; i < COUNTERS; i++)
        snprintf(w->counters[i].name, sizeof(w->counters[i].name), "counter_%d",
                 i);
    return w->nodes && w->senders;
}

int main(int argc, char **argv)
{
    struct ev_loop *loop = ev_loop_new(0);
    static struct world w;
    uint64_t accepted, refused;

    w.nics = argc == 6 && strcmp(argv[5], "nics") == 0;
    if (argc != 5 + w.nics || !loop || !make_nodes(&w, loop, argv))
        return 2;
    ev_timer_init(&w.tick, on_tick, 0., TICK);
    ev_io_init(&w.in, on_command, 0, EV_READ);
    w.tick.data = w.in.data = &w;
    w.last = ev_now(loop);
    ev_timer_start(loop, &w.tick);
    ev_io_start(loop, &w.in);
    ev_run(loop, 0);
    count(&w, &accepted, &refused);
    printf("accepted %llu\nrefused %llu\n", (unsigned long long)accepted,
           (unsigned long long)refused);
    return 0; /* the senders go with the process */
}
