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

#endif
