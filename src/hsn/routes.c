/* SPDX-License-Identifier: BSD-3-Clause */
#include "hsn/routes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsn/frame.h"
#include "net/packet.h"

bool hsn_route_valid(const uint8_t *route, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!net_route_byte_valid(route[i]))
            return false;
    return true;
}

static uint32_t hash(uint64_t address)
{
    address *= 0x9e3779b97f4a7c15ULL;
    return (uint32_t)(address >> 32);
}

/* Slot of an address, or the free one where it would be. */
static uint32_t *slot_of(const struct hsn_routes *r, uint64_t address)
{
    uint32_t i = hash(address) & r->mask;

    while (r->slots[i] && r->peers[r->slots[i] - 1].address != address)
        i = (i + 1) & r->mask;
    return &r->slots[i];
}

struct hsn_routed *hsn_routes_find(const struct hsn_routes *r, uint64_t address)
{
    uint32_t slot = r->slots ? *slot_of(r, address) : 0;

    return slot ? &r->peers[slot - 1] : NULL;
}

size_t hsn_routes_pick(const struct hsn_routed *peer, uint32_t flow)
{
    return peer->first + peer->use[(flow * 0x9e3779b1u >> 16) % peer->nuse];
}

/* The shortest of those that live, or of all. */
static void choose(const struct hsn_routes *r, struct hsn_routed *peer)
{
    uint8_t shortest[2] = {UINT8_MAX, UINT8_MAX}, want;
    bool any;

    for (unsigned i = 0; i < peer->nroutes; i++) {
        bool dead = r->states[peer->first + i].dead;

        if (r->routes[peer->first + i].len < shortest[dead])
            shortest[dead] = r->routes[peer->first + i].len;
    }
    any = shortest[false] != UINT8_MAX;
    want = shortest[!any];
    peer->nuse = 0;
    for (unsigned i = 0; i < peer->nroutes; i++)
        if (r->routes[peer->first + i].len == want &&
            r->states[peer->first + i].dead == !any)
            peer->use[peer->nuse++] = (uint8_t)i;
}

bool hsn_routes_mark(struct hsn_routes *r, struct hsn_routed *peer,
                     unsigned route, bool dead)
{
    struct hsn_route_state *s = &r->states[peer->first + route];

    if (s->dead == dead)
        return false;
    s->dead = dead;
    choose(r, peer);
    return true;
}

static bool peer_valid(const struct hsn_peer *p, struct errbuf *err)
{
    bool ok = p->address > 0 && p->address <= HSN_BOARD_MAX;

    if (!ok) {
        errprintf(err, "board %" PRIx64 ": an address has 48 bits", p->address);
        return false;
    }
    ok = p->nroutes > 0 && p->nroutes <= HSN_ROUTES_MAX;
    for (int i = 0; ok && i < p->nroutes; i++)
        ok = p->route[i].len <= HSN_ROUTE_MAX &&
             hsn_route_valid(p->route[i].byte, p->route[i].len);
    if (!ok)
        errprintf(err, "board %012" PRIx64 ": routes are not well formed",
                  p->address);
    return ok;
}

static int allocate(struct hsn_routes *r, const struct hsn_peer *peers,
                    size_t n)
{
    size_t routes = 0, slots = 4;

    for (size_t i = 0; i < n; i++)
        routes += peers[i].nroutes;
    while (slots < 2 * n)
        slots *= 2;
    r->peers = calloc(n + 1, sizeof(*r->peers));
    r->routes = calloc(routes + 1, sizeof(*r->routes));
    r->states = calloc(routes + 1, sizeof(*r->states));
    r->slots = calloc(slots, sizeof(*r->slots));
    r->mask = (uint32_t)slots - 1;
    return r->peers && r->routes && r->states && r->slots ? 0 : -1;
}

/* An echo that is on its way asks by routes of the old table: forget it. */
static void keep_peer(struct hsn_peer_state *s,
                      const struct hsn_peer_state *before)
{
    *s = *before;
    s->echo_sent -= s->asked && !s->answered;
    s->asked = s->answered = 0;
    s->echo_at = 0;
}

static void keep_route(const struct hsn_routes *r, const struct hsn_routes *old,
                       const struct hsn_routed *before, size_t at)
{
    for (size_t i = before->first; i < before->first + before->nroutes; i++)
        if (old->routes[i].len == r->routes[at].len &&
            memcmp(old->routes[i].byte, r->routes[at].byte,
                   r->routes[at].len) == 0)
            r->states[at] = old->states[i];
}

static void add(struct hsn_routes *r, const struct hsn_peer *p,
                const struct hsn_routes *old)
{
    const struct hsn_routed *before =
        old ? hsn_routes_find(old, p->address) : NULL;
    struct hsn_routed *peer = &r->peers[r->npeers];

    peer->address = p->address;
    peer->host_type = p->host_type;
    peer->neighbour = p->neighbour;
    peer->nroutes = p->nroutes;
    peer->first = (uint32_t)r->nroutes;
    if (before)
        keep_peer(&peer->state, &before->state);
    for (int i = 0; i < p->nroutes; i++) {
        struct hsn_route_bytes *route = &r->routes[r->nroutes++];

        route->len = p->route[i].len;
        memcpy(route->byte, p->route[i].byte, p->route[i].len);
        if (before)
            keep_route(r, old, before, r->nroutes - 1);
    }
    choose(r, peer);
    *slot_of(r, p->address) = (uint32_t)++r->npeers;
}

int hsn_routes_make(struct hsn_routes *r, const struct hsn_peer *peers,
                    size_t n, const struct hsn_routes *old, struct errbuf *err)
{
    int e = EINVAL;

    *r = (struct hsn_routes){0};
    if (n > HSN_PEERS_MAX) {
        errno = E2BIG;
        return errprintf(err, "more than %d peers", HSN_PEERS_MAX);
    }
    for (size_t i = 0; i < n; i++)
        if (!peer_valid(&peers[i], err))
            goto error;
    e = ENOMEM;
    if (allocate(r, peers, n) < 0) {
        errprintf(err, "no memory for %zu peers", n);
        goto error;
    }
    e = EINVAL;
    for (size_t i = 0; i < n; i++) {
        if (hsn_routes_find(r, peers[i].address)) {
            errprintf(err, "board %012" PRIx64 " twice", peers[i].address);
            goto error;
        }
        add(r, &peers[i], old);
    }
    return 0;
error:
    hsn_routes_free(r);
    errno = e;
    return -1;
}

void hsn_routes_free(struct hsn_routes *r)
{
    free(r->peers);
    free(r->routes);
    free(r->states);
    free(r->slots);
    *r = (struct hsn_routes){0};
}

void hsn_routes_export(const struct hsn_routes *r,
                       const struct hsn_routed *peer, struct hsn_peer *out)
{
    *out = (struct hsn_peer){.address = peer->address,
                             .host_type = peer->host_type,
                             .neighbour = peer->neighbour,
                             .nroutes = peer->nroutes};
    for (int i = 0; i < peer->nroutes; i++) {
        const struct hsn_route_bytes *b = &r->routes[peer->first + i];

        out->route[i].len = b->len;
        memcpy(out->route[i].byte, b->byte, b->len);
    }
}

/* ---- routes parse ------------------------------------------------------ */

/* A file of routes. */

struct parse {
    const char *name;
    int line;
    struct errbuf *err;
};

static int complain(const struct parse *p, const char *what, const char *word)
{
    errno = EINVAL;
    return errprintf(p->err, "%s:%d: %s: %s", p->name, p->line, word, what);
}

static int parse_address(const struct parse *p, const char *word,
                         uint64_t *address)
{
    char *end;

    errno = 0;
    *address = strtoull(word, &end, 16);
    if (*end || errno || word[0] == '-' || *address == 0 ||
        *address > HSN_BOARD_MAX)
        return complain(p, "not a board address", word);
    return 0;
}

static int parse_route(const struct parse *p, const char *word,
                       struct hsn_peer *peer)
{
    struct hsn_route *route = &peer->route[peer->nroutes];
    const char *at = word;
    char *end;

    if (peer->nroutes == HSN_ROUTES_MAX)
        return complain(p, "too many routes", word);
    peer->nroutes++;
    if (strcmp(word, "-") == 0)
        return 0;
    for (;; at = end + 1) {
        long delta = strtol(at, &end, 10);

        if (end == at || (*end && *end != ',') || delta < NET_DELTA_MIN ||
            delta > NET_DELTA_MAX || route->len == NET_ROUTE_MAX)
            return complain(p, "not a route", word);
        route->byte[route->len++] = net_route_byte((int)delta);
        if (!*end)
            return 0;
    }
}

static int parse_word(const struct parse *p, const char *word,
                      struct hsn_peer *peer)
{
    char *end;

    if (strcmp(word, "neighbour") == 0) {
        peer->neighbour = true;
        return 0;
    }
    if (strncmp(word, "type=", 5) != 0)
        return parse_route(p, word, peer);
    peer->host_type = (uint32_t)strtoul(word + 5, &end, 0);
    return *end || !word[5] ? complain(p, "not a number", word) : 0;
}

/* One line without its end.  0, or -1; peer->address is 0 when it is empty. */
static int parse_line(const struct parse *p, char *line, struct hsn_peer *peer)
{
    char *save = NULL, *word;

    memset(peer, 0, sizeof(*peer));
    line[strcspn(line, "#")] = '\0';
    word = strtok_r(line, " \t\r", &save);
    if (!word)
        return 0;
    if (parse_address(p, word, &peer->address) < 0)
        return -1;
    while ((word = strtok_r(NULL, " \t\r", &save)))
        if (parse_word(p, word, peer) < 0)
            return -1;
    return peer->nroutes ? 0 : complain(p, "no route", "line");
}

static struct hsn_peer *grow(struct hsn_peer *peers, size_t n)
{
    if (n & (n - 1))
        return peers;
    return realloc(peers, (n ? 2 * n : 1) * sizeof(*peers));
}

int hsn_routes_parse(const char *name, const char *text, size_t len,
                     struct hsn_peer **peers, size_t *n, struct errbuf *err)
{
    struct parse p = {.name = name, .err = err};
    char *copy = strndup(text, len), *next = copy, *line;
    struct hsn_peer peer, *more;
    int rc = copy ? 0 : -1;

    *peers = NULL;
    *n = 0;
    while (rc == 0 && (line = strsep(&next, "\n"))) {
        p.line++;
        rc = parse_line(&p, line, &peer);
        if (rc < 0 || peer.address == 0)
            continue;
        more = *n < HSN_PEERS_MAX ? grow(*peers, *n) : NULL;
        if (more) {
            *peers = more;
            more[(*n)++] = peer;
        } else {
            errno = *n < HSN_PEERS_MAX ? ENOMEM : E2BIG;
            rc = errprintf(err, "%s:%d: too many peers", name, p.line);
        }
    }
    free(copy);
    if (rc == 0)
        return 0;
    free(*peers);
    *peers = NULL;
    return -1;
}
