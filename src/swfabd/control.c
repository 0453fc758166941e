/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Verbs of the control socket (doc/man/swfabd.8).
 */
#include <string.h>

#include "base/jsonx.h"
#include "swfabd/swfabd.h"

static const char *carrier_name(const struct swfabd_seat *seat)
{
    switch (seat->carrier) {
    case SOFTLINK_RING:
        return "ring";
    case SOFTLINK_SEQPACKET:
        return "seqpacket";
    case SOFTLINK_DATAGRAMS:
        return seat->wire->ether ? "ethernet" : "udp";
    }
    return "none";
}

static struct json_object *totals(const struct swfab *fab)
{
    struct json_object *o = json_object_new_object();

    for (unsigned c = 0; c < SWFAB_NCOUNTERS; c++)
        jsonx_add_uint(o, swfab_fate_name(c), swfab_total(fab, c));
    return o;
}

/* {"verb":"status"} */
static int verb_status(const struct ctl_request *q, struct errbuf *err)
{
    struct swfabd *d = q->arg;
    unsigned attached = 0, trunks = 0, up = 0;

    for (uint32_t i = 0; i < d->nseats; i++) {
        bool there = d->seats[i].carrier != 0;

        trunks += d->seats[i].trunk;
        up += d->seats[i].trunk && there;
        attached += !d->seats[i].trunk && there;
    }
    jsonx_add_str(q->out, "net", d->conf.net);
    jsonx_add_str(q->out, "part", d->conf.part ? d->conf.part : "");
    jsonx_add_int(q->out, "hosts", d->nseats - trunks);
    jsonx_add_int(q->out, "attached", attached);
    jsonx_add_int(q->out, "cables", trunks);
    jsonx_add_int(q->out, "cables_up", up);
    jsonx_add_uint(q->out, "refused", d->refused);
    jsonx_add_int(q->out, "asking", clerk_pending(d->clerk));
    jsonx_add_uint(q->out, "uptime_s",
                   ((clock_ns() - d->started_ns) / 1000000000));
    json_object_object_add(q->out, "packets", totals(d->fab));
    return 0;
}

static struct json_object *seat_json(const struct swfabd_seat *seat)
{
    struct json_object *o = json_object_new_object();

    jsonx_add_str(o, "name", swfabd_seat_name(seat));
    jsonx_add_str(o, "by", carrier_name(seat));
    jsonx_add_bool(o, "mute", swfab_host_is_mute(seat->d->fab, seat->node));
    if (seat->link && !seat->lent) {
        const struct softlink_counters *c = softlink_counters(seat->link);

        jsonx_add_uint(o, "bad_tag", c->bad_tag);
        jsonx_add_uint(o, "replayed", c->replayed);
        jsonx_add_uint(o, "foreign", c->foreign);
        jsonx_add_uint(o, "malformed", c->malformed);
    }
    return o;
}

/* {"verb":"seats"}: hosts and cables to other daemons */
static int verb_seats(const struct ctl_request *q, struct errbuf *err)
{
    struct swfabd *d = q->arg;
    struct json_object *list = json_object_new_array();

    for (uint32_t i = 0; i < d->nseats; i++)
        json_object_array_add(list, seat_json(&d->seats[i]));
    json_object_object_add(q->out, "seats", list);
    return 0;
}

static struct json_object *port_json(const struct swfabd *d, uint32_t node,
                                     unsigned port)
{
    uint32_t p = swfab_port_index(d->fab, node, port);
    struct json_object *o = json_object_new_object();

    jsonx_add_str(o, "node", d->net->nodes[node].name);
    jsonx_add_int(o, "port", port);
    jsonx_add_bool(o, "up", swfab_link_is_up(d->fab, node, port));
    jsonx_add_uint(o, "passed", swfab_passed(d->fab, p));
    for (unsigned c = 0; c < SWFAB_NCOUNTERS; c++)
        if (swfab_count(d->fab, p, c))
            jsonx_add_uint(o, swfab_fate_name(c), swfab_count(d->fab, p, c));
    return o;
}

/* {"verb":"ports","node":"leaf1"}: counters of one node's ports */
static int verb_ports(const struct ctl_request *q, struct errbuf *err)
{
    struct swfabd *d = q->arg;
    const char *name = jsonx_str(q->in, "node", SOFTLINK_NAME_MAX + 8);
    uint32_t node = name ? net_find_name(d->net, name) : NET_NONE;
    struct json_object *list;

    if (node == NET_NONE)
        return errprintf(err, "no node %s", name ? name : "named");
    list = json_object_new_array();
    for (unsigned p = 0; p < d->net->nodes[node].nports; p++)
        json_object_array_add(list, port_json(d, node, p));
    json_object_object_add(q->out, "ports", list);
    return 0;
}

/* {"verb":"fault","do":"down leaf1:3"}: see swfab/script.h; at once */
static int verb_fault(const struct ctl_request *q, struct errbuf *err)
{
    struct swfabd *d = q->arg;
    const char *text = jsonx_str(q->in, "do", 256);
    struct swfab_script script = {0};
    int rc = -1;

    if (!text)
        return errprintf(err, "fault needs \"do\", a line of text");
    if (swfab_script_parse(&script, "fault", text, d->net, err) == 0) {
        if (script.n != 1 || script.faults[0].time)
            errprintf(err, "one fault at a time, and now");
        else if (!swfab_fault_apply(d->fab, &script.faults[0]))
            errprintf(err, "no such cable, or a port is taken");
        else
            rc = 0;
    }
    swfab_script_free(&script);
    return rc;
}

/* {"verb":"clear"}: counters */
static int verb_clear(const struct ctl_request *q, struct errbuf *err)
{
    struct swfabd *d = q->arg;

    swfab_clear_counters(d->fab);
    return 0;
}

const struct ctl_verb swfabd_verbs[] = {
    {"status", CTL_READ, verb_status, "hosts, cables, packets by fate"},
    {"seats", CTL_READ, verb_seats, "who is attached, and how"},
    {"ports", CTL_READ, verb_ports, "counters of a node's ports (node)"},
    {"fault", CTL_WRITE, verb_fault, "break or mend something (do)"},
    {"clear", CTL_WRITE, verb_clear, "set all counters to 0"},
};
const size_t swfabd_nverbs = sizeof(swfabd_verbs) / sizeof(swfabd_verbs[0]);

int swfabd_control_open(struct swfabd *d, struct errbuf *err)
{
    struct ctl_options options = {.path = d->conf.control,
                                  .group = d->conf.control_group,
                                  .verbs = swfabd_verbs,
                                  .nverbs = swfabd_nverbs,
                                  .arg = d};

    if (!d->conf.control[0])
        return 0;
    d->control = ctl_server_new(d->loop, &options, err);
    return d->control ? 0 : -1;
}
