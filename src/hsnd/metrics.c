/* SPDX-License-Identifier: BSD-3-Clause
 * What hsnd counts: as JSON, and as Prometheus text.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytebuf.h"
#include "base/jsonx.h"
#include "hsnd/hsnd.h"

#define PEERS_MAX 1000

/* name, where it is in struct hsnd: everything hsnd counts beside the engine */
#define OWN(X)                                                                 \
    X(attached, counts.attached)                                               \
    X(detached, counts.detached)                                               \
    X(refused_capability, counts.refused_capability)                           \
    X(refused_user, counts.refused_user)                                       \
    X(refused_member, counts.refused_member)                                   \
    X(refused_range, counts.refused_range)                                     \
    X(refused_busy, counts.refused_busy)                                       \
    X(refused_port, counts.refused_port)                                       \
    X(refused_share, counts.refused_share)                                     \
    X(elan_sent, counts.elan_sent)                                             \
    X(elan_received, counts.elan_received)                                     \
    X(elan_malformed, counts.elan_malformed)                                   \
    X(elan_stranger, counts.elan_stranger)                                     \
    X(elan_tag, counts.elan_tag)                                               \
    X(elan_replay, counts.elan_replay)                                         \
    X(elan_spoofed, counts.elan_spoofed)                                       \
    X(elan_no_context, counts.elan_no_context)                                 \
    X(elan_unknown_node, counts.elan_unknown_node)                             \
    X(port_full, counts.port_full)                                             \
    X(port_malformed, counts.port_malformed)                                   \
    X(broken_rings, counts.broken_rings)                                       \
    X(port_copied, counts.port_copied)                                         \
    X(page_copied, counts.page_copied)                                         \
    X(page_passed, counts.page_passed)                                         \
    X(page_short, counts.page_short)                                           \
    X(routes_died, echo.died)                                                  \
    X(routes_revived, echo.revived)                                            \
    X(loop_sent, loop_test.sent)                                               \
    X(loop_lost, loop_test.lost)                                               \
    X(loop_gaps, loop_test.gaps)                                               \
    X(bells, counts.bells)                                                     \
    X(rounds, counts.rounds)                                                   \
    X(sleeps, counts.sleeps)                                                   \
    X(link_flaps, nic->counters.flaps)                                         \
    X(link_down, nic->counters.dropped_down)                                   \
    X(link_bad_packet, nic->counters.dropped_bad)                              \
    X(link_route_left, nic->counters.dropped_route)                            \
    X(link_not_taken, nic->counters.dropped_system)                            \
    X(link_bad_tag, nic->counters.dropped_tag)                                 \
    X(link_crowded, nic->counters.crowded)                                     \
    X(link_calls, nic->counters.calls)

struct json_object *metrics_json(const struct hsnd *d)
{
    const struct hsn_counts *n = hsn_engine_counts(d->engine);
    struct json_object *o = json_object_new_object();

    for (int i = 0; o && i < HSN_COUNT_N; i++)
        jsonx_add_uint(o, hsn_count_name((enum hsn_count)i), n->n[i]);
#define X(name, where) jsonx_add_uint(o, #name, d->where);
    if (o) {
        OWN(X)
    }
#undef X
    return o;
}

static void counters(const struct hsnd *d, struct bytebuf *out)
{
    struct json_object *all = metrics_json(d);

    if (!all)
        return;
    json_object_object_foreach(all, name, value)
    {
        bytebuf_printf(out, "# TYPE slurm_fabric_nic_%s_total counter\n", name);
        bytebuf_printf(
            out,
            "slurm_fabric_nic_%s_total{node=\"%s\",rail=\"%ld\"} %" PRIu64 "\n",
            name, d->node, d->conf.rail, json_object_get_uint64(value));
    }
    json_object_put(all);
}

static void gauge(const struct hsnd *d, struct bytebuf *out, const char *name,
                  uint64_t value)
{
    bytebuf_printf(out, "# TYPE slurm_fabric_nic_%s gauge\n", name);
    bytebuf_printf(
        out, "slurm_fabric_nic_%s{node=\"%s\",rail=\"%ld\"} %" PRIu64 "\n",
        name, d->node, d->conf.rail, value);
}

/* One figure of each neighbour. */
static void peers(const struct hsnd *d, struct bytebuf *out, const char *name,
                  const char *type, size_t offset)
{
    const struct hsn_routes *r = hsn_engine_routes(d->engine);
    uint64_t value;

    bytebuf_printf(out, "# TYPE slurm_fabric_peer_%s %s\n", name, type);
    for (size_t i = 0, n = 0; i < r->npeers && n < PEERS_MAX; i++) {
        if (!r->peers[i].neighbour)
            continue;
        memcpy(&value, (const char *)&r->peers[i].state + offset,
               sizeof(value));
        bytebuf_printf(out,
                       "slurm_fabric_peer_%s{node=\"%s\",peer=\"%012" PRIx64
                       "\"} %" PRIu64 "\n",
                       name, d->node, r->peers[i].address, value);
        n++;
    }
}

#define AT(member) offsetof(struct hsn_peer_state, member)

void metrics_text(const struct hsnd *d, struct bytebuf *out)
{
    counters(d, out);
    gauge(d, out, "link_up", d->nic->up);
    gauge(d, out, "alone", d->alone.alone);
    gauge(d, out, "endpoints", d->nports);
    gauge(d, out, "programs", d->contexts.nprograms);
    gauge(d, out, "map_version", hsn_engine_routes(d->engine)->map_version);
    peers(d, out, "sent_total", "counter", AT(sent));
    peers(d, out, "received_total", "counter", AT(received));
    peers(d, out, "fragments_expired_total", "counter", AT(expired));
    peers(d, out, "echo_sent_total", "counter", AT(echo_sent));
    peers(d, out, "echo_back_total", "counter", AT(echo_back));
    peers(d, out, "round_trip_nanoseconds", "gauge", AT(rtt_ns));
}
