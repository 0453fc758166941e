/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric check: this node's own NICs, by one question to the hsnd of each.
 * For health checks on nodes: the fabric's own faults are switchmgrd's to find.
 */
#include <glob.h>

#include "base/jsonx.h"
#include "base/sitedir.h"
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

static int ask(const struct sfabric_options *o)
{
    struct json_object *reply = sfabric_ask(o, "hsnd", "status", NULL);
    int rc;

    if (!reply)
        return SFABRIC_UNKNOWN;
    rc = judge(reply, o);
    json_object_put(reply);
    return rc;
}

/* One hsnd for each rail, each with a socket of its own. */
static int ask_all(const struct sfabric_options *o)
{
    struct sfabric_options one = *o;
    int rc = SFABRIC_OK, worst = SFABRIC_OK;
    glob_t found;

    if (glob(SITEDIR_RUN("hsnd-*.ctl"), 0, NULL, &found) != 0) {
        sfabric_fail("no hsnd: there is no %s; does it run on this host?",
                     SITEDIR_RUN("hsnd-RAIL.ctl"));
        return SFABRIC_UNKNOWN;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        one.socket = found.gl_pathv[i];
        rc = ask(&one);
        worst = rc > worst ? rc : worst;
    }
    globfree(&found);
    return worst;
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    if (sfabric_parse(&cmd_check, argc, argv, o, NULL) < 0)
        return SFABRIC_UNKNOWN;
    return o->socket ? ask(o) : ask_all(o);
}

const struct sfabric_cmd cmd_check = {
    .name = "check",
    .args = "",
    .help = "this node's own NICs (asks hsnd)",
    .run = run,
};
