/* SPDX-License-Identifier: BSD-3-Clause
 * Writers of Slurm's topology files: see topo.h.
 */
#include <stdlib.h>
#include <string.h>

#include "net/hostlist.h"
#include "net/topo.h"

static void add_hosts(const struct net_topo *t, const struct net_vswitch *s,
                      struct bytebuf *out)
{
    const char **names = malloc((s->nhosts + 1) * sizeof(*names));

    for (uint32_t i = 0; names && i < s->nhosts; i++)
        names[i] = t->net->nodes[t->hosts[s->first + i]].name;
    if (!names || !net_hostlist_compress(names, s->nhosts, out))
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
}
