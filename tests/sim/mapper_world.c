/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapper_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapper/gm_address.h"
#include "mapper_edges.h"
#include "net/build.h"
#include "net/packet.h"

#define QUEUED_MAX 1024 /* packets in an interface */

void world_die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

/* What once failed is played as it was: all draws were rests of the seed, so
 * many combinations never came. */
bool world_draws_rests;

uint32_t world_draw(uint64_t seed, enum world_draw what, uint32_t n)
{
    struct net_rng rng = {seed};

    if (world_draws_rests)
        return (uint32_t)(seed % n);
    rng.state = net_rng_next(&rng) + (uint64_t)what;
    return net_rng_below(&rng, n);
}

struct world *world_new(const char *name, uint64_t seed)
{
    struct world *w = calloc(1, sizeof(*w));
    struct errbuf err = {""};

    if (!w)
        world_die("no memory");
    w->seed = seed;
    w->rng.state = seed;
    w->net = net_build_named(name, &err);
    if (!w->net)
        world_die(err.text);
    w->fab = swfab_new(w->net);
    w->timed = w->fab ? swfab_timed_new(w->fab, &swfab_timing_default) : NULL;
    w->hosts = calloc(w->net->nnodes, sizeof(*w->hosts));
    if (!w->timed || !w->hosts)
        world_die("no memory");
    swfab_seed(w->fab, seed);
    for (uint32_t i = 0; i < w->net->nnodes; i++) {
        w->hosts[i].world = w;
        w->hosts[i].node = i;
        w->hosts[i].armed = UINT64_MAX;
        bytebuf_init(&w->hosts[i].stored, SF_NET_FILE_MAX);
    }
    return w;
}

void world_kill(struct world *w, uint32_t node)
{
    struct world_host *h = &w->hosts[node];

    gm2_free(h->gm2);
    gm1_free(h->gm1);
    hostside_free(h->side);
    h->gm2 = NULL;
    h->gm1 = NULL;
    h->side = NULL;
    h->kind = WORLD_NOBODY;
    h->stopped = false;
}

void world_free(struct world *w)
{
    for (uint32_t i = 0; i < w->net->nnodes; i++)
        world_kill(w, i);
    for (uint32_t i = 0; i < w->net->nnodes; i++)
        bytebuf_free(&w->hosts[i].stored);
    swfab_timed_free(w->timed);
    swfab_free(w->fab);
    net_free(w->net);
    free(w->hosts);
    free(w);
}

uint64_t world_now(const struct world *w)
{
    return swfab_timed_now(w->timed);
}

/* ---- what mappers do ----------------------------------------------------- */

static void send_packet(struct world_host *h, const uint8_t *route,
                        size_t nroute, const uint8_t *b, size_t len)
{
    struct world *w = h->world;
    const struct net_packet p = {
        .route = route,
        .nroute = nroute,
        .type = (uint16_t)(b[0] << 8 | b[1]),
        .subtype = (uint16_t)(b[2] << 8 | b[3]),
        .payload = b + NET_TYPE_SIZE,
        .len = len - NET_TYPE_SIZE,
    };
    uint8_t bytes[NET_PACKET_MAX];
    size_t n = net_packet_make(bytes, sizeof(bytes), &p);

    if (n == 0)
        world_die("a mapper made a packet that cannot be sent");
    w->packets++;
    w->bytes += n;
    if (w->loss > 0 && net_rng_chance(&w->rng, w->loss))
        return;
    if (swfab_timed_queued(w->timed, h->node) > QUEUED_MAX)
        return; /* no room in the interface */
    if (swfab_timed_send(w->timed, world_now(w), h->node, bytes, n) < 0)
        world_die("no memory");
}

static void on_send(const uint8_t *route, size_t nroute, const void *body,
                    size_t len, void *arg)
{
    struct world_host *h = arg;
    struct world *w = h->world;
    uint8_t copy[NET_PACKET_MAX];
    const uint8_t *b = body;

    if (w->tap && len <= sizeof(copy)) {
        b = memcpy(copy, body, len);
        w->tap(w, h->node, copy, len);
    }
    send_packet(h, route, nroute, b, len);
}

static void trace(const struct world_host *h, const char *what,
                  const char *text)
{
    char who[GM_ADDRESS_TEXT];

    if (!h->world->verbose)
        return;
    gm_address_text(h->world->net->nodes[h->node].id, who);
    printf("# %10.6f %s %s %s\n", (double)world_now(h->world) / 1e9, who, what,
           text);
}

static void on_gm2_moved(enum gm2_event event, enum gm2_state from,
                         enum gm2_state to, void *arg)
{
    struct world_host *h = arg;
    char text[100];

    edges_gm2(from, event, to);
    h->moves[event]++;
    snprintf(text, sizeof(text), "%s->%s", gm2_state_name(from),
             gm2_state_name(to));
    trace(h, gm2_event_name(event), text);
}

static void on_configured(const struct gm2_map *map, uint32_t me,
                          const struct net_routes *routes, void *arg)
{
    struct world_host *h = arg;

    h->nconfigured++;
    h->me = me;
    gm2_status(h->gm2, &h->told);
    if (!h->world->keeps)
        return;
    bytebuf_free(&h->stored);
    if (!gm2_store_write(map, h->world->net->nodes[h->node].id, &h->stored))
        world_die("a map cannot be stored");
}

static void on_complete(uint32_t nhosts, void *arg)
{
    trace(arg, "complete", "");
    ((struct world_host *)arg)->ncomplete++;
}

static void on_notice(const char *text, void *arg)
{
    struct world_host *h = arg;

    snprintf(h->last, sizeof(h->last), "%s", text);
    trace(arg, "notice:", text);
}

static void on_ended(const char *text, void *arg)
{
    struct world_host *h = arg;

    h->ended = true;
    h->nfatal += text != NULL;
    trace(arg, "ended:", text ? text : "");
    if (text)
        snprintf(h->last, sizeof(h->last), "%s", text);
}

static const struct gm2_ops gm2_ops = {
    .send = on_send,
    .configured = on_configured,
    .complete = on_complete,
    .moved = on_gm2_moved,
    .notice = on_notice,
    .ended = on_ended,
};

static void no_rank(uint64_t address, struct gm2_host *host, void *arg)
{
    *host = (struct gm2_host){0};
}

static void store_gm1(struct world_host *h)
{
    const uint64_t own = h->world->net->nodes[h->node].id;
    const struct gm2_version version = {own, 0, 1};
    struct gm2_map *map = gm2_map_new(gm1_map(h->gm1), &version, no_rank, NULL);

    bytebuf_free(&h->stored);
    if (!map || !gm2_store_write(map, own, &h->stored))
        world_die("a map cannot be stored");
    gm2_map_free(map);
}

static void on_gm1_moved(enum gm1_event event, enum gm1_state from,
                         enum gm1_state to, void *arg)
{
    struct world_host *h = arg;
    char text[100];

    edges_gm1(from, event, to);
    h->moves[event]++;
    snprintf(text, sizeof(text), "%s->%s", gm1_state_name(from),
             gm1_state_name(to));
    trace(h, gm1_event_name(event), text);
    if (h->world->keeps && to == GM1_STATE_CONFIGURING)
        store_gm1(h);
}

static void on_gm1_fatal(const char *text, void *arg)
{
    ((struct world_host *)arg)->nfatal++;
    trace(arg, "fatal:", text);
}

static void on_gm1_cleared(void *arg)
{
    struct world_host *h = arg;

    if (h->world->loads)
        h->world->loads(h->world, h->node, false);
}

static void on_gm1_configured(uint32_t version, void *arg)
{
    struct world_host *h = arg;

    if (h->world->loads)
        h->world->loads(h->world, h->node, true);
}

static const struct gm1_ops gm1_ops = {
    .send = on_send,
    .cleared = on_gm1_cleared,
    .configured = on_gm1_configured,
    .moved = on_gm1_moved,
    .notice = on_notice,
    .fatal = on_gm1_fatal,
};

static void arm(struct world_host *h)
{
    uint64_t t = UINT64_MAX;

    if (h->gm2)
        t = gm2_deadline(h->gm2);
    else if (h->gm1)
        t = gm1_deadline(h->gm1);
    if (t >= h->armed && h->armed > world_now(h->world))
        return;
    if (t == UINT64_MAX)
        return;
    if (t < world_now(h->world))
        t = world_now(h->world);
    h->armed = t;
    if (swfab_timed_timer(h->world->timed, t, h->node, t) < 0)
        world_die("no memory");
}

void world_stop(struct world *w, uint32_t node, bool stopped)
{
    struct world_host *h = &w->hosts[node];

    h->stopped = stopped;
    h->armed = UINT64_MAX;
    if (!stopped)
        arm(h);
}

static struct gm2_map *stored(struct world_host *h)
{
    struct errbuf err = {""};
    struct gm2_map *map;

    if (!h->world->keeps || bytebuf_len(&h->stored) == 0)
        return NULL;
    map = gm2_store_read(bytebuf_data(&h->stored), bytebuf_len(&h->stored),
                         h->world->net->nodes[h->node].id, &err);
    trace(h, "stored map:", map ? "taken" : err.text);
    return map;
}

void world_gm2(struct world *w, uint32_t node, world_gm2_f *tune, void *arg)
{
    struct world_host *h = &w->hosts[node];
    struct gm2_config config;
    struct gm2_map *map;

    world_kill(w, node);
    gm2_config_default(&config);
    config.address = w->net->nodes[node].id;
    config.seed = net_rng_next(&w->rng);
    if (tune)
        tune(&config, node, arg);
    h->kind = WORLD_GM2;
    h->ended = false;
    h->gm2 = gm2_new(&config, &gm2_ops, h, world_now(w));
    if (!h->gm2)
        world_die("no memory");
    map = stored(h);
    if (map)
        gm2_suppose(h->gm2, map);
    h->armed = UINT64_MAX;
    arm(h);
}

void world_gm1(struct world *w, uint32_t node, world_gm1_f *tune, void *arg)
{
    struct world_host *h = &w->hosts[node];
    struct gm1_options config;
    struct gm2_map *map;

    world_kill(w, node);
    gm1_options_default(&config);
    config.host.address = w->net->nodes[node].id;
    config.host.name = w->net->nodes[node].name;
    config.seed = net_rng_next(&w->rng);
    if (tune)
        tune(&config, node, arg);
    h->kind = WORLD_GM1;
    h->level = config.host.level;
    h->gm1 = gm1_new(&config, &gm1_ops, h, world_now(w));
    if (!h->gm1)
        world_die("no memory");
    map = stored(h);
    if (map)
        gm1_suppose(h->gm1, net_copy(map->net));
    gm2_map_free(map);
    h->armed = UINT64_MAX;
    arm(h);
}

void world_host(struct world *w, uint32_t node,
                const struct hostside_config *config)
{
    static const struct hostside_ops ops = {.send = on_send};
    struct hostside_config plain = {0};
    struct world_host *h = &w->hosts[node];

    world_kill(w, node);
    if (config)
        plain = *config;
    plain.address = w->net->nodes[node].id;
    if (!plain.name)
        plain.name = w->net->nodes[node].name;
    h->kind = WORLD_HOST;
    h->side = hostside_new(&plain, &ops, h);
    if (!h->side)
        world_die("no memory");
}

void world_gm2_all(struct world *w, world_gm2_f *tune, void *arg)
{
    for (uint32_t i = 0; i < w->net->nnodes; i++)
        if (w->net->nodes[i].kind == NET_HOST)
            world_gm2(w, i, tune, arg);
}

/* ---- time ---------------------------------------------------------------- */

static void arrive(struct world_host *h, const struct swfab_event *e)
{
    struct net_packet p;
    size_t len = e->len - NET_CRC_SIZE;

    if (h->stopped)
        return;
    if (net_packet_parse(&p, e->packet, e->len) < 0 || !p.crc_ok)
        return;
    if (h->gm2)
        gm2_input(h->gm2, e->time, e->packet, len);
    else if (h->gm1)
        gm1_input(h->gm1, e->time, e->packet, len);
    else if (h->side)
        hostside_input(h->side, e->packet, len);
    arm(h);
}

static void ring(struct world_host *h, const struct swfab_event *e)
{
    if (e->cookie == h->armed)
        h->armed = UINT64_MAX;
    if (h->stopped)
        return;
    if (h->gm2 && gm2_deadline(h->gm2) <= e->time)
        gm2_tick(h->gm2, e->time);
    else if (h->gm1 && gm1_deadline(h->gm1) <= e->time)
        gm1_tick(h->gm1, e->time);
    arm(h);
}

void world_hear(struct world *w, uint32_t node, const void *body, size_t len)
{
    struct world_host *h = &w->hosts[node];

    if (h->gm2)
        gm2_input(h->gm2, world_now(w), body, len);
    else
        gm1_input(h->gm1, world_now(w), body, len);
    arm(h);
}

void world_run(struct world *w, uint64_t until)
{
    struct swfab_event e;

    while (swfab_timed_next(w->timed, until, &e)) {
        if (e.kind == SWFAB_ARRIVAL)
            arrive(&w->hosts[e.node], &e);
        else if (e.kind == SWFAB_TIMER)
            ring(&w->hosts[e.node], &e);
    }
}

bool world_until(struct world *w, uint64_t until, bool (*test)(struct world *w))
{
    while (!test(w)) {
        if (world_now(w) >= until)
            return false;
        world_run(w, world_now(w) + 50 * MS);
    }
    return true;
}

/* ---- faults -------------------------------------------------------------- */

static void tell(const struct world *w, const char *what, uint32_t a,
                 unsigned pa, uint32_t b, unsigned pb)
{
    if (w->verbose)
        printf("# %10.6f %s %s port %u, %s port %u\n",
               (double)world_now(w) / 1e9, what, w->net->nodes[a].name, pa,
               w->net->nodes[b].name, pb);
}

void world_pull(struct world *w, uint32_t node, unsigned port)
{
    if (net_peer_node(w->net, node, port) == NET_NONE)
        return;
    tell(w, "pull", node, port, net_peer_node(w->net, node, port),
         net_peer_port(w->net, node, port));
    net_disconnect(w->net, node, port);
    swfab_disconnect(w->fab, node, port);
}

void world_plug(struct world *w, uint32_t a, unsigned pa, uint32_t b,
                unsigned pb)
{
    tell(w, "plug", a, pa, b, pb);
    if (!net_connect(w->net, a, pa, b, pb) ||
        !swfab_connect(w->fab, a, pa, b, pb))
        world_die("cannot plug a cable there");
}

/* ---- the truth ----------------------------------------------------------- */

bool world_has_host(const struct world *w, uint32_t node)
{
    const struct world_host *h = &w->hosts[node];

    return h->kind != WORLD_NOBODY && !h->ended;
}

struct net *world_visible(const struct world *w, uint32_t from)
{
    struct net *copy = net_copy(w->net), *part;
    uint32_t there;

    if (!copy)
        world_die("no memory");
    for (uint32_t i = 0; i < copy->nnodes; i++)
        if (copy->nodes[i].kind == NET_HOST && !world_has_host(w, i))
            net_disconnect_all(copy, i);
    part = net_reachable(copy, from, &there);
    net_free(copy);
    if (!part)
        world_die("no memory");
    return part;
}
