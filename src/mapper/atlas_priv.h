/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What atlas.c and atlas_merge.c share.
 */
#ifndef SF_MAPPER_ATLAS_PRIV_H
#define SF_MAPPER_ATLAS_PRIV_H

#include "mapper/atlas.h"

bool atlas_room_z(struct atlas *a, void **array, size_t size, size_t used,
                  size_t *cap);
void atlas_drop_slots(struct atlas *a, void *slots);

#endif
