/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/nic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A port that was seen at some look. */
struct watched {
    struct nic_port now; /* as last seen */
    bool there;          /* in this look */
    unsigned missed;     /* looks */
    int64_t first, missed_since;
    bool was_up;
    uint8_t lanes; /* most that it had */
    uint32_t mbps;
    uint64_t flaps;  /* that we know of */
    uint64_t unread; /* of them, since its own counter was read */
    bool downs_known;
    uint64_t downs;
    struct tally tally[TALLY_COUNTERS];
};

struct nics {
    struct nic_rules rules;
    size_t n;
    struct watched port[SF_NIC_PORTS_MAX];
    unsigned untold;
    size_t ntold;
    struct report_record told[NIC_RECORDS_MAX];
};

static const struct tally_fault faults[NIC_FAULTS] = {
    [NIC_IS_DOWN] = {"down", TALLY_DRAIN},
    [NIC_VANISHED] = {"vanished", TALLY_DRAIN},
    [NIC_SLOW] = {"slow", TALLY_DEGRADE},
    [NIC_NO_VERBS] = {"no_verbs", TALLY_DEGRADE},
};

void nic_rules_default(struct nic_rules *r)
{
    memset(r, 0, sizeof(*r));
    tally_rules_default(&r->counters);
    for (int i = 0; i < NIC_FAULTS; i++)
        r->fault[i] = faults[i].action;
    r->link_wait_ms = 60000;
    r->vanish_ms = 30000;
}

static const char *read_line(void *rules, const char *line)
{
    struct nic_rules *r = rules;
    const char *wrong;

    if (tally_fault_read(faults, NIC_FAULTS, r->fault, line, &wrong))
        return wrong;
    return tally_rule_read(&r->counters, line);
}

int nic_rules_parse(struct nic_rules *rules, const char *path, const char *text,
                    size_t len, struct errbuf *err)
{
    struct nic_rules r = *rules;

    if (tally_lines_parse(&r, read_line, path, text, len, err) < 0)
        return -1;
    *rules = r;
    return 0;
}

struct nics *nics_new(const struct nic_rules *rules)
{
    struct nics *n = calloc(1, sizeof(*n));

    if (n)
        n->rules = *rules;
    return n;
}

void nics_free(struct nics *n)
{
    free(n);
}

/* ---- a look -------------------------------------------------------------- */

static struct watched *find(struct nics *n, const char *name)
{
    for (size_t i = 0; i < n->n; i++)
        if (strcmp(n->port[i].now.name, name) == 0)
            return &n->port[i];
    return NULL;
}

/* How often it went down: what we saw, or what its own counter says, which
 * sees more but is not read at each look. */
static void count_downs(struct watched *w, const struct nic_port *p, bool anew)
{
    uint64_t more = 0;

    if (w->was_up && w->now.link == NIC_UP && p->link != NIC_UP) {
        w->flaps++;
        w->unread++;
    }
    if (!p->has_downs)
        return;
    if (w->downs_known && !anew && p->downs > w->downs)
        more = p->downs - w->downs;
    if (more > w->unread)
        w->flaps += more - w->unread;
    w->unread = 0;
    w->downs = p->downs;
    w->downs_known = true;
}

static void count_errors(struct nics *n, struct watched *w,
                         const struct nic_port *p, bool anew, int64_t now)
{
    for (int i = 0; i < TALLY_COUNTERS; i++)
        if (p->has & 1u << i)
            tally_take(&w->tally[i], &n->rules.counters.of[i], p->value[i],
                       p->full & 1u << i, anew, now);
}

static void take(struct nics *n, struct watched *w, const struct nic_port *p,
                 int64_t now)
{
    bool anew = w->missed > 0; /* a driver was loaded again */

    count_downs(w, p, anew);
    count_errors(n, w, p, anew, now);
    w->there = true;
    w->missed = 0;
    w->now = *p;
    if (p->link != NIC_UP)
        return;
    w->was_up = true;
    if (p->lanes > w->lanes)
        w->lanes = p->lanes;
    if (p->mbps > w->mbps)
        w->mbps = p->mbps;
}

static struct watched *make(struct nics *n, const struct nic_port *p,
                            int64_t now)
{
    struct watched *w;

    if (n->n == SF_NIC_PORTS_MAX)
        return NULL;
    w = &n->port[n->n++];
    w->now = *p;
    w->first = now;
    return w;
}

bool nics_look(struct nics *n, const struct nic_port *ports, size_t count,
               int64_t now)
{
    bool all = true;

    for (size_t i = 0; i < n->n; i++)
        n->port[i].there = false;
    for (size_t i = 0; i < count; i++) {
        struct watched *w = find(n, ports[i].name);

        if (!w)
            w = make(n, &ports[i], now);
        if (w)
            take(n, w, &ports[i], now);
        else
            all = false;
    }
    for (size_t i = 0; i < n->n; i++) {
        struct watched *w = &n->port[i];

        if (w->there)
            continue;
        if (w->missed == 0)
            w->missed_since = now;
        if (w->missed < NIC_MISSED)
            w->missed++;
    }
    return all;
}

/* ---- judging ------------------------------------------------------------- */

/* True: this is its state, and nothing else need be looked at. */
static bool is_missing(const struct nics *n, const struct watched *w,
                       int64_t now, struct report_record *r)
{
    enum tally_action action = n->rules.fault[NIC_VANISHED];
    bool gone = now - w->missed_since >= n->rules.vanish_ms;

    if (w->missed < NIC_MISSED)
        return false;
    r->never = !w->was_up;
    if (action == TALLY_IGNORE)
        return true;
    if (action == TALLY_DRAIN && !gone)
        action = TALLY_DEGRADE;
    r->seen = tally_seen(action);
    snprintf(r->why, sizeof(r->why), "%s %s", w->now.name,
             gone ? "vanished" : "is not there");
    return true;
}

static bool is_down(const struct nics *n, const struct watched *w, int64_t now,
                    struct report_record *r)
{
    enum tally_action action = n->rules.fault[NIC_IS_DOWN];
    const struct nic_port *p = &w->now;

    if (p->link == NIC_UP)
        return false;
    r->never = !w->was_up;
    if (!w->was_up && now - w->first < n->rules.link_wait_ms) {
        r->seen = SEEN_UNKNOWN;
        snprintf(r->why, sizeof(r->why), "%s has no link yet", p->name);
        return true;
    }
    if (action == TALLY_IGNORE)
        return true;
    r->seen = tally_seen(action);
    if (p->link == NIC_INIT)
        snprintf(r->why, sizeof(r->why), "%s is %.12s: no subnet manager",
                 p->name, p->says);
    else
        snprintf(r->why, sizeof(r->why), "%s no link: %.20s", p->name, p->says);
    return true;
}

/* "100 Gb/s", "2500 Mb/s" */
static void speed_text(uint32_t mbps, char *text, size_t size)
{
    if (mbps % 1000 == 0)
        snprintf(text, size, "%u Gb/s", mbps / 1000);
    else
        snprintf(text, size, "%u Mb/s", mbps);
}

static bool is_slow(const struct watched *w, char *why, size_t size)
{
    const struct nic_port *p = &w->now;
    char is[24], was[24];

    if (p->lanes && p->lanes < w->lanes) {
        snprintf(why, size, "%s runs %ux of %ux", p->name, p->lanes, w->lanes);
        return true;
    }
    if (!p->mbps || p->mbps >= w->mbps)
        return false;
    speed_text(p->mbps, is, sizeof(is));
    speed_text(w->mbps, was, sizeof(was));
    snprintf(why, size, "%.20s runs %.16s of %.16s", p->name, is, was);
    return true;
}

/* The worst that is told; of two equals the first. */
static void worsen(struct report_record *r, enum tally_action action,
                   const char *why)
{
    enum report_seen seen = tally_seen(action);

    if (action == TALLY_IGNORE || (r->why[0] && seen <= r->seen))
        return;
    r->seen = seen;
    snprintf(r->why, sizeof(r->why), "%s", why);
}

static void weigh_counters(const struct nics *n, const struct watched *w,
                           struct report_record *r)
{
    char text[SF_REPORT_WHY_MAX], why[SF_REPORT_WHY_MAX];

    for (int i = 0; i < TALLY_COUNTERS; i++) {
        const struct tally_rule *rule = &n->rules.counters.of[i];
        const struct tally *t = &w->tally[i];

        if (!t->high && !t->blind)
            continue;
        tally_text((enum tally_counter)i, t, rule, text, sizeof(text));
        snprintf(why, sizeof(why), "%.20s %.42s", w->now.name, text);
        if (rule->action != TALLY_IGNORE)
            worsen(r, t->high ? rule->action : TALLY_SHOW, why);
    }
}

static void judge(const struct nics *n, const struct watched *w, int64_t now,
                  struct report_record *r)
{
    char why[SF_REPORT_WHY_MAX];

    r->seen = SEEN_UP;
    if (is_missing(n, w, now, r) || is_down(n, w, now, r))
        return;
    r->mbps = w->now.mbps;
    if (w->now.no_verbs) {
        snprintf(why, sizeof(why), "%s has no uverbs device", w->now.name);
        worsen(r, n->rules.fault[NIC_NO_VERBS], why);
    }
    if (is_slow(w, why, sizeof(why)))
        worsen(r, n->rules.fault[NIC_SLOW], why);
    weigh_counters(n, w, r);
}

/* ---- records ------------------------------------------------------------- */

/* A board that two ports have is nobody's. */
static bool is_unique(const struct nics *n, const struct watched *w)
{
    for (size_t i = 0; i < n->n; i++)
        if (&n->port[i] != w && !n->port[i].now.out &&
            n->port[i].now.board == w->now.board)
            return false;
    return true;
}

/* Names are foreign: a report takes some characters only. */
static void put_clean(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text);
    for (; *out; out++)
        if (!((*out >= 'a' && *out <= 'z') || (*out >= 'A' && *out <= 'Z') ||
              (*out >= '0' && *out <= '9') || strchr(REPORT_WHY_ALSO, *out)))
            *out = '_';
}

static void put(const struct nics *n, const struct watched *w, const char *node,
                int64_t now, struct report_record *r)
{
    char nic[SF_REPORT_NIC_MAX], why[SF_REPORT_WHY_MAX];

    memset(r, 0, sizeof(*r));
    r->kind = REPORT_HOST;
    snprintf(r->name, sizeof(r->name), "%s", node);
    snprintf(nic, sizeof(nic), "%s%s%s", w->now.model,
             w->now.model[0] ? " " : "", w->now.name);
    put_clean(r->nic, sizeof(r->nic), nic);
    if (is_unique(n, w))
        r->board = w->now.board;
    r->out = w->now.out;
    r->seen = SEEN_UP;
    if (r->out)
        return;
    judge(n, w, now, r);
    r->count = w->flaps;
    memcpy(why, r->why, sizeof(why));
    put_clean(r->why, sizeof(r->why), why);
}

size_t nics_records(struct nics *n, const char *node, unsigned first,
                    struct report_record records[NIC_RECORDS_MAX],
                    bool *changed, int64_t now)
{
    unsigned rail = first;
    size_t told = 0, out = 0;

    n->untold = 0;
    for (size_t i = 0; i < n->n; i++) {
        const struct watched *w = &n->port[i];

        if (w->now.out ? out == SF_ELAN_RAILS_MAX : rail == SF_ELAN_RAILS_MAX) {
            n->untold += !w->now.out;
            continue;
        }
        put(n, w, node, now, &records[told]);
        out += w->now.out;
        records[told++].rail = (uint8_t)(w->now.out ? 0 : rail++);
    }
    *changed = told != n->ntold ||
               memcmp(records, n->told, told * sizeof(*records)) != 0;
    memcpy(n->told, records, told * sizeof(*records));
    n->ntold = told;
    return told;
}

unsigned nics_untold(const struct nics *n)
{
    return n->untold;
}
