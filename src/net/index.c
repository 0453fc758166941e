/* SPDX-License-Identifier: BSD-3-Clause
 * See index.h.
 */
#include "net/index.h"

#include <stdlib.h>
#include <string.h>

/* Finalizer of splitmix64: every bit of the input reaches the low bits. */
uint64_t net_hash_id(uint64_t id)
{
    id ^= id >> 30;
    id *= 0xbf58476d1ce4e5b9ULL;
    id ^= id >> 27;
    id *= 0x94d049bb133111ebULL;
    return id ^ id >> 31;
}

/* FNV-1a, then mixed. */
uint64_t net_hash_name(const char *name)
{
    uint64_t h = 0xcbf29ce484222325ULL;

    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 0x100000001b3ULL;
    return net_hash_id(h);
}

bool net_hash_id_of(const struct net_node *node, uint64_t *hash)
{
    *hash = net_hash_id(node->id);
    return node->id != 0;
}

bool net_hash_name_of(const struct net_node *node, uint64_t *hash)
{
    *hash = net_hash_name(node->name);
    return node->name[0] != '\0';
}

void net_index_put(struct net_index *index, uint64_t hash, uint32_t node)
{
    uint32_t s = hash & index->mask;

    while (index->slots[s] != NET_NONE)
        s = (s + 1) & index->mask;
    index->slots[s] = node;
    index->used++;
}

/* Does this index list nodes of that kind? */
static bool lists(const struct net *net, const struct net_index *index,
                  enum net_kind kind)
{
    return index == &net->by_name ||
           index == (kind == NET_HOST ? &net->by_host : &net->by_xbar);
}

/* At most a quarter full when built; it grows again at a half. */
static uint32_t slots_for(uint32_t nnodes)
{
    uint32_t slots = 64;

    while (slots / 4 < nnodes)
        slots *= 2;
    return slots;
}

bool net_index_room(struct net *net, struct net_index *index, net_hash_f *of)
{
    struct net_index bigger = {0};
    uint32_t slots = slots_for(net->nnodes + 1);
    uint64_t hash;

    if (index->slots && index->used + 1 <= (index->mask + 1) / 2)
        return true;
    bigger.slots = malloc(slots * sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    bigger.mask = slots - 1;
    memset(bigger.slots, 0xff, slots * sizeof(*bigger.slots));
    for (uint32_t n = 0; n < net->nnodes; n++)
        if (lists(net, index, net->nodes[n].kind) && of(&net->nodes[n], &hash))
            net_index_put(&bigger, hash, n);
    free(index->slots);
    *index = bigger;
    return true;
}

static uint32_t find_id(const struct net *net, const struct net_index *index,
                        uint64_t id)
{
    uint32_t s, n;

    if (!index->slots || !id)
        return NET_NONE;
    for (s = net_hash_id(id) & index->mask; (n = index->slots[s]) != NET_NONE;
         s = (s + 1) & index->mask)
        if (net->nodes[n].id == id)
            return n;
    return NET_NONE;
}

uint32_t net_find_host(const struct net *net, uint64_t address)
{
    return find_id(net, &net->by_host, address);
}

uint32_t net_find_xbar(const struct net *net, uint64_t id)
{
    return find_id(net, &net->by_xbar, id);
}

uint32_t net_find_name(const struct net *net, const char *name)
{
    const struct net_index *index = &net->by_name;
    uint32_t s, n;

    if (!index->slots)
        return NET_NONE;
    for (s = net_hash_name(name) & index->mask;
         (n = index->slots[s]) != NET_NONE; s = (s + 1) & index->mask)
        if (strcmp(net->nodes[n].name, name) == 0)
            return n;
    return NET_NONE;
}
