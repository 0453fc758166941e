/* SPDX-License-Identifier: BSD-3-Clause
 * Writers of Slurm's topology files: see topo.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/host_names.h"
#include "net/topo.h"
#include "net/topo_domains.h"

static void add_hosts(const struct net_topo *t, const uint32_t *hosts,
                      uint32_t n, struct bytebuf *out)
{
    const char **names = malloc((n + 1) * sizeof(*names));

    for (uint32_t i = 0; names && i < n; i++)
        names[i] = t->net->nodes[hosts[i]].name;
    if (!names || !host_names_compress(names, n, out))
        out->bad = true;
    free(names);
}

/* Children stand behind their parent, in the order of their keys within a
 * level. */
static void add_children(const struct net_topo *t, uint32_t parent,
                         struct bytebuf *out)
{
    const char *comma = "";

    for (uint32_t i = parent + 1; i < t->nsw; i++)
        if (t->sw[i].parent == parent) {
            bytebuf_printf(out, "%s%s", comma, t->sw[i].name);
            comma = ",";
        }
}

void net_topo_write_conf(const struct net_topo *t, struct bytebuf *out)
{
    bytebuf_printf(out,
                   "# Written from the map of the fabric: changes made here "
                   "are lost.\n");
    for (uint32_t i = 0; i < t->nsw; i++) {
        bytebuf_printf(out, "SwitchName=%s ", t->sw[i].name);
        if (t->sw[i].nhosts) {
            bytebuf_printf(out, "Nodes=");
            add_hosts(t, t->hosts + t->sw[i].first, t->sw[i].nhosts, out);
        } else {
            bytebuf_printf(out, "Switches=");
            add_children(t, i, out);
        }
        bytebuf_printf(out, "\n");
    }
}

/* ---- blocks ---------------------------------------------------------------
 */

struct block {
    const char *name;
    uint32_t *hosts, n; /* nodes of the net, in the order of the tree */
};

struct blocks {
    const struct net_topo *t;
    struct block *list;
    uint32_t n;
    uint32_t *order; /* hosts of the tree, leaf by leaf as it is written */
    uint32_t nhosts;
    uint32_t *of;      /* per host of the net: its block, or NET_NONE */
    uint32_t *space;   /* for the blocks' hosts */
    uint32_t *counted; /* per switch */
};

static void walk_leaves(struct blocks *b, uint32_t sw, bool leaves)
{
    const struct net_topo *t = b->t;
    const struct net_vswitch *s = &t->sw[sw];

    if (s->nhosts) {
        if (leaves)
            b->list[b->n] =
                (struct block){s->name, b->order + b->nhosts, s->nhosts};
        b->n += leaves;
        memcpy(b->order + b->nhosts, t->hosts + s->first,
               s->nhosts * sizeof(*b->order));
        b->nhosts += s->nhosts;
        return;
    }
    for (uint32_t i = sw + 1; i < t->nsw; i++)
        if (t->sw[i].parent == sw)
            walk_leaves(b, i, leaves);
}

/* Blocks in the order in which the tree meets them. */
static void take_domains(struct blocks *b, const struct net_domains *d)
{
    uint32_t *at = b->counted, used = 0; /* per domain: its block */

    for (uint32_t i = 0; i < d->n; i++) {
        at[i] = NET_NONE;
        for (uint32_t k = 0; k < d->list[i].n; k++) {
            uint32_t h = net_find_name(b->t->net, d->list[i].node[k]);

            if (h != NET_NONE && net_is_host(b->t->net, h))
                b->of[h] = i;
        }
    }
    for (uint32_t i = 0; i < b->nhosts; i++) {
        uint32_t domain = b->of[b->order[i]];

        if (domain == NET_NONE)
            continue;
        if (at[domain] == NET_NONE) {
            at[domain] = b->n;
            b->list[b->n++] =
                (struct block){d->list[domain].name, b->space + used, 0};
            used += d->list[domain].n;
        }
        b->list[at[domain]].hosts[b->list[at[domain]].n++] = b->order[i];
    }
}

/* The switch of a level above a host, NET_NONE: none has this level. */
static uint32_t above(const struct net_topo *t, uint32_t host, unsigned level)
{
    uint32_t sw = t->of[host];

    while (sw != NET_NONE && t->sw[sw].level < level)
        sw = t->sw[sw].parent;
    return sw != NET_NONE && t->sw[sw].level == level ? sw : NET_NONE;
}

/* How many blocks each switch of a level has, 0: not all as many, not a power
 * of two, or there is a block that is not within one of them. */
static uint32_t blocks_of_level(struct blocks *b, unsigned level)
{
    uint32_t each = 0;

    memset(b->counted, 0, b->t->nsw * sizeof(*b->counted));
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t sw = above(b->t, b->list[i].hosts[0], level);

        for (uint32_t k = 1; sw != NET_NONE && k < b->list[i].n; k++)
            if (above(b->t, b->list[i].hosts[k], level) != sw)
                sw = NET_NONE;
        if (sw == NET_NONE)
            return 0;
        b->counted[sw]++;
    }
    for (uint32_t i = 0; i < b->t->nsw; i++) {
        if (each && b->counted[i] && b->counted[i] != each)
            return 0;
        each = b->counted[i] ? b->counted[i] : each;
    }
    return (each & (each - 1)) == 0 ? each : 0;
}

static void add_sizes(struct blocks *b, struct bytebuf *out)
{
    uint32_t base = 0, last = 1;

    for (uint32_t i = 0; i < b->n; i++)
        if (!base || b->list[i].n < base)
            base = b->list[i].n;
    bytebuf_printf(out, "    block_sizes:\n      - %u\n", base);
    for (unsigned level = 1; level <= b->t->sw[0].level; level++) {
        uint32_t n = blocks_of_level(b, level);

        if (n > last && n < 1U << NET_TOPO_BLOCK_LEVELS) {
            bytebuf_printf(out, "      - %u\n", base * n);
            last = n;
        }
    }
}

static void write_blocks(struct blocks *b, struct bytebuf *out)
{
    bytebuf_printf(out, "- topology: blocks\n  cluster_default: false\n"
                        "  block:\n");
    add_sizes(b, out);
    bytebuf_printf(out, "    blocks:\n");
    for (uint32_t i = 0; i < b->n; i++) {
        bytebuf_printf(out, "      - block: %s\n        nodes: \"",
                       b->list[i].name);
        add_hosts(b->t, b->list[i].hosts, b->list[i].n, out);
        bytebuf_printf(out, "\"\n");
    }
}

static void add_blocks(const struct net_topo *t, const struct net_domains *d,
                       struct bytebuf *out)
{
    size_t most = (d && d->n > t->nsw ? d->n : t->nsw) + 1;
    struct blocks b = {.t = t};
    size_t in_domains = 1;

    for (uint32_t i = 0; d && i < d->n; i++)
        in_domains += d->list[i].n;
    b.list = calloc(most, sizeof(*b.list));
    b.counted = calloc(most, sizeof(*b.counted));
    b.order = calloc(t->nhosts + 1, sizeof(*b.order));
    b.space = calloc(in_domains, sizeof(*b.space));
    b.of = malloc((t->net->nnodes + 1) * sizeof(*b.of));
    if (b.list && b.counted && b.order && b.space && b.of) {
        memset(b.of, 0xff, t->net->nnodes * sizeof(*b.of));
        for (uint32_t i = 0; i < t->nsw; i++)
            if (t->sw[i].parent == NET_NONE)
                walk_leaves(&b, i, !d);
        if (d)
            take_domains(&b, d);
        if (b.n)
            write_blocks(&b, out);
    } else {
        out->bad = true;
    }
    free(b.list);
    free(b.counted);
    free(b.order);
    free(b.space);
    free(b.of);
}

void net_topo_write_yaml(const struct net_topo *t,
                         const struct net_domains *domains, struct bytebuf *out)
{
    bytebuf_printf(out,
                   "# Written from the map of the fabric: changes made here "
                   "are lost.\n---\n- topology: fabric\n"
                   "  cluster_default: true\n  tree:\n    switches:\n");
    for (uint32_t i = 0; i < t->nsw; i++) {
        bytebuf_printf(out, "      - switch: %s\n", t->sw[i].name);
        if (t->sw[i].nhosts) {
            bytebuf_printf(out, "        nodes: \"");
            add_hosts(t, t->hosts + t->sw[i].first, t->sw[i].nhosts, out);
        } else {
            bytebuf_printf(out, "        children: \"");
            add_children(t, i, out);
        }
        bytebuf_printf(out, "\"\n");
    }
    add_blocks(t, domains, out);
}
