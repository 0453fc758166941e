/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames of agents, as the server reads them; PUTs go to the rendezvous, and
 * what children send up the tree to an agent above them.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "impi/agent_merge.h"
#include "impi/agent_tree.h"
#include "impi/agent_wire.h"
#include "impi/rendezvous.h"

static void walk(const struct agent_msg *m, struct rendezvous *r)
{
    struct rendezvous_result result;
    struct agent_blob blob;
    struct be_reader walker;

    if ((m->type == AGENT_PUT || m->type == AGENT_GATHER) &&
        rendezvous_put(r, m->put.index % 3, &m->put, m->type == AGENT_GATHER,
                       &result, NULL) == 1)
        rendezvous_result_free(&result);
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

/* Agent 0 of 9 and fan-out 2 is a child of the root with two children. */
static void up(void *arg, bool to_parent, const void *frame, size_t len)
{
    struct agent_msg m;

    if (agent_msg_decode(&m, frame, len, NULL) != (ssize_t)len ||
        m.type != AGENT_MERGED)
        abort();
}

static void from_below(const struct agent_msg *m, struct agent_merge *merge,
                       uint64_t now)
{
    if (m->type == AGENT_MERGED)
        agent_merge_child(merge, 2 + m->merged.expected % 2, &m->merged, now,
                          NULL);
    else if (m->type == AGENT_PUT)
        agent_merge_put(merge, &m->put, false, NULL, now);
    else if (m->type == AGENT_GOT)
        agent_merge_forget(merge, m->got.key);
    else if (m->type == AGENT_BYE)
        agent_merge_gone(merge, 2);
    else if (m->type == AGENT_LEAVING)
        agent_merge_leave(merge);
    agent_merge_tick(merge, now);
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
    struct agent_merge *merge = agent_merge_create(0, 9, 2, up, NULL);
    struct agent_msg m;
    struct errbuf err;
    uint64_t now = 0;
    ssize_t n;

    for (uint32_t child = 2; merge && child < 4; child++)
        agent_merge_attached(merge, child);
    while (r && merge && (n = agent_msg_decode(&m, data, size, &err)) > 0) {
        encode_again(&m, data, (size_t)n);
        walk(&m, r);
        from_below(&m, merge, now++);
        data += n;
        size -= (size_t)n;
    }
    rendezvous_destroy(r);
    agent_merge_destroy(merge);
    return 0;
}
