/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a Slurm plugin says of itself, read from its file: it cannot be loaded
 * outside of Slurm.
 */
#ifndef SF_SFABRIC_PLUGIN_FILE_H
#define SF_SFABRIC_PLUGIN_FILE_H

#include <stdint.h>

#include "base/errbuf.h"

/* The value of its symbol plugin_version.  0; or -1 with text and errno:
 * ENOENT and others of the file, EBADMSG it is no plugin. */
int plugin_file_version(const char *path, uint32_t *version,
                        struct errbuf *err);

/* Do a plugin and a Slurm fit each other?  Each hook of this kind ("switch",
 * "mpi") that Slurm's loader wants is to be in the plugin, and each symbol that
 * the plugin uses in Slurm's library (libslurmfull.so), but for the weak ones.
 * How many are not, their names in `lacks`; or -1 with text and errno, as
 * above. */
int plugin_file_lacks(const char *path, const char *library, const char *kind,
                      struct errbuf *lacks, struct errbuf *err);

#endif
