/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a map has that the one before it had not, small enough for one message:
 * doc/gm2-wire.md has the layout.  Around net/delta.h, which only adds nodes,
 * stands what it takes to drop some and to come back to the canonical order.
 * Pure.
 */
#ifndef SF_MAPPER_GM2_DELTA_H
#define SF_MAPPER_GM2_DELTA_H

#include "base/bytebuf.h"
#include "mapper/gm2_map.h"

/* Bytes of a delta behind the header of its message. */
#define GM2_DELTA_MAX (GM2_MESSAGE_MAX - GM2_HEADER_SIZE)

/* Append to an empty *out what leads from one map to another.  False: they
 * differ too much for one message, or there is no memory: send the whole. */
bool gm2_delta_make(const struct gm2_map *before, const struct gm2_map *after,
                    struct bytebuf *out);

/* The map that a delta leads to, of version *to.  NULL with errno and *err:
 * EBADMSG nonsense, ESTALE it begins at another map or leads elsewhere than it
 * says, ENOMEM.  `before` stays as it is. */
struct gm2_map *gm2_delta_apply(const struct gm2_map *before,
                                const struct gm2_version *to,
                                const uint8_t *bytes, size_t len,
                                struct errbuf *err);

#endif
