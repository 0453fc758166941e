/* SPDX-License-Identifier: BSD-3-Clause
 * What contradicts itself in a net: see diff.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/diff.h"

/* A name for people, also where there is none. */
const char *net_name_of(const struct net *net, uint32_t n, char buf[40])
{
    const struct net_node *node = &net->nodes[n];

    if (node->name[0])
        return node->name;
    if (node->id)
        snprintf(buf, 40, "%012" PRIx64, node->id);
    else
        snprintf(buf, 40, "%s #%u", node->kind == NET_HOST ? "host" : "xbar",
                 n);
    return buf;
}

struct clash {
    uint64_t id;
    const char *name;
    uint32_t n;
    enum net_kind kind;
};

static int by_id(const void *va, const void *vb)
{
    const struct clash *a = va, *b = vb;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->n < b->n ? -1 : 1;
}

static int by_name(const void *va, const void *vb)
{
    const struct clash *a = va, *b = vb;
    int d = strcmp(a->name, b->name);

    return d ? d : a->n < b->n ? -1 : 1;
}

static void tell_clash(net_conflict_f *tell, void *arg, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void tell_clash(net_conflict_f *tell, void *arg, const char *fmt, ...)
{
    char text[4 * SF_NET_NAME_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (tell)
        tell(arg, text);
}

int net_conflicts(const struct net *net, net_conflict_f *tell, void *arg)
{
    struct clash *c = malloc((net->nnodes + 1) * sizeof(*c));
    int count = 0;
    char a[40], b[40];

    if (!c)
        return -1;
    for (uint32_t n = 0; n < net->nnodes; n++)
        c[n] = (struct clash){net->nodes[n].id, net->nodes[n].name, n,
                              net->nodes[n].kind};
    qsort(c, net->nnodes, sizeof(*c), by_id);
    for (uint32_t i = 1; i < net->nnodes; i++)
        if (c[i].id && c[i].id == c[i - 1].id && c[i].kind == c[i - 1].kind) {
            tell_clash(tell, arg, "%s and %s have the same %s %012" PRIx64,
                       net_name_of(net, c[i - 1].n, a),
                       net_name_of(net, c[i].n, b),
                       c[i].kind == NET_HOST ? "address" : "id", c[i].id);
            count++;
        }
    qsort(c, net->nnodes, sizeof(*c), by_name);
    for (uint32_t i = 1; i < net->nnodes; i++)
        if (c[i].name[0] && strcmp(c[i].name, c[i - 1].name) == 0) {
            tell_clash(tell, arg, "two nodes are called %s", c[i].name);
            count++;
        }
    free(c);
    return count;
}
