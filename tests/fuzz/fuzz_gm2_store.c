/* SPDX-License-Identifier: BSD-3-Clause
 * Input: a stored map of board 0060dd000001; its sum is put right, so that
 * what lies behind it is read. */
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/crc32c.h"
#include "fuzz.h"
#include "mapper/gm2_store.h"

#define BOARD 0x0060dd000001
#define HEAD 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    struct errbuf err;

    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    gm2_map_free(gm2_store_read(bytes, size, BOARD, &err));
    if (size >= HEAD) {
        be_store32(bytes + 16, crc32c(0, bytes + HEAD, size - HEAD));
        gm2_map_free(gm2_store_read(bytes, size, BOARD, &err));
    }
    free(bytes);
    return 0;
}
