/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric routes SOURCE [DESTINATION] [FILE]: the routes that a host has, as
 * bytes and by name.  Without a destination: the first one to each host.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytebuf.h"
#include "base/host_names.h"
#include "net/route.h"
#include "sfabric/netsource.h"

struct wishes {
    struct net_route_params params;
    const char *source, *destination, *file;
};

enum { OPT_ENGINE = 0x1000 };

static const struct option options[] = {
    {"engine", required_argument, NULL, OPT_ENGINE},
    {0},
};

static bool take(int val, const char *value, void *wishes)
{
    struct wishes *w = wishes;

    (void)val;
    if (net_engine_parse(value, &w->params.engine))
        return true;
    sfabric_fail("no engine is called %s; there are " NET_ENGINES, value);
    return false;
}

/* -1: not to be understood. */
static int sort_operands(char **argv, struct wishes *w)
{
    w->source = argv[1];
    for (int i = 2; argv[i]; i++) {
        if (strchr(argv[i], '/') || strchr(argv[i], '.'))
            w->file = argv[i];
        else if (!w->destination)
            w->destination = argv[i];
        else
            return -1;
    }
    return 0;
}

static void bytes_of(const struct net *net, const struct net_path *path,
                     char *text, size_t size)
{
    struct net_route route;
    size_t at = 0;

    snprintf(text, size, "-");
    if (!net_path_bytes(net, path, &route))
        return;
    for (int i = 0; i < route.hops && at + 3 < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%02x", route.byte[i]);
}

static void way_of(const struct net *net, const struct net_path *path,
                   char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (int i = 1; i <= path->hops && at + 1 < size; i++) {
        char buf[32];
        uint32_t port = path->port[i];

        at +=
            (size_t)snprintf(text + at, size - at, "%s%s:%u", i > 1 ? " " : "",
                             sfabric_node_name(net, net->ports[port].node, buf),
                             net_port_number(net, port));
    }
}

static void add_row(struct sfabric_columns *c, const struct net *net,
                    uint32_t to, const struct net_path *path)
{
    char name[32], hops[8], bytes[2 * NET_ROUTE_MAX + 2], way[2048];
    const char *cells[4] = {sfabric_node_name(net, to, name), hops, bytes, way};

    snprintf(hops, sizeof(hops), "%u", path->hops);
    bytes_of(net, path, bytes, sizeof(bytes));
    way_of(net, path, way, sizeof(way));
    sfabric_columns_add(c, cells);
}

static void list_routes(const struct net *net, const struct net_routes *r,
                        uint32_t from, uint32_t to,
                        const struct sfabric_options *o)
{
    static const char *const titles[] = {"TO", "HOPS", "BYTES", "LEAVES BY"};
    static struct net_path paths[NET_ALTERNATIVES_MAX];
    struct sfabric_columns *c = sfabric_columns_new(4, titles);

    if (to != NET_NONE) {
        unsigned n =
            net_routes_paths(r, from, to, paths, NET_ALTERNATIVES_DEFAULT);

        for (unsigned i = 0; i < n; i++)
            add_row(c, net, to, &paths[i]);
    }
    for (uint32_t h = 0; to == NET_NONE && h < net->nnodes; h++)
        if (net_is_host(net, h) && h != from &&
            net_routes_path(r, from, h, &paths[0]))
            add_row(c, net, h, &paths[0]);
    sfabric_columns_print(c, o);
}

static int no_such_host(const struct net *net, const char *name)
{
    const char **names = malloc((net->nhosts + 1) * sizeof(*names));
    struct bytebuf list;
    size_t n = 0;

    bytebuf_init(&list, SF_NET_FILE_MAX);
    for (uint32_t i = 0; names && i < net->nnodes && n < net->nhosts; i++)
        if (net_is_host(net, i))
            names[n++] = net->nodes[i].name;
    if (n == 0 || !host_names_compress(names, n, &list))
        sfabric_fail("no host is called %s", name);
    else
        sfabric_fail("no host is called %s; they are %.*s", name,
                     (int)bytebuf_len(&list),
                     (const char *)bytebuf_data(&list));
    bytebuf_free(&list);
    free(names);
    return -1;
}

/* By its name or its board address. */
static int find_host(const struct net *net, const char *name, uint32_t *host)
{
    char *end;
    uint64_t address = strtoull(name, &end, 16);

    *host = net_find_name(net, name);
    if (*host == NET_NONE && !*end)
        *host = net_find_host(net, address);
    if (*host != NET_NONE && net_is_host(net, *host))
        return 0;
    return no_such_host(net, name);
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct wishes w = {.params = {.hop_limit = NET_ROUTE_MAX}};
    uint32_t from, to = NET_NONE;
    struct net_routes *r = NULL;
    struct errbuf err;
    struct net *net;

    if (sfabric_parse(&cmd_routes, argc, argv, o, &w) < 0)
        return SFABRIC_UNKNOWN;
    if (sort_operands(argv, &w) < 0)
        return sfabric_usage(&cmd_routes);
    net = sfabric_net(o, w.file);
    if (net && find_host(net, w.source, &from) == 0 &&
        (!w.destination || find_host(net, w.destination, &to) == 0)) {
        r = net_routes_new(net, &w.params, &err);
        if (!r)
            sfabric_fail("%s", err.text);
        else
            list_routes(net, r, from, to, o);
    }
    net_routes_free(r);
    net_free(net);
    return r ? SFABRIC_OK : SFABRIC_UNKNOWN;
}

const struct sfabric_cmd cmd_routes = {
    .name = "routes",
    .args = "[--engine=NAME] SOURCE [DESTINATION] [FILE]",
    .help = "routes of a host, by ports and bytes",
    .options = options,
    .take = take,
    .least = 1,
    .most = 3,
    .run = run,
};
