/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plugins/switch_elan/gate.h"

static bool is_listed(const struct gate *g, uint32_t id)
{
    return id <= SF_ELAN_NODE_ID_MAX && (g->listed[id / 64] >> id % 64 & 1);
}

uint32_t gate_refused(const struct health_table *t)
{
    uint32_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        n += t->list[i].refuse != 0;
    return n;
}

/* From names to Elan ids, once per table. */
static void list_nodes(struct gate *g, const struct elanhosts *hosts)
{
    const struct health_table *t = &g->reader.table;
    uint32_t id;

    memset(g->listed, 0, sizeof(g->listed));
    g->any = false;
    g->refused = gate_refused(t);
    g->hosts = hosts;
    for (size_t i = 0; i < t->n; i++) {
        if (!t->list[i].refuse ||
            elanhosts_ids(hosts, t->list[i].name, 1, &id, NULL) < 0)
            continue;
        g->listed[id / 64] |= 1ull << id % 64;
        g->entry[id] = (uint32_t)i;
        g->any = true;
    }
}

/* The file is what? */
static enum gate_news tell(const struct gate *g, enum health_table_news what,
                           struct errbuf *news)
{
    struct errbuf why = *news;

    switch (what) {
    case HEALTH_TABLE_ABSENT:
        errprintf(news,
                  "no health table: %s (is switchmgrd running, and is "
                  "HealthTable= its file?); %s by StalePolicy (HealthTable= "
                  "with nothing: steps are not looked at)",
                  why.text,
                  g->reader.known ? "the last one counts for StaleAfter, then "
                                    "steps go"
                                  : "steps go");
        return g->reader.known ? GATE_GONE : GATE_NEVER;
    case HEALTH_TABLE_BAD:
        return GATE_UNFIT;
    default:
        errprintf(news, "the health table is there again");
        return GATE_GOOD;
    }
}

enum gate_news gate_look(struct gate *g, const char *path,
                         const struct elanhosts *hosts, int64_t now,
                         struct errbuf *news)
{
    enum health_table_news what = health_table_look(&g->reader, path, news);
    bool changed = what != g->last;

    if (what == HEALTH_TABLE_NEW || g->hosts != hosts)
        list_nodes(g, hosts);
    if (what == HEALTH_TABLE_SAME)
        return GATE_SAME;
    g->last = what;
    if (what == HEALTH_TABLE_NEW) {
        changed = g->absent_since != 0;
        g->absent_since = 0;
    } else if (g->absent_since == 0) {
        g->absent_since = now;
    }
    return changed ? tell(g, what, news) : GATE_SAME;
}

void gate_forget_hosts(struct gate *g)
{
    g->hosts = NULL;
}

void gate_free(struct gate *g)
{
    health_table_reader_free(&g->reader);
    memset(g, 0, sizeof(*g));
}

#define ASK_MS 2000
#define ASK_MAX_MS 60000

bool gate_may_ask(const struct gate *g, int64_t now)
{
    /* Further off: the clock was set back. */
    return now >= g->ask_at || g->ask_at - now > ASK_MAX_MS;
}

static enum gate_news answered(struct gate *g, int64_t now, struct errbuf *news)
{
    uint32_t before = g->unanswered;

    g->absent_since = 0;
    g->unanswered = 0;
    g->ask_at = now + ASK_MS;
    if (before == 0)
        return GATE_SAME;
    errprintf(news, "slurmctld says again which nodes' fabric is down");
    return GATE_GOOD;
}

enum gate_news gate_take(struct gate *g, struct health_table *table,
                         const struct elanhosts *hosts, int64_t now,
                         struct errbuf *news)
{
    health_table_free(&g->reader.table);
    g->reader.table = *table;
    g->reader.known = true;
    memset(table, 0, sizeof(*table));
    list_nodes(g, hosts);
    return answered(g, now, news);
}

enum gate_news gate_hears_the_same(struct gate *g, int64_t asked, int64_t now,
                                   struct errbuf *news)
{
    g->reader.table.written = asked;
    return answered(g, now, news);
}

/* Until the next question, after n without an answer, the last of which took
 * `took`: never more than half of the time goes into them. */
static int64_t pause_after(uint32_t n, int64_t took)
{
    int64_t pause = n < 6 ? (int64_t)ASK_MS << (n - 1) : ASK_MAX_MS;

    if (pause < took)
        pause = took;
    return pause < ASK_MAX_MS ? pause : ASK_MAX_MS;
}

enum gate_news gate_hears_nothing(struct gate *g, int64_t asked, int64_t now,
                                  struct errbuf *news)
{
    int64_t took = now - asked;

    if (g->absent_since == 0)
        g->absent_since = now;
    g->unanswered++;
    if (!g->reader.known && g->unanswered == 1 && took < ASK_MS)
        g->ask_at = now;
    else
        g->ask_at = now + pause_after(g->unanswered, took);
    if (g->unanswered != 1)
        return GATE_SAME;
    errprintf(news,
              "slurmctld does not say which nodes' fabric is down; %s by "
              "StalePolicy, and it is asked again",
              g->reader.known ? "what it said last counts for StaleAfter, then "
                                "steps go"
                              : "steps go");
    return GATE_GONE;
}

/* How long there has been no word that can be relied on, ms; 0: there is. */
static int64_t silence(const struct gate *g, const struct mgrconf *conf,
                       int64_t now)
{
    int64_t limit = (int64_t)conf->stale_after * 1000;

    if (!g->reader.known)
        return now - g->absent_since + 1;
    if (now - g->reader.table.written <= limit)
        return 0;
    return now - g->reader.table.written - limit;
}

enum gate_news gate_look_at_age(struct gate *g, const struct mgrconf *conf,
                                int64_t now, struct errbuf *news)
{
    bool allow = conf->on_stale == MGR_STALE_ALLOW;
    bool stale = silence(g, conf, now) > 0 && (g->reader.known || !allow);

    if (stale == g->stale_told)
        return GATE_SAME;
    g->stale_told = stale;
    if (!stale) {
        errprintf(news, "the health table is written again");
        return GATE_GOOD;
    }
    errprintf(news,
              "the health table is older than %ld s or has never been there "
              "(is switchmgrd running?); until it is written again steps are "
              "%s (StalePolicy)",
              conf->stale_after,
              allow ? "built without it" : "refused on all nodes");
    return GATE_UNFIT;
}

/* For a fault of this age of node (empty: of the table). */
static int refuse(struct gate *g, const struct mgrconf *conf, const char *node,
                  uint32_t rails, int64_t age, int64_t now)
{
    int64_t grace = (int64_t)conf->busy_grace * 1000;

    g->wait = (struct gate_wait){
        .rails = rails,
        .until = now - age + grace,
        .stale_after = (int64_t)conf->stale_after * 1000,
        .stale_is_allowed = conf->on_stale == MGR_STALE_ALLOW,
        .refuse_percent = (uint32_t)conf->refuse_percent};
    snprintf(g->wait.node, sizeof(g->wait.node), "%s", node);
    errno = age < grace ? EBUSY : EHOSTDOWN;
    return -1;
}

/* The table's word on a listed node.  NULL: fine for these rails. */
static const struct health_table_node *fault_of(const struct gate *g,
                                                uint32_t id, uint32_t rails)
{
    const struct health_table_node *n = &g->reader.table.list[g->entry[id]];

    return n->refuse & rails ? n : NULL;
}

static int refuse_node(struct gate *g, const struct health_table_node *n,
                       const struct mgrconf *conf, uint32_t rails, int64_t now,
                       struct errbuf *err)
{
    errprintf(err, "the fabric of node %s is %s since %lld s (%s)", n->name,
              health_state_name(n->state), (long long)(now - n->since) / 1000,
              n->why);
    return refuse(g, conf, n->name, rails, now - n->since, now);
}

/* A switch manager that finds most of the cluster down is not believed: one
 * mistake must not stop everything. */
static bool too_many(const struct health_table *t, uint32_t refused,
                     uint32_t percent)
{
    return refused > 1 &&
           (uint64_t)refused * 100 > (uint64_t)t->nodes * percent;
}

int gate_check(struct gate *g, const struct mgrconf *conf, const uint32_t *ids,
               uint32_t n, uint32_t rails, int64_t now, bool *no_broadcast,
               struct errbuf *err)
{
    int64_t silent = silence(g, conf, now);
    const struct health_table_node *fault;
    uint32_t bits = (1u << rails) - 1;

    if (silent > 0) {
        if (conf->on_stale == MGR_STALE_ALLOW)
            return 0;
        errprintf(err, "no health table that is newer than %ld s",
                  conf->stale_after);
        return refuse(g, conf, "", bits, silent, now);
    }
    if (!g->any || conf->on_down == MGR_DOWN_IGNORE)
        return 0;
    if (too_many(&g->reader.table, g->refused, (uint32_t)conf->refuse_percent))
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_listed(g, ids[i]) || !(fault = fault_of(g, ids[i], bits)))
            continue;
        if (conf->on_down == MGR_DOWN_REFUSE)
            return refuse_node(g, fault, conf, bits, now, err);
        *no_broadcast = true;
    }
    return 0;
}

/* Seconds for which a step waits for this fault to go; 0: it does not. */
static uint32_t patience(const struct health_table_node *fault,
                         const struct mgrconf *conf, int64_t now)
{
    int64_t left = (int64_t)conf->busy_grace * 1000 - (now - fault->since);

    if (fault->state != HEALTH_DOWN || left <= 0)
        return 0;
    left = (left + 999) / 1000;
    return left > ELAN_HOLD_SECONDS_MAX ? ELAN_HOLD_SECONDS_MAX
                                        : (uint32_t)left;
}

int gate_hold(const struct gate *g, const struct mgrconf *conf,
              const uint32_t *ids, uint32_t n, uint32_t rails, int64_t now,
              struct elan_hold *hold)
{
    const struct health_table_node *fault;
    uint32_t bits = (1u << rails) - 1, seconds;

    memset(hold, 0, sizeof(*hold));
    errno = EHOSTDOWN;
    /* What the nodes are told of each other comes by Extra. */
    if (!conf->extra || conf->dry_run || silence(g, conf, now) > 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_listed(g, ids[i]) || !(fault = fault_of(g, ids[i], bits)))
            continue;
        seconds = patience(fault, conf, now);
        if (seconds == 0 || hold->n == ELAN_HOLD_NODES_MAX) {
            memset(hold, 0, sizeof(*hold));
            return -1;
        }
        if (seconds > hold->seconds)
            hold->seconds = seconds;
        hold->nodes[hold->n++] = i;
    }
    return hold->n ? 0 : -1;
}

bool gate_wait_is_over(const struct gate_wait *w,
                       const struct health_table_reader *r, uint32_t refused,
                       int64_t now)
{
    const struct health_table *t = &r->table;
    const struct health_table_node *n;

    if (now >= w->until)
        return true;
    if (w->is_refused || !r->known)
        return false;
    if (now - t->written > w->stale_after)
        return w->stale_is_allowed;
    if (!*w->node || too_many(t, refused, w->refuse_percent))
        return true;
    n = health_table_find(t, w->node);
    return !n || !(n->refuse & w->rails);
}
