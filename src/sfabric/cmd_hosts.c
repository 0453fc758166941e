/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric hosts [FILE]: hosts of the map, and where they are plugged in.
 */
#include <inttypes.h>

#include "sfabric/netsource.h"

static void add_row(struct sfabric_columns *c, const struct net *net,
                    uint32_t host)
{
    uint32_t at = net_peer_node(net, host, 0);
    char name[32], far[32], address[32], port[16] = "-", plane[8];
    const char *cells[5] = {sfabric_node_name(net, host, name), address, "-",
                            port, plane};

    snprintf(address, sizeof(address), "%012" PRIx64, net->nodes[host].id);
    snprintf(plane, sizeof(plane), "%u", net->nodes[host].plane);
    if (at != NET_NONE) {
        cells[2] = sfabric_node_name(net, at, far);
        snprintf(port, sizeof(port), "%u", net_peer_port(net, host, 0));
    }
    sfabric_columns_add(c, cells);
}

static void add_json(struct json_object *list, const struct net *net,
                     uint32_t host)
{
    struct json_object *o = json_object_new_object();
    uint32_t at = net_peer_node(net, host, 0);
    char buf[32], address[32];

    snprintf(address, sizeof(address), "%012" PRIx64, net->nodes[host].id);
    json_object_object_add(
        o, "name", json_object_new_string(sfabric_node_name(net, host, buf)));
    json_object_object_add(o, "address", json_object_new_string(address));
    if (at != NET_NONE) {
        json_object_object_add(
            o, "at", json_object_new_string(sfabric_node_name(net, at, buf)));
        json_object_object_add(
            o, "port", json_object_new_int((int)net_peer_port(net, host, 0)));
    }
    json_object_array_add(list, o);
}

static void print_json(const struct net *net)
{
    struct json_object *reply = json_object_new_object();
    struct json_object *list = json_object_new_array();

    for (uint32_t n = 0; n < net->nnodes; n++)
        if (net_is_host(net, n))
            add_json(list, net, n);
    json_object_object_add(reply, "hosts", list);
    sfabric_print_json(reply);
    json_object_put(reply);
}

static void print_rows(const struct net *net, const struct sfabric_options *o)
{
    static const char *const titles[] = {"HOST", "ADDRESS", "CROSSBAR", "PORT",
                                         "PLANE"};
    struct sfabric_columns *c = sfabric_columns_new(5, titles);

    for (uint32_t n = 0; n < net->nnodes; n++)
        if (net_is_host(net, n))
            add_row(c, net, n);
    sfabric_columns_print(c, o);
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct net *net;

    if (sfabric_parse(&cmd_hosts, argc, argv, o, NULL) < 0)
        return SFABRIC_UNKNOWN;
    net = sfabric_net(o, argv[1]);
    if (!net)
        return SFABRIC_UNKNOWN;
    if (o->json)
        print_json(net);
    else
        print_rows(net, o);
    net_free(net);
    return SFABRIC_OK;
}

const struct sfabric_cmd cmd_hosts = {
    .name = "hosts",
    .args = "[FILE]",
    .help = "hosts of the map or a net file, and where they are plugged in",
    .most = 1,
    .run = run,
};
