/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rules of Slurm's topology/tree and topology/block: see topo.h and
 * topo_check.h.
 */
#include "net/topo_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/graph.h"
#include "base/host_names.h"

/* slurmctld gives up after so many rounds of giving levels. */
#define ROUNDS 20

struct line_switch {
    unsigned line;
    char *nodes, *switches;
    uint32_t *child;
    uint32_t nchild;
    unsigned level; /* + 1; 0: not known */
    bool has_parent;
};

struct topo_check {
    net_topo_report_f *report;
    net_topo_known_f *known;
    void *arg;
    bool bad, no_memory;
    struct net *names; /* SwitchName -> index */
    struct net *nodes; /* node names that stand on some leaf */
    struct line_switch *sw;
    uint32_t nsw, cap;
    uint32_t at; /* switch that is looked at */
    struct blocks {
        struct net *names, *nodes; /* as above */
        bool told;                 /* the file has such a topology */
        unsigned line;             /* of the block that is looked at */
        uint32_t count, least;     /* nodes in it, in the smallest */
        uint32_t first, base;      /* nodes in the first; 0: no size is given */
    } blocks;
};

void topo_check_tell(struct topo_check *c, bool fatal, unsigned line,
                     const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    c->bad = c->bad || fatal;
    if (c->report)
        c->report(c->arg, fatal, line, text);
}

static bool add_switch(struct topo_check *c, unsigned line,
                       const struct topo_words *w)
{
    struct line_switch s = {.line = line};

    if (c->nsw == c->cap) {
        uint32_t want = c->cap ? c->cap * 2 : 64;
        struct line_switch *grown = realloc(c->sw, want * sizeof(s));

        if (!grown)
            return false;
        c->sw = grown;
        c->cap = want;
    }
    s.nodes = w->nodes ? strdup(w->nodes) : NULL;
    s.switches = w->switches ? strdup(w->switches) : NULL;
    c->sw[c->nsw++] = s;
    return (!w->nodes || s.nodes) && (!w->switches || s.switches) &&
           net_add_host(c->names, w->name, 0) != NET_NONE;
}

void topo_check_add(struct topo_check *c, unsigned line,
                    const struct topo_words *w)
{
    if (!w->name || !*w->name || strlen(w->name) >= SF_NET_NAME_MAX)
        topo_check_tell(c, true, line, "a switch needs a name");
    else if (!w->nodes == !w->switches)
        topo_check_tell(c, true, line, "%s has %s switches", w->name,
                        w->nodes ? "both nodes and" : "neither nodes nor");
    else if (net_find_name(c->names, w->name) != NET_NONE)
        topo_check_tell(c, true, line, "%s is there already", w->name);
    else if (!add_switch(c, line, w))
        c->no_memory = true;
}

void topo_check_no_memory(struct topo_check *c)
{
    c->no_memory = true;
}

/* ---- names ----------------------------------------------------------------
 */

static bool take_node(void *arg, const char *name)
{
    struct topo_check *c = arg;
    unsigned line = c->sw[c->at].line;
    uint32_t n = net_find_name(c->nodes, name);

    if (c->known && !c->known(c->arg, name)) {
        topo_check_tell(c, false, line, "node %s is not in slurm.conf", name);
        return true;
    }
    if (n != NET_NONE) {
        topo_check_tell(c, false, line, "node %s is on more than one leaf",
                        name);
        return true;
    }
    c->no_memory = c->no_memory || net_add_host(c->nodes, name, 0) == NET_NONE;
    return !c->no_memory;
}

static bool take_child(void *arg, const char *name)
{
    struct topo_check *c = arg;
    struct line_switch *s = &c->sw[c->at];
    uint32_t n = net_find_name(c->names, name), *grown;

    if (n == NET_NONE || n == c->at) {
        topo_check_tell(c, true, s->line,
                        n == NET_NONE ? "no line has the switch %s"
                                      : "%s is its own child",
                        name);
        return true;
    }
    if (c->sw[n].has_parent)
        topo_check_tell(c, false, s->line, "switch %s has more than one parent",
                        name);
    c->sw[n].has_parent = true;
    grown = realloc(s->child, (s->nchild + 1) * sizeof(*grown));
    if (!grown) {
        c->no_memory = true;
        return false;
    }
    s->child = grown;
    s->child[s->nchild++] = n;
    return true;
}

static void resolve(struct topo_check *c)
{
    for (c->at = 0; c->at < c->nsw && !c->no_memory; c->at++) {
        struct line_switch *s = &c->sw[c->at];
        struct errbuf err = {""};
        int rc = s->nodes ? host_names_each(s->nodes, take_node, c, &err)
                          : host_names_each(s->switches, take_child, c, &err);

        if (rc < 0 && !c->no_memory)
            topo_check_tell(c, true, s->line, "%s", err.text);
    }
}

/* ---- blocks ---------------------------------------------------------------
 */

static bool take_block_node(void *arg, const char *name)
{
    struct topo_check *c = arg;
    struct blocks *b = &c->blocks;

    if (c->known && !c->known(c->arg, name)) {
        topo_check_tell(c, false, b->line, "node %s is not in slurm.conf",
                        name);
        return true;
    }
    if (net_find_name(b->nodes, name) != NET_NONE) {
        topo_check_tell(c, false, b->line, "node %s is in more than one block",
                        name);
        return true;
    }
    b->count++;
    c->no_memory = c->no_memory || net_add_host(b->nodes, name, 0) == NET_NONE;
    return !c->no_memory;
}

void topo_check_block(struct topo_check *c, unsigned line, const char *name,
                      const char *nodes)
{
    struct blocks *b = &c->blocks;
    struct errbuf err = {""};

    if (!name || !*name || strlen(name) >= SF_NET_NAME_MAX) {
        topo_check_tell(c, true, line, "a block needs a name");
        return;
    }
    if (net_find_name(b->names, name) != NET_NONE) {
        topo_check_tell(c, true, line, "block %s is there already", name);
        return;
    }
    if (!nodes) {
        topo_check_tell(c, true, line, "block %s has no nodes", name);
        return;
    }
    b->line = line;
    b->count = 0;
    if (host_names_each(nodes, take_block_node, c, &err) < 0 && !c->no_memory)
        topo_check_tell(c, true, line, "%s", err.text);
    if (b->names->nnodes == 0)
        b->first = b->least = b->count;
    else if (b->count < b->least)
        b->least = b->count;
    c->no_memory = c->no_memory || net_add_host(b->names, name, 0) == NET_NONE;
}

void topo_check_block_size(struct topo_check *c, unsigned line,
                           const char *size)
{
    struct blocks *b = &c->blocks;
    char *end = NULL;
    unsigned long n = 0;

    if (size && *size >= '1' && *size <= '9')
        n = strtoul(size, &end, 10);
    if (!end || *end || n > SF_NET_NODES_MAX) {
        topo_check_tell(c, true, line, "%s is not the size of a block",
                        size ? size : "this");
        return;
    }
    if (!b->base)
        b->base = (uint32_t)n;
    if (n % b->base || (n / b->base & (n / b->base - 1)) ||
        n / b->base >= 1UL << NET_TOPO_BLOCK_LEVELS)
        topo_check_tell(c, true, line,
                        "the size %lu is not %u times a power of two", n,
                        b->base);
}

void topo_check_blocks_end(struct topo_check *c, unsigned line)
{
    struct blocks *b = &c->blocks;

    b->told = true;
    if (c->bad || c->no_memory)
        return;
    if (b->names->nnodes == 0)
        topo_check_tell(c, true, line, "no blocks");
    else if (!b->base && !b->first)
        topo_check_tell(c, true, line,
                        "neither a size nor a first block "
                        "with nodes");
    else if (b->least < (b->base ? b->base : b->first))
        topo_check_tell(c, false, line, "a block has %u nodes, less than %u",
                        b->least, b->base ? b->base : b->first);
}

/* ---- the tree -------------------------------------------------------------
 */

static unsigned level_of(const struct topo_check *c,
                         const struct line_switch *s)
{
    unsigned level = 0;

    if (s->nodes)
        return 1;
    for (uint32_t i = 0; i < s->nchild; i++) {
        unsigned below = c->sw[s->child[i]].level;

        if (!below)
            return 0;
        if (below > level)
            level = below;
    }
    return level + 1;
}

static void give_levels(struct topo_check *c)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint32_t open = 0;

        for (uint32_t i = 0; i < c->nsw; i++) {
            if (!c->sw[i].level)
                c->sw[i].level = level_of(c, &c->sw[i]);
            open += !c->sw[i].level;
        }
        if (!open)
            return;
    }
    for (uint32_t i = 0; i < c->nsw; i++)
        if (!c->sw[i].level) {
            topo_check_tell(c, true, c->sw[i].line,
                            "switch %s: a cycle, or deeper than %d levels",
                            c->names->nodes[i].name, ROUNDS);
            return;
        }
}

/* What one root reaches, without counting anything twice. */
static uint32_t leaves_below(const struct topo_check *c, uint32_t root,
                             uint8_t *mark, uint32_t *stack)
{
    uint32_t n = 0, leaves = 0;

    memset(mark, 0, c->nsw);
    stack[n++] = root;
    mark[root] = 1;
    while (n) {
        const struct line_switch *s = &c->sw[stack[--n]];

        leaves += s->nodes != NULL;
        for (uint32_t i = 0; i < s->nchild; i++)
            if (!mark[s->child[i]]) {
                mark[s->child[i]] = 1;
                stack[n++] = s->child[i];
            }
    }
    return leaves;
}

static void reach(struct topo_check *c)
{
    uint8_t *mark = malloc(c->nsw + 1);
    uint32_t *stack = malloc((c->nsw + 1) * sizeof(*stack));
    uint32_t leaves = 0, best = 0;

    c->no_memory = c->no_memory || !mark || !stack;
    for (uint32_t i = 0; i < c->nsw && !c->no_memory; i++) {
        leaves += c->sw[i].nodes != NULL;
        if (!c->sw[i].has_parent) {
            uint32_t n = leaves_below(c, i, mark, stack);

            best = n > best ? n : best;
        }
    }
    if (!c->no_memory && best < leaves)
        topo_check_tell(c, false, 0, "no switch reaches all nodes");
    free(mark);
    free(stack);
}

static void check_tree(struct topo_check *c)
{
    if (c->blocks.told && c->nsw == 0)
        return; /* blocks alone */
    resolve(c);
    if (c->bad || c->no_memory)
        return;
    if (c->nsw == 0) {
        topo_check_tell(c, false, 0, "no switches");
        return;
    }
    if (c->nodes->nnodes == 0)
        topo_check_tell(c, true, 0, "no leaf has a node");
    give_levels(c);
    if (!c->bad)
        reach(c);
}

int topo_check_run(topo_read_f *read, const char *text, size_t len,
                   net_topo_report_f *report, net_topo_known_f *known,
                   void *arg)
{
    struct topo_check c = {.report = report, .known = known, .arg = arg};

    c.names = net_new();
    c.nodes = net_new();
    c.blocks.names = net_new();
    c.blocks.nodes = net_new();
    c.no_memory = !c.names || !c.nodes || !c.blocks.names || !c.blocks.nodes;
    if (len > SF_NET_FILE_MAX)
        topo_check_tell(&c, true, 0, "longer than %u bytes", SF_NET_FILE_MAX);
    else if (!c.no_memory)
        read(&c, text, len);
    if (!c.bad && !c.no_memory)
        check_tree(&c);
    if (c.no_memory)
        topo_check_tell(&c, true, 0, "out of memory");
    for (uint32_t i = 0; i < c.nsw; i++) {
        free(c.sw[i].nodes);
        free(c.sw[i].switches);
        free(c.sw[i].child);
    }
    free(c.sw);
    net_free(c.names);
    net_free(c.nodes);
    net_free(c.blocks.names);
    net_free(c.blocks.nodes);
    return c.bad ? -1 : 0;
}
