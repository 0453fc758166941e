/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading topology.yaml as the parser of Slurm 26.05 does (doc/topology.md): a
 * list of topologies, here at most one tree and one of blocks:
 *
 *     - topology: NAME
 *       cluster_default: true
 *       tree:
 *         switches:
 *           - switch: NAME
 *             children: "s[1-2]"      (or nodes: "n[0-3]")
 *     - topology: NAME
 *       block:
 *         block_sizes: [4, 16]
 *         blocks:
 *           - block: NAME
 *             nodes: "n[0-3]"
 *
 * More, or another kind, is not ours to judge and is refused; so nothing in
 * the file is read twice, also not through an alias.
 */
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "net/topo_check.h"

#define SWITCH_NAME_LONGEST 64 /* topology.yaml(5) */

struct reading {
    struct topo_check *c;
    yaml_document_t doc;
};

static unsigned line_of(const yaml_node_t *n)
{
    return (unsigned)n->start_mark.line + 1;
}

static yaml_node_t *node(struct reading *r, int id)
{
    return yaml_document_get_node(&r->doc, id);
}

/* A scalar's text, which holds no NUL; NULL: it is something else. */
static char *text_of(const yaml_node_t *n)
{
    if (n->type != YAML_SCALAR_NODE ||
        strlen((char *)n->data.scalar.value) != n->data.scalar.length)
        return NULL;
    return (char *)n->data.scalar.value;
}

/* What is done with each KEY: VALUE of a mapping; false: no such key. */
typedef bool key_f(struct reading *r, const char *key, yaml_node_t *value,
                   void *arg);

/* False: it is no mapping, or has a key twice or one that does not exist. */
static bool each_key(struct reading *r, yaml_node_t *map, key_f *take,
                     void *arg)
{
    yaml_node_pair_t *p;

    if (map->type != YAML_MAPPING_NODE) {
        topo_check_tell(r->c, true, line_of(map), "not a list of KEY: VALUE");
        return false;
    }
    for (p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        yaml_node_t *k = node(r, p->key);
        const char *key = text_of(k);

        if (!key || !take(r, key, node(r, p->value), arg)) {
            topo_check_tell(r->c, true, line_of(k),
                            "what is %s, or it is there "
                            "already",
                            key ? key : "this key");
            return false;
        }
    }
    return true;
}

/* ---- a switch ------------------------------------------------------------ */

static bool take_switch_key(struct reading *r, const char *key,
                            yaml_node_t *value, void *arg)
{
    struct topo_words *w = arg;
    char **slot = NULL;

    if (strcmp(key, "switch") == 0)
        slot = &w->name;
    else if (strcmp(key, "nodes") == 0)
        slot = &w->nodes;
    else if (strcmp(key, "children") == 0)
        slot = &w->switches;
    if (!slot || *slot)
        return false;
    *slot = text_of(value);
    if (!*slot)
        topo_check_tell(r->c, true, line_of(value), "%s is no text", key);
    return true;
}

static void take_switches(struct reading *r, yaml_node_t *list)
{
    yaml_node_item_t *i;

    if (list->type != YAML_SEQUENCE_NODE) {
        topo_check_tell(r->c, true, line_of(list), "switches is not a list");
        return;
    }
    if (list->data.sequence.items.start == list->data.sequence.items.top)
        topo_check_tell(r->c, true, line_of(list), "no switches");
    for (i = list->data.sequence.items.start; i < list->data.sequence.items.top;
         i++) {
        yaml_node_t *n = node(r, *i);
        struct topo_words w = {0};

        if (!each_key(r, n, take_switch_key, &w))
            return;
        if (w.name && strlen(w.name) > SWITCH_NAME_LONGEST)
            topo_check_tell(r->c, true, line_of(n),
                            "the switch's name is longer than %d",
                            SWITCH_NAME_LONGEST);
        topo_check_add(r->c, line_of(n), &w);
    }
}

/* ---- blocks -------------------------------------------------------------- */

static bool take_block_key(struct reading *r, const char *key,
                           yaml_node_t *value, void *arg)
{
    struct topo_words *w = arg;
    char **slot = NULL;

    if (strcmp(key, "block") == 0)
        slot = &w->name;
    else if (strcmp(key, "nodes") == 0)
        slot = &w->nodes;
    if (!slot || *slot)
        return false;
    *slot = text_of(value);
    if (!*slot)
        topo_check_tell(r->c, true, line_of(value), "%s is no text", key);
    return true;
}

static void take_blocks(struct reading *r, yaml_node_t *list)
{
    yaml_node_item_t *i;

    if (list->type != YAML_SEQUENCE_NODE) {
        topo_check_tell(r->c, true, line_of(list), "blocks is no list");
        return;
    }
    for (i = list->data.sequence.items.start; i < list->data.sequence.items.top;
         i++) {
        yaml_node_t *n = node(r, *i);
        struct topo_words w = {0};

        if (!each_key(r, n, take_block_key, &w))
            return;
        topo_check_block(r->c, line_of(n), w.name, w.nodes);
    }
}

static void take_sizes(struct reading *r, yaml_node_t *list)
{
    yaml_node_item_t *i;

    if (list->type != YAML_SEQUENCE_NODE) {
        topo_check_tell(r->c, true, line_of(list), "block_sizes is not a list");
        return;
    }
    for (i = list->data.sequence.items.start; i < list->data.sequence.items.top;
         i++)
        topo_check_block_size(r->c, line_of(node(r, *i)), text_of(node(r, *i)));
}

struct blocks {
    yaml_node_t *sizes, *blocks;
};

static bool take_blocks_key(struct reading *r, const char *key,
                            yaml_node_t *value, void *arg)
{
    struct blocks *b = arg;
    yaml_node_t **slot = NULL;

    if (strcmp(key, "block_sizes") == 0)
        slot = &b->sizes;
    else if (strcmp(key, "blocks") == 0)
        slot = &b->blocks;
    if (!slot || *slot)
        return false;
    *slot = value;
    return true;
}

static void take_block_topology(struct reading *r, yaml_node_t *n)
{
    struct blocks b = {0};

    if (!each_key(r, n, take_blocks_key, &b))
        return;
    if (b.sizes)
        take_sizes(r, b.sizes);
    if (b.blocks)
        take_blocks(r, b.blocks);
    topo_check_blocks_end(r->c, line_of(n));
}

/* ---- a topology ---------------------------------------------------------- */

struct topology {
    const char *name;
    yaml_node_t *tree, *switches, *block;
    bool has_default, is_default;
};

static bool take_tree_key(struct reading *r, const char *key,
                          yaml_node_t *value, void *arg)
{
    struct topology *t = arg;

    if (strcmp(key, "switches") != 0 || t->switches)
        return false;
    t->switches = value;
    return true;
}

static bool is_bool(const yaml_node_t *n)
{
    const char *s = text_of(n);

    return s && (strcasecmp(s, "true") == 0 || strcasecmp(s, "false") == 0);
}

static bool take_topology_key(struct reading *r, const char *key,
                              yaml_node_t *value, void *arg)
{
    struct topology *t = arg;

    if (strcmp(key, "topology") == 0 && !t->name) {
        t->name = text_of(value);
        if (!t->name || !*t->name)
            topo_check_tell(r->c, true, line_of(value),
                            "a topology needs a name");
        return t->name != NULL;
    }
    if (!t->name) {
        topo_check_tell(r->c, true, line_of(value),
                        "topology must be the first key");
        return false;
    }
    if (strcmp(key, "cluster_default") == 0 && !t->has_default) {
        t->has_default = true;
        if (!is_bool(value))
            topo_check_tell(r->c, true, line_of(value),
                            "cluster_default is not true or false");
        else
            t->is_default = strcasecmp(text_of(value), "true") == 0;
        return true;
    }
    if (t->tree || t->block)
        return false;
    if (strcmp(key, "tree") == 0)
        t->tree = value;
    else if (strcmp(key, "block") == 0)
        t->block = value;
    else
        return false;
    return true;
}

/* What the topologies before it were. */
struct before {
    const char *name;
    bool tree, block, is_default;
};

static void take_topology(struct reading *r, yaml_node_t *n,
                          struct before *before)
{
    struct topology t = {0};

    if (!each_key(r, n, take_topology_key, &t))
        return;
    if ((t.tree && before->tree) || (t.block && before->block))
        topo_check_tell(r->c, true, line_of(n), "one more topology of a kind");
    else if (before->name && t.name && strcmp(before->name, t.name) == 0)
        topo_check_tell(r->c, true, line_of(n), "%s is there already", t.name);
    else if (before->is_default && t.is_default)
        topo_check_tell(r->c, true, line_of(n),
                        "more than one topology has cluster_default");
    before->name = t.name;
    before->tree = before->tree || t.tree;
    before->is_default = before->is_default || t.is_default;
    if (t.block) {
        if (!before->block)
            take_block_topology(r, t.block);
        before->block = true;
        return;
    }
    if (!t.tree)
        topo_check_tell(r->c, true, line_of(n),
                        "the topology has neither tree nor block");
    else if (each_key(r, t.tree, take_tree_key, &t) && !t.switches)
        topo_check_tell(r->c, true, line_of(t.tree),
                        "the tree has no switches");
    if (t.switches)
        take_switches(r, t.switches);
}

static void take_root(struct reading *r)
{
    yaml_node_t *root = yaml_document_get_root_node(&r->doc);

    struct before before = {0};
    yaml_node_item_t *i;

    if (root->type != YAML_SEQUENCE_NODE ||
        root->data.sequence.items.top == root->data.sequence.items.start ||
        root->data.sequence.items.top - root->data.sequence.items.start > 2) {
        topo_check_tell(r->c, true, line_of(root),
                        "not a list of one or two topologies");
        return;
    }
    for (i = root->data.sequence.items.start; i < root->data.sequence.items.top;
         i++)
        take_topology(r, node(r, *i), &before);
}

/* The next document; false: told, or none is left (an empty one). */
static bool load(struct reading *r, yaml_parser_t *p)
{
    if (yaml_parser_load(p, &r->doc)) {
        if (yaml_document_get_root_node(&r->doc))
            return true;
        yaml_document_delete(&r->doc);
    } else if (p->error == YAML_MEMORY_ERROR) {
        topo_check_no_memory(r->c);
    } else {
        topo_check_tell(r->c, true, (unsigned)p->problem_mark.line + 1, "%s",
                        p->problem ? p->problem : "no YAML");
    }
    return false;
}

static void take_text(struct topo_check *c, const char *text, size_t len)
{
    struct reading r = {.c = c};
    yaml_parser_t p;

    if (!yaml_parser_initialize(&p)) {
        topo_check_no_memory(c);
        return;
    }
    yaml_parser_set_input_string(&p, (const unsigned char *)text, len);
    if (!load(&r, &p)) {
        if (!p.error)
            topo_check_tell(c, true, 0, "nothing in it");
    } else {
        take_root(&r);
        yaml_document_delete(&r.doc);
        if (load(&r, &p)) {
            topo_check_tell(c, true, 0, "more than one document");
            yaml_document_delete(&r.doc);
        }
    }
    yaml_parser_delete(&p);
}

int net_topo_check_yaml(const char *text, size_t len, net_topo_report_f *report,
                        net_topo_known_f *known, void *arg)
{
    return topo_check_run(take_text, text, len, report, known, arg);
}
