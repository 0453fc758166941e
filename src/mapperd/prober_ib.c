/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See prober_ib.h.  A probe of the explorer becomes up to three questions:
 * is that port up (asked at this end, so that nothing is sent into a cable
 * that is not there), what stands at its other end, and, where that was not
 * met before, how it is called.
 */
#include "mapperd/prober_ib.h"

#include <infiniband/umad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "mapper/explore.h"
#include "mapperd/ib_missing.h"
#include "mapperd/ib_names.h"
#include "mapperd/smp.h"
#include "net/format.h"

#define WINDOW_DEFAULT 8 /* ibsim's socket takes 10 */
#define WINDOW_MOST 128
#define OPS (4 * WINDOW_MOST)
#define WAIT_NS 500000000ULL
#define MIN_WAIT_NS 100000000ULL
#define PORTS_MAX 254
#define OWN_TRIES 3
#define EDGE_TRIES 5 /* of each port that no question goes behind */
#define TOLD_MOST 20 /* ports that are named; the others are counted */

/* A probe being worked at. */
struct op {
    struct probe probe;
    struct probe_answer answer;
    uint64_t since;
    uint32_t seq;
    bool busy;
};

struct ib_run {
    struct ib_port *io;
    int own_port;
    struct explore *x;
    struct op ops[OPS];
    uint32_t next_op, seq, first;
    struct ib_names names;
    struct ib_names ports; /* by port GUID: its number and the description */
    struct ib_missing missing;
    const struct prober_ib *ib;
    unsigned told;
    uint64_t began;
    struct prober_ib_stats stats;
    struct errbuf *err;
};

static uint32_t tid_of(const struct ib_run *r, const struct op *op)
{
    return op->seq << 10 | (uint32_t)(op - r->ops);
}

static void send_get(struct ib_run *r, const struct smp_get *get)
{
    umad_set_addr(r->io->umad, 0xffff, 0, 0, 0);
    smp_make(umad_get_mad(r->io->umad), get);
    r->stats.mads++;
    /* A failed send is a lost packet: the explorer asks again. */
    umad_send(r->io->id, r->io->agent, r->io->umad, SMP_SIZE, 0, 0);
}

/* Ask at the end of the probe's route, or one hop before it. */
static void ask(struct ib_run *r, struct op *op, enum smp_attr attr)
{
    struct smp_get get = {.attr = attr};
    unsigned n = op->probe.nroute;

    op->seq = ++r->seq & 0x3fffff;
    get.tid = tid_of(r, op);
    get.path[get.hops++] = (uint8_t)r->own_port;
    if (attr == SMP_PORT_INFO) {
        n--;
        get.mod = op->probe.route[n] + 1u;
    }
    for (unsigned i = 0; i < n; i++)
        get.path[get.hops++] = (uint8_t)(op->probe.route[i] + 1);
    send_get(r, &get);
}

static void start_op(struct ib_run *r, const struct probe *probe, uint64_t now)
{
    struct op *op = NULL;

    for (int i = 0; i < OPS; i++) {
        op = &r->ops[r->next_op++ % OPS];
        if (!op->busy || now - op->since > 2 * WAIT_NS)
            break;
    }
    op->probe = *probe;
    op->answer.outcome = PROBE_NOTHING;
    op->since = now;
    op->busy = true;
    ib_missing_ask(&r->missing, probe->route, probe->nroute);
    ask(r, op, probe->nroute ? SMP_PORT_INFO : SMP_NODE_INFO);
}

static void finish(struct ib_run *r, struct op *op, enum probe_outcome outcome)
{
    op->busy = false;
    ib_missing_settled(&r->missing, op->probe.route, op->probe.nroute);
    op->answer.tag = op->probe.tag;
    op->answer.outcome = outcome;
    explore_answer(r->x, clock_ns(), &op->answer);
}

static void fill(struct op *op, const struct smp_node_info *info)
{
    memset(&op->answer, 0, sizeof(op->answer));
    if (info->type == SMP_SWITCH) {
        op->answer.outcome = PROBE_ID;
        op->answer.id.id = info->node_guid;
        op->answer.id.entry = (uint8_t)(info->entry - 1);
        op->answer.id.nports = info->ports;
    } else {
        op->answer.outcome = PROBE_HOST;
        op->answer.host.address = info->port_guid;
        op->answer.host.port = (uint8_t)(info->entry - 1);
    }
}

/* What a switch is called, if that is known. */
static bool recall_name(const struct ib_run *r, struct probe_id *id)
{
    const char *name = ib_names_get(&r->names, id->id);

    if (name)
        snprintf(id->name, sizeof(id->name), "%s", name);
    return name != NULL;
}

static bool must_ask_name(struct ib_run *r, uint64_t guid)
{
    return ib_names_must_ask(&r->names, guid,
                             (uint32_t)((clock_ns() - r->began) / 1000000));
}

static void take_node(struct ib_run *r, struct op *op, const uint8_t *mad)
{
    struct smp_node_info info;

    if (!smp_node_info(mad, &info) || info.entry == 0) {
        finish(r, op, PROBE_NOTHING);
        return;
    }
    fill(op, &info);
    if (info.type == SMP_SWITCH &&
        (recall_name(r, &op->answer.id) || !must_ask_name(r, info.node_guid))) {
        finish(r, op, op->answer.outcome);
        return;
    }
    ask(r, op, SMP_NODE_DESC);
}

static void keep_port(struct ib_run *r, uint64_t guid, unsigned port,
                      const char *desc)
{
    char text[PROBE_NAME_MAX];

    snprintf(text, sizeof(text), "%u %.55s", port, desc);
    ib_names_put(&r->ports, guid, text);
}

/* A host is its adapter's first word; a switch what it is called, if that is
 * one word. */
static void take_name(struct ib_run *r, struct op *op, const uint8_t *mad)
{
    char desc[SMP_DESC_SIZE + 1];
    size_t word;

    smp_node_desc(mad, desc);
    word = strcspn(desc, " ");
    if (op->answer.outcome == PROBE_HOST)
        keep_port(r, op->answer.host.address, op->answer.host.port + 1u, desc);
    if (op->answer.outcome == PROBE_HOST)
        snprintf(op->answer.host.name, PROBE_NAME_MAX, "%.*s",
                 (int)(word < PROBE_NAME_MAX ? word : PROBE_NAME_MAX - 1),
                 desc);
    else if (word > 0 && desc[word] == '\0' && word < PROBE_NAME_MAX)
        snprintf(op->answer.id.name, PROBE_NAME_MAX, "%.*s", (int)word, desc);
    else
        snprintf(op->answer.id.name, PROBE_NAME_MAX, "S-%016llx",
                 (unsigned long long)op->answer.id.id);
    if (op->answer.outcome == PROBE_ID && op->answer.id.id) {
        ib_names_put(&r->names, op->answer.id.id, op->answer.id.name);
        explore_name(r->x, op->answer.id.id, op->answer.id.name);
    }
    finish(r, op, op->answer.outcome);
}

static void take(struct ib_run *r, const uint8_t *mad)
{
    enum smp_attr attr = SMP_NODE_INFO;
    uint32_t tid = 0;
    bool good = smp_parse(mad, &attr, &tid);
    struct op *op = &r->ops[tid & (OPS - 1)];

    if (!op->busy || tid != tid_of(r, op))
        return; /* late, or not ours */
    if (!good) {
        finish(r, op, PROBE_NOTHING);
    } else if (attr == SMP_PORT_INFO && smp_port_is_up(mad)) {
        ib_missing_up(&r->missing, op->probe.route, op->probe.nroute);
        ask(r, op, SMP_NODE_INFO);
    } else if (attr == SMP_PORT_INFO) {
        finish(r, op, PROBE_NOTHING);
    } else if (attr == SMP_NODE_INFO) {
        take_node(r, op, mad);
    } else if (attr == SMP_NODE_DESC) {
        take_name(r, op, mad);
    }
}

/* One packet, or none within the time. */
static bool receive(struct ib_run *r, int ms)
{
    int len = SMP_SIZE;

    if (umad_recv(r->io->id, r->io->umad, &len, ms) < 0)
        return false;
    return len >= SMP_SIZE && umad_status(r->io->umad) == 0;
}

/* An answer to a question of this number or a later one. */
static bool hear(struct ib_run *r, enum smp_attr wanted, uint32_t since)
{
    uint64_t end = clock_ns() + WAIT_NS;
    enum smp_attr attr;
    uint32_t tid;

    for (uint64_t now = clock_ns(); now < end; now = clock_ns())
        if (receive(r, (int)((end - now) / 1000000) + 1) &&
            smp_parse(umad_get_mad(r->io->umad), &attr, &tid) &&
            tid - since <= r->seq - since && attr == wanted)
            return true;
    return false;
}

/* An answer to what we asked of ourselves.  One to an earlier try is as good:
 * if each try waited for its own only, they would all come too late once one
 * had. */
static bool hear_self(struct ib_run *r, enum smp_attr wanted)
{
    return hear(r, wanted, r->first);
}

/* Who we are: asked of our own adapter, over no hop at all. */
static int ask_self(struct ib_run *r, struct probe_host *me)
{
    struct smp_get get = {.attr = SMP_NODE_INFO};
    struct smp_node_info info;

    for (int i = 0; i < 2 * OWN_TRIES; i++) {
        char desc[SMP_DESC_SIZE + 1];

        get.tid = ++r->seq;
        send_get(r, &get);
        if (!hear_self(r, get.attr))
            continue;
        if (get.attr == SMP_NODE_DESC) {
            smp_node_desc(umad_get_mad(r->io->umad), desc);
            keep_port(r, me->address, (unsigned)r->own_port, desc);
            snprintf(me->name, sizeof(me->name), "%.*s",
                     (int)strcspn(desc, " "), desc);
            return 0;
        }
        if (!smp_node_info(umad_get_mad(r->io->umad), &info))
            continue;
        me->address = info.port_guid;
        r->own_port = info.entry ? info.entry : r->own_port;
        get.attr = SMP_NODE_DESC;
    }
    return errprintf(r->err, "our own adapter does not answer");
}

static int wait_ms(const struct explore *x)
{
    uint64_t deadline = explore_deadline(x), now = clock_ns();

    if (deadline == UINT64_MAX)
        return 1000;
    return deadline <= now ? 0 : (int)((deadline - now) / 1000000) + 1;
}

static bool name_is_awaited(const struct ib_run *r)
{
    for (int i = 0; i < OPS; i++) {
        struct probe_id id = r->ops[i].answer.id;

        if (r->ops[i].busy && r->ops[i].answer.outcome == PROBE_ID &&
            !recall_name(r, &id))
            return true;
    }
    return false;
}

/* All is found, but some answers may still tell a name. */
static void hear_last_names(struct ib_run *r)
{
    uint64_t end = clock_ns() + WAIT_NS;

    for (uint64_t now = clock_ns(); now < end && name_is_awaited(r);
         now = clock_ns())
        if (receive(r, (int)((end - now) / 1000000) + 1))
            take(r, umad_get_mad(r->io->umad));
}

static void explore_all(struct ib_run *r)
{
    struct probe probe;

    while (!explore_done(r->x)) {
        uint64_t now = clock_ns();

        while (explore_next(r->x, now, &probe))
            start_op(r, &probe, now);
        if (explore_done(r->x))
            break;
        if (receive(r, wait_ms(r->x)))
            take(r, umad_get_mad(r->io->umad));
        explore_tick(r->x, clock_ns());
    }
}

/* ---- names of ports -------------------------------------------------------
 */

struct port_name {
    uint64_t guid;
    uint32_t host;
    unsigned port;
    char node[PROBE_NAME_MAX], device[PROBE_NAME_MAX];
};

static int by_guid(const void *va, const void *vb)
{
    const struct port_name *a = va, *b = vb;

    return a->guid < b->guid ? -1 : a->guid > b->guid;
}

/* Not known: the map's name stays, as if it were the only port. */
static void look_up(const struct ib_run *r, const struct net *map,
                    uint32_t host, struct port_name *p)
{
    const char *text = ib_names_get(&r->ports, map->nodes[host].id);

    *p = (struct port_name){
        .guid = map->nodes[host].id, .host = host, .port = 1};
    if (text)
        sscanf(text, "%u %63s %63s", &p->port, p->node, p->device);
    if (!p->node[0])
        snprintf(p->node, sizeof(p->node), "%.63s", map->nodes[host].name);
    if (!p->node[0])
        snprintf(p->node, sizeof(p->node), "H-%016llx",
                 (unsigned long long)p->guid);
}

/* Whose name is the node's alone: the first of its ports. */
static const struct port_name *first_of(const struct net *map,
                                        const struct port_name *ports, size_t n,
                                        const char *node)
{
    uint32_t host = net_find_name(map, node);

    if (host == NET_NONE || !net_is_host(map, host))
        return NULL;
    return bsearch(&(struct port_name){.guid = map->nodes[host].id}, ports, n,
                   sizeof(*ports), by_guid);
}

/* A node with several adapters or ports has several hosts: by port GUID, the
 * first is called as the node. */
static int name_ports(const struct ib_run *r, struct net *map)
{
    struct port_name *ports = calloc(map->nhosts + 1, sizeof(*ports));
    bool ok = ports != NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; ok && i < map->nnodes; i++)
        if (net_is_host(map, i)) {
            look_up(r, map, i, &ports[n++]);
            ok = net_set_name(map, i, "");
        }
    if (ok)
        qsort(ports, n, sizeof(*ports), by_guid);
    for (uint32_t i = 0; ok && i < n; i++) {
        const struct port_name *p = &ports[i];
        const struct port_name *first = first_of(map, ports, n, p->node);
        bool another =
            first && p->device[0] && strcmp(first->device, p->device) != 0;

        if (r->ib->host)
            r->ib->host(p->guid, p->node, p->device, p->port, r->ib->arg);
        ok = net_name_port(map, p->host, p->node, another ? p->device : NULL,
                           first ? p->port : 1);
    }
    free(ports);
    return ok ? 0 : errprintf(r->err, "no memory");
}

/* ---- what was not reached ------------------------------------------------
 */

static void say_missing(struct ib_run *r, const char *text)
{
    r->stats.missing++;
    if (r->ib->missing && r->told++ < TOLD_MOST)
        r->ib->missing(text, r->ib->arg);
}

static void tell_hole(const struct net *map, uint32_t node, unsigned port,
                      bool up, void *arg)
{
    struct errbuf text;

    errprintf(&text,
              up ? "%s port %u is up, but what is behind it does not answer"
                 : "%s does not answer for its port %u",
              map->nodes[node].name, port + 1);
    say_missing(arg, text.text);
}

/* The answer to the last question. */
static bool hear_last(struct ib_run *r, enum smp_attr wanted)
{
    return hear(r, wanted, r->seq);
}

/* No answer counts as a cable: better one look too many than one host too
 * few. */
static bool may_lead_on(struct ib_run *r, const struct ib_route *way,
                        unsigned port)
{
    struct smp_get get = {.attr = SMP_PORT_INFO, .mod = port + 1};

    get.path[get.hops++] = (uint8_t)r->own_port;
    for (unsigned i = 0; i < way->n; i++)
        get.path[get.hops++] = (uint8_t)(way->port[i] + 1);
    for (int i = 0; i < EDGE_TRIES; i++) {
        r->seq = (r->seq + 1) & 0x3fffff;
        get.tid = r->seq;
        send_get(r, &get);
        if (hear_last(r, get.attr))
            return smp_port_is_up(umad_get_mad(r->io->umad));
    }
    return true;
}

/* Switches so far away that their ports can be asked, but not what is behind
 * them. */
static void tell_edge(struct ib_run *r, const struct net *map, uint32_t me)
{
    struct ib_route way;

    for (uint32_t n = 0; ib_missing_edge(map, me, SMP_HOPS_MAX - 1, &n, &way);
         n++)
        for (unsigned p = 0; p < map->nodes[n].nports; p++) {
            struct errbuf text;

            if (net_peer_node(map, n, p) != NET_NONE ||
                !may_lead_on(r, &way, p))
                continue;
            errprintf(&text,
                      "what is behind %s port %u is too far: a directed route "
                      "ends after %d hops",
                      map->nodes[n].name, p + 1, SMP_HOPS_MAX);
            say_missing(r, text.text);
        }
}

static void tell_missing(struct ib_run *r, const struct net *map,
                         uint64_t address)
{
    uint32_t me = net_find_host(map, address);

    if (me == NET_NONE)
        return;
    ib_missing_tell(&r->missing, map, me, tell_hole, r);
    tell_edge(r, map, me);
}

static struct net *run(struct ib_run *r, const struct prober_ib *ib)
{
    struct prober_limits limits = PROBER_LIMITS_DEFAULT;
    struct probe_host me = {.level = 1};
    struct net *map = NULL;
    struct explore_stats stats;

    limits.absolute = limits.tagged = true;
    limits.max_ports = PORTS_MAX;
    limits.max_route = SMP_HOPS_MAX - 1;
    limits.max_hops = SMP_HOPS_MAX - 1;
    limits.window = ib->window ? ib->window : WINDOW_DEFAULT;
    if (limits.window > WINDOW_MOST)
        limits.window = WINDOW_MOST;
    limits.window_max = limits.window;
    limits.scout_wait = limits.loop_wait = WAIT_NS;
    limits.min_wait = MIN_WAIT_NS;
    if (ask_self(r, &me) < 0)
        return NULL;
    r->x = explore_new(&limits, &me);
    if (!r->x) {
        errprintf(r->err, "no memory");
        return NULL;
    }
    explore_all(r);
    hear_last_names(r);
    explore_stats(r->x, &stats);
    r->stats.unanswered = stats.unanswered;
    if (!explore_failed(r->x, r->err) && !(map = explore_map(r->x)))
        errprintf(r->err, "no memory");
    if (map && name_ports(r, map) < 0) {
        net_free(map);
        map = NULL;
    }
    if (map)
        tell_missing(r, map, me.address);
    explore_free(r->x);
    return map;
}

struct net *prober_ib_map(const struct prober_ib *ib,
                          struct prober_ib_stats *stats, struct errbuf *err)
{
    struct ib_run *r = calloc(1, sizeof(*r));
    uint64_t since = clock_ns();
    double cpu = clock_cpu_s();
    struct net *map = NULL;
    struct ib_port own = {0};

    if (!r) {
        errprintf(err, "no memory");
        return NULL;
    }
    r->err = err;
    r->ib = ib;
    r->began = since;
    r->io = ib->io ? ib->io : &own;
    if (ib->io || ib_port_open(&own, ib->ca, ib->port, err) == 0) {
        r->own_port = r->io->number;
        r->seq = r->io->seq;
        r->first = r->seq + 1;
        map = run(r, ib);
        r->io->seq = r->seq;
    }
    r->stats.seconds = (double)(clock_ns() - since) / 1e9;
    r->stats.cpu = clock_cpu_s() - cpu;
    if (stats)
        *stats = r->stats;
    ib_port_close(&own);
    ib_missing_free(&r->missing);
    ib_names_free(&r->names);
    ib_names_free(&r->ports);
    free(r);
    return map;
}
