/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules on vectors of real elements, of worlds of every shape, by seed:
 * where each element goes, and that the result is that of a plain fold.  Ranks
 * are in blocks, dealt out, or in no order; blocks have any lengths, none, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/schedule.h"

#define SEEDS 400
#define RANKS 60
#define CLIENTS 40
#define ELEMENTS (RANKS * 6)
#define PRIME 1000003
#define OF_A_CLIENT -1 /* tag of what goes inside of one */

/* The function x -> a x + b, or, where they commute, a pair of sums. */
struct element {
    int a, b;
};

struct letter {
    uint32_t from;
    int32_t tag;
    int n;
    struct element e[ELEMENTS];
    struct letter *next;
};

struct process {
    struct impi_schedule s;
    size_t at;
    bool sent, done;
    struct letter *mail, **mail_end;
    struct element buf[IMPI_NBUFS][ELEMENTS];
    int64_t cuts[4 * RANKS + 1];
    int by_rank[RANKS], places[RANKS];
    uint32_t got; /* of a reduction inside of a client */
};

static struct {
    struct impi_group g;
    struct impi_coll_rules rules;
    struct process p[RANKS];
    int lens[RANKS]; /* of the ranks' blocks */
    int count;
    bool commutes;
} all;

static uint64_t seed;

static uint32_t draw(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

/* ---- shapes ---- */

static uint32_t client_of(uint32_t way, uint32_t r, uint32_t before, uint32_t n)
{
    if (way == 0) /* blocks, of any lengths */
        return before + (draw(4) == 0 && before + 1 < n);
    if (way == 1)
        return r % n;
    if (way == 2) /* stretches */
        return draw(3) ? before : draw(n);
    return draw(n);
}

static void shape(void)
{
    uint32_t client[RANKS], size = 2 + draw(draw(2) ? 10 : RANKS - 1);
    uint32_t way = draw(4), n = 1 + draw(size < CLIENTS ? size : CLIENTS);
    uint32_t most = draw(3) ? 6 : 1;

    memset(&all, 0, sizeof(all));
    for (uint32_t r = 0; r < size; r++)
        client[r] = client_of(way, r, r > 0 ? client[r - 1] : 0, n);
    assert_int_equal(impi_group_init(&all.g, client, size), 0);
    for (uint32_t r = 0; r < size; r++) {
        all.lens[r] = (int)draw(most + 1) % 6;
        all.count += all.lens[r];
    }
    all.commutes = draw(2);
    all.rules = (struct impi_coll_rules){
        .maxlinear = 1 + draw(5), .exchange = true, .few_rounds = draw(8) > 0};
    all.rules.few_bytes = all.rules.few_rounds && draw(4) > 0;
    all.rules.is_long = draw(2);
}

#define EACH_SHAPE                                                             \
    for (uint64_t number = 0; number < SEEDS; number++)                        \
        for (bool once = (seed = number, shape(), true); once;                 \
             once = false, impi_group_free(&all.g))

/* ---- elements ---- */

static struct element after(struct element f, struct element g)
{
    if (all.commutes)
        return (struct element){(f.a + g.a) % PRIME, (f.b + g.b) % PRIME};
    return (struct element){(int)((int64_t)f.a * g.a % PRIME),
                            (int)(((int64_t)f.a * g.b + f.b) % PRIME)};
}

static struct element own(uint32_t r, int i)
{
    return (struct element){(int)(r * 37 + (uint32_t)i * 11) % 5000 + 2,
                            (int)(r * r + (uint32_t)i * 3) % 7000};
}

static bool is_fold(const struct element *e, int i)
{
    struct element want = own(0, i);

    for (uint32_t r = 1; r < all.g.size; r++)
        want = after(want, own(r, i));
    return e->a == want.a && e->b == want.b;
}

/* into = buf op into. */
static void fold(struct element *into, const struct element *buf, int n)
{
    for (int i = 0; i < n; i++)
        into[i] = after(buf[i], into[i]);
}

/* ---- one process ---- */

static void post(uint32_t from, uint32_t to, int32_t tag,
                 const struct element *e, int n)
{
    struct letter *l = calloc(1, sizeof(*l));
    struct process *p = &all.p[to];

    assert_non_null(l);
    l->from = from;
    l->tag = tag;
    l->n = n;
    memcpy(l->e, e, (size_t)n * sizeof(*e));
    *p->mail_end = l;
    p->mail_end = &l->next;
}

/* False: it is not here. */
static bool take(struct process *p, uint32_t from, int32_t tag,
                 struct element *e, int n)
{
    for (struct letter **at = &p->mail; *at; at = &(*at)->next) {
        struct letter *l = *at;

        if (l->from != from || l->tag != tag)
            continue;
        assert_int_equal(l->n, n);
        memcpy(e, l->e, (size_t)n * sizeof(*e));
        *at = l->next;
        if (!*at)
            p->mail_end = at;
        free(l);
        return true;
    }
    return false;
}

/* What a step names of buffer `buf`. */
static struct element *named(uint32_t r, const struct impi_step *s, uint8_t buf,
                             int *n)
{
    struct process *p = &all.p[r];

    *n = all.count;
    if (buf == IMPI_BUF_OUT) {
        *n = all.lens[s->block];
        return p->buf[IMPI_BUF_ACC] + p->places[s->block];
    }
    if (buf == IMPI_BUF_IN)
        *n = all.lens[r];
    if (s->nparts == 0)
        return p->buf[buf];
    assert_true(s->part + s->nparts <= p->s.parts.n);
    *n = (int)(p->cuts[s->part + s->nparts] - p->cuts[s->part]);
    return p->buf[buf] + p->cuts[s->part];
}

static void put_in_order(struct process *p, uint8_t buf)
{
    struct element by_rank[ELEMENTS];

    memcpy(by_rank, p->buf[buf], sizeof(by_rank));
    for (uint32_t r = 0; r < all.g.size; r++)
        memcpy(p->buf[IMPI_BUF_ACC] + p->places[r], by_rank + p->by_rank[r],
               (size_t)all.lens[r] * sizeof(by_rank[0]));
}

static void compute(uint32_t r, const struct impi_step *s)
{
    struct process *p = &all.p[r];
    struct element old[ELEMENTS], *buf, *acc;
    int n;

    if (s->kind == IMPI_STEP_LOCAL_OTHER)
        return;
    buf = named(r, s, s->buf, &n);
    acc = named(r, s, IMPI_BUF_ACC, &n);
    if (s->kind == IMPI_STEP_COMBINE) {
        fold(acc, buf, n);
    } else if (s->kind == IMPI_STEP_COMBINE_UNDER) {
        memcpy(old, buf, (size_t)n * sizeof(*buf));
        fold(old, acc, n);
        memcpy(acc, old, (size_t)n * sizeof(*buf));
    } else if (s->kind == IMPI_STEP_COPY) {
        memcpy(acc, buf, (size_t)n * sizeof(*buf));
    } else {
        assert_int_equal(s->kind, IMPI_STEP_ORDER);
        put_in_order(p, s->buf);
    }
}

/* All of a client: as messages of it. */
static bool together(uint32_t r, const struct impi_step *s)
{
    struct process *p = &all.p[r];
    uint32_t n = impi_group_num_local_to_rank(&all.g, r);
    const uint32_t *ranks =
        impi_group_locals_to_master(&all.g, all.g.num_of[r]);
    struct element in[ELEMENTS];

    if (s->kind == IMPI_STEP_LOCAL_BCAST && s->rank == r) {
        for (uint32_t i = 0; i < n; i++)
            if (ranks[i] != r)
                post(r, ranks[i], OF_A_CLIENT, p->buf[s->buf], all.count);
        return true;
    }
    if (s->kind == IMPI_STEP_LOCAL_BCAST)
        return take(p, s->rank, OF_A_CLIENT, p->buf[s->buf], all.count);
    assert_int_equal(s->kind, IMPI_STEP_LOCAL_REDUCE);
    if (s->rank != r) {
        post(r, s->rank, OF_A_CLIENT, p->buf[IMPI_BUF_OWN], all.count);
        return true;
    }
    if (p->got == 0)
        memcpy(p->buf[IMPI_BUF_ACC], p->buf[IMPI_BUF_OWN], sizeof(in));
    for (; p->got < n; p->got++) {
        if (ranks[p->got] == r)
            continue;
        if (!take(p, ranks[p->got], OF_A_CLIENT, in, all.count))
            return false;
        fold(p->buf[IMPI_BUF_ACC], in, all.count);
    }
    p->got = 0;
    return true;
}

static bool row(uint32_t r)
{
    struct process *p = &all.p[r];
    size_t end = p->at;
    int n;

    while (p->s.steps[end].more)
        end++;
    for (size_t i = p->at; !p->sent && i <= end; i++) {
        const struct impi_step *s = &p->s.steps[i];
        struct element *e = named(r, s, s->buf, &n);

        if (s->kind == IMPI_STEP_SEND)
            post(r, s->rank, s->tag, e, n);
    }
    p->sent = true;
    for (size_t i = p->at; i <= end; i++) {
        struct impi_step *s = &p->s.steps[i];
        struct element *e = named(r, s, s->buf, &n);

        if (s->kind != IMPI_STEP_RECV)
            continue;
        if (!take(p, s->rank, s->tag, e, n))
            return false;
        s->kind = IMPI_STEP_SEND; /* and sent is set */
    }
    p->sent = false;
    p->at = end + 1;
    return true;
}

static bool move(uint32_t r)
{
    struct process *p = &all.p[r];
    bool moved = false;

    while (p->at < p->s.count) {
        const struct impi_step *s = &p->s.steps[p->at];

        if (s->kind == IMPI_STEP_SEND || s->kind == IMPI_STEP_RECV) {
            if (!row(r))
                return moved;
        } else if (s->kind == IMPI_STEP_LOCAL_BCAST ||
                   s->kind == IMPI_STEP_LOCAL_REDUCE) {
            if (!together(r, s))
                return moved;
            p->at++;
        } else {
            compute(r, s);
            p->at++;
        }
        moved = true;
    }
    return moved;
}

/* lens: parts are of blocks. */
static void run(const int *lens)
{
    bool moved = true;

    for (uint32_t r = 0; r < all.g.size; r++) {
        struct process *p = &all.p[r];

        p->mail_end = &p->mail;
        impi_parts_cut(&p->s.parts, lens, all.count, p->cuts);
        impi_parts_places(&p->s.parts, all.lens, all.g.size, p->by_rank,
                          p->places);
    }
    while (moved) {
        moved = false;
        for (uint32_t r = 0; r < all.g.size; r++)
            moved |= move(r);
    }
    for (uint32_t r = 0; r < all.g.size; r++) {
        assert_int_equal(all.p[r].at, all.p[r].s.count);
        assert_null(all.p[r].mail);
        impi_schedule_free(&all.p[r].s);
    }
}

static void fill(void)
{
    for (uint32_t r = 0; r < all.g.size; r++)
        for (int i = 0; i < all.count; i++)
            all.p[r].buf[IMPI_BUF_OWN][i] = own(r, i);
}

#define ALL(call)                                                              \
    for (uint32_t r = 0; r < all.g.size; r++)                                  \
    assert_int_equal(call, 0)

/* ---- the calls ---- */

static void reduce_scatter_gives_each_its_block(void **state)
{
    EACH_SHAPE
    {
        int at = 0;

        fill();
        ALL(impi_schedule_reduce_scatter(&all.p[r].s, &all.g, &all.rules, r,
                                         all.commutes));
        run(all.lens);
        for (uint32_t r = 0; r < all.g.size; r++)
            for (int i = 0; i < all.lens[r]; i++, at++)
                assert_true(is_fold(&all.p[r].buf[IMPI_BUF_IN][i], at));
        assert_int_equal(at, all.count);
    }
}

static void allreduce_gives_all_of_it_to_everybody(void **state)
{
    EACH_SHAPE
    {
        fill();
        ALL(impi_schedule_allreduce(&all.p[r].s, &all.g, &all.rules, r,
                                    all.commutes));
        run(NULL);
        for (uint32_t r = 0; r < all.g.size; r++)
            for (int i = 0; i < all.count; i++)
                assert_true(is_fold(&all.p[r].buf[IMPI_BUF_ACC][i], i));
    }
}

static void reduce_gives_all_of_it_to_the_root(void **state)
{
    EACH_SHAPE
    {
        uint32_t root = draw(all.g.size);

        fill();
        ALL(impi_schedule_reduce(&all.p[r].s, &all.g, &all.rules, r, root,
                                 all.commutes));
        run(NULL);
        for (int i = 0; i < all.count; i++)
            assert_true(is_fold(&all.p[root].buf[IMPI_BUF_ACC][i], i));
    }
}

static void bcast_gives_everybody_what_the_root_has(void **state)
{
    EACH_SHAPE
    {
        uint32_t root = draw(all.g.size);

        all.rules.pieces = draw(4);
        all.rules.by_master = draw(4) ? 0 : draw(1 << 20);
        for (int i = 0; i < all.count; i++)
            all.p[root].buf[IMPI_BUF_DATA][i] = own(root, i);
        ALL(impi_schedule_bcast(&all.p[r].s, &all.g, &all.rules, r, root));
        run(NULL);
        for (uint32_t r = 0; r < all.g.size; r++)
            assert_memory_equal(all.p[r].buf[IMPI_BUF_DATA],
                                all.p[root].buf[IMPI_BUF_DATA],
                                (size_t)all.count * sizeof(struct element));
    }
}

/* Masters have their client's blocks, and get the others' in the clients'
 * order. */
static void allgather_gives_masters_all_blocks(void **state)
{
    EACH_SHAPE
    {
        int places[RANKS], by_rank[RANKS];

        ALL(impi_schedule_allgather(&all.p[r].s, &all.g, r, 7));
        impi_parts_places(&all.p[0].s.parts, all.lens, all.g.size, by_rank,
                          places);
        for (uint32_t r = 0; r < all.g.size; r++)
            for (int i = 0; i < all.lens[r]; i++)
                all.p[impi_group_local_master_rank(&all.g, r)]
                    .buf[IMPI_BUF_DATA][places[r] + i] = own(r, i);
        run(all.lens);
        for (uint32_t n = 0; n < all.g.nmasters; n++)
            for (uint32_t r = 0; r < all.g.size; r++)
                for (int i = 0; i < all.lens[r]; i++) {
                    struct element want = own(r, i);

                    assert_memory_equal(&all.p[all.g.masters[n]]
                                             .buf[IMPI_BUF_DATA][places[r] + i],
                                        &want, sizeof(want));
                }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_scatter_gives_each_its_block),
        cmocka_unit_test(allreduce_gives_all_of_it_to_everybody),
        cmocka_unit_test(reduce_gives_all_of_it_to_the_root),
        cmocka_unit_test(bcast_gives_everybody_what_the_root_has),
        cmocka_unit_test(allgather_gives_masters_all_blocks),
    };

    return cmocka_run_group_tests_name("schedule_vectors", tests, NULL, NULL);
}
