/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric version: of this suite.
 */
#include "config.h"

#include "sfabric/sfabric.h"

static int run(int argc, char **argv, struct sfabric_options *o)
{
    if (sfabric_parse(&cmd_version, argc, argv, o, NULL) < 0)
        return SFABRIC_UNKNOWN;
    puts("sfabric (" PACKAGE_NAME ") " PACKAGE_VERSION);
    return SFABRIC_OK;
}

const struct sfabric_cmd cmd_version = {
    .name = "version",
    .args = "",
    .help = "the version of slurm-fabric",
    .run = run,
};
