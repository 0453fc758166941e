/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predefined types in external32.
 */
#include "libimpi/external.h"

int external_size(struct type_info *info)
{
    info->wire = info->size;
    return MPI_SUCCESS;
}

bool external_is_plain(MPI_Datatype basic)
{
    return basic == MPI_BYTE || basic == MPI_CHAR || basic == MPI_SIGNED_CHAR ||
           basic == MPI_UNSIGNED_CHAR || basic == MPI_PACKED;
}

int external_encode(const struct type_info *info, void *wire, const void *user,
                    int count)
{
    return MPI_ERR_UNSUPPORTED_DATAREP;
}

int external_decode(const struct type_info *info, void *user, const void *wire,
                    uint64_t len, uint64_t *bytes)
{
    return MPI_ERR_UNSUPPORTED_DATAREP;
}
