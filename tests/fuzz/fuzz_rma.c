/* SPDX-License-Identifier: BSD-3-Clause
 * What a peer may send to a window: messages one after the other, each behind
 * a byte that says which member sends it and two of its length, while
 * operations, locks and flushes of our own are open.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/rma.h"

enum { N = 3, BYTES = 256 };

static void send_nowhere(void *arg, uint32_t peer, const uint8_t *head,
                         const void *data, size_t len, bool lasts)
{
    uint8_t sum = 0;

    (void)arg, (void)peer, (void)lasts;
    for (size_t i = 0; i < len; i++)
        sum ^= ((const uint8_t *)data)[i];
    if (head[0] != 1 && sum == 0)
        abort();
}

static void open_some(struct impi_rma_win *win, struct impi_rma_op *op,
                      void *result)
{
    struct impi_rma_args a = {
        .kind = IMPI_RMA_GET, .target = 1, .len = 16, .result = result};

    impi_rma_start(win, &a, op);
    a.kind = IMPI_RMA_PUT;
    a.data = result;
    impi_rma_start(win, &a, NULL);
    impi_rma_flush(win, 1);
    impi_rma_lock(win, 2, IMPI_RMA_EXCLUSIVE, true);
    a.target = 2;
    impi_rma_start(win, &a, NULL);
    impi_rma_flush(win, 2);
    impi_rma_lock(win, 0, IMPI_RMA_EXCLUSIVE, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct impi_rma_ops ops = {.early = true,
                                            .send = send_nowhere};
    static const uint32_t world[N] = {0, 1, 2};
    static uint8_t mem[BYTES];
    struct impi_rma *rma = impi_rma_create(0, N, &ops, NULL);
    struct impi_rma_win *win =
        rma ? impi_rma_win_create(rma, 8, world, N, 0) : NULL;
    struct impi_rma_op op = {0};
    uint8_t result[16] = {0};
    struct errbuf err;

    if (!win || impi_rma_win_memory(win, mem, sizeof(mem)) < 0)
        abort();
    open_some(win, &op, result);
    if (size > 0 && data[0] & 0x80) /* the own lock is free, or not */
        impi_rma_unlock(win, 0);
    while (size >= 3) {
        size_t len = (size_t)data[1] << 8 | data[2];
        uint32_t peer = data[0] % (N + 1);

        data += 3;
        size -= 3;
        len = len < size ? len : size;
        if (impi_rma_input(rma, peer, data, len, &err) < 0)
            break;
        data += len;
        size -= len;
    }
    impi_rma_destroy(rma);
    return 0;
}
