/* SPDX-License-Identifier: BSD-3-Clause
 * See graph.h.
 */
#include "net/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/index.h"

struct net *net_new(void)
{
    return calloc(1, sizeof(struct net));
}

void net_free(struct net *net)
{
    int saved = errno;

    if (!net)
        return;
    for (uint32_t n = 0; n < net->nnodes; n++)
        free(net->nodes[n].name);
    free(net->nodes);
    free(net->ports);
    free(net->by_name.slots);
    free(net->by_host.slots);
    free(net->by_xbar.slots);
    free(net);
    errno = saved;
}

/* Room for `want` elements of `size` bytes in *array. */
static bool grow(void *array, uint32_t *cap, uint32_t want, size_t size)
{
    uint32_t room = *cap ? *cap : 64;
    void *grown;

    if (want <= *cap)
        return true;
    while (room < want)
        room *= 2;
    grown = realloc(*(void **)array, room * size);
    if (!grown)
        return false;
    *(void **)array = grown;
    *cap = room;
    return true;
}

static struct net_index *id_index(struct net *net, enum net_kind kind)
{
    return kind == NET_HOST ? &net->by_host : &net->by_xbar;
}

static bool room_for(struct net *net, enum net_kind kind, unsigned nports)
{
    if (net->nnodes >= SF_NET_NODES_MAX || nports > SF_NET_XBAR_PORTS_MAX) {
        errno = EOVERFLOW;
        return false;
    }
    return grow(&net->nodes, &net->cap_nodes, net->nnodes + 1,
                sizeof(*net->nodes)) &&
           grow(&net->ports, &net->cap_ports, net->nports + nports,
                sizeof(*net->ports)) &&
           net_index_room(net, &net->by_name, net_hash_name_of) &&
           net_index_room(net, id_index(net, kind), net_hash_id_of);
}

static uint32_t add_node(struct net *net, enum net_kind kind, const char *name,
                         unsigned nports, uint64_t id)
{
    uint32_t n = net->nnodes;
    char *own = strdup(name);

    if (!own || !room_for(net, kind, nports)) {
        free(own);
        return NET_NONE;
    }
    net->nodes[n] = (struct net_node){.kind = kind,
                                      .nports = nports,
                                      .first = net->nports,
                                      .id = id,
                                      .name = own};
    for (unsigned p = 0; p < nports; p++)
        net->ports[net->nports++] = (struct net_port){NET_NONE, n};
    net->nnodes++;
    if (kind == NET_HOST)
        net->nhosts++;
    else
        net->nxbars++;
    if (own[0])
        net_index_put(&net->by_name, net_hash_name(own), n);
    if (id)
        net_index_put(id_index(net, kind), net_hash_id(id), n);
    return n;
}

uint32_t net_add_host(struct net *net, const char *name, uint64_t address)
{
    return add_node(net, NET_HOST, name, 1, address);
}

uint32_t net_add_xbar(struct net *net, const char *name, unsigned nports,
                      uint64_t id)
{
    return add_node(net, NET_XBAR, name, nports, id);
}

bool net_set_name(struct net *net, uint32_t node, const char *name)
{
    char *own = strdup(name);

    if (!own || !net_index_room(net, &net->by_name, net_hash_name_of)) {
        free(own);
        return false;
    }
    free(net->nodes[node].name);
    net->nodes[node].name = own;
    if (own[0])
        net_index_put(&net->by_name, net_hash_name(own), node);
    return true;
}

bool net_set_id(struct net *net, uint32_t node, uint64_t id)
{
    struct net_index *index = id_index(net, net->nodes[node].kind);

    if (!net_index_room(net, index, net_hash_id_of))
        return false;
    net->nodes[node].id = id;
    if (id)
        net_index_put(index, net_hash_id(id), node);
    return true;
}

/* Global index of a port, or NET_NONE. */
static uint32_t port_of(const struct net *net, uint32_t node, unsigned port)
{
    if (node >= net->nnodes || port >= net->nodes[node].nports)
        return NET_NONE;
    return net->nodes[node].first + port;
}

bool net_connect(struct net *net, uint32_t a, unsigned port_a, uint32_t b,
                 unsigned port_b)
{
    uint32_t pa = port_of(net, a, port_a);
    uint32_t pb = port_of(net, b, port_b);

    if (pa == NET_NONE || pb == NET_NONE || pa == pb ||
        net->ports[pa].peer != NET_NONE || net->ports[pb].peer != NET_NONE) {
        errno = EINVAL;
        return false;
    }
    net->ports[pa].peer = pb;
    net->ports[pb].peer = pa;
    net->ncables++;
    return true;
}

void net_disconnect(struct net *net, uint32_t node, unsigned port)
{
    uint32_t p = port_of(net, node, port);

    if (p == NET_NONE || net->ports[p].peer == NET_NONE)
        return;
    net->ports[net->ports[p].peer].peer = NET_NONE;
    net->ports[p].peer = NET_NONE;
    net->ncables--;
}

void net_disconnect_all(struct net *net, uint32_t node)
{
    for (unsigned p = 0; p < net->nodes[node].nports; p++)
        net_disconnect(net, node, p);
}

static uint32_t peer_of(const struct net *net, uint32_t node, unsigned port)
{
    uint32_t p = port_of(net, node, port);

    return p == NET_NONE ? NET_NONE : net->ports[p].peer;
}

uint32_t net_peer_node(const struct net *net, uint32_t node, unsigned port)
{
    uint32_t peer = peer_of(net, node, port);

    return peer == NET_NONE ? NET_NONE : net->ports[peer].node;
}

uint32_t net_peer_port(const struct net *net, uint32_t node, unsigned port)
{
    uint32_t peer = peer_of(net, node, port);

    return peer == NET_NONE ? NET_NONE : net_port_number(net, peer);
}

/* Copies: the arrays as they are, then each name. */
static bool copy_index(struct net_index *to, const struct net_index *from)
{
    size_t bytes = ((size_t)from->mask + 1) * sizeof(*to->slots);

    *to = (struct net_index){NULL, 0, 0};
    if (!from->slots)
        return true;
    to->slots = malloc(bytes);
    if (!to->slots)
        return false;
    memcpy(to->slots, from->slots, bytes);
    to->mask = from->mask;
    to->used = from->used;
    return true;
}

static bool copy_nodes(struct net *to, const struct net *from)
{
    if (!grow(&to->nodes, &to->cap_nodes, from->nnodes, sizeof(*to->nodes)) ||
        !grow(&to->ports, &to->cap_ports, from->nports, sizeof(*to->ports)))
        return false;
    for (uint32_t n = 0; n < from->nnodes; n++) {
        to->nodes[n] = from->nodes[n];
        to->nodes[n].name = strdup(from->nodes[n].name);
        if (!to->nodes[n].name)
            return false;
        to->nnodes++;
    }
    if (from->nports)
        memcpy(to->ports, from->ports, from->nports * sizeof(*to->ports));
    to->nports = from->nports;
    to->nhosts = from->nhosts;
    to->nxbars = from->nxbars;
    to->ncables = from->ncables;
    return true;
}

struct net *net_copy(const struct net *net)
{
    struct net *to = net_new();

    if (!to)
        return NULL;
    to->first_port = net->first_port;
    if (!copy_nodes(to, net) || !copy_index(&to->by_name, &net->by_name) ||
        !copy_index(&to->by_host, &net->by_host) ||
        !copy_index(&to->by_xbar, &net->by_xbar)) {
        net_free(to);
        return NULL;
    }
    return to;
}
