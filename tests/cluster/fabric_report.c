/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A scripted reporter: sends health reports, one for each line of stdin, each
 * in a MUNGE credential made where it runs.
 *
 *     fabric_report SERVER NODE [MUNGE_SOCKET]
 *
 *     hsnd STATE [WHY]          of NODE's own host, with two counters
 *     as OTHER STATE            hsnd of another node (a lie)
 *     mapper VERSION [rail=N] [NAME=STATE..]
 *                               a whole map of hosts of a rail, NODE leads
 *     map VERSION HOSTLIST      so many hosts that are all up, in parts
 *     beat VERSION              the map is as it was
 *
 * Prints "accepted" or "refused" after each line; ends at the end of stdin.
 */
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/host_names.h"
#include "base/seal.h"
#include "health/sender.h"

static struct report_record records[SF_REPORT_RECORDS_MAX];
static struct report_counter counters[] = {{0, "sent", 1}, {0, "lost", 2}};

static enum report_seen seen_of(const char *word)
{
    for (int s = 0; word && s < 4; s++) {
        if (strcmp(word, report_seen_name((enum report_seen)s)) == 0)
            return (enum report_seen)s;
    }
    return SEEN_UNKNOWN;
}

static void add_host(struct report *r, const char *name, const char *state)
{
    struct report_record *rec = &records[r->nrecords++];

    memset(rec, 0, sizeof(*rec));
    rec->kind = REPORT_HOST;
    rec->seen = seen_of(state);
    rec->rail = r->map.present ? r->map.rail : 0;
    snprintf(rec->name, sizeof(rec->name), "%s", name);
    if (rec->seen != SEEN_UP)
        snprintf(rec->why, sizeof(rec->why), "scripted");
}

static void make_link(struct report_record *rec, const char *name, char *dash)
{
    *dash = '\0';
    rec->kind = REPORT_LINK;
    snprintf(rec->name, sizeof(rec->name), "%s", name);
    snprintf(rec->peer, sizeof(rec->peer), "%s", dash + 1);
}

/* Whole crossbars may be named, too, and cables between two: xbar.NAME=STATE,
 * link.END-END=STATE. */
static void add_item(struct report *r, char *word)
{
    char *eq = strchr(word, '='), *dash;

    if (!eq || r->nrecords == SF_REPORT_RECORDS_MAX)
        return;
    *eq = '\0';
    if (strcmp(word, "rail") == 0) {
        r->map.rail = (uint8_t)atoi(eq + 1);
        return;
    }
    add_host(r, word, eq + 1);
    if (strncmp(word, "xbar.", 5) == 0)
        records[r->nrecords - 1].kind = REPORT_XBAR;
    if (strncmp(word, "link.", 5) == 0 && (dash = strchr(word, '-')))
        make_link(&records[r->nrecords - 1], word + 5, dash);
}

/* The hosts of a map that comes in parts. */
static struct {
    char (*names)[SF_REPORT_NAME_MAX];
    size_t n, next;
} big;

static bool add_name(void *arg, const char *name)
{
    char(*grown)[SF_REPORT_NAME_MAX] =
        realloc(big.names, (big.n + 1) * sizeof(*grown));

    (void)arg;
    if (!grown)
        return false;
    big.names = grown;
    snprintf(big.names[big.n++], sizeof(*grown), "%s", name);
    return true;
}

#define PART 1024

/* False: there are no more. */
static bool next_part(struct report *r)
{
    if (big.next == big.n)
        return false;
    r->nrecords = 0;
    r->map.part = (uint32_t)(big.next / PART + 1);
    r->map.parts = (uint32_t)((big.n + PART - 1) / PART);
    while (big.next < big.n && r->nrecords < PART)
        add_host(r, big.names[big.next++], "up");
    return true;
}

static void read_map(struct report *r, bool records_too)
{
    char *word = strtok(NULL, " \n");

    r->from = REPORT_MAPPERD;
    r->map = (struct report_map){
        .present = true, .leader = true, .configured = true};
    r->map.version = word ? strtoull(word, NULL, 10) : 0;
    if (!records_too)
        return;
    r->map.part = r->map.parts = 1;
    while ((word = strtok(NULL, " \n")))
        add_item(r, word);
}

static bool read_line(struct report *r, char *line, const char *node)
{
    char *verb = strtok(line, " \n"), *word;

    r->records = records;
    r->nrecords = 0;
    r->map.present = false;
    r->from = REPORT_HSND;
    snprintf(r->node, sizeof(r->node), "%s", node);
    if (!verb)
        return false;
    r->counters = counters;
    r->ncounters = 0;
    if (strcmp(verb, "hsnd") == 0) {
        r->ncounters = sizeof(counters) / sizeof(counters[0]);
        add_host(r, node, strtok(NULL, " \n"));
        if ((word = strtok(NULL, "\n")))
            snprintf(records[0].why, sizeof(records[0].why), "%s", word);
    } else if (strcmp(verb, "as") == 0 && (word = strtok(NULL, " \n"))) {
        snprintf(r->node, sizeof(r->node), "%s", word);
        add_host(r, word, strtok(NULL, " \n"));
    } else if (strcmp(verb, "map") == 0) {
        read_map(r, false);
        big.n = big.next = 0;
        word = strtok(NULL, " \n");
        if (!word || host_names_each(word, add_name, NULL, NULL) < 0)
            return false;
        next_part(r);
    } else {
        read_map(r, strcmp(verb, "mapper") == 0);
    }
    return true;
}

static void nothing(struct ev_loop *loop, ev_timer *w, int events)
{
}

/* Until one more answer than `had` has come, at most 3 s: a server that was
 * killed does not answer what it took. */
static bool await(struct ev_loop *loop, struct sender *s, uint64_t had)
{
    struct sender_stats st;
    time_t end = time(NULL) + 3;
    ev_timer t;

    ev_timer_init(&t, nothing, 0.2, 0.2);
    ev_timer_start(loop, &t);
    do {
        ev_run(loop, EVRUN_ONCE);
        sender_stats(s, &st);
    } while (st.accepted + st.refused <= had && time(NULL) < end);
    ev_timer_stop(loop, &t);
    return st.accepted + st.refused > had;
}

int main(int argc, char **argv)
{
    struct ev_loop *loop = ev_loop_new(0);
    struct sender_options o = {.to = argc > 1 ? argv[1] : "",
                               .munge_socket = argc > 3 ? argv[3] : NULL,
                               .reader = SEAL_ANY_UID};
    struct report r = {.instance =
                           (uint64_t)getpid() << 32 | (uint64_t)time(NULL)};
    struct sender_stats st;
    struct errbuf err;
    struct sender *s;
    static char line[65536];
    uint64_t accepted = 0;

    if (argc < 3 || !(s = sender_new(loop, &o, &err))) {
        fprintf(stderr, "fabric_report: %s\n", argc < 3 ? "usage" : err.text);
        return 2;
    }
    while (fgets(line, sizeof(line), stdin)) {
        if (!read_line(&r, line, argv[2]))
            continue;
        do {
            r.seq++;
            sender_stats(s, &st);
            accepted = st.accepted;
            if (sender_put(s, &r, &err) < 0) {
                fprintf(stderr, "fabric_report: %s\n", err.text);
                return 2;
            }
            if (await(loop, s, st.accepted + st.refused)) {
                sender_stats(s, &st);
                puts(st.accepted > accepted ? "accepted" : "refused");
            } else {
                puts("no answer");
            }
            fflush(stdout);
        } while (next_part(&r));
    }
    sender_free(s);
    return 0;
}
