/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric links [--all] [FILE]: cables between crossbars (all: of hosts,
 * too), each once.
 */
#include <string.h>

#include "sfabric/netsource.h"

static void add_row(struct sfabric_columns *c, const struct net *net,
                    uint32_t p, uint32_t q)
{
    char a[32], b[32], port_a[16], port_b[16];
    const char *cells[4] = {
        sfabric_node_name(net, net->ports[p].node, a), port_a,
        sfabric_node_name(net, net->ports[q].node, b), port_b};

    snprintf(port_a, sizeof(port_a), "%u", net_port_called(net, p));
    snprintf(port_b, sizeof(port_b), "%u", net_port_called(net, q));
    sfabric_columns_add(c, cells);
}

static void add_end(struct json_object *o, const struct net *net, uint32_t p,
                    const char *node, const char *port)
{
    char buf[32];

    json_object_object_add(o, node,
                           json_object_new_string(sfabric_node_name(
                               net, net->ports[p].node, buf)));
    json_object_object_add(o, port,
                           json_object_new_int((int)net_port_called(net, p)));
}

static struct json_object *as_json(const struct net *net, uint32_t p,
                                   uint32_t q)
{
    struct json_object *o = json_object_new_object();

    add_end(o, net, p, "a", "port_a");
    add_end(o, net, q, "b", "port_b");
    return o;
}

static void list_links(const struct net *net, bool all,
                       const struct sfabric_options *o)
{
    static const char *const titles[] = {"A", "PORT", "B", "PORT"};
    struct sfabric_columns *c = o->json ? NULL : sfabric_columns_new(4, titles);
    struct json_object *reply = json_object_new_object();
    struct json_object *list = json_object_new_array();

    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q == NET_NONE || q < p ||
            (!all && (net_is_host(net, net->ports[p].node) ||
                      net_is_host(net, net->ports[q].node))))
            continue;
        if (o->json)
            json_object_array_add(list, as_json(net, p, q));
        else
            add_row(c, net, p, q);
    }
    json_object_object_add(reply, "links", list);
    if (o->json)
        sfabric_print_json(reply);
    else
        sfabric_columns_print(c, o);
    json_object_put(reply);
}

static const struct option options[] = {
    {"all", no_argument, NULL, SFABRIC_FLAG},
    {0},
};

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct net *net;
    bool all = false;

    if (sfabric_parse(&cmd_links, argc, argv, o, &all) < 0)
        return SFABRIC_UNKNOWN;
    net = sfabric_net(o, argv[1]);
    if (!net)
        return SFABRIC_UNKNOWN;
    list_links(net, all, o);
    net_free(net);
    return SFABRIC_OK;
}

const struct sfabric_cmd cmd_links = {
    .name = "links",
    .args = "[--all] [FILE]",
    .help = "cables between crossbars (--all: of hosts, too)",
    .options = options,
    .take = sfabric_take_flag,
    .most = 1,
    .run = run,
};
