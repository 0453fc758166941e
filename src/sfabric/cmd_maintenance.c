/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric maintenance: which nodes are in it, and to change that until
 * switchmgr.conf is read again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytebuf.h"
#include "base/jsonx.h"
#include "base/limits.h"
#include "base/host_names.h"
#include "sfabric/sfabric.h"

static int change(const char *nodes, bool on, const struct sfabric_options *o)
{
    struct json_object *in = json_object_new_object(), *reply;

    jsonx_add_str(in, "nodes", nodes);
    jsonx_add_bool(in, "on", on);
    reply = sfabric_ask(o, "switchmgrd", "maintenance", in);
    if (!reply)
        return SFABRIC_UNKNOWN;
    if (o->json)
        sfabric_print_json(reply);
    json_object_put(reply);
    return SFABRIC_OK;
}

/* One line, or none. */
static int print(struct json_object *list)
{
    size_t n = json_object_array_length(list);
    const char **names = calloc(n ? n : 1, sizeof(*names));
    struct bytebuf text;
    int rc = SFABRIC_OK;

    bytebuf_init(&text, SF_CTL_REPLY_MAX);
    for (size_t i = 0; names && i < n; i++)
        names[i] = json_object_get_string(json_object_array_get_idx(list, i));
    if (!names || (n && !host_names_compress(names, n, &text)) || text.bad)
        rc = sfabric_fail("out of memory");
    else if (n)
        printf("%.*s\n", (int)bytebuf_len(&text),
               (const char *)bytebuf_data(&text));
    bytebuf_free(&text);
    free(names);
    return rc;
}

static int show(const struct sfabric_options *o)
{
    struct json_object *reply =
        sfabric_ask(o, "switchmgrd", "maintained", NULL);
    struct json_object *list;
    size_t n;
    int rc = SFABRIC_OK;

    if (!reply)
        return SFABRIC_UNKNOWN;
    list = jsonx_array(reply, "nodes", &n);
    if (o->json)
        sfabric_print_json(reply);
    else if (list)
        rc = print(list);
    else
        rc = sfabric_fail("switchmgrd: no list of nodes in its answer");
    json_object_put(reply);
    return rc;
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    int n = sfabric_parse(&cmd_maintenance, argc, argv, o, NULL);

    if (n < 0)
        return SFABRIC_UNKNOWN;
    if (n == 0)
        return show(o);
    if (n == 2 && strcmp(argv[1], "on") == 0)
        return change(argv[2], true, o);
    if (n == 2 && strcmp(argv[1], "off") == 0)
        return change(argv[2], false, o);
    return sfabric_usage(&cmd_maintenance);
}

const struct sfabric_cmd cmd_maintenance = {
    .name = "maintenance",
    .args = "[on|off NODES]",
    .help = "nodes that are not drained",
    .most = 2,
    .run = run,
};
