/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rules of Slurm's topology/tree: see topo.h and topo_check.h.
 */
#include "net/topo_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/graph.h"
#include "net/hostlist.h"

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
        int rc = s->nodes
                     ? net_hostlist_expand(s->nodes, take_node, c, &err)
                     : net_hostlist_expand(s->switches, take_child, c, &err);

        if (rc < 0 && !c->no_memory)
            topo_check_tell(c, true, s->line, "%s", err.text);
    }
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
    c.no_memory = !c.names || !c.nodes;
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
    return c.bad ? -1 : 0;
}
