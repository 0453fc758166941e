/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules of blocks, of scans and of intercommunicators, each run by a
 * simulation of all processes in which messages between two of them are taken
 * in order, by tag.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/constants.h"
#include "impi/schedule.h"

#define RANKS 10
#define DEEP 8

/* A vector is a text; the operation puts texts one behind the other. */
struct text {
    char s[RANKS + 2];
};

struct wire {
    struct text text[DEEP];
    int32_t tag[DEEP];
    int n;
};

struct process {
    struct impi_schedule s;
    size_t at, end; /* of the row under way */
    bool got[4 * RANKS];
    struct text buf[IMPI_NBUFS], out[2 * RANKS], in[2 * RANKS];
    bool single_out, single_in;
};

static struct sim {
    struct impi_group g;
    struct process p[RANKS];
    struct wire wire[RANKS][RANKS];
    uint32_t size;
    int messages, cross; /* all; between clients */
} sim;

static void begin(uint32_t size, uint32_t nclients)
{
    uint32_t client[RANKS] = {0};

    memset(&sim, 0, sizeof(sim));
    sim.size = size;
    for (uint32_t i = 0; i < size; i++)
        client[i] = i % nclients;
    assert_int_equal(impi_group_init(&sim.g, client, size), 0);
    for (uint32_t r = 0; r < size; r++)
        for (uint32_t i = 0; i < 2 * RANKS; i++)
            sprintf(sim.p[r].out[i].s, "%c%c", 'a' + r, '0' + i % 10);
}

static struct text *text_of(struct process *p, const struct impi_step *s)
{
    if (s->buf == IMPI_BUF_OUT)
        return &p->out[p->single_out ? 0 : s->block];
    if (s->buf == IMPI_BUF_IN)
        return &p->in[p->single_in ? 0 : s->block];
    return &p->buf[s->buf];
}

static void put(uint32_t from, uint32_t to, const struct text *t, int32_t tag)
{
    struct wire *w = &sim.wire[from][to];

    assert_true(w->n < DEEP);
    w->text[w->n] = *t;
    w->tag[w->n++] = tag;
    sim.messages++;
    sim.cross += !impi_group_are_local(&sim.g, from, to);
}

static bool take(uint32_t from, uint32_t to, struct text *t, int32_t tag)
{
    struct wire *w = &sim.wire[from][to];

    for (int i = 0; i < w->n; i++) {
        if (w->tag[i] != tag)
            continue;
        *t = w->text[i];
        w->n--;
        memmove(&w->text[i], &w->text[i + 1], (w->n - i) * sizeof(*t));
        memmove(&w->tag[i], &w->tag[i + 1], (w->n - i) * sizeof(tag));
        return true;
    }
    return false;
}

static void compute(struct process *p, const struct impi_step *s)
{
    struct text t = *text_of(p, s);

    if (s->kind == IMPI_STEP_LOCAL_BCAST)
        return; /* clients of one process, as below */
    if (s->kind == IMPI_STEP_LOCAL_REDUCE)
        t = p->buf[IMPI_BUF_OWN];
    else if (s->kind == IMPI_STEP_COMBINE)
        strcat(t.s, p->buf[IMPI_BUF_ACC].s);
    else if (s->kind == IMPI_STEP_COMBINE_UNDER)
        strcat(strcpy(t.s, p->buf[IMPI_BUF_ACC].s), text_of(p, s)->s);
    else
        assert_int_equal(s->kind, IMPI_STEP_COPY);
    p->buf[IMPI_BUF_ACC] = t;
}

static void start_row(uint32_t r)
{
    struct process *p = &sim.p[r];

    p->end = p->at;
    do {
        const struct impi_step *s = &p->s.steps[p->end];

        p->got[p->end - p->at] = s->kind != IMPI_STEP_RECV;
        if (s->kind == IMPI_STEP_SEND)
            put(r, s->rank, text_of(p, s), s->tag);
        else if (s->kind != IMPI_STEP_RECV)
            compute(p, s);
        if (s->kind == IMPI_STEP_SEND || s->kind == IMPI_STEP_RECV)
            assert_int_equal(s->local,
                             impi_group_are_local(&sim.g, r, s->rank));
    } while (p->s.steps[p->end++].more);
}

/* True when anything moved. */
static bool move(uint32_t r)
{
    struct process *p = &sim.p[r];
    bool moved = false, all = true;

    if (p->at == p->end && p->at == p->s.count)
        return false;
    if (p->at == p->end) {
        start_row(r);
        return true;
    }
    for (size_t i = p->at; i < p->end; i++) {
        const struct impi_step *s = &p->s.steps[i];
        bool *got = &p->got[i - p->at];

        if (!*got && take(s->rank, r, text_of(p, s), s->tag))
            *got = moved = true;
        all = all && *got;
    }
    if (all) {
        p->at = p->end;
        moved = true;
    }
    return moved;
}

/* Until nothing moves: all are through and nothing is left over. */
static void run(void)
{
    bool moved;

    do {
        moved = false;
        for (uint32_t r = 0; r < sim.size; r++)
            moved |= move(r);
    } while (moved);
    for (uint32_t r = 0; r < sim.size; r++) {
        assert_int_equal(sim.p[r].at, sim.p[r].s.count);
        impi_schedule_free(&sim.p[r].s);
        for (uint32_t k = 0; k < sim.size; k++)
            assert_int_equal(sim.wire[r][k].n, 0);
    }
    impi_group_free(&sim.g);
}

static void is_letters(const char *s, uint32_t first, uint32_t n, bool order)
{
    uint32_t seen = 0;

    assert_int_equal(strlen(s), n);
    for (uint32_t i = 0; i < n; i++) {
        seen |= 1u << (s[i] - 'a');
        if (order)
            assert_int_equal(s[i], 'a' + first + i);
    }
    assert_int_equal(seen, ((1u << n) - 1) << first);
}

static void is_block(const struct text *t, uint32_t from, uint32_t block)
{
    assert_int_equal(t->s[0], 'a' + from);
    assert_int_equal(t->s[1], '0' + block);
}

/* ---- one communicator ---- */

#define EACH_WORLD                                                             \
    for (uint32_t size = 1; size <= 8; size++)                                 \
        for (uint32_t nclients = 1; nclients <= size; nclients++)

/* All messages between clients bear that tag. */
static void tags_are(uint32_t size, int32_t tag)
{
    for (uint32_t r = 0; r < size; r++) {
        const struct impi_schedule *s = &sim.p[r].s;

        for (size_t i = 0; i < s->count; i++) {
            if (s->steps[i].kind == IMPI_STEP_SEND ||
                s->steps[i].kind == IMPI_STEP_RECV)
                assert_int_equal(s->steps[i].tag, tag);
        }
    }
}

static void blocks_go_straight_to_and_from_any_root(void **state)
{
    EACH_WORLD for (uint32_t root = 0; root < size; root++)
    {
        begin(size, nclients);
        for (uint32_t r = 0; r < size; r++) {
            sim.p[r].single_out = true;
            assert_int_equal(impi_schedule_gather(&sim.p[r].s, &sim.g, r, root,
                                                  true, IMPI_GATHER_TAG),
                             0);
        }
        run();
        assert_int_equal(sim.messages, size);
        for (uint32_t r = 0; r < size; r++)
            is_block(&sim.p[root].in[r], r, 0);
        begin(size, nclients);
        for (uint32_t r = 0; r < size; r++) {
            sim.p[r].single_in = true;
            assert_int_equal(impi_schedule_scatter(&sim.p[r].s, &sim.g, r, root,
                                                   r % 2, IMPI_SCATTERV_TAG),
                             0);
        }
        run();
        for (uint32_t r = 0; r < size; r++) {
            if (r != root || r % 2)
                is_block(&sim.p[r].in[0], root, r);
        }
    }
}

/* What r has got of rank `from` under number `block`. */
static void is_bundle(uint32_t r, uint32_t block, uint32_t from)
{
    const char *s = sim.p[r].in[block].s;

    if (s[0] != '\0') {
        assert_int_equal(s[0], 'a' + from);
        assert_int_equal(s[1], '0' + block % 10);
    }
}

/* Whoever sends what: between clients there are as few messages as can be,
 * and bundles come from the master that they are named for (Gather), or go to
 * it (Scatter). */
static void try_packed(uint32_t size, uint32_t nclients, uint32_t root, bool up)
{
    struct impi_coll_rules rules = {.maxlinear = 3};

    begin(size, nclients);
    for (uint32_t r = 0; r < size; r++)
        assert_int_equal(
            impi_schedule_packed(&sim.p[r].s, &sim.g, &rules, r, root, up), 0);
    tags_are(size, up ? 130 : 150);
    run();
    assert_int_equal(sim.cross, nclients - 1);
    for (uint32_t r = 0; r < size; r++) {
        /* Rank r is of client r % nclients, whose master has that rank. */
        bool roots = r % nclients == root % nclients;
        uint32_t top = roots ? root : r % nclients;

        if (r != top)
            is_block(&sim.p[up ? top : r].in[r], up ? r : top, r % 10);
        for (uint32_t v = 1; up && v < nclients; v++)
            is_bundle(r, size + v, (root % nclients + v) % nclients);
    }
}

static void im_184_im_186_packed_through_masters(void **state)
{
    EACH_WORLD for (uint32_t root = 0; root < size; root++)
    {
        try_packed(size, nclients, root, true);
        try_packed(size, nclients, root, false);
    }
}

/* A subtree's bundle follows its own client's: the spans of all children and
 * oneself add up. */
static void im_184_bundles_add_up(void **state)
{
    struct impi_coll_rules rules = {.maxlinear = 1};

    for (uint32_t n = 2; n <= RANKS; n++) {
        begin(n, n);
        for (uint32_t v = 0; v < n; v++) {
            uint32_t sum = 1;

            for (uint32_t bit = 1; bit < n && !(v & bit); bit <<= 1)
                if ((v | bit) < n)
                    sum += impi_packed_span(&sim.g, &rules, v | bit);
            assert_int_equal(sum, impi_packed_span(&sim.g, &rules, v));
        }
        impi_group_free(&sim.g);
    }
}

static void im_193_every_block_of_an_alltoall_arrives(void **state)
{
    EACH_WORLD
    {
        begin(size, nclients);
        for (uint32_t r = 0; r < size; r++)
            assert_int_equal(impi_schedule_alltoall(&sim.p[r].s, &sim.g, r,
                                                    true, IMPI_ALLTOALL_TAG),
                             0);
        run();
        for (uint32_t r = 0; r < size; r++)
            for (uint32_t k = 0; k < size; k++)
                is_block(&sim.p[r].in[k], k, r);
    }
}

/* The only step of that kind with block k. */
static const struct impi_step *step_of(uint32_t r, enum impi_step_kind kind,
                                       uint32_t k)
{
    const struct impi_schedule *s = &sim.p[r].s;
    const struct impi_step *found = NULL;

    for (size_t i = 0; i < s->count; i++) {
        if (s->steps[i].kind != kind || s->steps[i].block != k)
            continue;
        assert_null(found);
        found = &s->steps[i];
    }
    assert_non_null(found);
    return found;
}

/* What is for the process at distance d is there after the rounds of d's bits;
 * each round is work, then a row of one receive and one send. */
static void alltoall_by_rounds_brings_every_block_home(void **state)
{
    for (uint32_t n = 1; n <= RANKS; n++) {
        uint32_t rounds = 0;

        begin(n, n);
        while (1u << rounds < n)
            rounds++;
        for (uint32_t r = 0; r < n; r++) {
            const struct impi_schedule *s = &sim.p[r].s;

            assert_int_equal(
                impi_schedule_rounds(&sim.p[r].s, &sim.g, r, IMPI_ALLTOALL_TAG),
                0);
            assert_int_equal(s->count, 3 * rounds + 1);
            for (size_t i = 0; i < s->count; i++) {
                assert_int_equal(s->steps[i].kind == IMPI_STEP_LOCAL_OTHER,
                                 i % 3 == 0);
                assert_int_equal(s->steps[i].more, i % 3 == 1);
            }
        }
        for (uint32_t r = 0; r < n; r++)
            for (uint32_t d = 0; d < n; d++) {
                uint32_t at = r;

                for (uint32_t k = 0; k < rounds; k++) {
                    uint32_t to = step_of(at, IMPI_STEP_SEND, k)->rank;

                    assert_int_equal(step_of(to, IMPI_STEP_RECV, k)->rank, at);
                    if (d >> k & 1)
                        at = to;
                }
                assert_int_equal(at, impi_rounds_ahead(n, r, d));
                assert_int_equal(impi_rounds_behind(n, at, d), r);
            }
        for (uint32_t r = 0; r < n; r++)
            impi_schedule_free(&sim.p[r].s);
        impi_group_free(&sim.g);
    }
}

/* Of eight, in two clients side by side, only the round of the highest bit goes
 * from one to the other. */
static void one_round_of_alltoall_goes_between_clients(void **state)
{
    begin(8, 8);
    for (uint32_t r = 0; r < 8; r++) {
        impi_schedule_rounds(&sim.p[r].s, &sim.g, r, IMPI_ALLTOALL_TAG);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal((step_of(r, IMPI_STEP_SEND, k)->rank ^ r) >= 4,
                             k == 2);
        impi_schedule_free(&sim.p[r].s);
    }
    impi_group_free(&sim.g);
}

/* Among our own, where the masters are a power of two: each sends as often as
 * that has bits, and all have the same bits. */
static void allreduce_by_exchange(void **state)
{
    struct impi_coll_rules rules = {.maxlinear = 4, .exchange = true};

    for (uint32_t n = 1; n <= 8; n++) {
        begin(n, n);
        for (uint32_t r = 0; r < n; r++) {
            sprintf(sim.p[r].buf[IMPI_BUF_OWN].s, "%c", 'a' + r);
            assert_int_equal(
                impi_schedule_allreduce(&sim.p[r].s, &sim.g, &rules, r, true),
                0);
        }
        run();
        if ((n & (n - 1)) == 0) /* else up and down a tree */
            assert_int_equal(sim.messages, n * (uint32_t)impi_cubedim(n));
        for (uint32_t r = 0; r < n; r++) {
            is_letters(sim.p[r].buf[IMPI_BUF_ACC].s, 0, n, false);
            assert_string_equal(sim.p[r].buf[IMPI_BUF_ACC].s,
                                sim.p[0].buf[IMPI_BUF_ACC].s);
        }
    }
}

static void im_190_scan_goes_from_rank_to_rank(void **state)
{
    EACH_WORLD for (int exclusive = 0; exclusive < 2; exclusive++)
    {
        begin(size, nclients);
        for (uint32_t r = 0; r < size; r++) {
            struct process *p = &sim.p[r];

            sprintf(p->buf[exclusive ? IMPI_BUF_ACC : IMPI_BUF_OWN].s, "%c",
                    'a' + r);
            assert_int_equal(exclusive
                                 ? impi_schedule_exscan(&p->s, &sim.g, r)
                                 : impi_schedule_scan(&p->s, &sim.g, r, true),
                             0);
        }
        tags_are(size, 200);
        run();
        for (uint32_t r = 0; r < size; r++) {
            if (exclusive)
                is_letters(sim.p[r].buf[IMPI_BUF_DATA].s, 0, r, true);
            else
                is_letters(sim.p[r].buf[IMPI_BUF_ACC].s, 0, r + 1, true);
        }
    }
}

/* A ring of two: both neighbours are one process, tags tell the ways. */
static void neighbours_that_are_one_process(void **state)
{
    begin(2, 2);
    for (uint32_t r = 0; r < 2; r++) {
        struct impi_neighbour from[2] = {{1 - r, 0, 1}, {1 - r, 1, 0}};
        struct impi_neighbour to[2] = {{1 - r, 0, 0}, {1 - r, 1, 1}};

        assert_int_equal(
            impi_schedule_neighbours(&sim.p[r].s, &sim.g, r, from, 2, to, 2),
            0);
    }
    run();
    for (uint32_t r = 0; r < 2; r++) {
        is_block(&sim.p[r].in[0], 1 - r, 1);
        is_block(&sim.p[r].in[1], 1 - r, 0);
    }
}

/* ---- two groups ---- */

static struct impi_sides sides_of(uint32_t r, uint32_t low, uint32_t size)
{
    struct impi_sides s = {0, low, low, size - low};

    return r < low ? s : (struct impi_sides){low, size - low, 0, low};
}

static enum impi_role role_of(uint32_t r, uint32_t root, uint32_t low)
{
    if (r == root)
        return IMPI_ROLE_ROOT;
    return (r < low) == (root < low) ? IMPI_ROLE_IDLE : IMPI_ROLE_OTHER;
}

#define EACH_PAIR                                                              \
    for (uint32_t size = 2; size <= 8; size++)                                 \
        for (uint32_t nclients = 1; nclients <= 3; nclients++)                 \
            for (uint32_t low = 1; low < size; low++)

static void rooted(uint32_t size, uint32_t low, uint32_t root, int what)
{
    for (uint32_t r = 0; r < size; r++) {
        struct process *p = &sim.p[r];
        struct impi_sides s = sides_of(r, low, size);
        enum impi_role role = role_of(r, root, low);
        int rc = -1;

        sprintf(p->buf[IMPI_BUF_OWN].s, "%c", 'a' + r);
        if (r == root && what == 0)
            strcpy(p->buf[IMPI_BUF_DATA].s, "news");
        p->single_out = r != root;
        p->single_in = r != root;
        if (what == 0)
            rc = impi_schedule_inter_bcast(&p->s, &sim.g, r, &s, role, root);
        else if (what < 3)
            rc = impi_schedule_inter_reduce(&p->s, &sim.g, r, &s, role, root,
                                            what == 1);
        else if (what == 3)
            rc = impi_schedule_inter_gather(&p->s, &sim.g, r, &s, role, root);
        else
            rc = impi_schedule_inter_scatter(&p->s, &sim.g, r, &s, role, root);
        assert_int_equal(rc, 0);
    }
}

static void rooted_between_two_groups(void **state)
{
    EACH_PAIR for (uint32_t root = 0; root < size; root++)
    {
        for (int what = 0; what < 5; what++) {
            struct impi_sides s = sides_of(root, low, size);

            begin(size, nclients);
            rooted(size, low, root, what);
            run();
            if (what == 1 || what == 2)
                is_letters(sim.p[root].buf[IMPI_BUF_DATA].s, s.peer, s.npeers,
                           what == 2);
            for (uint32_t i = 0; i < s.npeers; i++) {
                if (what == 0)
                    assert_string_equal(sim.p[s.peer + i].buf[IMPI_BUF_DATA].s,
                                        "news");
                if (what == 3)
                    is_block(&sim.p[root].in[i], s.peer + i, 0);
                if (what == 4)
                    is_block(&sim.p[s.peer + i].in[0], root, i);
            }
        }
    }
}

static void all_between_two_groups(void **state)
{
    EACH_PAIR for (int commutes = 0; commutes < 2; commutes++)
    {
        begin(size, nclients);
        for (uint32_t r = 0; r < size; r++) {
            struct impi_sides s = sides_of(r, low, size);

            sprintf(sim.p[r].buf[IMPI_BUF_OWN].s, "%c", 'a' + r);
            assert_int_equal(impi_schedule_inter_allreduce(&sim.p[r].s, &sim.g,
                                                           r, &s, commutes),
                             0);
        }
        run();
        for (uint32_t r = 0; r < size; r++) {
            struct impi_sides s = sides_of(r, low, size);

            is_letters(sim.p[r].buf[IMPI_BUF_TMP].s, s.peer, s.npeers,
                       !commutes);
            assert_string_equal(sim.p[r].buf[IMPI_BUF_TMP].s,
                                sim.p[s.first].buf[IMPI_BUF_TMP].s);
        }
        begin(size, nclients);
        for (uint32_t r = 0; r < size; r++) {
            struct impi_sides s = sides_of(r, low, size);

            assert_int_equal(
                impi_schedule_inter_alltoall(&sim.p[r].s, &sim.g, r, &s), 0);
        }
        run();
        for (uint32_t r = 0; r < size; r++) {
            struct impi_sides s = sides_of(r, low, size);

            for (uint32_t i = 0; i < s.npeers; i++)
                is_block(&sim.p[r].in[i], s.peer + i, r - s.first);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_go_straight_to_and_from_any_root),
        cmocka_unit_test(im_184_im_186_packed_through_masters),
        cmocka_unit_test(im_184_bundles_add_up),
        cmocka_unit_test(im_193_every_block_of_an_alltoall_arrives),
        cmocka_unit_test(alltoall_by_rounds_brings_every_block_home),
        cmocka_unit_test(one_round_of_alltoall_goes_between_clients),
        cmocka_unit_test(allreduce_by_exchange),
        cmocka_unit_test(im_190_scan_goes_from_rank_to_rank),
        cmocka_unit_test(neighbours_that_are_one_process),
        cmocka_unit_test(rooted_between_two_groups),
        cmocka_unit_test(all_between_two_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
