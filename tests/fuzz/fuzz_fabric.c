/* SPDX-License-Identifier: BSD-3-Clause
 * What a peer says of libfabric while a channel opens, in pieces, and frames
 * that come by it.  The first byte says which, and how.
 */
#include <string.h>

#include "fuzz.h"
#include "impi/frames.h"

static const struct impi_fabric_end own = {
    .name = "tcp;ofi_rxm",
    .protocol = 5,
    .version = 1,
    .addr_format = 2,
    .frame = SF_FABRIC_FRAME,
    .lends = 2,
    .credits = 4,
    .addr_len = 16,
};

static void check_end(const struct impi_fabric_end *end)
{
    if (strlen(end->name) > SF_FABRIC_NAME_MAX ||
        end->addr_len > SF_FABRIC_ADDR_MAX ||
        (end->name[0] && (end->credits > SF_FABRIC_CREDITS_MAX ||
                          end->frame > SF_FABRIC_FRAME_MAX)))
        abort();
}

static void words(const uint8_t *data, size_t size, size_t piece, bool offer)
{
    struct impi_chan_fabric f;
    struct errbuf err;
    const uint8_t *out;

    if (offer)
        impi_chan_fabric_offer(&f, &own);
    else
        impi_chan_fabric_await(&f);
    while (size > 0) {
        size_t n = impi_chan_fabric_want(&f);

        n = n < piece ? n : piece;
        n = n < size ? n : size;
        impi_chan_fabric_sent(&f, impi_chan_fabric_output(&f, &out));
        if (n == 0 || impi_chan_fabric_input(&f, data, n, &err) < 0)
            break;
        data += n;
        size -= n;
        if (impi_chan_fabric_asked(&f)) {
            check_end(&f.peer);
            impi_chan_fabric_answer(&f, impi_fabric_fits(&own, &f.peer) ? &own
                                                                        : NULL);
        } else if (impi_chan_fabric_proving(&f) && piece % 2) {
            check_end(&f.peer);
            impi_chan_fabric_prove(&f, true);
        }
    }
}

/* False: an impossible piece. */
static bool check_lend(const uint8_t *data, size_t len)
{
    struct impi_lend lend;
    struct errbuf err;
    int before = impi_lend_decode(&lend, data, len, &err);

    if (before >= 0 && ((size_t)before + IMPI_LEND_SIZE != len ||
                        lend.length > SF_FABRIC_LEND_MAX))
        abort();
    return before >= 0;
}

/* One frame behind the other; what is taken is given back at once, or never. */
static void frames(const uint8_t *data, size_t size, bool keep)
{
    uint8_t head[IMPI_FRAME_SIZE];
    struct impi_frame frame;
    struct impi_frames f;
    struct errbuf err;
    unsigned kept = 0;
    bool counted;

    impi_frames_init(&f, &own, &own, 0, 0);
    while (size >= IMPI_FRAME_SIZE) {
        size_t n = IMPI_FRAME_SIZE + data[19]; /* of its length */

        if (n > size || !impi_frame_decode(&frame, data, n) ||
            impi_frames_is_next(&f, &frame, &err) <= 0 ||
            impi_frames_take(&f, &frame, &err) < 0)
            break;
        if (f.may_send > own.credits || f.may_come > own.credits)
            abort();
        if (f.borrowed > own.lends)
            abort();
        counted =
            frame.kind == IMPI_FRAME_DATA || frame.kind == IMPI_FRAME_LEND;
        if (counted && keep && ++kept > own.credits)
            abort();
        if (counted && !keep)
            impi_frames_freed(&f);
        if (frame.kind == IMPI_FRAME_LEND &&
            !check_lend(data + IMPI_FRAME_SIZE, frame.length))
            break;
        if (frame.kind == IMPI_FRAME_LEND && !keep)
            impi_frames_read(&f, head, 1);
        if (frame.kind == IMPI_FRAME_READ &&
            impi_frames_returned(&f, data + IMPI_FRAME_SIZE, &err) < 0)
            break;
        if (impi_frames_owes(&f))
            impi_frames_put(&f, head, IMPI_FRAME_CREDITS, 0);
        data += n;
        size -= n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    if (data[0] & 1)
        frames(data + 1, size - 1, data[0] & 2);
    else
        words(data + 1, size - 1, 1 + data[0] / 4, data[0] & 2);
    return 0;
}
