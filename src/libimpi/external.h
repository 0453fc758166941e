/* SPDX-License-Identifier: BSD-3-Clause
 *
 * User data in external32, the representation on the wire when the clients'
 * own ones differ.
 *
 * Functions return an MPI error code.
 */
#ifndef LIBIMPI_EXTERNAL_H
#define LIBIMPI_EXTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "libimpi/data.h"

/* Bytes on the wire of one element of type. */
int external_size(MPI_Datatype type, size_t *wire);

/* external32 and memory are the same bytes for this predefined type. */
bool external_is_plain(MPI_Datatype basic);

/* count elements of type, as they lie in the user's buffer, to the wire.
 * MPI_ERR_CONVERSION: a value does not fit. */
int external_encode(const struct type_info *info, void *wire, const void *buf,
                    uint64_t count);

/* The other way: len bytes, which may end before count elements do.
 * *bytes: how many have been written to memory. */
int external_decode(const struct type_info *info, void *buf, const void *wire,
                    uint64_t len, uint64_t count, uint64_t *bytes);

#endif
