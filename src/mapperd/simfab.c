/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See simfab.h.
 */
#include "mapperd/simfab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "net/packet.h"

#define SUBTYPE_SCOUT 0x0000
#define SUBTYPE_LOOP 0x0003

struct event {
    uint64_t time;
    uint64_t order;
    struct probe_answer answer;
};

struct simfab {
    const struct net *truth;
    struct swfab *fab;
    uint32_t host;
    uint64_t now, order, packets;
    struct event **heap;
    size_t n, cap;
    simfab_hook_f *hook;
    void *arg;
};

struct simfab *simfab_new(const struct net *truth, uint32_t host)
{
    struct simfab *sim = calloc(1, sizeof(*sim));

    if (!sim)
        return NULL;
    sim->truth = truth;
    sim->host = host;
    sim->now = 1;
    sim->fab = swfab_new(truth);
    if (!sim->fab) {
        free(sim);
        return NULL;
    }
    return sim;
}

void simfab_free(struct simfab *sim)
{
    if (!sim)
        return;
    for (size_t i = 0; i < sim->n; i++)
        free(sim->heap[i]);
    free(sim->heap);
    swfab_free(sim->fab);
    free(sim);
}

struct swfab *simfab_fabric(struct simfab *sim)
{
    return sim->fab;
}

void simfab_hook(struct simfab *sim, simfab_hook_f *hook, void *arg)
{
    sim->hook = hook;
    sim->arg = arg;
}

uint64_t simfab_now(const struct simfab *sim)
{
    return sim->now;
}

void simfab_host_info(const struct net *truth, uint32_t host,
                      struct probe_host *info)
{
    memset(info, 0, sizeof(*info));
    info->address = truth->nodes[host].id;
    info->level = 1;
    snprintf(info->name, sizeof(info->name), "%.*s", PROBE_NAME_MAX - 1,
             truth->nodes[host].name);
}

static bool before(const struct event *a, const struct event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static bool later(struct simfab *sim, uint64_t time,
                  const struct probe_answer *answer)
{
    struct event *event;
    size_t at;

    if (sim->n == sim->cap) {
        size_t cap = sim->cap ? sim->cap * 2 : 256;
        struct event **more = realloc(sim->heap, cap * sizeof(struct event *));

        if (!more)
            return false;
        sim->heap = more;
        sim->cap = cap;
    }
    event = malloc(sizeof(*event));
    if (!event)
        return false;
    *event = (struct event){time, sim->order++, *answer};
    for (at = sim->n++; at > 0 && before(event, sim->heap[(at - 1) / 2]);
         at = (at - 1) / 2)
        sim->heap[at] = sim->heap[(at - 1) / 2];
    sim->heap[at] = event;
    return true;
}

static struct event *take_first(struct simfab *sim)
{
    struct event *first = sim->heap[0], *last = sim->heap[--sim->n];
    size_t at = 0;

    while (2 * at + 1 < sim->n) {
        size_t child = 2 * at + 1;

        if (child + 1 < sim->n &&
            before(sim->heap[child + 1], sim->heap[child]))
            child++;
        if (!before(sim->heap[child], last))
            break;
        sim->heap[at] = sim->heap[child];
        at = child;
    }
    if (sim->n > 0)
        sim->heap[at] = last;
    return first;
}

/* Put a packet onto the fabric; true when it arrived whole. */
static bool cross(struct simfab *sim, uint32_t host, const uint8_t *route,
                  size_t nroute, uint16_t subtype, uint64_t tag,
                  struct swfab_arrival *at)
{
    uint8_t buf[NET_PACKET_MAX], payload[8];
    struct net_packet p = {.route = route,
                           .nroute = nroute,
                           .type = NET_TYPE_MAPPING,
                           .subtype = subtype,
                           .payload = payload,
                           .len = sizeof(payload)};
    struct net_packet got;
    size_t len;

    sim->packets++;
    if (sim->hook)
        sim->hook(sim, sim->packets, sim->arg);
    for (int i = 0; i < 8; i++)
        payload[i] = (uint8_t)(tag >> (56 - 8 * i));
    len = net_packet_make(buf, sizeof(buf), &p);
    return len > 0 && swfab_send(sim->fab, host, buf, len, at) &&
           net_packet_parse(&got, at->packet, at->len) == 0 && got.crc_ok;
}

static uint64_t takes(unsigned hops)
{
    return 2 * SIMFAB_HOST_NS + (uint64_t)hops * SIMFAB_HOP_NS;
}

static bool read_tag(const struct swfab_arrival *at,
                     struct probe_answer *answer)
{
    struct net_packet p;
    struct net_tag tag;
    size_t body;

    answer->outcome = PROBE_BACK;
    if (net_packet_parse(&p, at->packet, at->len) != 0 ||
        p.len < 8 + NET_TAG_SIZE ||
        !net_tags_get(&tag, 1, p.payload, p.len, &body) || body != 8)
        return true;
    answer->outcome = PROBE_ID;
    memset(&answer->id, 0, sizeof(answer->id));
    answer->id.id = tag.id;
    answer->id.entry = tag.entry;
    answer->id.nports = tag.ports;
    return true;
}

static bool scout(struct simfab *sim, const struct probe *probe,
                  struct probe_answer *answer, uint64_t *time)
{
    uint8_t back[PROBE_ROUTE_MAX];
    struct swfab_arrival at;
    uint32_t host;
    uint64_t hops;

    if (!cross(sim, sim->host, probe->route, probe->nroute, SUBTYPE_SCOUT,
               probe->tag, &at))
        return false;
    host = at.node;
    hops = at.hops;
    net_route_reverse(back, probe->route, probe->nroute);
    if (!cross(sim, host, back, probe->nroute, SUBTYPE_SCOUT, probe->tag,
               &at) ||
        at.node != sim->host)
        return false;
    answer->outcome = PROBE_HOST;
    simfab_host_info(sim->truth, host, &answer->host);
    *time = 2 * takes((unsigned)hops);
    return true;
}

static bool send_probe(struct simfab *sim, const struct probe *probe)
{
    struct probe_answer answer = {.tag = probe->tag};
    struct swfab_arrival at;
    uint64_t time;

    if (probe->kind == PROBE_SCOUT)
        return !scout(sim, probe, &answer, &time) ||
               later(sim, sim->now + time, &answer);
    if (!cross(sim, sim->host, probe->route, probe->nroute,
               probe->kind == PROBE_TAGGED ? NET_SUBTYPE_TAGGED : SUBTYPE_LOOP,
               probe->tag, &at) ||
        at.node != sim->host)
        return true;
    read_tag(&at, &answer);
    return later(sim, sim->now + takes(at.hops), &answer);
}

bool simfab_run(struct simfab *sim, struct simfab_engine e, uint64_t most)
{
    uint64_t end = sim->now + most;
    struct probe probe;

    while (!e.done(e.engine)) {
        uint64_t deadline;

        while (e.next(e.engine, sim->now, &probe))
            if (!send_probe(sim, &probe))
                return false;
        if (e.done(e.engine))
            break;
        deadline = e.deadline(e.engine);
        if (sim->n > 0 && sim->heap[0]->time <= deadline) {
            struct event *event = take_first(sim);

            sim->now = event->time;
            e.answer(e.engine, sim->now, &event->answer);
            free(event);
        } else if (deadline < end) {
            sim->now = deadline;
            e.tick(e.engine, sim->now);
        } else {
            return false;
        }
    }
    return true;
}

#define ENGINE(type, prefix)                                                   \
    static bool prefix##_next_v(void *e, uint64_t now, struct probe *probe)    \
    {                                                                          \
        return prefix##_next((type *)e, now, probe);                           \
    }                                                                          \
    static void prefix##_answer_v(void *e, uint64_t now,                       \
                                  const struct probe_answer *answer)           \
    {                                                                          \
        prefix##_answer((type *)e, now, answer);                               \
    }                                                                          \
    static uint64_t prefix##_deadline_v(const void *e)                         \
    {                                                                          \
        return prefix##_deadline((const type *)e);                             \
    }                                                                          \
    static void prefix##_tick_v(void *e, uint64_t now)                         \
    {                                                                          \
        prefix##_tick((type *)e, now);                                         \
    }                                                                          \
    static bool prefix##_done_v(const void *e)                                 \
    {                                                                          \
        return prefix##_done((const type *)e);                                 \
    }

ENGINE(struct explore, explore)

struct simfab_engine simfab_explorer(struct explore *x)
{
    return (struct simfab_engine){x,
                                  explore_next_v,
                                  explore_answer_v,
                                  explore_deadline_v,
                                  explore_tick_v,
                                  explore_done_v};
}

ENGINE(struct verify, verify)

struct simfab_engine simfab_verifier(struct verify *v)
{
    return (struct simfab_engine){v,
                                  verify_next_v,
                                  verify_answer_v,
                                  verify_deadline_v,
                                  verify_tick_v,
                                  verify_done_v};
}
