/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See gm2_store.h.  Behind a head stand the pieces of the map, as messages:
 * what takes a map apart and puts it together is the wire's.
 */
#include "mapper/gm2_store.h"

#include <errno.h>

#include "base/be.h"
#include "base/crc32c.h"
#include "mapper/gm_address.h"

#define MAGIC 0x53464d31u /* "SFM1" */

/* ---- writing ------------------------------------------------------------- */

static bool add_pieces(const struct gm2_map *map, uint64_t board,
                       struct bytebuf *out)
{
    uint8_t body[GM2_MESSAGE_MAX];

    for (uint32_t i = 0; i < gm2_map_pieces(map); i++) {
        struct gm2_message msg = {.reason = GM2_LX_QUERYING_MAP_PIECE,
                                  .flags = GM2_VALID,
                                  .sender = board};
        size_t len = gm2_map_encode_piece(map, i, &msg, body, sizeof(body));

        if (len == 0)
            return false;
        bytebuf_add16(out, (uint16_t)len);
        bytebuf_add(out, body, len);
    }
    return !out->bad;
}

bool gm2_store_write(const struct gm2_map *map, uint64_t board,
                     struct bytebuf *out)
{
    struct bytebuf pieces;
    bool ok;

    bytebuf_init(&pieces, out->max);
    ok = add_pieces(map, board, &pieces);
    if (ok) {
        bytebuf_add32(out, MAGIC);
        bytebuf_add64(out, board);
        bytebuf_add32(out, gm2_map_pieces(map));
        bytebuf_add32(out,
                      crc32c(0, bytebuf_data(&pieces), bytebuf_len(&pieces)));
        bytebuf_add(out, bytebuf_data(&pieces), bytebuf_len(&pieces));
    }
    bytebuf_free(&pieces);
    return ok && !out->bad;
}

/* ---- reading ------------------------------------------------------------- */

static int damaged(struct errbuf *err)
{
    errno = EPROTO;
    return errprintf(err, "it is damaged");
}

static int open_store(struct be_reader *r, uint64_t board, uint32_t *npieces,
                      struct errbuf *err)
{
    uint32_t magic = be_get32(r), sum;
    uint64_t owner = be_get64(r);
    char who[GM_ADDRESS_TEXT];

    *npieces = be_get32(r);
    sum = be_get32(r);
    if (r->bad || magic != MAGIC) {
        errno = EPROTO;
        return errprintf(err, "it is not a stored map of this version");
    }
    if (sum != crc32c(0, r->pos, r->left))
        return damaged(err);
    if (owner != board) {
        errno = EPROTO;
        return errprintf(err, "it is that of board %s",
                         gm_address_text(owner & 0xffffffffffff, who));
    }
    return 0;
}

static int take_piece(struct be_reader *r, struct gm2_fetch **fetch,
                      struct gm2_version *version, struct errbuf *err)
{
    uint16_t len = be_get16(r);
    const uint8_t *bytes = be_get_bytes(r, len);
    struct gm2_message msg;

    if (!bytes || gm2_decode(&msg, bytes, len) < 0 ||
        msg.subtype != GM2_PIECE || msg.version.counter == 0)
        return damaged(err);
    if (!*fetch) {
        *version = msg.version;
        *fetch = gm2_fetch_new(version);
        if (!*fetch)
            return errprintf(err, "no memory");
    }
    return gm2_fetch_add(*fetch, &msg) == 1 ? 0 : damaged(err);
}

/* This board stands in it, once. */
static bool has_board(const struct gm2_map *map, uint64_t board)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < map->net->nhosts; i++)
        n += map->net->nodes[i].id == board;
    return n == 1;
}

struct gm2_map *gm2_store_read(const uint8_t *bytes, size_t len, uint64_t board,
                               struct errbuf *err)
{
    struct gm2_version version = {0};
    struct gm2_fetch *fetch = NULL;
    struct gm2_map *map = NULL;
    struct be_reader r;
    uint32_t npieces;
    int rc;

    be_reader_init(&r, bytes, len);
    rc = open_store(&r, board, &npieces, err);
    for (uint32_t i = 0; rc == 0 && i < npieces; i++)
        rc = take_piece(&r, &fetch, &version, err);
    if (rc == 0 && (r.left || !fetch || gm2_fetch_missing(fetch) != UINT32_MAX))
        rc = damaged(err);
    if (rc == 0)
        map = gm2_fetch_finish(fetch, err);
    gm2_fetch_free(fetch);
    if (!map)
        return NULL;
    map->version.level = version.level;
    if (has_board(map, board))
        return map;
    errprintf(err, "it does not have this board, or twice");
    errno = EPROTO;
    gm2_map_free(map);
    return NULL;
}
