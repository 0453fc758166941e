/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An encoded world; what is accepted encodes to the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct impi_world w;
    struct errbuf err;
    uint8_t *again;
    size_t len;

    if (impi_world_decode(&w, data, size, &err) < 0)
        return 0;
    if (impi_world_encode(&w, &again, &len) < 0 || len != size ||
        memcmp(again, data, len) != 0)
        abort();
    free(again);
    impi_world_free(&w);
    return 0;
}
