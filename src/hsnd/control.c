/* SPDX-License-Identifier: BSD-3-Clause
 * The control socket.
 */
#include <string.h>

#include "base/bytebuf.h"
#include "base/jsonx.h"
#include "hsnd/hsnd.h"

static int do_status(const struct ctl_request *q, struct errbuf *err)
{
    struct hsnd *d = q->arg;
    const struct hsn_routes *r = hsn_engine_routes(d->engine);
    struct hsn_levels l;

    hsn_engine_levels(d->engine, &l);
    jsonx_add_str(q->out, "node", d->node);
    jsonx_add_hex(q->out, "board", d->board);
    if (d->has_elan)
        jsonx_add_uint(q->out, "elan_id", d->elan_id);
    jsonx_add_uint(q->out, "rail", (uint64_t)d->conf.rail);
    jsonx_add_str(q->out, "nic", d->nic->kind);
    jsonx_add_bool(q->out, "link", d->nic->up);
    jsonx_add_bool(q->out, "alone", d->alone.alone);
    jsonx_add_uint(q->out, "map_version", r->map_version);
    jsonx_add_bool(q->out, "configured", r->configured);
    jsonx_add_uint(q->out, "peers", r->npeers);
    jsonx_add_uint(q->out, "endpoints", d->nports);
    jsonx_add_uint(q->out, "programs", d->contexts.nprograms);
    jsonx_add_uint(q->out, "pending", l.pending);
    jsonx_add_uint(q->out, "busy", l.busy);
    jsonx_add_uint(q->out, "halves", l.halves);
    jsonx_add_uint(q->out, "rx_filled", l.rx_filled);
    jsonx_add_uint(q->out, "asking", clerk_pending(d->clerk));
    return 0;
}

static int do_counters(const struct ctl_request *q, struct errbuf *err)
{
    json_object_object_add(q->out, "counters", metrics_json(q->arg));
    return 0;
}

static int do_metrics(const struct ctl_request *q, struct errbuf *err)
{
    struct bytebuf text;
    int rc = -1;

    bytebuf_init(&text, 512 * 1024);
    metrics_text(q->arg, &text);
    bytebuf_add(&text, "", 1);
    if (text.bad) {
        errprintf(err, "no memory");
    } else {
        jsonx_add_str(q->out, "text", (const char *)bytebuf_data(&text));
        rc = 0;
    }
    bytebuf_free(&text);
    return rc;
}

static struct json_object *route_json(const struct hsn_route_state *s)
{
    struct json_object *o = json_object_new_object();

    jsonx_add_bool(o, "dead", s->dead);
    jsonx_add_uint(o, "sent", s->sent);
    jsonx_add_uint(o, "echo_sent", s->echo_sent);
    jsonx_add_uint(o, "echo_back", s->echo_back);
    return o;
}

static struct json_object *peer_json(const struct hsn_routes *r,
                                     const struct hsn_routed *p)
{
    struct json_object *ways = json_object_new_array();
    const struct hsn_peer_state *s = &p->state;
    struct json_object *o = json_object_new_object();

    jsonx_add_hex(o, "board", p->address);
    jsonx_add_uint(o, "host_type", p->host_type);
    jsonx_add_bool(o, "neighbour", p->neighbour);
    jsonx_add_uint(o, "routes", p->nroutes);
    jsonx_add_uint(o, "sent", s->sent);
    jsonx_add_uint(o, "received", s->received);
    jsonx_add_uint(o, "failed", s->failed);
    jsonx_add_uint(o, "fragments_expired", s->expired);
    jsonx_add_uint(o, "echo_sent", s->echo_sent);
    jsonx_add_uint(o, "echo_back", s->echo_back);
    jsonx_add_uint(o, "rtt_ns", s->rtt_ns);
    jsonx_add_uint(o, "rtt_min_ns", s->rtt_min_ns);
    jsonx_add_bool(o, "silent", s->silent);
    for (size_t i = p->first; i < p->first + p->nroutes; i++)
        json_object_array_add(ways, route_json(&r->states[i]));
    json_object_object_add(o, "by_route", ways);
    return o;
}

#define PEERS_SHOWN 1000

/* {"from": N}: a thousand peers from the Nth on. */
static int do_peers(const struct ctl_request *q, struct errbuf *err)
{
    struct hsnd *d = q->arg;
    const struct hsn_routes *r = hsn_engine_routes(d->engine);
    struct json_object *list;
    int64_t from = 0;

    if (json_object_object_get_ex(q->in, "from", NULL) &&
        !jsonx_int(q->in, "from", 0, INT64_MAX, &from))
        return errprintf(err, "from: not a whole number from 0 on");
    list = json_object_new_array();
    for (size_t i = (size_t)from;
         i < r->npeers && json_object_array_length(list) < PEERS_SHOWN; i++)
        json_object_array_add(list, peer_json(r, &r->peers[i]));
    jsonx_add_uint(q->out, "total", r->npeers);
    json_object_object_add(q->out, "peers", list);
    return 0;
}

static struct json_object *port_json(const struct port *p)
{
    static const char *const kinds[] = {"raw", "dgram", "elan"};
    struct json_object *o = json_object_new_object();

    jsonx_add_str(o, "kind", kinds[p->kind]);
    jsonx_add_uint(o, "number", p->number);
    jsonx_add_uint(o, "pid", (uint64_t)p->pid);
    jsonx_add_uint(o, "uid", p->uid);
    if (p->program)
        jsonx_add_uint(o, "program", (uint64_t)p->program->known->number);
    jsonx_add_uint(o, "sent", p->counts.sent);
    jsonx_add_uint(o, "received", p->counts.received);
    jsonx_add_uint(o, "full", p->counts.full);
    jsonx_add_uint(o, "malformed", p->counts.malformed);
    return o;
}

static int do_endpoints(const struct ctl_request *q, struct errbuf *err)
{
    struct hsnd *d = q->arg;
    struct json_object *list = json_object_new_array();

    for (struct port *p = d->ports; p; p = p->next)
        if (!p->dead && json_object_array_length(list) < PEERS_SHOWN)
            json_object_array_add(list, port_json(p));
    json_object_object_add(q->out, "endpoints", list);
    return 0;
}

static int do_programs(const struct ctl_request *q, struct errbuf *err)
{
    struct hsnd *d = q->arg;
    struct json_object *list = json_object_new_array(), *o;

    for (struct client_program *p = d->programs; p; p = p->next) {
        if (json_object_array_length(list) == PEERS_SHOWN)
            break;
        o = json_object_new_object();
        jsonx_add_uint(o, "number", (uint64_t)p->known->number);
        jsonx_add_uint(o, "uid", p->known->uid);
        jsonx_add_uint(o, "low_context", (uint64_t)p->known->cap.LowContext);
        jsonx_add_uint(o, "high_context", (uint64_t)p->known->cap.HighContext);
        json_object_array_add(list, o);
    }
    json_object_object_add(q->out, "programs", list);
    return 0;
}

static int do_load(const struct ctl_request *q, struct errbuf *err)
{
    struct hsnd *d = q->arg;

    if (!d->conf.routes)
        return errprintf(err, "hsn.conf names no file of routes");
    return hsnd_routes_file(d, d->conf.routes, err);
}

const struct ctl_verb hsnd_verbs[] = {
    {"status", CTL_READ, do_status, "board, link, routes, queues"},
    {"counters", CTL_READ, do_counters, "everything that is counted"},
    {"peers", CTL_READ, do_peers, "counters and echo of each peer"},
    {"endpoints", CTL_READ, do_endpoints, "who has what open"},
    {"programs", CTL_READ, do_programs, "programs that are registered"},
    {"metrics", CTL_READ, do_metrics, "the counters as Prometheus text"},
    {"load-routes", CTL_WRITE, do_load, "read the file of routes again"},
};
const size_t hsnd_nverbs = sizeof(hsnd_verbs) / sizeof(hsnd_verbs[0]);

int control_open(struct hsnd *d, struct errbuf *err)
{
    struct ctl_options o = {.path = d->conf.control,
                            .group = d->conf.control_group,
                            .verbs = hsnd_verbs,
                            .nverbs = hsnd_nverbs,
                            .arg = d};

    d->ctl = ctl_server_new(d->loop, &o, err);
    return d->ctl ? 0 : -1;
}
