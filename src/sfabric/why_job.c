/* SPDX-License-Identifier: BSD-3-Clause */
#include "sfabric/why_job.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

#include "base/host_names.h"
#include "base/jsonx.h"
#include "base/limits.h"
#include "sfabric/format.h"
#include "sfabric/slurm_says.h"

#define HISTORIES 256 /* links of which the history is asked for */

/* A port of one of the job's nodes. */
struct rail {
    char node[SF_REPORT_NAME_MAX], peer[SF_REPORT_NAME_MAX];
    int number;
    char is[16]; /* state now */
    int worst;   /* index of states; 0: not known */
    int began;   /* its state when the job began */
    int minutes; /* by the history, that it was not well */
    int64_t first;
};

struct node {
    char name[SF_REPORT_NAME_MAX];
    UT_hash_handle hh;
};

/* A crossbar that a node of the job hangs on. */
struct xbar {
    char name[SF_REPORT_NAME_MAX];
    UT_hash_handle hh;
};

struct look {
    const struct sfabric_options *o;
    struct slurm_job job;
    int64_t now, until;
    struct node *nodes;
    struct xbar *xbars;
    struct rail *rails;
    size_t n, asked;
    struct json_object *events; /* that concern the job */
    int rc;
};

static const char *const states[] = {"",         "healthy",  "unknown",
                                     "degraded", "flapping", "down"};
#define NSTATES (int)(sizeof(states) / sizeof(states[0]))
#define HEALTHY 1

bool why_job_is_one(const char *text)
{
    size_t n = strspn(text, "0123456789");

    return n > 0 && n + strspn(text + n, "_+0123456789") == strlen(text) &&
           strlen(text) < 32;
}

static int state_of(const char *text)
{
    for (int s = 1; text && s < NSTATES; s++)
        if (strcmp(text, states[s]) == 0)
            return s;
    return 0;
}

static void worsen(struct look *l, struct rail *r, int state)
{
    if (state > r->worst)
        r->worst = state;
    if (state > HEALTHY)
        l->rc = sfabric_worse(l->rc, sfabric_status(states[state]));
}

/* ---- whose links --------------------------------------------------------- */

static bool keep_node(void *arg, const char *name)
{
    struct look *l = arg;
    struct node *n;

    if (strlen(name) >= sizeof(n->name) || !(n = calloc(1, sizeof(*n))))
        return false;
    strcpy(n->name, name);
    HASH_ADD_STR(l->nodes, name, n);
    return true;
}

static void keep_xbar(struct look *l, const char *peer)
{
    char name[SF_REPORT_NAME_MAX];
    struct xbar *x;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(peer, ":"), peer);
    HASH_FIND_STR(l->xbars, name, x);
    if (x || !name[0] || !(x = calloc(1, sizeof(*x))))
        return;
    memcpy(x->name, name, sizeof(name));
    HASH_ADD_STR(l->xbars, name, x);
}

static void keep_rail(struct look *l, struct json_object *item)
{
    const char *name = jsonx_str(item, "name", SF_REPORT_NAME_MAX);
    const char *peer = jsonx_str(item, "peer", SF_REPORT_NAME_MAX);
    const char *state = jsonx_str(item, "state", 16);
    struct node *node = NULL;
    struct rail *r;
    int64_t rail = 0, since;

    if (name)
        HASH_FIND_STR(l->nodes, name, node);
    if (!node)
        return;
    r = &l->rails[l->n++];
    jsonx_int(item, "rail", 0, SF_ELAN_RAILS_MAX, &rail);
    r->number = (int)rail;
    snprintf(r->node, sizeof(r->node), "%s", name);
    snprintf(r->peer, sizeof(r->peer), "%s", peer ? peer : "");
    snprintf(r->is, sizeof(r->is), "%s", state ? state : "?");
    if (peer)
        keep_xbar(l, peer);
    if (l->until >= l->now) /* it runs */
        worsen(l, r, state_of(state));
    if (jsonx_int(item, "since", 0, INT64_MAX, &since) && since <= l->job.start)
        r->began = state_of(state);
}

static bool find_rails(struct look *l)
{
    struct json_object *in = json_object_new_object(), *reply, *items;
    size_t n;

    jsonx_add_str(in, "kind", "host");
    reply = sfabric_ask(l->o, "switchmgrd", "items", in);
    if (!reply)
        return false;
    jsonx_int(reply, "now", 0, INT64_MAX, &l->now);
    l->until = l->job.end && l->job.end < l->now ? l->job.end : l->now;
    items = jsonx_array(reply, "items", &n);
    l->rails = calloc(n + 1, sizeof(*l->rails));
    for (size_t i = 0; l->rails && i < n; i++)
        keep_rail(l, json_object_array_get_idx(items, i));
    json_object_put(reply);
    return l->rails != NULL;
}

/* ---- what was ------------------------------------------------------------ */

/* Of one history, what lies in the job's time: a minute in which it began may
 * have been bad before. */
static void take_history(struct look *l, struct rail *r,
                         struct json_object *history)
{
    int64_t from = 0, step = 60000;
    struct json_object *list;
    size_t n;

    list = jsonx_array(history, "state", &n);
    if (!jsonx_int(history, "from", 0, INT64_MAX / 2, &from) ||
        !jsonx_int(history, "step", 1, 86400000, &step))
        return;
    for (size_t i = 0; i < n; i++) {
        int64_t at = from + (int64_t)i * step;
        int state = state_of(
            json_object_get_string(json_object_array_get_idx(list, i)));

        if (at < l->job.start || at >= l->until)
            continue;
        worsen(l, r, state);
        if (state <= HEALTHY)
            continue;
        if (!r->first)
            r->first = at;
        r->minutes += (int)(step / 60000);
    }
}

static void ask_history(struct look *l, struct rail *r)
{
    struct json_object *in = json_object_new_object(), *reply;
    char name[SF_REPORT_NAME_MAX + 8];

    if (r->number)
        snprintf(name, sizeof(name), "%s/%d", r->node, r->number);
    else
        snprintf(name, sizeof(name), "%s", r->node);
    jsonx_add_str(in, "link", name);
    jsonx_add_bool(in, "year", l->now - l->job.start > 86400000);
    reply = sfabric_ask(l->o, "switchmgrd", "history", in);
    if (!reply)
        return;
    take_history(l, r, jsonx_object(reply, "history"));
    json_object_put(reply);
}

/* "host n2 rail 0: healthy -> down (...)", "link leaf0:5 - spine0:1 rail 0:
 * ..", "xbar leaf0 rail 0: ...": of the job's nodes, their crossbars and those'
 * links. */
static bool concerns(const struct look *l, const char *text)
{
    char kind[8], name[SF_REPORT_NAME_MAX], peer[SF_REPORT_NAME_MAX];
    struct node *node = NULL;
    struct xbar *x = NULL;
    int n = sscanf(text, "%7s %63s - %63s", kind, name, peer);

    if (n < 2)
        return false;
    if (strcmp(kind, "host") == 0) {
        HASH_FIND_STR(l->nodes, name, node);
        return node != NULL;
    }
    if (strcmp(kind, "xbar") != 0 && strcmp(kind, "link") != 0)
        return false;
    name[strcspn(name, ":")] = '\0';
    HASH_FIND_STR(l->xbars, name, x);
    if (!x && n == 3) {
        peer[strcspn(peer, ":")] = '\0';
        HASH_FIND_STR(l->xbars, peer, x);
    }
    return x != NULL;
}

/* "... rail 0: healthy -> down (" */
static int becomes(const char *text)
{
    const char *at = strstr(text, " -> ");
    char word[16] = "";

    if (at)
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(at + 4, " "), at + 4);
    return state_of(word);
}

static void blame_rail(struct look *l, const char *text, int64_t at)
{
    char name[SF_REPORT_NAME_MAX];
    int rail, state = becomes(text);

    if (sscanf(text, "host %63s rail %d:", name, &rail) != 2) {
        if (state > HEALTHY && at >= l->job.start)
            l->rc = sfabric_worse(l->rc, sfabric_status(states[state]));
        return;
    }
    for (size_t i = 0; i < l->n; i++) {
        struct rail *r = &l->rails[i];

        if (r->number != rail || strcmp(r->node, name) != 0)
            continue;
        if (at < l->job.start) {
            r->began = state;
            continue;
        }
        worsen(l, r, state);
        if (state > HEALTHY && (!r->first || at < r->first))
            r->first = at;
    }
}

static void take_event(struct look *l, struct json_object *e)
{
    const char *text = jsonx_str(e, "text", 512);
    struct json_object *copy;
    int64_t at = 0;

    if (!text || !jsonx_int(e, "at", 0, INT64_MAX, &at) || at > l->until ||
        !concerns(l, text))
        return;
    blame_rail(l, text, at);
    if (at < l->job.start)
        return;
    copy = json_object_new_object();
    jsonx_add_int(copy, "at", at);
    jsonx_add_str(copy, "text", text);
    json_object_array_add(l->events, copy);
}

static bool find_events(struct look *l)
{
    struct json_object *in = json_object_new_object(), *reply, *list;
    size_t n;

    jsonx_add_int(in, "since", 0);
    jsonx_add_int(in, "max", SF_SWITCHMGR_EVENTS_MAX);
    reply = sfabric_ask(l->o, "switchmgrd", "events", in);
    if (!reply)
        return false;
    list = jsonx_array(reply, "events", &n);
    for (size_t i = 0; i < n; i++)
        take_event(l, json_object_array_get_idx(list, i));
    json_object_put(reply);
    for (size_t i = 0; i < l->n; i++) {
        struct rail *r = &l->rails[i];

        worsen(l, r, r->began);
        if (r->began > HEALTHY)
            r->first = l->job.start;
    }
    return true;
}

/* ---- telling ------------------------------------------------------------- */

static const char *word(const struct rail *r)
{
    return r->worst ? states[r->worst] : "not watched";
}

static void print_rail(const struct rail *r)
{
    char when[32];

    printf("  %s rail %d%s%s: ", r->node, r->number, r->peer[0] ? " - " : "",
           r->peer);
    if (r->worst <= HEALTHY) {
        puts(r->worst ? "well" : "nothing is known of that time");
        return;
    }
    printf("%s", word(r));
    if (r->first) {
        format_time(when, r->first);
        printf(" at %s", when);
    }
    if (r->minutes)
        printf(", not well for %d min", r->minutes);
    printf(", now %s\n", r->is);
}

static void print_all(const struct look *l)
{
    char from[32], to[32];
    size_t well = 0;

    format_time(from, l->job.start);
    format_time(to, l->until);
    printf("job %s on %s from %s to %s (%s)\n", l->job.id, l->job.nodes, from,
           l->until >= l->now ? "now" : to, l->job.state);
    for (size_t i = 0; i < l->n; i++) {
        well += l->rails[i].worst == HEALTHY;
        if (l->n <= 16 || l->rails[i].worst != HEALTHY)
            print_rail(&l->rails[i]);
    }
    if (l->n > 16)
        printf("  %zu of %zu links were well\n", well, l->n);
    if (l->n > HISTORIES)
        printf("  the history of the first %d links was looked at\n",
               HISTORIES);
    for (size_t i = 0; i < json_object_array_length(l->events); i++) {
        struct json_object *e = json_object_array_get_idx(l->events, i);
        int64_t at = 0;

        jsonx_int(e, "at", 0, INT64_MAX, &at);
        format_time(from, at);
        printf("  %s %s\n", from, jsonx_str(e, "text", 512));
    }
}

/* "n2 rail 0 - leaf1:1 was down at ..": the worst; and how many more. */
static void print_brief(const struct look *l)
{
    const struct rail *worst = NULL;
    char when[32] = "";
    size_t bad = 0;

    for (size_t i = 0; i < l->n; i++) {
        const struct rail *r = &l->rails[i];

        if (r->worst <= HEALTHY)
            continue;
        bad++;
        if (!worst || r->worst > worst->worst)
            worst = r;
    }
    if (!worst)
        return;
    if (worst->first)
        format_time(when, worst->first);
    printf("fabric: %s rail %d%s%s was %s%s%s", worst->node, worst->number,
           worst->peer[0] ? " - " : "", worst->peer, word(worst),
           *when ? " at " : "", when);
    if (bad > 1)
        printf(", and %zu other links were not well", bad - 1);
    putchar('\n');
}

static void print_json(const struct look *l)
{
    struct json_object *o = json_object_new_object();
    struct json_object *list = json_object_new_array();

    jsonx_add_str(o, "job", l->job.id);
    jsonx_add_str(o, "nodes", l->job.nodes);
    jsonx_add_str(o, "state", l->job.state);
    jsonx_add_int(o, "start", l->job.start);
    jsonx_add_int(o, "until", l->until);
    for (size_t i = 0; i < l->n; i++) {
        const struct rail *r = &l->rails[i];
        struct json_object *j = json_object_new_object();

        jsonx_add_str(j, "node", r->node);
        jsonx_add_int(j, "rail", r->number);
        jsonx_add_str(j, "peer", r->peer);
        jsonx_add_str(j, "worst", word(r));
        jsonx_add_str(j, "now", r->is);
        jsonx_add_int(j, "first", r->first);
        jsonx_add_int(j, "minutes", r->minutes);
        json_object_array_add(list, j);
    }
    json_object_object_add(o, "links", list);
    json_object_object_add(o, "events", json_object_get(l->events));
    sfabric_print_json(o);
    json_object_put(o);
}

static int look(struct look *l)
{
    struct errbuf err = {""};

    if (!l->job.nodes[0] || !l->job.start)
        return sfabric_fail("job %s has not begun on any node", l->job.id);
    if (host_names_each(l->job.nodes, keep_node, l, &err) < 0)
        return sfabric_fail("job %s's nodes: %s", l->job.id, err.text);
    if (!find_rails(l))
        return SFABRIC_UNKNOWN;
    for (size_t i = 0; i < l->n && i < HISTORIES; i++)
        ask_history(l, &l->rails[i]);
    if (!find_events(l))
        return SFABRIC_UNKNOWN;
    if (l->n == 0)
        return sfabric_fail("nothing is known of the links of %s: nobody has "
                            "reported about them",
                            l->job.nodes);
    return l->rc;
}

int why_job(const char *id, bool brief, const struct sfabric_options *o)
{
    struct look l = {.o = o};
    struct node *n, *nnext;
    struct xbar *x, *xnext;
    int rc;

    if (!slurm_find_job(id, &l.job))
        return sfabric_fail(
            "Slurm does not know job %s (any more: MinJobAge of "
            "slurm.conf, and accounting for older ones)",
            id);
    l.events = json_object_new_array();
    rc = look(&l);
    if (l.n > 0 && o->json)
        print_json(&l);
    else if (l.n > 0 && brief)
        print_brief(&l);
    else if (l.n > 0)
        print_all(&l);
    HASH_ITER(hh, l.nodes, n, nnext)
    {
        HASH_DEL(l.nodes, n);
        free(n);
    }
    HASH_ITER(hh, l.xbars, x, xnext)
    {
        HASH_DEL(l.xbars, x);
        free(x);
    }
    json_object_put(l.events);
    free(l.rails);
    return rc;
}
