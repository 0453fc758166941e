/* SPDX-License-Identifier: BSD-3-Clause
 * Cables between crossbars that lose frames, or fall: see cables.h.
 */
#include "mapper/cables.h"

#include <stdlib.h>
#include <string.h>

#include "net/packet.h"
#include "net/rng.h"

#define LOOKS 512 /* remembered: all that can be under way */
#define MILLION 1000000u
#define LEAST 8           /* frames; fewer do not count */
#define SURE 25           /* (5 sigma) squared */
#define CLEAN 2048        /* frames that say that it is well again */
#define OLD (1u << 16)    /* frames after which half is forgotten */
#define SOON 100000000ULL /* ns within which frames usually come back */

_Static_assert(LOOKS > (CABLES_MOST + 1) *
                           (CABLES_WAIT_NS / (CABLES_LOOK_NS / 2) + 1),
               "looks that are under way");

/* Frames to each end, and what is missing. */
struct count {
    uint32_t sent, near, far;
};

struct cable {
    uint32_t port;     /* global, at the crossbar nearer to us */
    uint32_t wary;     /* looks with many frames, still */
    struct count late; /* since it was judged last */
    bool gone;         /* from the last look nothing came back from behind */
    uint32_t falls;
    uint32_t calm; /* looks that must go by until it is judged again */
    bool faulty;
    uint32_t told; /* crossings lost of a million */
};

/* A cable by its ends, the lower first. */
struct ends {
    uint64_t id[2];
    uint32_t port[2]; /* of the crossbar */
};

struct kept {
    struct ends ends;
    uint32_t falls, wary, calm;
    bool gone;
};

struct look {
    uint32_t cable; /* NET_NONE: free */
    uint32_t number;
    uint64_t over;
    unsigned frames;    /* to each end */
    uint32_t near, far; /* back, a bit each */
};

struct cables {
    const struct net *map; /* NULL: none */
    struct net_rng rng;
    struct kept kept[CABLES_KEPT];
    uint32_t nkept;    /* in all; kept[] is a ring */
    uint32_t *entered; /* per node: port by which it is reached from us, global;
                          NET_NONE: not */
    uint32_t *of;      /* per global port: cable, or NET_NONE */
    struct cable *all;
    uint32_t n, at, wary_at;
    struct look looks[LOOKS];
    uint32_t number, ended; /* of the last look; those before are over */
    uint32_t sending;       /* look that frames are handed out of */
    unsigned frame;
    uint64_t due, now;
};

/* ---- ways ---------------------------------------------------------------- */

/* Breadth first from our host, through crossbars. */
static bool find_ways(struct cables *c, uint32_t me)
{
    const struct net *map = c->map;
    uint32_t *queue = malloc((map->nnodes + 1) * sizeof(*queue)), n = 0,
             got = 0;

    if (!queue)
        return false;
    memset(c->entered, 0xff, map->nnodes * sizeof(*c->entered));
    queue[got++] = me;
    while (n < got) {
        uint32_t at = queue[n++];

        for (unsigned p = 0; p < map->nodes[at].nports; p++) {
            uint32_t q = map->ports[map->nodes[at].first + p].peer;
            uint32_t to = q == NET_NONE ? NET_NONE : map->ports[q].node;

            if (to == NET_NONE || net_is_host(map, to) ||
                c->entered[to] != NET_NONE)
                continue;
            c->entered[to] = q;
            queue[got++] = to;
        }
    }
    free(queue);
    return true;
}

static bool turn_from(const struct net *map, uint32_t in, uint32_t out,
                      uint8_t *byte)
{
    int delta = (int)net_port_number(map, out) - (int)net_port_number(map, in);

    if (delta < NET_DELTA_MIN || delta > NET_DELTA_MAX)
        return false;
    *byte = net_route_byte(delta);
    return true;
}

/* To the crossbar that a cable leaves, over it if `far`, and back.  False: no
 * such route can be said. */
static bool write_route(const struct cables *c, uint32_t port, bool far,
                        struct cables_frame *f)
{
    const struct net *map = c->map;
    uint32_t x = map->ports[port].node, out = port;
    uint8_t there[CABLES_ROUTE_MAX / 2];
    unsigned at = sizeof(there); /* filled from its end */

    for (bool onto = far; !net_is_host(map, x); onto = true) {
        if (onto &&
            (at == 0 || !turn_from(map, c->entered[x], out, &there[--at])))
            return false;
        out = map->ports[c->entered[x]].peer;
        x = map->ports[out].node;
    }
    f->nroute = (uint8_t)net_route_loop(f->route, sizeof(f->route), there + at,
                                        sizeof(there) - at);
    return f->nroute > 0;
}

/* ---- looks ----------------------------------------------------------------
 */

static struct look *look_of(struct cables *c, uint32_t number)
{
    struct look *l = &c->looks[number % LOOKS];

    return l->cable != NET_NONE && l->number == number ? l : NULL;
}

static void begin(struct cables *c, uint32_t cable, uint64_t now)
{
    struct cable *k = &c->all[cable];
    struct look *l = &c->looks[++c->number % LOOKS];

    *l = (struct look){.cable = cable,
                       .number = c->number,
                       .over = now + CABLES_WAIT_NS,
                       .frames = k->wary ? CABLES_MANY : CABLES_FEW};
    if (k->wary)
        k->wary--;
}

/* The next wary one, if any. */
static uint32_t next_wary(struct cables *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        c->wary_at = (c->wary_at + 1) % c->n;
        if (c->all[c->wary_at].wary)
            return c->wary_at;
    }
    return NET_NONE;
}

static void begin_looks(struct cables *c, uint64_t now)
{
    uint32_t many = 1 + c->n / CABLES_PASS, wary;

    if (many > CABLES_MOST)
        many = CABLES_MOST;
    if (many > c->n)
        many = c->n;
    for (uint32_t i = 0; i < many; i++) {
        c->at = (c->at + 1) % c->n;
        begin(c, c->at, now);
    }
    wary = c->n ? next_wary(c) : NET_NONE;
    if (wary != NET_NONE)
        begin(c, wary, now);
}

static unsigned missing(unsigned frames, uint32_t back)
{
    unsigned n = 0;

    for (unsigned i = 0; i < frames; i++)
        n += !(back >> i & 1);
    return n;
}

static void add(struct count *to, const struct count *more)
{
    to->sent += more->sent;
    to->near += more->near;
    to->far += more->far;
}

static uint32_t rate_of(const struct count *n)
{
    return n->far <= n->near || n->sent == 0
               ? 0
               : (uint32_t)((uint64_t)(n->far - n->near) * MILLION /
                            (2 * (uint64_t)n->sent));
}

static bool too_many(const struct count *n)
{
    uint64_t more = n->far > n->near ? n->far - n->near : 0;

    return more >= LEAST &&
           more * more >= SURE * ((uint64_t)n->far + n->near) &&
           rate_of(n) >= CABLES_LIMIT;
}

static bool judge(struct cable *k)
{
    uint32_t rate = rate_of(&k->late);

    if (too_many(&k->late)) {
        bool told = !k->faulty || rate / 2 >= k->told || rate <= k->told / 2;

        k->faulty = true;
        if (told)
            k->told = rate;
        k->late = (struct count){0};
        return told;
    }
    if (k->late.sent < (k->faulty ? CLEAN : OLD))
        return false;
    k->late =
        (struct count){k->late.sent / 2, k->late.near / 2, k->late.far / 2};
    if (!k->faulty || rate > CABLES_LIMIT / 2)
        return false;
    k->faulty = false;
    k->told = 0;
    k->late = (struct count){0};
    return true;
}

/* Was it gone, by a look whose time is over?  True: that is all that this look
 * says. */
static bool is_gone(struct cable *k, const struct count *n)
{
    if (n->far == n->sent) {
        if (n->sent == CABLES_MANY && 2 * n->near < n->sent)
            k->gone = true;
        return true;
    }
    if (k->gone) {
        k->gone = false;
        k->falls++;
        k->calm = CABLES_WARY;
        k->late = (struct count){0};
    }
    return false;
}

/* Time is over for a look. */
static bool end_look(struct cables *c, struct look *l)
{
    struct cable *k = &c->all[l->cable];
    struct count n = {l->frames, missing(l->frames, l->near),
                      missing(l->frames, l->far)};

    l->cable = NET_NONE;
    if (n.far > n.near || k->faulty)
        k->wary = CABLES_WARY;
    if (is_gone(k, &n))
        return false;
    if (k->calm > 0) {
        k->calm--;
        return false;
    }
    add(&k->late, &n);
    return judge(k);
}

bool cables_tick(struct cables *c, uint64_t now)
{
    bool changed = false;

    c->now = now;
    while (c->ended != c->number) {
        struct look *l = look_of(c, c->ended + 1);

        if (l && l->over > now)
            break;
        changed |= l && end_look(c, l);
        c->ended++;
    }
    if (now >= c->due && c->n) {
        c->due = now + CABLES_LOOK_NS / 2 +
                 net_rng_below(&c->rng, (uint32_t)CABLES_LOOK_NS);
        begin_looks(c, now);
    }
    return changed;
}

uint64_t cables_deadline(const struct cables *c)
{
    return c->n ? c->due : UINT64_MAX;
}

/* A tag: the look, which end, which frame. */
bool cables_next(struct cables *c, struct cables_frame *f)
{
    while (c->sending != c->number) {
        const struct look *l = look_of(c, c->sending + 1);
        bool far = c->frame & 1;

        if (!l || c->frame == 2 * l->frames) {
            c->sending++;
            c->frame = 0;
            continue;
        }
        f->tag = (uint64_t)l->number << 8 | c->frame++;
        if (write_route(c, c->all[l->cable].port, far, f))
            return true;
    }
    return false;
}

void cables_back(struct cables *c, uint64_t tag)
{
    struct look *l = look_of(c, (uint32_t)(tag >> 8));
    unsigned frame = tag & 0xff;

    if (!l || frame >= 2 * l->frames)
        return;
    *(frame & 1 ? &l->far : &l->near) |= 1u << frame / 2;
}

/* ---- new ------------------------------------------------------------------
 */

/* Between crossbars, both of them reached; from the nearer end if one is on the
 * way to the other. */
static void add_cable(struct cables *c, uint32_t p)
{
    const struct net *map = c->map;
    uint32_t q = map->ports[p].peer, from = p;
    struct cables_frame f;

    if (q == NET_NONE || q < p || c->entered[map->ports[p].node] == NET_NONE ||
        c->entered[map->ports[q].node] == NET_NONE ||
        map->ports[p].node == map->ports[q].node ||
        net_is_host(map, map->ports[p].node) ||
        net_is_host(map, map->ports[q].node))
        return;
    if (c->entered[map->ports[p].node] == p)
        from = q;
    if (!write_route(c, from, true, &f))
        return;
    c->of[p] = c->of[q] = c->n;
    c->all[c->n++] = (struct cable){.port = from};
}

/* False: a crossbar has no id; its ports are counted from elsewhere in each
 * map. */
static bool ends_of(const struct cables *c, uint32_t port, struct ends *e)
{
    const struct net *map = c->map;
    uint32_t p[2] = {port, map->ports[port].peer};

    if (map->nodes[map->ports[p[0]].node].id >
        map->nodes[map->ports[p[1]].node].id) {
        p[0] = p[1];
        p[1] = port;
    }
    for (int i = 0; i < 2; i++) {
        e->id[i] = map->nodes[map->ports[p[i]].node].id;
        e->port[i] = net_port_number(map, p[i]);
    }
    return e->id[0] != 0;
}

static struct kept *kept_of(struct cables *c, const struct ends *e)
{
    for (uint32_t i = 0; i < c->nkept && i < CABLES_KEPT; i++) {
        const struct ends *k = &c->kept[i].ends;

        if (k->id[0] == e->id[0] && k->id[1] == e->id[1] &&
            k->port[0] == e->port[0] && k->port[1] == e->port[1])
            return &c->kept[i];
    }
    return NULL;
}

static void keep(struct cables *c, const struct cable *k)
{
    struct ends e;
    struct kept *at;

    if ((!k->falls && !k->wary) || !ends_of(c, k->port, &e))
        return;
    at = kept_of(c, &e);
    if (!at)
        at = &c->kept[c->nkept++ % CABLES_KEPT];
    *at = (struct kept){e, k->falls, k->wary, k->calm, k->gone};
}

static void take_over(struct cables *c, struct cable *k)
{
    const struct kept *had;
    struct ends e;

    if (c->nkept == 0 || !ends_of(c, k->port, &e) || !(had = kept_of(c, &e)))
        return;
    k->falls = had->falls;
    k->wary = had->wary;
    k->calm = had->calm;
    k->gone = had->gone;
}

static void forget_map(struct cables *c)
{
    free(c->entered);
    free(c->of);
    free(c->all);
    c->entered = c->of = NULL;
    c->all = NULL;
    c->map = NULL;
    c->n = c->at = c->wary_at = 0;
    for (unsigned i = 0; i < LOOKS; i++)
        c->looks[i].cable = NET_NONE;
}

struct cables *cables_new(uint64_t seed)
{
    struct cables *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->rng.state = seed;
    forget_map(c);
    return c;
}

bool cables_begin(struct cables *c, const struct net *map, uint32_t me,
                  uint64_t now)
{
    cables_stop(c);
    c->map = map;
    c->due = now;
    c->ended = c->sending = c->number;
    c->frame = 0;
    c->entered = malloc((map->nnodes + 1) * sizeof(*c->entered));
    c->of = malloc((map->nports + 1) * sizeof(*c->of));
    c->all = calloc(map->ncables + 1, sizeof(*c->all));
    if (!c->entered || !c->of || !c->all || !find_ways(c, me)) {
        forget_map(c);
        return false;
    }
    memset(c->of, 0xff, map->nports * sizeof(*c->of));
    for (uint32_t p = 0; p < map->nports; p++)
        add_cable(c, p);
    for (uint32_t i = 0; i < c->n; i++)
        take_over(c, &c->all[i]);
    if (c->n) /* the first ones are not looked at more often than others */
        c->at = net_rng_below(&c->rng, c->n);
    return true;
}

/* While a cable flaps maps may not last as long as a look: what has not come
 * back by now will not. */
static void end_old_looks(struct cables *c)
{
    while (c->ended != c->number) {
        struct look *l = look_of(c, ++c->ended);

        if (l && l->over + SOON <= c->now + CABLES_WAIT_NS)
            end_look(c, l);
    }
}

void cables_stop(struct cables *c)
{
    if (!c->map)
        return;
    end_old_looks(c);
    for (uint32_t i = 0; i < c->n; i++)
        keep(c, &c->all[i]);
    forget_map(c);
}

bool cables_began(const struct cables *c)
{
    return c->map != NULL;
}

void cables_free(struct cables *c)
{
    if (!c)
        return;
    forget_map(c);
    free(c);
}

static const struct cable *cable_at(const struct cables *c, uint32_t port)
{
    return !c->map || c->of[port] == NET_NONE ? NULL : &c->all[c->of[port]];
}

uint32_t cables_lost(const struct cables *c, uint32_t port)
{
    const struct cable *k = cable_at(c, port);

    return k ? k->told : 0;
}

uint32_t cables_falls(const struct cables *c, uint32_t port)
{
    const struct cable *k = cable_at(c, port);

    return k ? k->falls : 0;
}
