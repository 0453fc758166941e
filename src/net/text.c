/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Our own format, swfab.net(5):
 *
 *     # a comment
 *     host NAME ADDRESS [plane=N] [twin]
 *     xbar NAME PORTS [id=HEX] [guid=HEX] [plane=N]
 *     cable NAME[:PORT] NAME[:PORT]
 *
 * A node stands before its cables.  In a name every byte that is a blank, a
 * control character, '%', ':' or '#' is written as % and two hexadecimal
 * digits.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "net/format.h"
#include "net/lines.h"

/* ---- reading ------------------------------------------------------------- */

/* Undo the % signs, in place. */
static bool decode_name(struct net_lines *l, char *name)
{
    char *to = name;

    for (const char *p = name; *p; p++) {
        char hex[3] = {0};

        if (*p != '%') {
            *to++ = *p;
            continue;
        }
        hex[0] = p[1];
        hex[1] = p[1] ? p[2] : '\0';
        if (!isxdigit((unsigned char)hex[0]) ||
            !isxdigit((unsigned char)hex[1]) || strcmp(hex, "00") == 0)
            return net_lines_error(l, "%s: two digits must follow %%", name) ==
                   0;
        *to++ = (char)strtoul(hex, NULL, 16);
        p += 2;
    }
    *to = '\0';
    if (to == name || to - name >= SF_NET_NAME_MAX)
        return net_lines_error(l, "a name has 1 to %d bytes",
                               SF_NET_NAME_MAX - 1) == 0;
    return true;
}

/* 0060dd000001 or 00:60:dd:00:00:01. */
static bool parse_address(const char *word, uint64_t *out)
{
    char hex[20];
    size_t n = 0;

    for (; *word; word++) {
        if (*word == ':')
            continue;
        if (n == 16)
            return false;
        hex[n++] = *word;
    }
    hex[n] = '\0';
    return net_parse_number(hex, 16, UINT64_MAX, out);
}

struct options {
    uint64_t id, guid, plane;
    bool has_id, has_guid, twin;
};

static bool read_options(struct net_lines *l, char *at, bool xbar,
                         struct options *o)
{
    char *word;

    while ((word = net_next_word(&at))) {
        if (strncmp(word, "plane=", 6) == 0 &&
            net_parse_number(word + 6, 10, UINT8_MAX, &o->plane))
            continue;
        if (!xbar && strcmp(word, "twin") == 0) {
            o->twin = true;
            continue;
        }
        if (xbar && strncmp(word, "id=", 3) == 0 &&
            net_parse_number(word + 3, 16, UINT64_MAX, &o->id)) {
            o->has_id = true;
            continue;
        }
        if (xbar && strncmp(word, "guid=", 5) == 0 &&
            net_parse_number(word + 5, 16, UINT64_MAX, &o->guid)) {
            o->has_guid = true;
            continue;
        }
        return net_lines_error(l, "what is %s?", word) == 0;
    }
    if (o->has_id && o->has_guid)
        return net_lines_error(l, "either id= or guid=") == 0;
    return true;
}

static int no_room(struct net_lines *l)
{
    if (errno == EOVERFLOW)
        return net_lines_error(l, "more than %u nodes", SF_NET_NODES_MAX);
    net_lines_error(l, "out of memory");
    errno = ENOMEM;
    return -1;
}

static int read_host(struct net *net, struct net_lines *l, char *at)
{
    char *name = net_next_word(&at), *word = net_next_word(&at);
    struct options o = {0};
    uint64_t address;
    uint32_t n;

    if (!name || !word)
        return net_lines_error(l, "host NAME ADDRESS [plane=N] [twin]");
    if (!decode_name(l, name) || !read_options(l, at, false, &o))
        return -1;
    if (!parse_address(word, &address) || address == 0)
        return net_lines_error(l, "%s is not a board address", word);
    if (net_find_name(net, name) != NET_NONE)
        return net_lines_error(l, "%s is there already", name);
    n = net_find_host(net, address);
    if (n != NET_NONE && !o.twin)
        return net_lines_error(l, "%s has the address of %s", name,
                               net->nodes[n].name);
    n = net_add_host(net, name, address);
    if (n == NET_NONE)
        return no_room(l);
    net->nodes[n].plane = (uint8_t)o.plane;
    return 0;
}

static int read_xbar(struct net *net, struct net_lines *l, char *at)
{
    char *name = net_next_word(&at), *word = net_next_word(&at);
    struct options o = {0};
    uint64_t ports, id;
    uint32_t n;

    if (!name || !word)
        return net_lines_error(l,
                               "xbar NAME PORTS [id=HEX] [guid=HEX] [plane=N]");
    if (!decode_name(l, name) || !read_options(l, at, true, &o))
        return -1;
    if (!net_parse_number(word, 10, SF_NET_XBAR_PORTS_MAX, &ports) || !ports)
        return net_lines_error(l, "%s: a crossbar has 1 to %u ports", word,
                               SF_NET_XBAR_PORTS_MAX);
    if (net_find_name(net, name) != NET_NONE)
        return net_lines_error(l, "%s is there already", name);
    id = o.has_id ? o.id : o.guid;
    n = net_find_xbar(net, id);
    if (n != NET_NONE)
        return net_lines_error(l, "%s has the id of %s", name,
                               net->nodes[n].name);
    n = net_add_xbar(net, name, (unsigned)ports, id);
    if (n == NET_NONE)
        return no_room(l);
    net->nodes[n].has_id = o.has_id;
    net->nodes[n].plane = (uint8_t)o.plane;
    return 0;
}

/* NAME[:PORT] */
static bool read_end(const struct net *net, struct net_lines *l, char *word,
                     uint32_t *node, unsigned *port)
{
    char *colon = strrchr(word, ':');
    uint64_t p = 0;

    if (colon) {
        *colon = '\0';
        if (!net_parse_number(colon + 1, 10, UINT32_MAX, &p))
            return net_lines_error(l, "%s is no port", colon + 1) == 0;
    }
    if (!decode_name(l, word))
        return false;
    *node = net_find_name(net, word);
    if (*node == NET_NONE)
        return net_lines_error(l, "there is no %s above", word) == 0;
    if (!colon && !net_is_host(net, *node))
        return net_lines_error(l, "which port of %s?", word) == 0;
    if (p >= net->nodes[*node].nports)
        return net_lines_error(l, "%s has ports 0 to %u", word,
                               net->nodes[*node].nports - 1u) == 0;
    *port = (unsigned)p;
    if (net_peer_node(net, *node, *port) != NET_NONE)
        return net_lines_error(l, "port %u of %s has a cable already", *port,
                               word) == 0;
    return true;
}

static int read_cable(struct net *net, struct net_lines *l, char *at)
{
    char *a = net_next_word(&at), *b = net_next_word(&at);
    uint32_t na, nb;
    unsigned pa, pb;

    if (!a || !b || net_next_word(&at))
        return net_lines_error(l, "cable NAME[:PORT] NAME[:PORT]");
    if (!read_end(net, l, a, &na, &pa) || !read_end(net, l, b, &nb, &pb))
        return -1;
    if (!net_connect(net, na, pa, nb, pb))
        return net_lines_error(l, "a cable has two ends");
    return 0;
}

static int read_line(struct net *net, struct net_lines *l)
{
    char *at = l->line, *word, *comment = strchr(l->line, '#');

    if (comment)
        *comment = '\0';
    word = net_next_word(&at);
    if (!word)
        return 0;
    if (strcmp(word, "host") == 0)
        return read_host(net, l, at);
    if (strcmp(word, "xbar") == 0)
        return read_xbar(net, l, at);
    if (strcmp(word, "cable") == 0)
        return read_cable(net, l, at);
    return net_lines_error(l, "%s: a line says host, xbar or cable", word);
}

struct net *net_parse_text(const char *file, const char *text, size_t len,
                           struct errbuf *err)
{
    struct net *net;
    struct net_lines l;

    if (len > SF_NET_FILE_MAX) {
        errprintf(err, "%s: longer than %u bytes", file, SF_NET_FILE_MAX);
        errno = EMSGSIZE;
        return NULL;
    }
    net = net_new();
    if (!net) {
        errprintf(err, "%s: out of memory", file);
        return NULL;
    }
    net_lines_init(&l, file, text, len, err);
    while (net_lines_next(&l) && read_line(net, &l) == 0)
        ;
    if (l.bad) {
        net_free(net);
        return NULL;
    }
    return net;
}

struct net *net_parse(const char *file, const char *text, size_t len,
                      struct errbuf *err)
{
    static const char *const words[] = {
        "vendid=", "switchguid=", "caguid=", "Switch",
        "Ca",      "Hca",         "devid=",  "sysimgguid="};
    struct net_lines l;

    net_lines_init(&l, file, text, len, NULL);
    while (net_lines_next(&l)) {
        size_t n = strspn(l.line, NET_WHITE);

        if (!l.line[n] || l.line[n] == '#')
            continue;
        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
            if (strncmp(l.line + n, words[i], strlen(words[i])) == 0)
                return net_parse_ib(file, text, len, err);
        break;
    }
    return net_parse_text(file, text, len, err);
}

/* ---- writing ------------------------------------------------------------- */

static void write_name(struct bytebuf *out, const char *name)
{
    if (!*name)
        bytebuf_printf(out, "?");
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;

        if (c <= ' ' || c == 0x7f || strchr("%:#", c))
            bytebuf_printf(out, "%%%02x", c);
        else
            bytebuf_add(out, name, 1);
    }
}

static void write_node(const struct net *net, uint32_t n, struct bytebuf *out)
{
    const struct net_node *node = &net->nodes[n];

    bytebuf_add(out, node->kind == NET_HOST ? "host " : "xbar ", 5);
    write_name(out, node->name);
    if (node->kind == NET_HOST)
        bytebuf_printf(out, " %012" PRIx64, node->id);
    else
        bytebuf_printf(out, " %u", node->nports);
    if (node->kind == NET_XBAR && (node->id || node->has_id))
        bytebuf_printf(out, node->has_id ? " id=%" PRIx64 : " guid=%" PRIx64,
                       node->id);
    if (node->plane)
        bytebuf_printf(out, " plane=%u", node->plane);
    if (node->kind == NET_HOST && net_find_host(net, node->id) != n)
        bytebuf_printf(out, " twin");
    bytebuf_printf(out, "\n");
}

static void write_end(const struct net *net, uint32_t port, struct bytebuf *out)
{
    uint32_t n = net->ports[port].node;

    bytebuf_add(out, " ", 1);
    write_name(out, net->nodes[n].name);
    if (!net_is_host(net, n))
        bytebuf_printf(out, ":%u", net_port_number(net, port));
}

void net_write_text(const struct net *net, struct bytebuf *out)
{
    for (uint32_t n = 0; n < net->nnodes; n++)
        write_node(net, n, out);
    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q == NET_NONE || q < p)
            continue;
        bytebuf_add(out, "cable", 5);
        write_end(net, p, out);
        write_end(net, q, out);
        bytebuf_add(out, "\n", 1);
    }
}
