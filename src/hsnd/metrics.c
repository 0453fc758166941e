/* SPDX-License-Identifier: BSD-3-Clause
 * The counters as Prometheus text.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytebuf.h"
#include "hsnd/hsnd.h"

#define PEERS_MAX 1000

static void counters(const struct hsnd *d, struct bytebuf *out)
{
    struct json_object *all = control_metrics(d);

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
