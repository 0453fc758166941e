/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric summary: how the fabric is, by state.
 */
#include "sfabric/sfabric.h"

static int run(int argc, char **argv, const struct sfabric_options *o)
{
    struct json_object *reply;

    if (argc != 1)
        return sfabric_usage(&cmd_summary);
    reply = sfabric_ask(o, "switchmgrd", "summary", NULL);
    if (!reply)
        return SFABRIC_UNKNOWN;
    sfabric_print_json(reply);
    json_object_put(reply);
    return SFABRIC_OK;
}

const struct sfabric_cmd cmd_summary = {
    .name = "summary",
    .args = "",
    .help = "how the fabric is (what sfabric alone shows)",
    .run = run,
};
