/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric diff EXPECTED [FOUND]: cabling as it should be beside cabling as it
 * is (a net file, or what mapperd found).
 */
#include "net/diff.h"
#include "sfabric/netsource.h"

static void tell(void *arg, enum net_difference kind, const char *text)
{
    (void)arg;
    printf("%s: %s\n", net_difference_name(kind), text);
}

static void tell_json(void *arg, enum net_difference kind, const char *text)
{
    struct json_object *o = json_object_new_object();

    json_object_object_add(o, "kind",
                           json_object_new_string(net_difference_name(kind)));
    json_object_object_add(o, "text", json_object_new_string(text));
    json_object_array_add(arg, o);
}

static int compare(const struct net *expected, const struct net *found,
                   const struct sfabric_options *o)
{
    struct json_object *reply = json_object_new_object();
    struct json_object *list = json_object_new_array();
    int n = net_diff(expected, found, o->json ? tell_json : tell, list);

    json_object_object_add(reply, "differences", list);
    if (o->json && n >= 0)
        sfabric_print_json(reply);
    json_object_put(reply);
    if (n < 0)
        return sfabric_fail("out of memory");
    return n > 0 ? SFABRIC_DEGRADED : SFABRIC_OK;
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct net *expected, *found = NULL;
    int rc = SFABRIC_UNKNOWN;

    if (sfabric_parse(&cmd_diff, argc, argv, o, NULL) < 0)
        return SFABRIC_UNKNOWN;
    expected = sfabric_net(o, argv[1]);
    if (expected)
        found = sfabric_net(o, argv[2]);
    if (expected && found)
        rc = compare(expected, found, o);
    net_free(expected);
    net_free(found);
    return rc;
}

const struct sfabric_cmd cmd_diff = {
    .name = "diff",
    .args = "EXPECTED [FOUND]",
    .help = "expected cabling beside what was found",
    .least = 1,
    .most = 2,
    .run = run,
};
