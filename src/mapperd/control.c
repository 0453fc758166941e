/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control socket: status, map, routes.
 */
#include <stdio.h>
#include <string.h>

#include "base/bytebuf.h"
#include "base/jsonx.h"
#include "mapper/gm_address.h"
#include "mapperd/mapperd.h"
#include "net/format.h"

static int verb_status(const struct ctl_request *q, struct errbuf *err)
{
    struct mapperd *d = q->arg;
    char text[GM_ADDRESS_TEXT];

    jsonx_add_str(q->out, "protocol", d->engine->name);
    jsonx_add_str(q->out, "node", d->node);
    jsonx_add_str(q->out, "board", gm_address_text(d->address, text));
    jsonx_add_int(q->out, "unit", d->settings.unit);
    jsonx_add_bool(q->out, "hsnd", d->raw != NULL);
    jsonx_add_bool(q->out, "configured", d->loaded && d->configured);
    jsonx_add_int(q->out, "peers", d->npeers);
    jsonx_add_int(q->out, "peers_said", d->peers_said);
    jsonx_add_str(q->out, "last_notice", d->last_notice);
    jsonx_add_int(q->out, "notices", d->nnotices);
    jsonx_add_int(q->out, "send_full", d->send_full);
    jsonx_add_int(q->out, "asking", clerk_pending(d->reports.clerk));
    d->engine->status(d, q->out);
    return 0;
}

enum { FORMAT_SIZE = 8 };

/* {"format":"text"|"ib"|"json"}: the map as a file of that format. */
static int verb_map(const struct ctl_request *q, struct errbuf *err)
{
    struct mapperd *d = q->arg;
    const struct net *net = d->engine->map(d);
    const char *name = jsonx_str(q->in, "format", FORMAT_SIZE);
    struct bytebuf text;
    struct net *named;

    if (!net)
        return errprintf(err, "there is no map yet");
    named = mapperd_named_map(d, net);
    if (!named)
        return errprintf(err, "no memory");
    bytebuf_init(&text, SF_NET_FILE_MAX);
    if (name && strcmp(name, "ib") == 0)
        net_write_ib(named, &text);
    else if (name && strcmp(name, "json") == 0)
        net_write_json(named, &text);
    else
        net_write_text(named, &text);
    bytebuf_add(&text, "", 1);
    net_free(named);
    if (!text.bad)
        jsonx_add_str(q->out, "map", (const char *)bytebuf_data(&text));
    bytebuf_free(&text);
    return text.bad ? errprintf(err, "the map is too long") : 0;
}

static struct json_object *peer_object(const struct mapperd *d,
                                       const struct hsn_peer *peer)
{
    const char *name = names_of_host(d->names, peer->address);
    struct json_object *o = json_object_new_object();
    struct json_object *routes = json_object_new_array();
    char text[2 * HSN_ROUTE_MAX + 1];
    char who[GM_ADDRESS_TEXT];

    if (name)
        jsonx_add_str(o, "name", name);
    jsonx_add_str(o, "board", gm_address_text(peer->address, who));
    json_object_object_add(o, "host_type",
                           json_object_new_int64(peer->host_type));
    for (unsigned i = 0; i < peer->nroutes; i++) {
        text[0] = '\0';
        for (unsigned k = 0; k < peer->route[i].len; k++)
            snprintf(text + 2 * k, 3, "%02x", peer->route[i].byte[k]);
        json_object_array_add(routes, json_object_new_string(text));
    }
    json_object_object_add(o, "routes", routes);
    return o;
}

static int verb_routes(const struct ctl_request *q, struct errbuf *err)
{
    struct json_object *list = json_object_new_array();
    struct mapperd *d = q->arg;

    for (size_t i = 0; i < d->npeers; i++)
        json_object_array_add(list, peer_object(d, &d->peers[i]));
    json_object_object_add(q->out, "hosts", list);
    jsonx_add_int(q->out, "version", d->loaded_version);
    return 0;
}

static const struct ctl_verb verbs[] = {
    {"status", CTL_READ, verb_status, "state, map version, counters"},
    {"map", CTL_READ, verb_map, "the map; format: text, ib, json"},
    {"routes", CTL_READ, verb_routes, "this host's routes"},
};

int mapperd_control(struct mapperd *d, struct errbuf *err)
{
    const struct ctl_options options = {
        .path = d->settings.control,
        .group = d->settings.control_group,
        .verbs = verbs,
        .nverbs = sizeof(verbs) / sizeof(verbs[0]),
        .arg = d,
    };

    d->ctl = ctl_server_new(d->loop, &options, err);
    return d->ctl ? 0 : -1;
}
