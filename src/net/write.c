/* SPDX-License-Identifier: BSD-3-Clause
 * Writers of foreign formats: InfiniBand's net files, JSON; names for those who
 * have none.  See format.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "net/format.h"

/* Nodes without an id get one that no vendor has. */
static uint64_t guid_of(const struct net *net, uint32_t n)
{
    const struct net_node *node = &net->nodes[n];

    return node->id ? node->id : 0xfeed000000000000ULL + n;
}

/* What the file knows a node by: of hosts with one GUID all but the first have
 * their place in it, too. */
static void write_word(const struct net *net, uint32_t n, struct bytebuf *out)
{
    bool host = net_is_host(net, n);

    bytebuf_printf(out, "\"%c-%016" PRIx64, host ? 'H' : 'S', guid_of(net, n));
    if (host && net->nodes[n].id && net_find_host(net, net->nodes[n].id) != n)
        bytebuf_printf(out, ".%" PRIu32, n);
    bytebuf_add(out, "\"", 1);
}

/* A description: what could end it early is replaced. */
static void write_plain(const char *name, struct bytebuf *out)
{
    for (; *name; name++) {
        char c = *name;

        if ((unsigned char)c <= ' ' || strchr("\"'#\x7f", c))
            c = '_';
        bytebuf_add(out, &c, 1);
    }
}

static void write_ib_node(const struct net *net, uint32_t n,
                          struct bytebuf *out)
{
    const struct net_node *node = &net->nodes[n];
    bool host = node->kind == NET_HOST;

    bytebuf_printf(out, "vendid=0x0\ndevid=0x0\nsysimgguid=0x%" PRIx64 "\n",
                   guid_of(net, n));
    bytebuf_printf(out,
                   host ? "caguid=0x%" PRIx64 "\nCa\t1 "
                        : "switchguid=0x%" PRIx64 "(%" PRIx64 ")\nSwitch\t",
                   guid_of(net, n), guid_of(net, n));
    if (!host)
        bytebuf_printf(out, "%u ", node->nports);
    write_word(net, n, out);
    bytebuf_printf(out, "\t\t# \"");
    write_plain(node->name, out);
    bytebuf_printf(out, host ? " HCA-1\"\n" : "\" base port 0 lid 0 lmc 0\n");
    for (unsigned p = 0; p < node->nports; p++) {
        uint32_t peer = net_peer_node(net, n, p);

        if (peer == NET_NONE)
            continue;
        bytebuf_printf(out, "[%u]\t", p + 1);
        write_word(net, peer, out);
        bytebuf_printf(out, "[%u]\n", net_peer_port(net, n, p) + 1);
    }
    bytebuf_printf(out, "\n");
}

void net_write_ib(const struct net *net, struct bytebuf *out)
{
    for (uint32_t n = 0; n < net->nnodes; n++)
        write_ib_node(net, n, out);
}

/* ---- JSON ---------------------------------------------------------------- */

static void write_string(const char *s, struct bytebuf *out)
{
    bytebuf_add(out, "\"", 1);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\')
            bytebuf_printf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            bytebuf_printf(out, "\\u%04x", c);
        else
            bytebuf_add(out, s, 1);
    }
    bytebuf_add(out, "\"", 1);
}

static void write_json_node(const struct net_node *node, struct bytebuf *out)
{
    bytebuf_printf(out, "{\"name\":");
    write_string(node->name, out);
    if (node->kind == NET_HOST)
        bytebuf_printf(out, ",\"address\":\"%012" PRIx64 "\"", node->id);
    else
        bytebuf_printf(out, ",\"ports\":%u", node->nports);
    if (node->kind == NET_XBAR && node->has_id)
        bytebuf_printf(out, ",\"id\":\"%016" PRIx64 "\"", node->id);
    if (node->plane)
        bytebuf_printf(out, ",\"plane\":%u", node->plane);
    bytebuf_printf(out, "}");
}

static void write_json_nodes(const struct net *net, enum net_kind kind,
                             struct bytebuf *out)
{
    const char *comma = "";

    for (uint32_t n = 0; n < net->nnodes; n++)
        if (net->nodes[n].kind == kind) {
            bytebuf_printf(out, "%s", comma);
            write_json_node(&net->nodes[n], out);
            comma = ",";
        }
}

static void write_json_end(const struct net *net, uint32_t port,
                           struct bytebuf *out)
{
    bytebuf_add(out, "[", 1);
    write_string(net->nodes[net->ports[port].node].name, out);
    bytebuf_printf(out, ",%u]", net_port_number(net, port));
}

void net_write_json(const struct net *net, struct bytebuf *out)
{
    const char *comma = "";

    bytebuf_printf(out, "{\"hosts\":[");
    write_json_nodes(net, NET_HOST, out);
    bytebuf_printf(out, "],\"xbars\":[");
    write_json_nodes(net, NET_XBAR, out);
    bytebuf_printf(out, "],\"links\":[");
    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q == NET_NONE || q < p)
            continue;
        bytebuf_printf(out, "%s[", comma);
        write_json_end(net, p, out);
        bytebuf_add(out, ",", 1);
        write_json_end(net, q, out);
        bytebuf_add(out, "]", 1);
        comma = ",";
    }
    bytebuf_printf(out, "]}\n");
}

/* ---- names --------------------------------------------------------------- */

static bool name_node(struct net *net, uint32_t n)
{
    const struct net_node *node = &net->nodes[n];
    char name[40];

    if (node->name[0] != '\0')
        return true;
    if (node->kind == NET_HOST)
        snprintf(name, sizeof(name), "%012" PRIx64, node->id);
    else
        snprintf(name, sizeof(name), "x%u", n - net->nhosts);
    if (node->kind == NET_HOST && net_find_host(net, node->id) != n)
        snprintf(name, sizeof(name), "%012" PRIx64 ".%u", node->id, n);
    /* Somebody may have given a node just that name. */
    if (net_find_name(net, name) != NET_NONE)
        snprintf(name + strlen(name), sizeof(name) - strlen(name), ".%u", n);
    return net_set_name(net, n, name);
}

struct net *net_copy_named(const struct net *net)
{
    struct net *copy = net_copy(net);

    for (uint32_t n = 0; copy && n < copy->nnodes; n++) {
        if (name_node(copy, n))
            continue;
        net_free(copy);
        copy = NULL;
    }
    return copy;
}
