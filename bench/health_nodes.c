/* SPDX-License-Identifier: BSD-3-Clause
 *
 * As many reporters as a big cluster has nodes: each with a connection of its
 * own to switchmgrd and a MUNGE credential for each report, spread evenly.
 *
 *     health_nodes SERVER MUNGE_SOCKET NODES SECONDS-BETWEEN-REPORTS [nics]
 *
 * They report as hsnd does, or, nics, as nicd of two ports.
 * Nodes are f0, f1, ...  Commands on standard input: "down K": every
 * (NODES/K)th says down at once; "up": these say up again; "count": print
 * "taken" with how many were accepted, and the time in ms.  Prints "ready" when
 * each has been heard once, and at the end how many reports were accepted and
 * refused.
 */
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "health/sender.h"

#define TICK 0.02
#define COUNTERS 40 /* about as many as hsnd has */

struct node {
    struct sender *sender;
    uint64_t seq;
    bool down;
};

struct world {
    struct node *nodes;
    long n, next, down;
    double interval;
    double due; /* reports that should have gone by now */
    bool ready, nics;
    struct report_counter counters[COUNTERS];
    ev_timer tick;
    ev_io in;
};

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
    if (sender_put(node->sender, &r, &err) < 0)
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
    if (sender_put(node->sender, &r, &err) < 0)
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
    for (long i = 0; i < w->n; i++) {
        struct sender_stats s;

        sender_stats(w->nodes[i].sender, &s);
        *accepted += s.accepted;
        *refused += s.refused;
    }
}

static void on_tick(struct ev_loop *loop, ev_timer *t, int events)
{
    struct world *w = t->data;
    uint64_t accepted, refused;

    w->due += (double)w->n * TICK / w->interval;
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
}

static void tell_count(const struct world *w)
{
    uint64_t accepted, refused;

    count(w, &accepted, &refused);
    printf("taken %llu %llu\n", (unsigned long long)accepted,
           (unsigned long long)(clock_ns() / 1000000));
    fflush(stdout);
}

static void on_command(struct ev_loop *loop, ev_io *io, int events)
{
    struct world *w = io->data;
    char line[64];
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
    else if (strncmp(line, "count", 5) == 0)
        tell_count(w);
}

static bool make_nodes(struct world *w, struct ev_loop *loop, char **argv)
{
    const struct sender_options o = {
        .to = argv[1], .munge_socket = argv[2], .reader = (uid_t)-1};
    struct errbuf err;

    w->n = atol(argv[3]);
    w->interval = atof(argv[4]);
    w->nodes = w->n > 0 ? calloc((size_t)w->n, sizeof(*w->nodes)) : NULL;
    for (long i = 0; w->nodes && i < w->n; i++) {
        w->nodes[i].sender = sender_new(loop, &o, &err);
        if (!w->nodes[i].sender) {
            fprintf(stderr, "health_nodes: %s\n", err.text);
            return false;
        }
    }
    for (int i = 0; i < COUNTERS; i++)
        w->counters[i] = (struct report_counter){0, "counter", 1234567};
    for (int i = 0; i < COUNTERS; i++)
        snprintf(w->counters[i].name, sizeof(w->counters[i].name), "counter_%d",
                 i);
    return w->nodes != NULL;
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
    ev_timer_start(loop, &w.tick);
    ev_io_start(loop, &w.in);
    ev_run(loop, 0);
    count(&w, &accepted, &refused);
    printf("accepted %llu\nrefused %llu\n", (unsigned long long)accepted,
           (unsigned long long)refused);
    return 0; /* the senders go with the process */
}
