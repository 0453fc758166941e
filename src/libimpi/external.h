/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predefined types in external32, the representation on the wire when the
 * clients' own ones differ.  Codes as in data.h.
 */
#ifndef LIBIMPI_EXTERNAL_H
#define LIBIMPI_EXTERNAL_H

#include "libimpi/data.h"

/* Fill info->wire of a predefined type. */
int external_size(struct type_info *info);

/* external32 and memory are the same bytes for this predefined type. */
bool external_is_plain(MPI_Datatype basic);

/* count items of a type that is many of one basic one. */
int external_encode(const struct type_info *info, void *wire, const void *user,
                    int count);
/* wire bytes; *bytes: how many that are in memory. */
int external_decode(const struct type_info *info, void *user, const void *wire,
                    uint64_t len, uint64_t *bytes);

#endif
