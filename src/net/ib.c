/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading what ibnetdiscover prints and ibsim takes:
 *
 *     switchguid=0x8f1040041(8f1040041)
 *     Switch 24 "S-00000008f1040041"  # "leaf 1" base port 0 lid 3 lmc 0
 *     [1]  "H-0008f10403961354"[1](8f10403961355)  # ...
 *
 * Nodes are known by the word in quotes; cables may be given from one end or
 * from both.  A switch is called by its description where that is one word
 * and unique, a host by the first word of it, else both by that word.  Of
 * several ports of one node each has a name: net_name_port().
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/format.h"
#include "net/lines.h"

enum { SWITCH, ADAPTER };

struct ib_node {
    int kind;
    unsigned nports;
    uint64_t guid;
    uint32_t node;  /* switch: in the net */
    uint32_t *host; /* adapter: per port, NET_NONE */
    char *name;     /* by the description; "" if it has none */
    char *device;   /* adapter: the second word of it; "" */
};

struct ib_link {
    uint32_t from, line;
    unsigned port, to_port;
    uint64_t guid; /* of the port it comes from, 0: not said */
    char *to;
};

struct ib {
    struct net *net;
    struct net *words; /* the words in quotes: index in `nodes` */
    struct ib_node *nodes;
    struct ib_link *links;
    uint32_t nnodes, cap_nodes, nlinks, cap_links;
    uint64_t guid; /* of the node that comes next */
    struct net_lines l;
};

static int no_memory(struct ib *ib)
{
    net_lines_error(&ib->l, "out of memory");
    errno = ENOMEM;
    return -1;
}

static bool room(void *array, uint32_t n, uint32_t *cap, size_t size)
{
    uint32_t want = *cap ? *cap * 2 : 256;
    void *grown;

    if (n < *cap)
        return true;
    grown = realloc(*(void **)array, want * size);
    if (!grown)
        return false;
    *(void **)array = grown;
    *cap = want;
    return true;
}

/* The text between the next two quotes, cut out; NULL: none. */
static char *quoted(char **at)
{
    char *from = strchr(*at, '"'), *to = from ? strchr(from + 1, '"') : NULL;

    if (!to)
        return NULL;
    *to = '\0';
    *at = to + 1;
    return from + 1;
}

/* "Switch 24 "S-..." # "description"" */
static char *description(char *at, int kind, char **device)
{
    char *text, *name, *second;

    at = strchr(at, '#');
    text = at ? quoted(&at) : NULL;
    if (!text)
        return strdup("");
    text += strspn(text, " \t'");
    text[strcspn(text, "'")] = '\0';
    if (kind == ADAPTER) {
        second = text + strcspn(text, " \t");
        if (*second) {
            *second++ = '\0';
            second += strspn(second, " \t");
            second[strcspn(second, " \t")] = '\0';
            *device = strdup(second);
        }
    }
    name = strdup(strpbrk(text, " \t") ? "" : text);
    if (name && strlen(name) >= SF_NET_NAME_MAX)
        name[SF_NET_NAME_MAX - 1] = '\0';
    return name;
}

static int read_node(struct ib *ib, char *at, int kind)
{
    struct ib_node n = {.kind = kind, .guid = ib->guid, .node = NET_NONE};
    uint64_t ports;
    char *word = net_next_word(&at), *id;

    ib->guid = 0;
    if (!word || !net_parse_number(word, 10, SF_NET_XBAR_PORTS_MAX, &ports) ||
        !ports)
        return net_lines_error(&ib->l, "a node has 1 to %u ports",
                               SF_NET_XBAR_PORTS_MAX);
    id = quoted(&at);
    if (!id || !*id || strlen(id) >= SF_NET_NAME_MAX)
        return net_lines_error(&ib->l, "a node's name stands in quotes");
    if (net_find_name(ib->words, id) != NET_NONE)
        return net_lines_error(&ib->l, "\"%s\" is there already", id);
    n.nports = (unsigned)ports;
    if (!room(&ib->nodes, ib->nnodes, &ib->cap_nodes, sizeof(n)) ||
        net_add_host(ib->words, id, 0) == NET_NONE)
        return no_memory(ib);
    n.name = description(at, kind, &n.device);
    if (kind == ADAPTER) {
        n.host = malloc(ports * sizeof(*n.host));
        if (n.host)
            memset(n.host, 0xff, ports * sizeof(*n.host));
    }
    ib->nodes[ib->nnodes++] = n;
    return n.name && (kind == SWITCH || n.host) ? 0 : no_memory(ib);
}

/* "[1](guid) "H-..."[1](guid) # ..." */
static int read_link(struct ib *ib, char *at)
{
    unsigned port, to_port;
    unsigned long long guid = 0;
    struct ib_link k;
    char *word, *bracket;

    if (sscanf(at, "[%u]", &port) != 1 || !(bracket = strchr(at, ']')))
        return net_lines_error(&ib->l, "a cable begins with [PORT]");
    if (bracket[1] == '(')
        sscanf(bracket + 1, "(%16llx)", &guid);
    word = quoted(&at);
    if (!word || sscanf(at, "[%u]", &to_port) != 1)
        return net_lines_error(&ib->l, "a cable leads to \"NODE\"[PORT]");
    if (ib->nnodes == 0)
        return net_lines_error(&ib->l, "a cable of no node");
    k = (struct ib_link){.from = ib->nnodes - 1,
                         .line = ib->l.number,
                         .port = port,
                         .to_port = to_port,
                         .guid = guid,
                         .to = strdup(word)};
    if (!k.to || !room(&ib->links, ib->nlinks, &ib->cap_links, sizeof(k))) {
        free(k.to);
        return no_memory(ib);
    }
    ib->links[ib->nlinks++] = k;
    return 0;
}

static int read_line(struct ib *ib)
{
    static const struct {
        const char *word;
        int kind;
    } kinds[] = {
        {"Switch", SWITCH}, {"Ca", ADAPTER}, {"Hca", ADAPTER}, {"Rt", ADAPTER}};
    char *at = ib->l.line, *word;
    unsigned long long guid;

    at += strspn(at, NET_WHITE);
    if (!*at || *at == '#')
        return 0;
    if (*at == '[')
        return read_link(ib, at);
    if (sscanf(at, "switchguid=%16llx", &guid) == 1 ||
        sscanf(at, "caguid=%16llx", &guid) == 1 ||
        sscanf(at, "rtguid=%16llx", &guid) == 1 ||
        sscanf(at, "switchguid=0x%16llx", &guid) == 1 ||
        sscanf(at, "caguid=0x%16llx", &guid) == 1) {
        ib->guid = guid;
        return 0;
    }
    word = net_next_word(&at);
    if (strncmp(word, "vendid=", 7) == 0 || strncmp(word, "devid=", 6) == 0 ||
        strncmp(word, "sysimgguid=", 11) == 0)
        return 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(word, kinds[i].word) == 0)
            return read_node(ib, at, kinds[i].kind);
    return net_lines_error(&ib->l, "%s: a line says Switch, Ca or a cable",
                           word);
}

/* ---- the net ------------------------------------------------------------- */

static int build_switches(struct ib *ib)
{
    for (uint32_t i = 0; i < ib->nnodes; i++) {
        struct ib_node *n = &ib->nodes[i];

        if (n->kind != SWITCH)
            continue;
        n->node =
            net_add_xbar(ib->net, ib->words->nodes[i].name, n->nports, n->guid);
        if (n->node == NET_NONE)
            return no_memory(ib);
        ib->net->nodes[n->node].has_id = n->guid != 0;
    }
    return 0;
}

/* The node in the net that a port belongs to; hosts are made here. */
static uint32_t node_at(struct ib *ib, uint32_t i, unsigned port, uint64_t guid)
{
    struct ib_node *n = &ib->nodes[i];
    char name[SF_NET_NAME_MAX + 16];
    uint32_t *host;

    if (n->kind == SWITCH)
        return n->node;
    host = &n->host[port - 1];
    if (*host == NET_NONE) {
        snprintf(name, sizeof(name), port > 1 ? "%s-p%u" : "%s",
                 ib->words->nodes[i].name, port);
        *host = net_add_host(ib->net, name, 0);
    }
    if (*host != NET_NONE && guid && !ib->net->nodes[*host].id)
        net_set_id(ib->net, *host, guid);
    return *host;
}

static int connect_link(struct ib *ib, struct ib_link *k)
{
    uint32_t to = net_find_name(ib->words, k->to), a, b;
    unsigned pa, pb;

    ib->l.number = k->line;
    if (to == NET_NONE)
        return net_lines_error(&ib->l, "there is no node \"%s\"", k->to);
    if (k->port < 1 || k->port > ib->nodes[k->from].nports || k->to_port < 1 ||
        k->to_port > ib->nodes[to].nports)
        return net_lines_error(&ib->l, "there is no such port");
    a = node_at(ib, k->from, k->port, k->guid);
    b = node_at(ib, to, k->to_port, 0);
    if (a == NET_NONE || b == NET_NONE)
        return no_memory(ib);
    pa = ib->nodes[k->from].kind == SWITCH ? k->port - 1 : 0;
    pb = ib->nodes[to].kind == SWITCH ? k->to_port - 1 : 0;
    if (net_peer_node(ib->net, a, pa) == b &&
        net_peer_port(ib->net, a, pa) == pb)
        return 0; /* told from the other end */
    if (!net_connect(ib->net, a, pa, b, pb))
        return net_lines_error(&ib->l, "a port has two cables");
    return 0;
}

/* Adapters that nobody is joined to are hosts too; addresses where no port
 * told one. */
static int finish_adapters(struct ib *ib)
{
    for (uint32_t i = 0; i < ib->nnodes; i++) {
        struct ib_node *n = &ib->nodes[i];
        unsigned used = 0;

        if (n->kind == SWITCH)
            continue;
        for (unsigned p = 0; p < n->nports; p++)
            used += n->host[p] != NET_NONE;
        if (!used && node_at(ib, i, 1, 0) == NET_NONE)
            return no_memory(ib);
        for (unsigned p = 0; p < n->nports; p++) {
            uint32_t h = n->host[p];

            if (h != NET_NONE && n->guid && !ib->net->nodes[h].id &&
                !net_set_id(ib->net, h, n->guid + p))
                return no_memory(ib);
        }
    }
    return 0;
}

bool net_name_port(struct net *net, uint32_t host, const char *node,
                   const char *device, unsigned port)
{
    char name[SF_NET_NAME_MAX], port_text[16] = "", number[16] = "";

    if (port > 1)
        snprintf(port_text, sizeof(port_text), "-p%u", port);
    for (unsigned i = 2;; i++) {
        snprintf(name, sizeof(name), "%.100s%s%.100s%s%s", node,
                 device ? "-" : "", device ? device : "", port_text, number);
        if (net_find_name(net, name) == NET_NONE)
            return net_set_name(net, host, name);
        snprintf(number, sizeof(number), "-%u", i);
    }
}

static int name_switch(struct ib *ib, const struct ib_node *n)
{
    if (n->name[0] && n->node != NET_NONE &&
        net_find_name(ib->net, n->name) == NET_NONE &&
        !net_set_name(ib->net, n->node, n->name))
        return no_memory(ib);
    return 0;
}

static bool is_named(const struct ib *ib, const struct ib_node *n,
                     const char *end)
{
    char name[SF_NET_NAME_MAX + 16];

    snprintf(name, sizeof(name), "%s%s", n->name, end);
    return net_find_name(ib->net, name) != NET_NONE;
}

/* Another adapter of a node that has a name: its ports tell which it is. */
static int name_adapter(struct ib *ib, const struct ib_node *n)
{
    bool another = n->device && n->device[0] &&
                   (is_named(ib, n, "") || is_named(ib, n, "-p2"));

    for (unsigned p = 0; n->name[0] && p < n->nports; p++)
        if (n->host[p] != NET_NONE &&
            !net_name_port(ib->net, n->host[p], n->name,
                           another ? n->device : NULL, p + 1))
            return no_memory(ib);
    return 0;
}

/* Descriptions for names. */
static int use_names(struct ib *ib)
{
    for (uint32_t i = 0; i < ib->nnodes; i++) {
        const struct ib_node *n = &ib->nodes[i];
        int rc = n->kind == SWITCH ? name_switch(ib, n) : name_adapter(ib, n);

        if (rc < 0)
            return rc;
    }
    return 0;
}

static int build(struct ib *ib)
{
    if (build_switches(ib) < 0)
        return -1;
    for (uint32_t i = 0; i < ib->nlinks; i++)
        if (connect_link(ib, &ib->links[i]) < 0)
            return -1;
    return finish_adapters(ib) < 0 ? -1 : use_names(ib);
}

static void end(struct ib *ib)
{
    for (uint32_t i = 0; i < ib->nnodes; i++) {
        free(ib->nodes[i].host);
        free(ib->nodes[i].name);
        free(ib->nodes[i].device);
    }
    for (uint32_t i = 0; i < ib->nlinks; i++)
        free(ib->links[i].to);
    free(ib->nodes);
    free(ib->links);
    net_free(ib->words);
}

struct net *net_parse_ib(const char *file, const char *text, size_t len,
                         struct errbuf *err)
{
    struct ib ib = {.net = net_new(), .words = net_new()};

    if (ib.net)
        ib.net->first_port = 1;
    net_lines_init(&ib.l, file, text, len, err);
    if (!ib.net || !ib.words) {
        no_memory(&ib);
    } else if (len > SF_NET_FILE_MAX) {
        net_lines_error(&ib.l, "longer than %u bytes", SF_NET_FILE_MAX);
        errno = EMSGSIZE;
    } else {
        while (net_lines_next(&ib.l) && read_line(&ib) == 0)
            ;
        if (!ib.l.bad)
            build(&ib);
    }
    end(&ib);
    if (!ib.l.bad)
        return ib.net;
    net_free(ib.net);
    return NULL;
}
