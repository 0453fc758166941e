/* SPDX-License-Identifier: BSD-3-Clause
 * The table of a world, as a node's processes read it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/sealed.h"
#include "impi/table.h"

/* `nodes` nodes of `each` ranks, dealt out to the nodes in turn or in blocks;
 * every other node is of another client. */
static void make(struct impi_world *w, uint32_t nodes, uint32_t each,
                 bool cyclic)
{
    memset(w, 0, sizeof(*w));
    assert_int_equal(impi_world_alloc(w, nodes, nodes * each), 0);
    w->maxdatalen = 1;
    w->tagub = INT32_MAX;
    w->ackmark = w->hiwater = 1;
    w->nclients = nodes > 1 ? 2 : 1;
    for (uint32_t h = 0; h < nodes; h++) {
        w->hosts[h] = (struct impi_host){.client = h % 2, .nprocs = each};
        w->hosts[h].addr[15] = (uint8_t)h;
    }
    for (uint32_t r = 0; r < nodes * each; r++) {
        struct impi_proc *p = &w->procs[r];

        p->host = cyclic ? r % nodes : r / each;
        p->client = p->host % 2;
        p->pid = 1000 + r;
        p->port = (uint16_t)(30000 + r);
        p->cpus = (uint16_t)(each - p->client);
        p->hostid[14] = (uint8_t)(p->host >> 8);
        p->hostid[15] = (uint8_t)p->host;
        memcpy(p->addr, p->hostid, sizeof(p->addr));
    }
}

/* What a process has: the head, and the image. */
struct view {
    struct impi_world w;
    struct impi_table t;
    uint8_t *image;
    size_t len;
};

static void view_open(struct view *v, const struct impi_world *w,
                      const uint32_t *clients, uint32_t n)
{
    uint8_t head[IMPI_WORLD_HEAD_SIZE];
    struct errbuf err = {""};

    impi_world_encode_head(w, head);
    assert_int_equal(impi_world_decode_head(&v->w, head, sizeof(head), &err),
                     0);
    assert_int_equal(impi_table_build(&v->image, &v->len, w, clients, n), 0);
    assert_int_equal(impi_table_open(&v->t, &v->w, v->image, v->len, &err), 0);
    v->w.table = &v->t;
}

static void assert_same_proc(const struct impi_proc *a,
                             const struct impi_proc *b)
{
    assert_int_equal(a->client, b->client);
    assert_int_equal(a->host, b->host);
    assert_true(a->pid == b->pid);
    assert_int_equal(a->port, b->port);
    assert_int_equal(a->cpus, b->cpus);
    assert_memory_equal(a->hostid, b->hostid, IMPI_HOSTID_SIZE);
    assert_memory_equal(a->addr, b->addr, IMPI_HOSTID_SIZE);
}

static void check_lookups(uint32_t nodes, uint32_t each, bool cyclic)
{
    uint32_t clients[2] = {1, 0};
    struct impi_world w;
    struct view v;

    make(&w, nodes, each, cyclic);
    w.procs[1].pid |= UINT64_C(0x1234) << 32;
    view_open(&v, &w, clients, w.nclients);
    for (uint32_t r = 0; r < w.nprocs; r++) {
        struct impi_proc p = impi_world_proc(&v.w, r);

        assert_same_proc(&p, &w.procs[r]);
        assert_int_equal(impi_world_client(&v.w, r), w.procs[r].client);
        assert_int_equal(v.t.identity[r], r);
    }
    assert_int_equal(impi_world_host(&v.w, nodes - 1)->addr[15],
                     w.hosts[nodes - 1].addr[15]);
    free(v.image);
    impi_world_free(&w);
}

static void every_process_is_found_as_it_was(void **state)
{
    check_lookups(6, 5, false);
    check_lookups(6, 5, true);
    check_lookups(300, 2, true);
}

/* Each process is a place by itself. */
static void more_places_than_16_bits_count(void **state)
{
    const uint32_t client = 0;
    struct impi_world w;
    struct view v;

    make(&w, 2, 35000, true);
    for (uint32_t r = 0; r < w.nprocs; r++)
        w.procs[r].pid |= (uint64_t)r << 32;
    view_open(&v, &w, &client, 1);
    assert_int_equal(v.t.nplaces, w.nprocs);
    for (uint32_t r = 0; r < w.nprocs; r++) {
        struct impi_proc p = impi_world_proc(&v.w, r);

        assert_same_proc(&p, &w.procs[r]);
    }
    free(v.image);
    impi_world_free(&w);
}

static void each_client_has_the_ranks_of_its_native_world(void **state)
{
    const uint32_t client = 1;
    const int *native;
    struct impi_world w;
    struct view v;
    int n = 0;

    make(&w, 4, 3, true);
    view_open(&v, &w, &client, 1);
    assert_null(impi_table_native(&v.t, 0));
    native = impi_table_native(&v.t, 1);
    for (uint32_t r = 0; r < w.nprocs; r++)
        assert_int_equal(native[r], w.procs[r].client == 1 ? n++ : -1);
    assert_int_equal(v.t.group.nmasters, 2);
    assert_int_equal(impi_group_num_local_to_rank(&v.t.group, 1), 6);
    free(v.image);
    impi_world_free(&w);
}

static void machines_count_all_their_processes(void **state)
{
    const uint32_t client = 0;
    struct impi_world w;
    struct view v;

    make(&w, 4, 3, false);
    for (uint32_t r = 0; r < 6; r++) /* two nodes that are one machine */
        w.procs[r].hostid[15] = 7;
    view_open(&v, &w, &client, 1);
    assert_int_equal(impi_table_place(&v.t, 0)->neighbours, 6);
    assert_int_equal(impi_table_place(&v.t, 5)->neighbours, 6);
    assert_int_equal(impi_table_place(&v.t, 6)->neighbours, 3);
    free(v.image);
    impi_world_free(&w);
}

/* Whatever single word is wrong, no later look goes astray. */
static void an_image_with_any_word_wrong_is_refused_or_harmless(void **state)
{
    const uint32_t client = 0;
    struct impi_world w;
    struct impi_table t;
    struct view v;

    make(&w, 4, 3, true);
    view_open(&v, &w, &client, 1);
    for (size_t at = 0; at + 4 <= v.len; at += 4) {
        uint32_t was, all = UINT32_MAX;

        memcpy(&was, v.image + at, 4);
        memcpy(v.image + at, &all, 4);
        if (impi_table_open(&t, &v.w, v.image, v.len, NULL) == 0) {
            v.w.table = &t;
            for (uint32_t r = 0; r < w.nprocs; r++)
                impi_world_host(&v.w, impi_world_proc(&v.w, r).host);
        }
        memcpy(v.image + at, &was, 4);
    }
    for (size_t cut = 0; cut < v.len; cut++)
        assert_int_equal(impi_table_open(&t, &v.w, v.image, cut, NULL), -1);
    v.w.nprocs++;
    assert_int_equal(impi_table_open(&t, &v.w, v.image, v.len, NULL), -1);
    assert_int_equal(errno, EPROTO);
    free(v.image);
    impi_world_free(&w);
}

/* The largest steps: of ours 4 MB per node at most. */
static void a_node_of_131072_ranks_keeps_4_megabytes(void **state)
{
    static const uint32_t nodes[] = {2048, 128};

    for (int i = 0; i < 2; i++) {
        const uint32_t client = 0;
        struct impi_world w;
        uint8_t *wire;
        struct view v;
        size_t len;

        make(&w, nodes[i], 131072 / nodes[i], false);
        view_open(&v, &w, &client, 1);
        assert_true(v.len <= 3400u * 1000);
        assert_int_equal(impi_world_encode(&w, &wire, &len), 0);
        assert_true(len <= 1000 * 1000 + (size_t)nodes[i] * 100);
        print_message("%u nodes: table %zu bytes, on the wire %zu\n", nodes[i],
                      v.len, len);
        free(wire);
        free(v.image);
        impi_world_free(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_process_is_found_as_it_was),
        cmocka_unit_test(more_places_than_16_bits_count),
        cmocka_unit_test(each_client_has_the_ranks_of_its_native_world),
        cmocka_unit_test(machines_count_all_their_processes),
        cmocka_unit_test(an_image_with_any_word_wrong_is_refused_or_harmless),
        cmocka_unit_test(a_node_of_131072_ranks_keeps_4_megabytes),
    };

    return cmocka_run_group_tests_name("impi_table", tests, NULL, NULL);
}
