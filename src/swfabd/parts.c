/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "swfabd/parts.h"

struct parser {
    struct parts *parts;
    const struct net *net;
    struct errbuf *err;
    const char *name;
    unsigned line;
};

static int fail(struct parser *p, const char *what, const char *word)
{
    errno = EINVAL;
    return errprintf(p->err, "%s:%u: %s: %.80s", p->name, p->line, what,
                     word ? word : "(nothing)");
}

uint32_t parts_find(const struct parts *parts, const char *name)
{
    for (uint32_t i = 0; i < parts->n; i++)
        if (strcmp(parts->part[i].name, name) == 0)
            return i;
    return PARTS_NONE;
}

void parts_free(struct parts *parts)
{
    free(parts->part);
    free(parts->of);
    memset(parts, 0, sizeof(*parts));
}

static bool read_udp(struct part *part, const char *text)
{
    char host[INET_ADDRSTRLEN];
    unsigned port;
    int end = 0;

    if (sscanf(text, "%15[0-9.]:%5u%n", host, &port, &end) != 2 || text[end] ||
        port == 0 || port > 65535)
        return false;
    part->udp.sin_family = AF_INET;
    part->udp.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &part->udp.sin_addr) == 1;
}

static bool read_mac(uint8_t mac[6], const char *text)
{
    unsigned b[6];
    int end = 0;

    if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", b, b + 1, b + 2, b + 3, b + 4,
               b + 5, &end) != 6 ||
        text[end])
        return false;
    for (int i = 0; i < 6; i++)
        mac[i] = (uint8_t)b[i];
    return true;
}

bool parts_read_address(struct part *part, const char *text)
{
    if (strncmp(text, "udp:", 4) == 0)
        return read_udp(part, text + 4);
    part->ether = strncmp(text, "ether:", 6) == 0;
    return part->ether && read_mac(part->mac, text + 6);
}

static bool same_address(const struct part *a, const struct part *b)
{
    return a->ether == b->ether &&
           a->udp.sin_addr.s_addr == b->udp.sin_addr.s_addr &&
           a->udp.sin_port == b->udp.sin_port &&
           memcmp(a->mac, b->mac, sizeof(a->mac)) == 0;
}

/* The part of this name, made when it is new. */
static int get_part(struct parser *p, const char *name, const char *address,
                    uint32_t *index)
{
    struct part part = {0};
    struct part *more;

    if (strlen(name) >= sizeof(part.name))
        return fail(p, "name too long", name);
    memcpy(part.name, name, strlen(name));
    if (!parts_read_address(&part, address))
        return fail(p, "not udp:A.B.C.D:PORT nor ether:MAC", address);
    *index = parts_find(p->parts, name);
    if (*index != PARTS_NONE) {
        if (!same_address(&part, &p->parts->part[*index]))
            return fail(p, "part has another address above", name);
        return 0;
    }
    if (p->parts->n == SF_SWFABD_PARTS_MAX)
        return fail(p, "too many parts", name);
    more = realloc(p->parts->part, (p->parts->n + 1u) * sizeof(part));
    if (!more)
        return errprintf(p->err, "out of memory");
    p->parts->part = more;
    *index = p->parts->n++;
    more[*index] = part;
    return 0;
}

static int take_xbar(struct parser *p, uint32_t part, uint32_t node)
{
    uint32_t *of = &p->parts->of[node];

    if (*of != PARTS_NONE && *of != part)
        return fail(p, "crossbar is in two parts", p->net->nodes[node].name);
    *of = part;
    return 0;
}

/* NAME, or PREFIX* */
static int take_xbars(struct parser *p, uint32_t part, const char *word)
{
    size_t len = strlen(word), found = 0;
    bool all = word[len - 1] == '*';

    for (uint32_t n = 0; n < p->net->nnodes; n++) {
        const struct net_node *node = &p->net->nodes[n];

        if (node->kind != NET_XBAR || (all ? strncmp(node->name, word, len - 1)
                                           : strcmp(node->name, word)) != 0)
            continue;
        if (take_xbar(p, part, n) < 0)
            return -1;
        found++;
    }
    return found ? 0 : fail(p, "no such crossbar", word);
}

static int parse_line(struct parser *p, char *line)
{
    char *save = NULL, *word, *name, *address;
    uint32_t part = PARTS_NONE;

    line[strcspn(line, "#")] = '\0';
    word = strtok_r(line, " \t\r", &save);
    if (!word)
        return 0;
    if (strcmp(word, "part") != 0)
        return fail(p, "expected: part NAME ADDRESS XBAR...", word);
    name = strtok_r(NULL, " \t\r", &save);
    address = strtok_r(NULL, " \t\r", &save);
    if (!name || !address)
        return fail(p, "expected: part NAME ADDRESS XBAR...", name);
    if (get_part(p, name, address, &part) < 0)
        return -1;
    while ((word = strtok_r(NULL, " \t\r", &save)))
        if (take_xbars(p, part, word) < 0)
            return -1;
    return 0;
}

/* Every crossbar has a part; hosts follow theirs. */
static int finish(struct parser *p)
{
    const struct net *net = p->net;

    for (uint32_t n = 0; n < net->nnodes; n++) {
        uint32_t leaf = net_is_host(net, n) ? net_peer_node(net, n, 0) : n;

        if (leaf == NET_NONE || net_is_host(net, leaf))
            continue;
        p->parts->of[n] = p->parts->of[leaf];
        if (n == leaf && p->parts->of[n] == PARTS_NONE)
            return fail(p, "crossbar is in no part", net->nodes[n].name);
    }
    return 0;
}

int parts_parse(struct parts *parts, const char *name, const char *text,
                const struct net *net, struct errbuf *err)
{
    struct parser p = {.parts = parts, .net = net, .err = err, .name = name};
    char line[SF_SWFABD_LINE_MAX];

    memset(parts, 0, sizeof(*parts));
    parts->of = malloc((net->nnodes + 1u) * sizeof(*parts->of));
    if (!parts->of)
        return errprintf(err, "out of memory");
    for (uint32_t n = 0; n < net->nnodes; n++)
        parts->of[n] = PARTS_NONE;
    while (*text) {
        size_t len = strcspn(text, "\n");

        p.line++;
        if (len >= sizeof(line))
            return fail(&p, "line too long", NULL);
        memcpy(line, text, len);
        line[len] = '\0';
        if (parse_line(&p, line) < 0)
            return -1;
        text += len + (text[len] == '\n');
    }
    return finish(&p);
}
