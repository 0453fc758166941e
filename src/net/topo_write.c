/* SPDX-License-Identifier: BSD-3-Clause
 * Writers of Slurm's topology files: see topo.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/host_names.h"
#include "net/topo.h"

static void add_hosts(const struct net_topo *t, const struct net_vswitch *s,
                      struct bytebuf *out)
{
    const char **names = malloc((s->nhosts + 1) * sizeof(*names));

    for (uint32_t i = 0; names && i < s->nhosts; i++)
        names[i] = t->net->nodes[t->hosts[s->first + i]].name;
    if (!names || !host_names_compress(names, s->nhosts, out))
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
            add_hosts(t, &t->sw[i], out);
        } else {
            bytebuf_printf(out, "Switches=");
            add_children(t, i, out);
        }
        bytebuf_printf(out, "\n");
    }
}

/* ---- blocks ---------------------------------------------------------------
 */

/* Leaves below a switch, which are put in the order of the tree when `out` is
 * there. */
static uint32_t walk_leaves(const struct net_topo *t, uint32_t sw,
                            struct bytebuf *out)
{
    uint32_t leaves = 0;

    if (t->sw[sw].nhosts) {
        if (out) {
            bytebuf_printf(out, "      - block: %s\n        nodes: \"",
                           t->sw[sw].name);
            add_hosts(t, &t->sw[sw], out);
            bytebuf_printf(out, "\"\n");
        }
        return 1;
    }
    for (uint32_t i = sw + 1; i < t->nsw; i++)
        if (t->sw[i].parent == sw)
            leaves += walk_leaves(t, i, out);
    return leaves;
}

/* How many leaves each switch of a level has, 0: not all as many, not a power
 * of two, or there is a leaf that is below none of them. */
static uint32_t leaves_of_level(const struct net_topo *t, unsigned level,
                                uint32_t nleaves)
{
    uint32_t each = 0, all = 0;

    for (uint32_t i = 0; i < t->nsw; i++) {
        uint32_t n;

        if (t->sw[i].level != level)
            continue;
        n = walk_leaves(t, i, NULL);
        if (each && n != each)
            return 0;
        each = n;
        all += n;
    }
    return all == nleaves && (each & (each - 1)) == 0 ? each : 0;
}

static void add_blocks(const struct net_topo *t, struct bytebuf *out)
{
    uint32_t base = 0, nleaves = 0, last = 1;

    for (uint32_t i = 0; i < t->nsw; i++) {
        if (!t->sw[i].nhosts)
            continue;
        nleaves++;
        if (!base || t->sw[i].nhosts < base)
            base = t->sw[i].nhosts;
    }
    if (!nleaves)
        return;
    bytebuf_printf(out,
                   "- topology: blocks\n  cluster_default: false\n"
                   "  block:\n    block_sizes:\n      - %u\n",
                   base);
    for (unsigned level = 2; level <= t->sw[0].level; level++) {
        uint32_t n = leaves_of_level(t, level, nleaves);

        if (n > last && n < 1U << NET_TOPO_BLOCK_LEVELS) {
            bytebuf_printf(out, "      - %u\n", base * n);
            last = n;
        }
    }
    bytebuf_printf(out, "    blocks:\n");
    for (uint32_t i = 0; i < t->nsw; i++)
        if (t->sw[i].parent == NET_NONE)
            walk_leaves(t, i, out);
}

void net_topo_write_yaml(const struct net_topo *t, struct bytebuf *out)
{
    bytebuf_printf(out,
                   "# Written from the map of the fabric: changes made here "
                   "are lost.\n---\n- topology: fabric\n"
                   "  cluster_default: true\n  tree:\n    switches:\n");
    for (uint32_t i = 0; i < t->nsw; i++) {
        bytebuf_printf(out, "      - switch: %s\n", t->sw[i].name);
        if (t->sw[i].nhosts) {
            bytebuf_printf(out, "        nodes: \"");
            add_hosts(t, &t->sw[i], out);
        } else {
            bytebuf_printf(out, "        children: \"");
            add_children(t, i, out);
        }
        bytebuf_printf(out, "\"\n");
    }
    add_blocks(t, out);
}
