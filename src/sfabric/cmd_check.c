/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric check: this node's own NIC, by one question to its hsnd.  For health
 * checks on nodes: the fabric's own faults are switchmgrd's to find.
 */
#include "base/jsonx.h"
#include "sfabric/sfabric.h"

static int judge(struct json_object *s, const struct sfabric_options *o)
{
    const char *node = jsonx_str(s, "node", 256);
    bool up = false, whole = false, alone = false;
    int64_t peers = 0;
    int rc = SFABRIC_OK;

    jsonx_bool(s, "link", &up);
    jsonx_bool(s, "alone", &alone);
    jsonx_bool(s, "configured", &whole);
    jsonx_int(s, "peers", 0, INT64_MAX, &peers);
    if (!whole || peers == 0)
        rc = SFABRIC_DEGRADED;
    if (!up || alone)
        rc = SFABRIC_DOWN;
    if (o->json)
        sfabric_print_json(s);
    else
        printf("%s: link %s%s, %s, routes to %lld hosts\n", node ? node : "?",
               up ? "up" : "down", alone ? ", nobody answers" : "",
               whole ? "network fully configured" : "network not configured",
               (long long)peers);
    return rc;
}

static int run(int argc, char **argv, const struct sfabric_options *o)
{
    struct json_object *reply;
    int rc;

    if (argc != 1)
        return sfabric_usage(&cmd_check);
    reply = sfabric_ask(o, "hsnd", "status", NULL);
    if (!reply)
        return SFABRIC_UNKNOWN;
    rc = judge(reply, o);
    json_object_put(reply);
    return rc;
}

const struct sfabric_cmd cmd_check = {
    .name = "check",
    .args = "",
    .help = "this node's own NIC (asks hsnd)",
    .run = run,
};
