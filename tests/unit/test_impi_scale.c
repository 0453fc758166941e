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

#include "impi/agent_tree.h"
#include "impi/p2p.h"
#include "impi/rendezvous.h"
#include "impi/table.h"

#define RANKS 131072u
#define CLIENTS 2u
#define RECORD_SIZE 28 /* of a process, see impid_join.c */

/* What impi-server's rendezvous takes and gives. */
struct through {
    uint64_t messages_in, bytes_in, messages_out, bytes_out;
    /* the same results by the tree, and of its busiest inner agent */
    uint64_t tree_messages, tree_bytes, inner_messages, inner_bytes;
};

struct step {
    struct impi_world world; /* blocks of ranks per node, of nodes per client */
    struct rendezvous *rendezvous;
    struct agent_tree *tree; /* all have attached */
    struct through through;
};

static void step_init(struct step *s, uint32_t nodes)
{
    struct impi_world *w = &s->world;

    memset(s, 0, sizeof(*s));
    assert_int_equal(impi_world_alloc(w, nodes, RANKS), 0);
    w->maxdatalen = IMPI_OWN_MAXDATALEN;
    w->tagub = INT32_MAX;
    w->ackmark = IMPI_OWN_ACKMARK;
    w->hiwater = IMPI_OWN_HIWATER;
    w->flags = IMPI_WORLD_EXTENDED | IMPI_WORLD_FLAT;
    w->nclients = CLIENTS;
    for (uint32_t h = 0; h < nodes; h++)
        w->hosts[h] = (struct impi_host){.client = h * CLIENTS / nodes,
                                         .nprocs = RANKS / nodes};
    for (uint32_t r = 0; r < RANKS; r++) {
        struct impi_proc *p = &w->procs[r];

        p->host = r / (RANKS / nodes);
        p->client = w->hosts[p->host].client;
        p->pid = 10000 + r % (RANKS / nodes);
        p->port = (uint16_t)(32768 + r % 28000);
        p->cpus = (uint16_t)(RANKS / nodes);
        p->hostid[14] = (uint8_t)(p->host >> 8);
        p->hostid[15] = (uint8_t)p->host;
        memcpy(p->addr, p->hostid, sizeof(p->addr));
    }
    s->rendezvous = rendezvous_create();
    assert_non_null(s->rendezvous);
    s->tree = agent_tree_create(nodes, SF_AGENT_FANOUT);
    assert_non_null(s->tree);
    for (uint32_t i = 0; i < nodes; i++) {
        struct errbuf err;
        uint32_t first;

        if (agent_tree_children(i, nodes, SF_AGENT_FANOUT, &first) > 0)
            assert_int_equal(agent_tree_listens(s->tree, i, &err), 0);
        if (i >= SF_AGENT_FANOUT)
            assert_int_equal(agent_tree_attached(s->tree, i, &err), 0);
    }
}

static void step_free(struct step *s)
{
    rendezvous_destroy(s->rendezvous);
    agent_tree_destroy(s->tree);
    impi_world_free(&s->world);
}

/* Agent 0 has as much below it as any: what it passes on. */
static void pass_on(struct step *s, const uint8_t *set, size_t len)
{
    uint32_t nodes = s->world.nhosts, first, n;

    n = agent_tree_children(0, nodes, SF_AGENT_FANOUT, &first);
    for (uint32_t c = first; c < first + n; c++) {
        if (!agent_set_reaches(set, c, nodes, SF_AGENT_FANOUT))
            continue;
        s->through.inner_messages++;
        s->through.inner_bytes += len;
    }
}

static void by_tree(struct step *s, const struct rendezvous_result *r)
{
    size_t len = bytebuf_len(&r->frame), head;
    struct agent_plan plan;
    struct bytebuf b;

    bytebuf_init(&b, SF_AGENT_FRAME_MAX);
    assert_int_equal(agent_tree_plan(s->tree, r->agents, r->nagents, &plan), 0);
    for (uint32_t i = 0; i < plan.n; i++) {
        const uint8_t *set = plan.ways[i].set;

        if (set)
            agent_spread_begin(&b, set, AGENT_SET_SIZE(s->world.nhosts), len);
        assert_false(b.bad);
        head = bytebuf_len(&b);
        bytebuf_consume(&b, head);
        s->through.tree_messages++;
        s->through.tree_bytes += head + len;
        if (set && plan.ways[i].agent == 0)
            pass_on(s, set, head + len);
    }
    bytebuf_free(&b);
    agent_plan_free(&plan);
}

/* first: the agent that contributes index 0 */
static void put(struct step *s, const char *key, uint32_t first, uint32_t index,
                uint32_t expected, const void *blob, size_t len, bool gather)
{
    struct agent_msg m = {.type = gather ? AGENT_GATHER : AGENT_PUT};
    struct rendezvous_result result;
    struct errbuf err = {""};
    struct bytebuf frame;
    int rc;

    snprintf(m.put.key, sizeof(m.put.key), "%s", key);
    m.put.index = index;
    m.put.expected = expected;
    m.put.blob = (struct agent_blob){blob, (uint32_t)len};
    bytebuf_init(&frame, SF_AGENT_FRAME_MAX);
    assert_int_equal(agent_msg_encode(&frame, &m), 0);
    s->through.messages_in++;
    s->through.bytes_in += bytebuf_len(&frame);
    bytebuf_free(&frame);
    rc = rendezvous_put(s->rendezvous, first + index, &m.put, gather, &result,
                        &err);
    assert_int_equal(rc, index + 1 == expected ? 1 : 0);
    if (rc == 0)
        return;
    s->through.messages_out += result.nagents;
    s->through.bytes_out += result.nagents * bytebuf_len(&result.frame);
    by_tree(s, &result);
    rendezvous_result_free(&result);
}

/* node name, component, one run of tasks */
static void families(struct step *s)
{
    const uint8_t blob[2 + 8 + 4 + 12] = {0};

    for (uint32_t n = 0; n < s->world.nhosts; n++)
        put(s, "family.0", 0, n, s->world.nhosts, blob, sizeof(blob), false);
}

static void client_joins(struct step *s, uint32_t client)
{
    uint32_t nhosts = s->world.nhosts / CLIENTS;
    size_t len = 2 + RANKS / s->world.nhosts * RECORD_SIZE, worldlen;
    uint8_t *records = calloc(1, len), *world;
    char key[32];

    assert_non_null(records);
    assert_int_equal(impi_world_encode(&s->world, &world, &worldlen), 0);
    snprintf(key, sizeof(key), "join.0.%u", client);
    for (uint32_t h = 0; h < nhosts; h++)
        put(s, key, client * nhosts, h, nhosts, records, len, true);
    snprintf(key, sizeof(key), "world.0.%u", client);
    put(s, key, client * nhosts, 0, nhosts, world, worldlen, false);
    for (uint32_t h = 1; h < nhosts; h++)
        put(s, key, client * nhosts, h, nhosts, NULL, 0, false);
    free(records);
    free(world);
}

/* Bytes of this process's own memory that it has touched. */
static long own_memory(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kb = -1;

    while (f && fgets(line, sizeof(line), f) && kb < 0)
        sscanf(line, "Anonymous: %ld kB", &kb);
    if (f)
        fclose(f);
    return kb < 0 ? -1 : kb * 1024;
}

/* What the message engine of one rank takes before it talks. */
static long rank_memory(const struct impi_world *w, const struct impi_table *t)
{
    static const struct impi_p2p_ops ops;
    struct impi_world view = *w;
    struct impi_p2p *p2p;
    long before = own_memory(), after;

    view.hosts = NULL;
    view.procs = NULL;
    view.table = t;
    p2p = impi_p2p_create(&view, 7, &ops, NULL);
    assert_non_null(p2p);
    after = own_memory();
    impi_p2p_destroy(p2p);
    return before < 0 ? -1 : after - before;
}

static void start(uint32_t nodes)
{
    const uint32_t client = 0;
    struct errbuf err = {""};
    struct impi_table t;
    struct through *x;
    struct step s;
    uint8_t *image;
    size_t len;
    long rank;

    step_init(&s, nodes);
    x = &s.through;
    families(&s);
    for (uint32_t c = 0; c < CLIENTS; c++)
        client_joins(&s, c);
    assert_int_equal(rendezvous_open(s.rendezvous), 0);
    assert_int_equal(impi_table_build(&image, &len, &s.world, &client, 1), 0);
    assert_int_equal(impi_table_open(&t, &s.world, image, len, &err), 0);
    rank = rank_memory(&s.world, &t);
    print_message("%u ranks, %4u nodes: impi-server takes %" PRIu64
                  " messages with %.1f MB, gives %" PRIu64
                  " with %.1f MB (%.2f MB per node); a node keeps %.2f MB, a "
                  "rank %ld KB\n",
                  RANKS, nodes, x->messages_in, (double)x->bytes_in / 1e6,
                  x->messages_out, (double)x->bytes_out / 1e6,
                  (double)x->bytes_out / nodes / 1e6, (double)len / 1e6,
                  rank / 1024);
    print_message("by the tree: impi-server gives %" PRIu64
                  " messages with %.1f MB, its busiest child %" PRIu64
                  " with %.1f MB\n",
                  x->tree_messages, (double)x->tree_bytes / 1e6,
                  x->inner_messages, (double)x->inner_bytes / 1e6);
    /* each result once per child, and where it goes to one agent once */
    assert_true(x->tree_messages <= (1 + CLIENTS) * SF_AGENT_FANOUT + CLIENTS);
    assert_true(x->inner_messages <= (1 + CLIENTS) * SF_AGENT_FANOUT);
    assert_true(x->inner_bytes <= x->tree_bytes);
    assert_true(len <= 4u * 1000 * 1000);
    assert_true(rank <= 64 * 1024);
    /* the world once per node, libraries as runs, records only to the first */
    assert_true(x->bytes_out / nodes <= 10 * RANKS + 200 * nodes);
    free(image);
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
