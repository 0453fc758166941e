/* SPDX-License-Identifier: BSD-3-Clause
 * The start of 131 072 ranks, with the engines of impi-server, impid and the
 * processes: what goes through impi-server and what is kept, printed as a table
 * (doc/bench.md).
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi_kept.h"

#define FENCE_BYTES 200 /* about what UCX has to say of itself */

static void print_by_tree(const struct through *x)
{
    print_message("by the tree: impi-server takes %" PRIu64
                  " messages with %.1f MB, gives %" PRIu64
                  " with %.1f MB; its busiest child takes %" PRIu64
                  " with %.1f MB, gives %" PRIu64 " with %.1f MB\n",
                  x->merged_in, (double)x->merged_bytes / 1e6, x->tree_messages,
                  (double)x->tree_bytes / 1e6, x->inner_in,
                  (double)x->inner_bytes_in / 1e6, x->inner_messages,
                  (double)x->inner_bytes / 1e6);
}

/* Long contributions go in pieces. */
static void fence_is_within_bounds(const struct through *x)
{
    uint64_t pieces =
        CLIENTS * SF_AGENT_FANOUT + 2 * x->merged_bytes / SF_AGENT_HELD_MAX;

    assert_true(x->merged_in <= pieces);
    assert_true(x->inner_in <= pieces);
    assert_true(x->tree_messages <= CLIENTS * SF_AGENT_FANOUT);
}

/* However ranks are dealt out to nodes. */
static void in_turns_a_node_keeps_no_more(struct step *s)
{
    struct kept kept;

    step_deal(&s->world, true);
    kept = step_kept(s);
    print_message("dealt out in turns a node keeps %.2f MB for all, and %.2f "
                  "MB of impid's own\n",
                  (double)kept.table / 1e6, (double)kept.agent / 1e6);
    assert_true(kept.table + kept.agent <= 4u * 1000 * 1000);
}

static void start(uint32_t nodes)
{
    struct through *x;
    struct kept kept;
    struct step s;

    step_start(&s, nodes);
    x = &s.through;
    kept = step_kept(&s);
    print_message("%u ranks, %4u nodes: impi-server takes %" PRIu64
                  " messages with %.1f MB, gives %" PRIu64
                  " with %.1f MB (%.2f MB per node); a node keeps %.2f MB "
                  "for all, and %.2f MB of impid's own, a rank %.1f KB\n",
                  RANKS, nodes, x->messages_in, (double)x->bytes_in / 1e6,
                  x->messages_out, (double)x->bytes_out / 1e6,
                  (double)x->bytes_out / nodes / 1e6, (double)kept.table / 1e6,
                  (double)kept.agent / 1e6, (double)kept.rank / 1024);
    print_by_tree(x);
    /* each result once per child, and where it goes to one agent once */
    assert_true(x->tree_messages <= (1 + CLIENTS) * SF_AGENT_FANOUT + CLIENTS);
    assert_true(x->inner_messages <= (1 + CLIENTS) * SF_AGENT_FANOUT);
    assert_true(x->inner_bytes <= x->tree_bytes);
    /* each key once per child, however many nodes there are */
    assert_true(x->merged_in <= (1 + 2 * CLIENTS) * SF_AGENT_FANOUT);
    assert_true(x->inner_in <= (1 + 2 * CLIENTS) * SF_AGENT_FANOUT);
    assert_true(x->merged_bytes <= x->bytes_in * 11 / 10);
    assert_true(kept.table + kept.agent <= 4u * 1000 * 1000);
    assert_true(kept.rank <= 64 * 1024);
    /* the world once per node, libraries as runs, records only to the first */
    assert_true(x->bytes_out / nodes <= 10 * RANKS + 200 * nodes);
    step_fence(&s, FENCE_BYTES);
    print_message("a fence with %u bytes per rank: straight %" PRIu64
                  " messages with %.1f MB\n",
                  FENCE_BYTES, x->messages_in, (double)x->bytes_in / 1e6);
    print_by_tree(x);
    fence_is_within_bounds(x);
    in_turns_a_node_keeps_no_more(&s);
    step_free(&s);
}

static void a_step_of_2048_nodes_starts_within_its_bounds(void **state)
{
    start(2048);
}

static void a_step_of_128_nodes_starts_within_its_bounds(void **state)
{
    start(128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_of_2048_nodes_starts_within_its_bounds),
        cmocka_unit_test(a_step_of_128_nodes_starts_within_its_bounds),
    };

    return cmocka_run_group_tests_name("impi_scale", tests, NULL, NULL);
}
