/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See netsource.h.
 */
#include "sfabric/netsource.h"

#include <stdlib.h>

#include "base/file.h"
#include "net/format.h"

static struct net *net_of_file(const char *path)
{
    struct errbuf err;
    size_t len;
    char *text = file_read(path, SF_NET_FILE_MAX, FILE_ANY, &len, &err);
    struct net *net = text ? net_parse(path, text, len, &err) : NULL;

    if (!net)
        sfabric_fail("%s", err.text);
    free(text);
    return net;
}

static struct net *net_of_mapper(const struct sfabric_options *o)
{
    struct json_object *reply = sfabric_ask(o, "mapperd", "map", NULL), *map;
    struct net *net = NULL;
    struct errbuf err = {"mapperd gave no map"};

    if (!reply)
        return NULL;
    if (json_object_object_get_ex(reply, "map", &map))
        net = net_parse("map", json_object_get_string(map),
                        (size_t)json_object_get_string_len(map), &err);
    if (!net)
        sfabric_fail("%s", err.text);
    json_object_put(reply);
    return net;
}

struct net *sfabric_net(const struct sfabric_options *o, const char *file)
{
    return file ? net_of_file(file) : net_of_mapper(o);
}

const char *sfabric_node_name(const struct net *net, uint32_t node,
                              char buf[32])
{
    if (net->nodes[node].name[0])
        return net->nodes[node].name;
    snprintf(buf, 32, "#%u", node);
    return buf;
}
