/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What atlas.c and atlas_merge.c share.
 */
#ifndef SF_MAPPER_ATLAS_PRIV_H
#define SF_MAPPER_ATLAS_PRIV_H

#include "mapper/atlas.h"

/* Room for one more element behind the `used` of an array, which may move.
 * False: no memory, nothing changed. */
bool atlas_room_z(struct atlas *a, void **array, size_t size, size_t used,
                  size_t *cap);
/* Slots of a crossbar that is gone, for the next one. */
void atlas_drop_slots(struct atlas *a, void *slots);

#endif
