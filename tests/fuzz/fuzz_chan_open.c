/* SPDX-License-Identifier: BSD-3-Clause
 * A stranger's bytes, in pieces, into either side of a channel opening: the
 * first byte says which side and how long the pieces are.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "impi/chan_open.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t secret[IMPI_CHAN_SECRET_SIZE], nonce[32];
    const struct impi_chan_id id = {IMPI_CHAN_PROC_PROC, 1, 2, 3};
    struct impi_chan_open o;
    struct errbuf err;
    const uint8_t *out;

    if (size < 1)
        return 0;
    if (data[0] & 1)
        impi_chan_open_connect(&o, &id, secret, nonce);
    else
        impi_chan_open_accept(&o, secret, nonce, NULL, NULL);
    for (size_t at = 1, piece = 1 + data[0] / 2; at < size;) {
        size_t n = impi_chan_open_want(&o);

        if (n == 0)
            break;
        n = n < piece ? n : piece;
        n = n < size - at ? n : size - at;
        impi_chan_open_sent(&o, impi_chan_open_output(&o, &out));
        if (impi_chan_open_input(&o, data + at, n, &err) < 0)
            break;
        at += n;
    }
    impi_chan_open_wipe(&o);
    return 0;
}
