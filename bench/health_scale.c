/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fabric health costs at size:
 *
 *     health_scale [RUNS [HOSTS]]     9 of 8192 hosts; at most 65536
 *
 * Prints lines "KEY OURS REFERENCE", one
 * for each run:
 *
 *   gate      us to look whether a step on 1000 nodes may be built (with the
 *             stat(2), with 16 nodes down) / the 5 us it may take
 *   report    us of CPU for a report of one host: decode, judge / the same
 *             text sent and received over a socket pair
 *   tick      us for a look at all hosts, links and crossbars / the same
 *   table     us to write and read the table with 1 % of the hosts down
 *   memory    KB of resident memory that the model of the hosts takes
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "health/model.h"
#include "plugins/switch_elan/gate.h"

#define HOSTS_MAX 65536
static int hosts_n = 8192;

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static char *texts[HOSTS_MAX];

static void make_texts(uint64_t seq)
{
    for (int i = 0; i < hosts_n; i++) {
        struct report_record r = {.kind = REPORT_HOST, .seen = SEEN_UP};
        struct report_counter c[20];
        struct report rep = {.from = REPORT_HSND,
                             .seq = seq,
                             .records = &r,
                             .nrecords = 1,
                             .counters = c,
                             .ncounters = 20};
        struct errbuf err;

        memset(c, 0, sizeof(c));
        for (int k = 0; k < 20; k++) {
            snprintf(c[k].name, sizeof(c[k].name), "counter_%d", k);
            c[k].value = (uint64_t)i * 1000 + (uint64_t)k;
        }
        snprintf(r.name, sizeof(r.name), "n%d", i);
        snprintf(rep.node, sizeof(rep.node), "n%d", i);
        free(texts[i]);
        texts[i] = report_encode(&rep, &err);
    }
}

static double take_reports(struct model *m, int64_t now)
{
    double begin = now_us();

    for (int i = 0; i < hosts_n; i++) {
        struct report r;
        struct errbuf err;

        if (report_decode(&r, texts[i], strlen(texts[i]), &err) < 0 ||
            model_input(m, &r, now, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
        report_free(&r);
    }
    return (now_us() - begin) / hosts_n;
}

static double bare_socket(void)
{
    int pair[2];
    char buf[8192];
    double begin;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
        exit(1);
    begin = now_us();
    for (int i = 0; i < hosts_n; i++) {
        if (send(pair[0], texts[i], strlen(texts[i]), 0) < 0 ||
            recv(pair[1], buf, sizeof(buf), 0) < 0)
            exit(1);
    }
    begin = (now_us() - begin) / hosts_n;
    close(pair[0]);
    close(pair[1]);
    return begin;
}

static double tick(struct model *m, int64_t now)
{
    double begin = now_us();

    model_tick(m, now);
    return now_us() - begin;
}

static long resident_kb(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long total, resident = 0;

    if (f && fscanf(f, "%ld %ld", &total, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void down_nodes(struct health_table *t, int n)
{
    t->list = calloc((size_t)n, sizeof(*t->list));
    t->nodes = (uint32_t)hosts_n;
    t->healthy = (uint32_t)(hosts_n - n);
    for (int i = 0; i < n; i++) {
        struct health_table_node *e = &t->list[t->n++];

        snprintf(e->name, sizeof(e->name), "n%d", 4000 + i * 7);
        e->state = HEALTH_DOWN;
        e->rails = e->refuse = 1;
        strcpy(e->why, "mute");
    }
}

static double write_and_read(const char *path)
{
    struct health_table t = {.written = 1};
    struct health_table_reader r;
    struct errbuf err;
    double begin;

    memset(&r, 0, sizeof(r));
    down_nodes(&t, hosts_n / 100);
    begin = now_us();
    if (health_table_write(path, &t, &err) < 0 ||
        health_table_look(&r, path, &err) != HEALTH_TABLE_NEW)
        exit(1);
    begin = now_us() - begin;
    free(t.list);
    health_table_reader_free(&r);
    return begin;
}

static double look_and_check(struct gate *g, const struct mgrconf *conf,
                             struct elanhosts *hosts, const char *path)
{
    uint32_t ids[1000];
    const int rounds = 200;
    double begin;

    for (uint32_t i = 0; i < 1000; i++)
        ids[i] = i;
    begin = now_us();
    for (int k = 0; k < rounds; k++) {
        struct errbuf err, news;
        bool none = false;

        gate_look(g, path, hosts, 1000, &news);
        if (gate_check(g, conf, ids, 1000, 1, 1000, &none, &err) < 0)
            exit(1);
    }
    return (now_us() - begin) / rounds;
}

static void run_gate(int runs, const char *path)
{
    static struct gate g;
    struct health_table t = {.written = 1000};
    struct elanhosts *hosts = elanhosts_natural();
    struct mgrconf conf;
    struct errbuf err;

    down_nodes(&t, 16);
    if (mgrconf_parse(&conf, "", "", NULL, NULL) < 0 ||
        health_table_write(path, &t, &err) < 0)
        exit(1);
    for (int i = 0; i < runs; i++)
        printf("gate %.3f 5\n", look_and_check(&g, &conf, hosts, path));
    gate_free(&g);
    free(t.list);
    mgrconf_free(&conf);
    elanhosts_destroy(hosts);
}

int main(int argc, char **argv)
{
    int runs = argc > 1 ? atoi(argv[1]) : 9;
    char path[64] = "/tmp/health_scaleXXXXXX";
    struct model_conf conf;
    struct model *m;
    int64_t now = 1700000000000;
    long before;

    if (argc > 2)
        hosts_n = atoi(argv[2]);
    if (hosts_n < 8192 || hosts_n > HOSTS_MAX)
        return 2;
    close(mkstemp(path));
    run_gate(runs, path);
    model_conf_defaults(&conf);
    make_texts(0);
    before = resident_kb();
    m = model_new(&conf, NULL);
    for (int i = 0; i < runs; i++) {
        make_texts((uint64_t)i + 1);
        now += 5000;
        printf("report %.3f %.3f\n", take_reports(m, now), bare_socket());
        printf("tick %.1f %.1f\n", tick(m, now), bare_socket() * hosts_n);
        printf("table %.1f 1000\n", write_and_read(path));
    }
    printf("memory %ld %d\n", resident_kb() - before, 8 * hosts_n);
    model_free(m);
    unlink(path);
    return 0;
}
