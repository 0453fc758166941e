/* SPDX-License-Identifier: BSD-3-Clause
 * Input: messages with a 16-bit length in front; pieces go into one fetch. */
#include "base/be.h"
#include "fuzz.h"
#include "mapper/gm2_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct gm2_version version = {0x0060dd000001, 1, 7};
    struct gm2_fetch *fetch = gm2_fetch_new(&version);
    struct gm2_message msg;
    struct be_reader r;
    char text[200];

    be_reader_init(&r, data, size);
    while (fetch && r.left > 2) {
        uint16_t len = be_get16(&r);

        if (len > r.left)
            len = (uint16_t)r.left;
        if (gm2_decode(&msg, be_get_bytes(&r, len), len) < 0)
            continue;
        gm2_describe(text, sizeof(text), &msg);
        if (msg.subtype == GM2_PIECE)
            gm2_fetch_add(fetch, &msg);
    }
    if (fetch && gm2_fetch_missing(fetch) == UINT32_MAX)
        gm2_map_free(gm2_fetch_finish(fetch, NULL));
    gm2_fetch_free(fetch);
    return 0;
}
