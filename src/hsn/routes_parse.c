/* SPDX-License-Identifier: BSD-3-Clause
 * A file of routes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsn/frame.h"
#include "hsn/routes.h"
#include "net/packet.h"

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
