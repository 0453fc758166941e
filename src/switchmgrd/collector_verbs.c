/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Verbs of switchmgrd's control socket.
 */
#include <errno.h>
#include <string.h>

#include "base/host_names.h"
#include "base/jsonx.h"
#include "base/limits.h"
#include "switchmgrd/collector.h"

static struct json_object *counts(const struct collector *n,
                                  enum report_kind kind)
{
    struct json_object *o = json_object_new_object();

    for (int s = 0; s < HEALTH_STATES; s++)
        jsonx_add_int(
            o, health_state_name((enum health_state)s),
            (int64_t)model_count(n->model, kind, (enum health_state)s));
    return o;
}

static struct json_object *describe_map(const struct health_map *m)
{
    struct json_object *o = json_object_new_object();

    jsonx_add_bool(o, "known", m->known);
    if (!m->known)
        return o;
    jsonx_add_uint(o, "version", m->version);
    jsonx_add_str(o, "leader", m->leader);
    jsonx_add_bool(o, "configured", m->configured);
    jsonx_add_int(o, "since", steady_wall(m->since));
    jsonx_add_int(o, "at", steady_wall(m->at));
    jsonx_add_int(o, "verify_us", m->verify_us);
    return o;
}

/* That of each rail that has one. */
static struct json_object *describe_maps(const struct collector *n)
{
    struct json_object *list = json_object_new_array(), *o;

    for (uint8_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        const struct health_map *m = model_map_of(n->model, rail);

        if (!m->known)
            continue;
        o = describe_map(m);
        jsonx_add_int(o, "rail", rail);
        json_object_array_add(list, o);
    }
    return list;
}

/* Rails whose mapper on this host did not say its map in time. */
static struct json_object *late_mappers(const struct collector *n)
{
    struct json_object *list = json_object_new_array();

    for (int rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        if (n->mappers_late >> rail & 1)
            json_object_array_add(list, json_object_new_int(rail));
    }
    return list;
}

static struct json_object *updater_of(const struct collector *n)
{
    const struct rec_status *u = &n->updater;
    struct json_object *o = json_object_new_object();

    jsonx_add_bool(o, "reachable", u->reachable);
    jsonx_add_int(o, "nodes", u->nodes);
    jsonx_add_int(o, "own_drains", u->own_drains);
    jsonx_add_int(o, "waiting", u->waiting);
    jsonx_add_uint(o, "updates", u->updates);
    jsonx_add_uint(o, "failures", u->failures);
    jsonx_add_uint(o, "drains", u->drains);
    jsonx_add_uint(o, "resumes", u->resumes);
    jsonx_add_uint(o, "capped", u->capped);
    jsonx_add_uint(o, "max_ms", u->max_ms);
    jsonx_add_str(o, "error", u->error);
    return o;
}

static struct json_object *put_item(const struct health_item *i)
{
    struct json_object *o = json_object_new_object();

    jsonx_add_str(o, "kind", report_kind_name(i->kind));
    jsonx_add_str(o, "name", i->name);
    if (i->peer[0])
        jsonx_add_str(o, "peer", i->peer);
    jsonx_add_int(o, "rail", i->rail);
    if (i->board)
        jsonx_add_hex(o, "board", i->board);
    jsonx_add_str(o, "state", health_state_name(i->state));
    jsonx_add_int(o, "since", steady_wall(i->since));
    jsonx_add_int(o, "count", i->count);
    jsonx_add_str(o, "why", i->why);
    jsonx_add_str(o, "source",
                  i->source >= 0 ? report_from_name((enum report_from)i->source)
                                 : "derived");
    return o;
}

static struct json_object *put_evidence(const struct health_item *i)
{
    struct json_object *list = json_object_new_array();

    for (int from = 0; from < REPORT_FROMS; from++) {
        const struct health_evidence *e = &i->evidence[from];
        struct json_object *o;

        if (!e->known)
            continue;
        o = json_object_new_object();
        jsonx_add_str(o, "from", report_from_name((enum report_from)from));
        jsonx_add_str(o, "seen", report_seen_name(e->seen));
        jsonx_add_str(o, "why", e->why);
        jsonx_add_int(o, "at", steady_wall(e->at));
        json_object_array_add(list, o);
    }
    return list;
}

static int verb_summary(const struct ctl_request *q, struct errbuf *err)
{
    const struct collector *n = q->arg;

    jsonx_add_int(q->out, "now", steady_wall(steady_now()));
    jsonx_add_int(q->out, "started", steady_wall(n->started));
    json_object_object_add(q->out, "hosts", counts(n, REPORT_HOST));
    json_object_object_add(q->out, "links", counts(n, REPORT_LINK));
    json_object_object_add(q->out, "xbars", counts(n, REPORT_XBAR));
    json_object_object_add(q->out, "map", describe_map(model_map(n->model)));
    json_object_object_add(q->out, "maps", describe_maps(n));
    json_object_object_add(q->out, "mappers_late", late_mappers(n));
    json_object_object_add(q->out, "slurm", updater_of(n));
    jsonx_add_bool(q->out, "dry_run", n->conf.dry_run);
    return 0;
}

/* One node: its rails and, when all is asked for, the evidence. */
static struct json_object *put_node(struct collector *n, const char *name,
                                    const struct health_node *h, bool all)
{
    const struct collector_node *p = collector_node_find(n, name);
    struct json_object *o = json_object_new_object();
    struct json_object *rails = json_object_new_array();

    jsonx_add_str(o, "name", name);
    jsonx_add_str(o, "state", health_state_name(h->state));
    jsonx_add_int(o, "since", steady_wall(h->since));
    jsonx_add_int(o, "count", h->count);
    jsonx_add_str(o, "why", h->worst->why);
    jsonx_add_int(o, "rail", h->worst->rail);
    jsonx_add_bool(o, "in_slurm", p && p->in_slurm);
    jsonx_add_bool(o, "drained", p && p->flags & REC_NODE_DRAIN);
    jsonx_add_bool(o, "drained_by_us", p && p->flags & REC_NODE_OWN_DRAIN);
    jsonx_add_bool(o, "capped", p && p->flags & REC_NODE_CAPPED);
    jsonx_add_bool(o, "drain_undone", p && p->flags & REC_NODE_UNDONE);
    jsonx_add_bool(o, "maintenance", p && p->maintenance);
    for (uint8_t r = 0; r < SF_ELAN_RAILS_MAX; r++) {
        const struct health_item *i =
            h->rails & 1u << r ? model_host(n->model, name, r) : NULL;
        struct json_object *rail;

        if (!i)
            continue;
        rail = put_item(i);
        if (all)
            json_object_object_add(rail, "evidence", put_evidence(i));
        json_object_array_add(rails, rail);
    }
    json_object_object_add(o, "rails", rails);
    return o;
}

static int verb_nodes(const struct ctl_request *q, struct errbuf *err)
{
    struct collector *n = q->arg;
    struct json_object *list = json_object_new_array();
    const struct health_item *i;
    struct health_node h;

    for (i = model_next(n->model, REPORT_HOST, NULL); i;
         i = model_next(n->model, REPORT_HOST, i)) {
        if (!model_node(n->model, i->name, &h))
            continue;
        /* A node with several rails comes once, with its first. */
        if (i->rail != (uint8_t)__builtin_ctz(h.rails))
            continue;
        json_object_array_add(list, put_node(n, i->name, &h, false));
    }
    jsonx_add_int(q->out, "now", steady_wall(steady_now()));
    json_object_object_add(q->out, "nodes", list);
    return 0;
}

/* What is known of the crossbar that a host hangs on, and of its links. */
static struct json_object *around(struct collector *n,
                                  const struct health_node *h)
{
    struct json_object *list = json_object_new_array();
    char xbar[SF_REPORT_NAME_MAX];
    const struct health_item *i;
    size_t len = strcspn(h->worst->peer, ":");

    memcpy(xbar, h->worst->peer, len);
    xbar[len] = '\0';
    if (len == 0)
        return list;
    for (i = model_next(n->model, REPORT_XBAR, NULL); i;
         i = model_next(n->model, REPORT_XBAR, i)) {
        if (strcmp(i->name, xbar) == 0)
            json_object_array_add(list, put_item(i));
    }
    for (i = model_next(n->model, REPORT_LINK, NULL); i;
         i = model_next(n->model, REPORT_LINK, i)) {
        if ((strncmp(i->name, xbar, len) == 0 && i->name[len] == ':') ||
            (strncmp(i->peer, xbar, len) == 0 && i->peer[len] == ':'))
            json_object_array_add(list, put_item(i));
    }
    return list;
}

static int verb_node(const struct ctl_request *q, struct errbuf *err)
{
    struct collector *n = q->arg;
    const char *name = jsonx_str(q->in, "node", SF_REPORT_NAME_MAX);
    struct health_node h;

    if (!name)
        return errprintf(err, "\"node\" is missing");
    if (!model_node(n->model, name, &h))
        return errprintf(err,
                         "nothing is known of %s: nobody has reported "
                         "about it",
                         name);
    jsonx_add_int(q->out, "now", steady_wall(steady_now()));
    jsonx_add_bool(q->out, "dry_run", n->conf.dry_run);
    json_object_object_add(q->out, "node", put_node(n, name, &h, true));
    json_object_object_add(q->out, "around", around(n, &h));
    return 0;
}

static int verb_items(const struct ctl_request *q, struct errbuf *err)
{
    static const char *const kinds[] = {"host", "link", "xbar"};
    struct collector *n = q->arg;
    const char *kind = jsonx_str(q->in, "kind", 8);
    struct json_object *list;
    const struct health_item *i;
    int k = 0;

    while (k < REPORT_KINDS && (!kind || strcmp(kind, kinds[k]) != 0))
        k++;
    if (k == REPORT_KINDS)
        return errprintf(err, "\"kind\" must be host, link or xbar");
    list = json_object_new_array();
    for (i = model_next(n->model, (enum report_kind)k, NULL); i;
         i = model_next(n->model, (enum report_kind)k, i))
        json_object_array_add(list, put_item(i));
    jsonx_add_int(q->out, "now", steady_wall(steady_now()));
    json_object_object_add(q->out, "items", list);
    return 0;
}

static int verb_events(const struct ctl_request *q, struct errbuf *err)
{
    int64_t since = 0, max = 200;

    jsonx_int(q->in, "since", 0, INT64_MAX, &since);
    jsonx_int(q->in, "max", 1, SF_SWITCHMGR_EVENTS_MAX, &max);
    jsonx_add_int(q->out, "now", steady_wall(steady_now()));
    json_object_object_add(
        q->out, "events",
        collector_events_since(q->arg, (uint64_t)since, (size_t)max));
    return 0;
}

static int verb_reporters(const struct ctl_request *q, struct errbuf *err)
{
    const struct collector *n = q->arg;
    struct json_object *list = json_object_new_array();
    const struct health_reporter *r;

    for (r = model_next_reporter(n->model, NULL); r;
         r = model_next_reporter(n->model, r)) {
        struct json_object *o = json_object_new_object();

        jsonx_add_str(o, "from", report_from_name(r->from));
        jsonx_add_str(o, "node", r->node);
        if (r->from == REPORT_HSND)
            jsonx_add_int(o, "rail", r->rail);
        jsonx_add_int(o, "at", steady_wall(r->at));
        jsonx_add_uint(o, "accepted", r->accepted);
        jsonx_add_uint(o, "refused", r->refused);
        json_object_array_add(list, o);
    }
    jsonx_add_int(q->out, "now", steady_wall(steady_now()));
    json_object_object_add(q->out, "reporters", list);
    return 0;
}

/* A verb that waits for the disk. */
struct history_answer {
    struct ctl_later *later;
    struct json_object *out;
};

static void give_history(struct json_object *day, void *arg)
{
    struct history_answer *a = arg;

    json_object_object_add(a->out, "history", json_object_get(day));
    ctl_later_end(a->later, day ? NULL : "switchmgrd ends");
    free(a);
}

static int no_history(const char *name, int e, struct errbuf *err)
{
    if (e != ENOENT)
        return errprintf(err, "%s",
                         e == EAGAIN ? "too many ask for a history just now"
                                     : "no memory");
    return errprintf(err,
                     "there is no history of %s: a link is a node, NODE/RAIL, "
                     "or the end of a cable between switches as `sfabric why` "
                     "tells it",
                     name);
}

static int verb_history(const struct ctl_request *q, struct errbuf *err)
{
    const char *name = jsonx_str(q->in, "link", SF_HISTORY_NAME_MAX);
    struct history_answer *a;
    bool year = false;
    int e;

    if (!name)
        return errprintf(err, "\"link\" is missing");
    jsonx_bool(q->in, "year", &year);
    a = calloc(1, sizeof(*a));
    if (a && (a->later = ctl_later_new(q, &a->out))) {
        if (collector_history_ask(q->arg, name,
                                  year ? HISTORY_BY_HOUR : HISTORY_BY_MINUTE,
                                  give_history, a) == 0)
            return 0;
        e = errno;
        ctl_later_cancel(a->later);
        errno = e;
    }
    e = errno;
    free(a);
    return no_history(name, e, err);
}

static int verb_reload(const struct ctl_request *q, struct errbuf *err)
{
    return collector_reload(q->arg, err);
}

static int verb_maintained(const struct ctl_request *q, struct errbuf *err)
{
    struct collector *n = q->arg;
    struct json_object *list = json_object_new_array();
    struct collector_node *p, *next;

    HASH_ITER(hh, n->nodes, p, next)
    {
        if (p->maintenance)
            json_object_array_add(list, json_object_new_string(p->name));
    }
    json_object_object_add(q->out, "nodes", list);
    return 0;
}

/* All or none: a name that nobody knows is a mistake. */
static int set_maintenance(struct collector *n, const struct host_names *names,
                           bool on, struct errbuf *err)
{
    for (uint32_t i = 0; i < names->n; i++) {
        if (!collector_node_find(n, names->name[i]))
            return errprintf(err, "there is no node %s", names->name[i]);
    }
    for (uint32_t i = 0; i < names->n; i++)
        collector_node_find(n, names->name[i])->maintenance = on;
    return 0;
}

/* {"nodes":"n[0-3]","on":true}: until the next reload. */
static int verb_maintenance(const struct ctl_request *q, struct errbuf *err)
{
    struct collector *n = q->arg;
    const char *list = jsonx_str(q->in, "nodes", 4096);
    struct host_names names;
    int rc;
    bool on;

    if (!list || !jsonx_bool(q->in, "on", &on))
        return errprintf(err, "\"nodes\" and \"on\" are needed");
    if (host_names_expand(&names, list, SF_ELAN_NODES_MAX, err) < 0)
        return -1;
    rc = set_maintenance(n, &names, on, err);
    host_names_free(&names);
    if (rc < 0)
        return -1;
    collector_event(n, steady_now(), "maintenance of %.100s: %s by uid %u",
                    list, on ? "begun" : "ended", (unsigned)q->peer->uid);
    return 0;
}

const struct ctl_verb collector_verbs[] = {
    {"summary", CTL_READ, verb_summary, "how many are in which state"},
    {"nodes", CTL_READ, verb_nodes, "all nodes"},
    {"node", CTL_READ, verb_node, "one node, with its evidence"},
    {"items", CTL_READ, verb_items, "all hosts, links or xbars"},
    {"events", CTL_READ, verb_events, "what happened since an event"},
    {"history", CTL_READ, verb_history, "a day or a year of a link"},
    {"reporters", CTL_READ, verb_reporters, "who reports"},
    {"reload", CTL_WRITE, verb_reload, "read switchmgr.conf again"},
    {"maintained", CTL_READ, verb_maintained, "nodes that are not drained"},
    {"maintenance", CTL_WRITE, verb_maintenance, "put nodes there, or out"},
};
const size_t collector_nverbs =
    sizeof(collector_verbs) / sizeof(collector_verbs[0]);
