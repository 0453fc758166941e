/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the busiest process sends and takes when 131 072 ranks start on so many
 * nodes, and when they fence, by the agents' tree and straight, and what a node
 * and a rank keep: lines of "NAME OURS REFERENCE".
 *
 *     impi_tree NODES
 */
#include <inttypes.h>

#include "../tests/unit/impi_kept.h"
#include "base/number.h"

int main(int argc, char **argv)
{
    struct through *x;
    struct kept kept;
    struct step s;
    uint32_t nodes;

    if (argc != 2 || number_parse(&nodes, argv[1], CLIENTS, RANKS) < 0 ||
        RANKS % nodes != 0) {
        fprintf(stderr, "usage: impi_tree NODES, a power of two\n");
        return 2;
    }
    step_start(&s, nodes);
    x = &s.through;
    printf("given %" PRIu64 " %" PRIu64 "\n", x->tree_messages,
           x->messages_out);
    printf("given_mb %.2f %.2f\n", (double)x->tree_bytes / 1e6,
           (double)x->bytes_out / 1e6);
    printf("inner_mb %.2f %.2f\n", (double)x->inner_bytes / 1e6,
           (double)x->tree_bytes / 1e6);
    printf("taken %" PRIu64 " %u\n", x->merged_in,
           (2 * CLIENTS + 1) * SF_AGENT_FANOUT);
    printf("taken_all %" PRIu64 " %" PRIu64 "\n", x->merged_in, x->messages_in);
    printf("inner_taken %" PRIu64 " %u\n", x->inner_in,
           (2 * CLIENTS + 1) * SF_AGENT_FANOUT);
    kept = step_kept(&s);
    printf("node_mb %.2f 4\n", (double)(kept.table + kept.agent) / 1e6);
    printf("rank_kb %.1f 64\n", (double)kept.rank / 1024);
    printf("rank_mb %.3f\n", (double)kept.rank / 1e6);
    step_deal(&s.world, true);
    kept = step_kept(&s);
    printf("node_turns_mb %.2f 4\n", (double)(kept.table + kept.agent) / 1e6);
    step_fence(&s, 200);
    printf("fence %" PRIu64 " %" PRIu64 "\n", x->merged_in, x->messages_in);
    step_free(&s);
    return 0;
}
