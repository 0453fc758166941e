/* SPDX-License-Identifier: BSD-3-Clause
 * One process says the input; a barrier is answered with the input as the
 * blob of another node, or with its own.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "pmi/pmi.h"

static const uint8_t *input;
static size_t input_len;
static struct pmi *pmi;

static void on_reply(void *arg, uint32_t local, const char *line, size_t len)
{
}

static void on_barrier(void *arg, const void *blob, size_t len)
{
    struct pmi_blob blobs[2] = {{blob, len}, {input, input_len}};

    if (pmi_barrier_done(pmi, &blobs[1], 1, NULL) < 0)
        pmi_barrier_done(pmi, blobs, 1, NULL);
}

static void on_abort(void *arg, uint32_t local, int code)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pmi_ops ops = {on_reply, on_barrier, on_abort};
    struct pmi_config config = {.kvsname = "kvs_0",
                                .mapping = "(vector,(0,1,1))",
                                .size = 1,
                                .nlocal = 1,
                                .universe = 1};

    pmi = pmi_create(&config, &ops, NULL);
    if (!pmi)
        return 0;
    input = data;
    input_len = size;
    pmi_input(pmi, 0, data, size, NULL);
    pmi_destroy(pmi);
    return 0;
}
