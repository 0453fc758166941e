/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A map as bytes for a disk: what a mapper that starts again takes for true
 * until it has looked (gm2_suppose()).  doc/gm2-wire.md has the layout.  What
 * is read may be anybody's bytes; nothing of them is believed before all of
 * them fit together.  Pure.
 */
#ifndef SF_MAPPER_GM2_STORE_H
#define SF_MAPPER_GM2_STORE_H

#include "base/bytebuf.h"
#include "mapper/gm2_map.h"

/* Append the map that a board uses.  False: no memory, or out's limit. */
bool gm2_store_write(const struct gm2_map *map, uint64_t board,
                     struct bytebuf *out);

/* The map of this board.  NULL and *err: no map, another version of the
 * format, damaged, another board's, or without this board; ENOMEM. */
struct gm2_map *gm2_store_read(const uint8_t *bytes, size_t len, uint64_t board,
                               struct errbuf *err);

#endif
