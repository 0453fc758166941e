/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames of agents, as the server reads them; PUTs go to the rendezvous.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "impi/agent_tree.h"
#include "impi/agent_wire.h"
#include "impi/rendezvous.h"

static void walk(const struct agent_msg *m, struct rendezvous *r)
{
    struct rendezvous_result result;
    struct agent_blob blob;
    struct be_reader walker;
    int32_t rank, status;

    if ((m->type == AGENT_PUT || m->type == AGENT_GATHER) &&
        rendezvous_put(r, m->put.index % 3, &m->put, m->type == AGENT_GATHER,
                       &result, NULL) == 1)
        rendezvous_result_free(&result);
    for (uint32_t i = 0; m->type == AGENT_EXIT && i < m->exit.count; i++)
        agent_exit_at(&m->exit, i, &rank, &status);
    if (m->type == AGENT_SPREAD && m->spread.set.len > 0)
        for (uint32_t top = 0; top < 3; top++)
            agent_set_reaches(m->spread.set.data, top, m->spread.set.len * 8,
                              2);
    if (m->type == AGENT_GOT) {
        agent_blobs_init(&walker, &m->got);
        while (agent_blobs_next(&walker, &blob))
            ;
    }
}

/* What was decoded encodes to the same bytes. */
static void encode_again(const struct agent_msg *m, const uint8_t *data,
                         size_t len)
{
    struct bytebuf b;

    bytebuf_init(&b, SF_AGENT_FRAME_MAX + AGENT_HEADER_SIZE);
    if (agent_msg_encode(&b, m) < 0 || bytebuf_len(&b) != len ||
        __builtin_memcmp(bytebuf_data(&b), data, len) != 0)
        abort();
    bytebuf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rendezvous *r = rendezvous_create();
    struct agent_msg m;
    struct errbuf err;
    ssize_t n;

    while (r && (n = agent_msg_decode(&m, data, size, &err)) > 0) {
        encode_again(&m, data, (size_t)n);
        walk(&m, r);
        data += n;
        size -= (size_t)n;
    }
    rendezvous_destroy(r);
    return 0;
}
