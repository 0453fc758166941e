/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric --local (or sfabric local): the board of this host as its mapper
 * sees it: map version, routes, and whether the network is fully configured.
 */
#include <string.h>

#include "sfabric/sfabric.h"

static const char *text_of(struct json_object *o, const char *key)
{
    struct json_object *v;

    if (!json_object_object_get_ex(o, key, &v) || !v)
        return "none";
    return json_object_get_string(v);
}

static bool true_of(struct json_object *o, const char *key)
{
    struct json_object *v;

    return json_object_object_get_ex(o, key, &v) && json_object_get_boolean(v);
}

static void print_board(struct json_object *s)
{
    printf("board %s (%s) of node %s\n", text_of(s, "unit"),
           text_of(s, "board"), text_of(s, "node"));
    printf("  mapper       %s, %s%s\n", text_of(s, "protocol"),
           text_of(s, "state"), true_of(s, "leader") ? ", leads" : "");
    printf("  map version  %s/%s%s\n", text_of(s, "map_leader"),
           text_of(s, "map_version"), true_of(s, "valid") ? "" : ", not valid");
    printf("  routes to    %s hosts\n", text_of(s, "peers"));
}

static void print_routes(struct json_object *r, const struct sfabric_options *o)
{
    static const char *const titles[] = {"HOST", "TYPE", "ROUTES"};
    struct sfabric_columns *c = sfabric_columns_new(3, titles);
    struct json_object *hosts, *routes;

    if (!json_object_object_get_ex(r, "hosts", &hosts))
        hosts = NULL;
    for (size_t i = 0; hosts && i < json_object_array_length(hosts); i++) {
        struct json_object *h = json_object_array_get_idx(hosts, i);
        char line[1024] = "";
        const char *name;

        if (!json_object_object_get_ex(h, "routes", &routes))
            continue;
        for (size_t k = 0; k < json_object_array_length(routes); k++) {
            size_t len = strlen(line);

            snprintf(
                line + len, sizeof(line) - len, "%s%s", k ? " " : "",
                json_object_get_string(json_object_array_get_idx(routes, k)));
        }
        name = json_object_object_get_ex(h, "name", NULL) ? "name" : "board";
        sfabric_columns_add(c, (const char *const[]){text_of(h, name),
                                                     text_of(h, "host_type"),
                                                     line});
    }
    sfabric_columns_print(c, o);
}

static int show(struct json_object *status, struct json_object *routes,
                const struct sfabric_options *o)
{
    bool ready = true_of(status, "configured") && true_of(status, "valid");

    if (o->json) {
        json_object_object_add(status, "routes", json_object_get(routes));
        sfabric_print_json(status);
    } else {
        print_board(status);
        print_routes(routes, o);
        puts(ready ? "Network is fully configured."
                   : "Network is not configured.");
    }
    return ready ? SFABRIC_OK : SFABRIC_DEGRADED;
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct json_object *status, *routes;
    int rc = SFABRIC_UNKNOWN;

    if (sfabric_parse(&cmd_local, argc, argv, o, NULL) < 0)
        return SFABRIC_UNKNOWN;
    status = sfabric_ask(o, "mapperd", "status", NULL);
    if (!status)
        return SFABRIC_UNKNOWN;
    routes = sfabric_ask(o, "mapperd", "routes", NULL);
    if (routes)
        rc = show(status, routes, o);
    json_object_put(routes);
    json_object_put(status);
    return rc;
}

const struct sfabric_cmd cmd_local = {
    .name = "local",
    .args = "",
    .help = "this host's board: map version, routes, configured? (--local)",
    .run = run,
};
