/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapperd/ib_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* A port that has, or had, a cable. */
struct port {
    struct {
        uint64_t guid;
        uint64_t number;
    } key;
    struct ib_end end;
    struct port *peer;
    bool heard; /* in this sweep */
    unsigned silent;
    bool known; /* info is valid */
    struct smp_port_info info;
    struct tally tally[TALLY_PORT_COUNTERS];
    uint16_t lid; /* the last that it had */
    bool ill;     /* the cable, if it is told by this end */
    int routes;   /* ... to so many nodes, when it became so; -1: not known */
    UT_hash_handle hh;
};

struct watch_switch {
    uint64_t guid;
    char name[SF_REPORT_NAME_MAX];
    bool heard;
    unsigned silent;
    uint8_t *routes; /* of each LID below nroutes: the port; 255: none */
    size_t nroutes;
    UT_hash_handle hh;
};

struct watch_node {
    char name[SF_REPORT_NAME_MAX];
    unsigned rails; /* a bit for each that one of its ports has */
    unsigned mark;  /* counted in this round */
    UT_hash_handle hh;
};

struct ib_watch {
    struct port *ports;
    struct watch_node *nodes;
    struct watch_switch *switches;
    struct ib_rules rules;
    uint64_t version, hash;
    unsigned round;
    ib_watch_hurt_f *hurt;
    void *arg;
};

/* ---- rules --------------------------------------------------------------- */

static const struct tally_fault faults[IB_FAULTS] = {
    [IB_SLOW] = {"slow", TALLY_DEGRADE},
    [IB_BELOW_SUPPORTED] = {"below_supported", TALLY_SHOW},
};

void ib_rules_default(struct ib_rules *r)
{
    tally_rules_default(&r->counters);
    for (int i = 0; i < IB_FAULTS; i++)
        r->fault[i] = faults[i].action;
}

static const char *read_line(void *rules, const char *line)
{
    struct ib_rules *r = rules;
    const char *wrong;

    if (tally_fault_read(faults, IB_FAULTS, r->fault, line, &wrong))
        return wrong;
    return tally_rule_read(&r->counters, line);
}

int ib_rules_parse(struct ib_rules *rules, const char *path, const char *text,
                   size_t len, struct errbuf *err)
{
    struct ib_rules r = *rules;

    if (tally_lines_parse(&r, read_line, path, text, len, err) < 0)
        return -1;
    *rules = r;
    return 0;
}

/* ---- ports, switches, nodes ---------------------------------------------- */

#define PORTS_MAX (4 * SF_HEALTH_ITEMS_MAX)

struct ib_watch *ib_watch_new(void)
{
    struct ib_watch *w = calloc(1, sizeof(*w));

    if (w)
        ib_rules_default(&w->rules);
    return w;
}

static struct port *find(const struct ib_watch *w, uint64_t guid,
                         uint8_t number)
{
    struct port *p, key;

    memset(&key, 0, sizeof(key));
    key.key.guid = guid;
    key.key.number = number;
    HASH_FIND(hh, w->ports, &key.key, sizeof(key.key), p);
    return p;
}

static void drop(struct ib_watch *w, struct port *p)
{
    if (p->peer)
        p->peer->peer = NULL;
    HASH_DEL(w->ports, p);
    free(p);
}

/* With what hangs at its other end: a port without a cable is none. */
static void unplug(struct ib_watch *w, struct port *p)
{
    if (p->peer)
        drop(w, p->peer);
    drop(w, p);
}

void ib_watch_free(struct ib_watch *w)
{
    struct port *p, *next;
    struct watch_switch *s, *snext;
    struct watch_node *n, *nnext;

    if (!w)
        return;
    HASH_ITER(hh, w->ports, p, next)
    drop(w, p);
    HASH_ITER(hh, w->switches, s, snext)
    {
        HASH_DEL(w->switches, s);
        free(s->routes);
        free(s);
    }
    HASH_ITER(hh, w->nodes, n, nnext)
    {
        HASH_DEL(w->nodes, n);
        free(n);
    }
    free(w);
}

static bool keep_node(struct ib_watch *w, const struct ib_end *e)
{
    struct watch_node *n;

    HASH_FIND_STR(w->nodes, e->name, n);
    if (!n) {
        if (!(n = calloc(1, sizeof(*n))))
            return false;
        memcpy(n->name, e->name, sizeof(n->name));
        HASH_ADD_STR(w->nodes, name, n);
    }
    n->rails |= 1u << e->rail;
    return true;
}

static bool keep_switch(struct ib_watch *w, const struct ib_end *e)
{
    struct watch_switch *s;

    if (e->host)
        return keep_node(w, e);
    HASH_FIND(hh, w->switches, &e->guid, sizeof(e->guid), s);
    if (!s) {
        if (HASH_COUNT(w->switches) >= SF_HEALTH_ITEMS_MAX ||
            !(s = calloc(1, sizeof(*s))))
            return false;
        s->guid = e->guid;
        HASH_ADD(hh, w->switches, guid, sizeof(s->guid), s);
    }
    memcpy(s->name, e->name, sizeof(s->name));
    return true;
}

static struct port *make(struct ib_watch *w, const struct ib_end *e)
{
    struct port *p;

    if (HASH_COUNT(w->ports) >= PORTS_MAX || !(p = calloc(1, sizeof(*p))))
        return NULL;
    p->key.guid = e->guid;
    p->key.number = e->port;
    p->end = *e;
    p->routes = -1;
    HASH_ADD(hh, w->ports, key, sizeof(p->key), p);
    return p;
}

bool ib_watch_cable(struct ib_watch *w, const struct ib_end *a,
                    const struct ib_end *b)
{
    struct port *p = find(w, a->guid, a->port), *q;

    if (a->guid == b->guid && a->port == b->port)
        return false;
    if (!keep_switch(w, a) || !keep_switch(w, b))
        return false;
    q = find(w, b->guid, b->port);
    if (p && p->peer == q && q) {
        p->end = *a;
        q->end = *b;
        return true;
    }
    if (p)
        unplug(w, p);
    q = find(w, b->guid, b->port); /* it may have been p's */
    if (q)
        unplug(w, q);
    p = make(w, a);
    q = p ? make(w, b) : NULL;
    if (!q) {
        if (p)
            drop(w, p);
        return false;
    }
    p->peer = q;
    q->peer = p;
    return true;
}

/* ---- a sweep ------------------------------------------------------------- */

void ib_watch_begin(struct ib_watch *w)
{
    struct port *p, *next;
    struct watch_switch *s, *snext;

    HASH_ITER(hh, w->ports, p, next)
    p->heard = false;
    HASH_ITER(hh, w->switches, s, snext)
    s->heard = false;
}

void ib_watch_port(struct ib_watch *w, uint64_t guid, uint8_t number,
                   const struct smp_port_info *info)
{
    struct port *p = find(w, guid, number);
    struct watch_switch *s;

    HASH_FIND(hh, w->switches, &guid, sizeof(guid), s);
    if (s)
        s->heard = true;
    if (!p)
        return;
    p->heard = p->known = true;
    p->info = *info;
    if (info->lid)
        p->lid = info->lid;
}

void ib_watch_rules(struct ib_watch *w, const struct ib_rules *rules)
{
    w->rules = *rules;
}

void ib_watch_counters(struct ib_watch *w, uint64_t guid, uint8_t number,
                       const struct pma_counters *c, int64_t now)
{
    struct port *p = find(w, guid, number);

    for (int i = 0; p && i < TALLY_PORT_COUNTERS; i++)
        tally_take(&p->tally[i], &w->rules.counters.of[i], c->value[i],
                   c->full[i], false, now);
}

#define NO_ROUTE 255

void ib_watch_routes(struct ib_watch *w, uint64_t guid, unsigned block,
                     const uint8_t ports[SMP_BLOCK])
{
    size_t end = (block + 1u) * (size_t)SMP_BLOCK;
    struct watch_switch *s;
    uint8_t *more;

    HASH_FIND(hh, w->switches, &guid, sizeof(guid), s);
    if (!s || block >= SMP_BLOCKS_MAX)
        return;
    if (s->nroutes < end) {
        if (!(more = realloc(s->routes, end)))
            return;
        memset(more + s->nroutes, NO_ROUTE, end - s->nroutes);
        s->routes = more;
        s->nroutes = end;
    }
    memcpy(s->routes + end - SMP_BLOCK, ports, SMP_BLOCK);
}

void ib_watch_on_hurt(struct ib_watch *w, ib_watch_hurt_f *hurt, void *arg)
{
    w->hurt = hurt;
    w->arg = arg;
}

/* ---- rails --------------------------------------------------------------- */

int ib_watch_rail(const struct ib_watch *w, uint64_t guid, uint8_t number)
{
    const struct port *p = find(w, guid, number);

    return p && p->end.host ? p->end.rail : -1;
}

int ib_watch_free_rail(const struct ib_watch *w, const char *node, int first)
{
    const struct watch_node *n;

    HASH_FIND_STR(w->nodes, node, n);
    for (int rail = first; rail < SF_ELAN_RAILS_MAX; rail++)
        if (!n || !(n->rails & 1u << rail))
            return rail;
    return -1;
}

/* ---- judging ------------------------------------------------------------- */

static bool is_silent(const struct port *p)
{
    return !p->known || p->silent >= IB_WATCH_SILENT;
}

static bool is_active(const struct port *p)
{
    return p->info.physical == SMP_LINK_UP && p->info.state == SMP_ACTIVE;
}

static void end_text(const struct ib_end *e, char *text, size_t size)
{
    snprintf(text, size, "%.50s:%u", e->name, e->port);
}

/* What this end alone says. */
static enum report_seen judge_end(const struct port *p, char *why, size_t size)
{
    char end[64];

    end_text(&p->end, end, sizeof(end));
    if (is_silent(p) || is_active(p)) {
        why[0] = '\0';
        return is_silent(p) ? SEEN_UNKNOWN : SEEN_UP;
    }
    if (p->info.physical == SMP_LINK_UP && p->info.state != SMP_DOWN)
        snprintf(why, size, "%.40s is %s: no subnet manager", end,
                 smp_state_name(p->info.state));
    else
        snprintf(why, size, "no link at %.40s: %s", end,
                 smp_physical_name(p->info.physical));
    return SEEN_DOWN;
}

/* A cable, seen from both ends.  The switch's end tells more: it has the name
 * that is looked for. */
static enum report_seen judge(const struct port *p, char *why, size_t size)
{
    const struct port *first = p->end.host ? p->peer : p;
    const struct port *second = first->peer;
    enum report_seen a = judge_end(first, why, size), b;
    char other[SF_REPORT_WHY_MAX], end[64];

    if (a == SEEN_DOWN)
        return a;
    b = judge_end(second, other, sizeof(other));
    if (b == SEEN_DOWN) {
        snprintf(why, size, "%s", other);
        return b;
    }
    if (a == SEEN_UP || b == SEEN_UP) {
        end_text(a == SEEN_UP ? &second->end : &first->end, end, sizeof(end));
        if (a != b)
            snprintf(why, size, "%.40s answers no question", end);
        return a == b || !second->end.host ? SEEN_UP : SEEN_DEGRADED;
    }
    end_text(&first->end, end, sizeof(end));
    snprintf(why, size, "%.40s is out of reach", end);
    return first->known ? SEEN_DOWN : SEEN_UNKNOWN;
}

/* What two ends have in common; 0 where one of them does not tell. */
static struct smp_pace both(const struct smp_pace *a, const struct smp_pace *b)
{
    return (struct smp_pace){
        .width = a->width < b->width ? a->width : b->width,
        .speed = a->speed < b->speed ? a->speed : b->speed,
    };
}

/* Fewer lanes, or slower ones, than that.  `what` ends the text. */
static bool is_below(const struct port *p, struct smp_pace most,
                     const char *what, char *why, size_t size)
{
    const struct smp_pace *now = &p->info.now;

    if (now->width && now->width < most.width)
        snprintf(why, size, "%.24s:%u runs %ux of %ux%s", p->end.name,
                 p->end.port, now->width, most.width, what);
    else if (now->speed && now->speed < most.speed)
        snprintf(why, size, "%.20s:%u runs %u.%u of %u.%u Gb/s%s", p->end.name,
                 p->end.port, now->speed / 10u, now->speed % 10u,
                 most.speed / 10u, most.speed % 10u, what);
    else
        return false;
    return true;
}

/* A cable with fewer lanes, or slower ones, than both ends may use (IB_SLOW);
 * or are able to use, though somebody has not enabled it (IB_BELOW_SUPPORTED).
 */
static void weigh_pace(const struct ib_watch *w, const struct port *p,
                       enum ib_fault fault, enum report_seen *seen, char *why,
                       size_t size)
{
    const struct smp_port_info *a = &p->info, *b = &p->peer->info;
    enum tally_action action = w->rules.fault[fault];
    bool slow = fault == IB_SLOW;

    if (action == TALLY_IGNORE || is_silent(p) || is_silent(p->peer) ||
        (*why && tally_seen(action) <= *seen))
        return;
    if (is_below(p,
                 slow ? both(&a->enabled, &b->enabled)
                      : both(&a->supported, &b->supported),
                 slow ? "" : " supported", why, size))
        *seen = tally_seen(action);
}

/* The worst rule that this end breaks; none: a counter that is blind. */
static void weigh_counters(const struct ib_watch *w, const struct port *p,
                           enum report_seen *seen, char *why, size_t size)
{
    char text[SF_REPORT_WHY_MAX];

    for (int i = 0; i < TALLY_PORT_COUNTERS; i++) {
        const struct tally *t = &p->tally[i];
        const struct tally_rule *rule = &w->rules.counters.of[i];
        enum report_seen s = t->high ? tally_seen(rule->action) : SEEN_UP;

        if ((!t->high && !t->blind) || rule->action == TALLY_IGNORE ||
            (*why && (s < *seen || (s == *seen && !t->high))))
            continue;
        tally_text((enum tally_counter)i, t, rule, text, sizeof(text));
        snprintf(why, size, "%.26s:%u %.32s", p->end.name, p->end.port, text);
        *seen = s;
    }
}

/* ... and, when it is up, how good it is. */
static enum report_seen judge_all(const struct ib_watch *w,
                                  const struct port *p, char *why, size_t size)
{
    enum report_seen seen = judge(p, why, size);
    const struct port *first = p->end.host ? p->peer : p;

    if (seen != SEEN_UP)
        return seen;
    why[0] = '\0';
    weigh_pace(w, first, IB_SLOW, &seen, why, size);
    weigh_counters(w, first, &seen, why, size);
    weigh_counters(w, first->peer, &seen, why, size);
    /* Last, for it stays so: it would hide that a counter is full. */
    weigh_pace(w, first, IB_BELOW_SUPPORTED, &seen, why, size);
    return seen;
}

/* Of two ends of a cable one is told: the host's, or the smaller. */
static bool is_told(const struct port *p)
{
    if (!p->peer)
        return false;
    if (p->end.host || p->peer->end.host)
        return p->end.host &&
               !(p->peer->end.host && p->key.guid > p->peer->key.guid);
    return p->key.guid < p->peer->key.guid ||
           (p->key.guid == p->peer->key.guid &&
            p->key.number < p->peer->key.number);
}

static void put_cable(const struct ib_watch *w, const struct port *p,
                      struct report_record *r)
{
    const struct ib_end *e = &p->end, *peer = &p->peer->end;
    char more[40];
    size_t len;

    r->seen = judge_all(w, p, r->why, sizeof(r->why));
    if (e->host) {
        r->kind = REPORT_HOST;
        r->board = e->guid;
        r->rail = e->rail;
        snprintf(r->name, sizeof(r->name), "%s", e->name);
    } else {
        r->kind = REPORT_LINK;
        end_text(e, r->name, sizeof(r->name));
    }
    end_text(peer, r->peer, sizeof(r->peer));
    len = strlen(r->why);
    if (!e->host && p->ill && p->routes > 0 &&
        snprintf(more, sizeof(more), " - routes to %d nodes", p->routes) <
            (int)(sizeof(r->why) - len))
        memcpy(r->why + len, more, strlen(more) + 1);
}

static void put_switch(const struct watch_switch *s, struct report_record *r)
{
    bool silent = s->silent >= IB_WATCH_SILENT;

    r->kind = REPORT_XBAR;
    r->board = s->guid;
    r->seen = silent ? SEEN_DOWN : SEEN_UP;
    snprintf(r->name, sizeof(r->name), "%s", s->name);
    if (silent)
        snprintf(r->why, sizeof(r->why), "answers no question");
}

/* ---- whom a cable hurts -------------------------------------------------- */

static const struct watch_switch *switch_of(const struct ib_watch *w,
                                            const struct port *p)
{
    const struct watch_switch *s;

    HASH_FIND(hh, w->switches, &p->end.guid, sizeof(p->end.guid), s);
    return s;
}

/* Does this end send to that LID? */
static bool sends(const struct watch_switch *s, const struct port *p,
                  unsigned lid)
{
    return s && lid < s->nroutes && s->routes[lid] == p->end.port;
}

/* Nodes to which either end of the cable sends over it, some of them by name;
 * -1: no routes are known. */
static int nodes_over(struct ib_watch *w, const struct port *link, char *names,
                      size_t size)
{
    const struct watch_switch *a = switch_of(w, link),
                              *b = switch_of(w, link->peer);
    size_t len = 0;
    int n = 0;

    names[0] = '\0';
    if ((!a || !a->nroutes) && (!b || !b->nroutes))
        return -1;
    w->round++;
    for (const struct port *p = w->ports; p; p = p->hh.next) {
        unsigned lid = p->end.host ? p->lid : 0;
        struct watch_node *node;

        if (!lid || (!sends(a, link, lid) && !sends(b, link->peer, lid)))
            continue;
        HASH_FIND_STR(w->nodes, p->end.name, node);
        if (!node || node->mark == w->round)
            continue;
        node->mark = w->round;
        n++;
        if (len + strlen(node->name) + 5 < size)
            len += (size_t)snprintf(names + len, size - len, "%s%s",
                                    len ? "," : "", node->name);
        else if (len + 5 > size || names[len - 1] != '.')
            len += (size_t)snprintf(names + len, size - len, ",..");
    }
    return n;
}

static void look_at_link(struct ib_watch *w, struct port *p)
{
    char why[SF_REPORT_WHY_MAX], names[400];
    char a[64], b[64], link[140];
    bool ill = judge_all(w, p, why, sizeof(why)) != SEEN_UP;

    if (!ill || !p->ill)
        p->routes = -1;
    p->ill = ill;
    if (!ill || p->routes >= 0)
        return;
    p->routes = nodes_over(w, p, names, sizeof(names));
    if (p->routes <= 0 || !w->hurt)
        return;
    end_text(&p->end, a, sizeof(a));
    end_text(&p->peer->end, b, sizeof(b));
    snprintf(link, sizeof(link), "%s - %s", a, b);
    w->hurt(link, names, (unsigned)p->routes, w->arg);
}

static void look_at_links(struct ib_watch *w)
{
    for (struct port *p = w->ports; p; p = p->hh.next)
        if (!p->end.host && is_told(p))
            look_at_link(w, p);
}

static void count(unsigned *silent, bool heard)
{
    if (heard)
        *silent = 0;
    else if (*silent < IB_WATCH_SILENT)
        (*silent)++;
}

void ib_watch_end(struct ib_watch *w)
{
    struct port *p, *next;
    struct watch_switch *s, *snext;

    HASH_ITER(hh, w->ports, p, next)
    count(&p->silent, p->heard);
    HASH_ITER(hh, w->switches, s, snext)
    count(&s->silent, s->heard);
    look_at_links(w);
}

/* ---- records --------------------------------------------------------------
 */

static uint64_t hash_of(const void *data, size_t len)
{
    uint64_t h = 14695981039346656037ULL;

    for (const uint8_t *b = data; len > 0; len--)
        h = (h ^ *b++) * 1099511628211ULL;
    return h;
}

struct report_record *ib_watch_records(struct ib_watch *w, size_t *n,
                                       uint64_t *version)
{
    size_t room = HASH_COUNT(w->ports) + HASH_COUNT(w->switches) + 1;
    struct report_record *records = calloc(room, sizeof(*records));
    const struct watch_switch *s;
    const struct port *p;
    uint64_t hash;

    *n = 0;
    if (!records)
        return NULL;
    for (s = w->switches; s; s = s->hh.next)
        put_switch(s, &records[(*n)++]);
    for (p = w->ports; p; p = p->hh.next)
        if (is_told(p))
            put_cable(w, p, &records[(*n)++]);
    hash = hash_of(records, *n * sizeof(*records));
    if (hash != w->hash || w->version == 0)
        w->version++;
    w->hash = hash;
    *version = w->version;
    return records;
}
