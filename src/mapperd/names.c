/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See names.h.
 */
#include "mapperd/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/sitedir.h"
#include "net/align.h"
#include "net/format.h"

struct names {
    struct elanhosts *hosts; /* NULL: no table */
    struct net *cabling;     /* NULL: no file */
};

struct telling {
    names_wrong_f *wrong;
    void *arg;
};

static void tell(const char *text, void *arg)
{
    const struct telling *t = arg;

    t->wrong(text, t->arg);
}

/* The text of a file; NULL: it is not there, or cannot be used (told). */
static char *get(const char *path, const char *standard, size_t max,
                 size_t *len, struct telling *t)
{
    struct errbuf err;
    char *text = file_read(path ? path : standard, max, 0, len, &err);

    if (!text && (path || errno != ENOENT))
        tell(err.text, t);
    return text;
}

static void get_hosts(struct names *n, const char *path, struct telling *t)
{
    const char *standard = SITEDIR_CONF("elanhosts");
    size_t len;
    char *text = get(path, standard, SF_ELAN_HOSTS_SIZE_MAX, &len, t);

    if (text)
        n->hosts = elanhosts_parse(path ? path : standard, text, len, tell, t);
    free(text);
}

static void get_cabling(struct names *n, const char *path, struct telling *t)
{
    const char *standard = SITEDIR_CONF("swfab.net");
    struct errbuf err;
    size_t len;
    char *text = get(path, standard, SF_NET_FILE_MAX, &len, t);

    if (!text)
        return;
    n->cabling = net_parse(path ? path : standard, text, len, &err);
    if (!n->cabling)
        tell(err.text, t);
    free(text);
}

struct names *names_new(const char *elanhosts, const char *cabling,
                        names_wrong_f *wrong, void *arg)
{
    struct telling t = {wrong, arg};
    struct names *n = calloc(1, sizeof(*n));

    if (!n)
        return NULL;
    get_hosts(n, elanhosts, &t);
    get_cabling(n, cabling, &t);
    return n;
}

void names_free(struct names *n)
{
    if (!n)
        return;
    if (n->hosts)
        elanhosts_destroy(n->hosts);
    net_free(n->cabling);
    free(n);
}

const char *names_of_host(const struct names *n, uint64_t board)
{
    uint32_t rail, at;
    const struct elan_host *h =
        n->hosts ? elanhosts_find_board(n->hosts, board, &rail) : NULL;

    if (h)
        return h->name;
    at = n->cabling ? net_find_host(n->cabling, board) : NET_NONE;
    return at != NET_NONE && n->cabling->nodes[at].name[0]
               ? n->cabling->nodes[at].name
               : NULL;
}

int names_rail_of(const struct names *n, uint64_t board)
{
    uint32_t rail;

    return n->hosts && elanhosts_find_board(n->hosts, board, &rail) ? (int)rail
                                                                    : -1;
}

/* The identity table is right where the cabling calls a host otherwise.  Of
 * two boards of one host in one map the second has its rail in its name. */
static bool name_host(const struct names *n, struct net *net, uint32_t host)
{
    char name[SF_NET_NAME_MAX];
    uint32_t rail, at;
    const struct elan_host *h =
        elanhosts_find_board(n->hosts, net->nodes[host].id, &rail);

    if (!h)
        return true;
    snprintf(name, sizeof(name), "%s", h->name);
    at = net_find_name(net, name);
    if (at != NET_NONE && at != host && net->nodes[at].id != 0 &&
        net_is_host(net, at) && rail > 0)
        snprintf(name, sizeof(name), "%.50s-rail%u", h->name, rail);
    return net_set_name(net, host, name);
}

struct net *names_give(const struct names *n, const struct net *map)
{
    struct net *net =
        n->cabling ? net_align_names(n->cabling, map) : net_copy(map);

    for (uint32_t i = 0; net && n->hosts && i < net->nnodes; i++) {
        if (!net_is_host(net, i) || name_host(n, net, i))
            continue;
        net_free(net);
        net = NULL;
    }
    return net;
}
