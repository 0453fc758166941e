/* SPDX-License-Identifier: BSD-3-Clause
 * All processes of a schedule at once, by the thousand.
 */
#include "schedule_world.h"

/* A step of all of a client. */
struct slot {
    uint32_t come, last; /* how many; after which round */
    bool open;           /* the one that others wait for has come */
    uint32_t opened;
    struct value value;
};

struct world world;

static struct slot slots[WORLD_MAX][WORLD_SLOTS];

static struct value fold(const struct value *a, const struct value *b)
{
    if (a->n == 0 || b->n == 0)
        return a->n == 0 ? *b : *a;
    if (!world.any_order)
        assert_int_equal(a->low + a->n, b->low);
    return (struct value){a->low, a->n + b->n,
                          (a->mark * 0x9e3779b97f4a7c15u ^ b->mark) *
                              0xff51afd7ed558ccdu};
}

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The parts of a buffer that is looked at by parts. */
static struct value *split(struct member *p, uint8_t buf)
{
    uint32_t n = world.g.nmasters;

    if (!p->part[buf]) {
        p->part[buf] = malloc(n * sizeof(*p->part[buf]));
        assert_non_null(p->part[buf]);
        for (uint32_t i = 0; i < n; i++)
            p->part[buf][i] = p->buf[buf];
    }
    return p->part[buf];
}

/* One value again: all parts are of as many. */
static struct value *whole(struct member *p, uint8_t buf)
{
    struct value *part = p->part[buf];

    if (!part)
        return &p->buf[buf];
    for (uint32_t i = 1; i < world.g.nmasters; i++) {
        assert_int_equal(part[i].n, part[0].n);
        part[0].mark = part[0].mark * 31 + part[i].mark;
    }
    p->buf[buf] = part[0];
    p->part[buf] = NULL;
    free(part);
    return &p->buf[buf];
}

/* Blocks that are handed out are acc's. */
static struct value value_of(uint32_t from, const struct impi_step *s)
{
    struct member *p = &world.p[from];

    if (s->buf == IMPI_BUF_OUT && p->part[IMPI_BUF_ACC])
        return p->part[IMPI_BUF_ACC][world.g.num_of[s->rank]];
    if (s->buf == IMPI_BUF_OUT)
        return p->buf[IMPI_BUF_ACC];
    return *whole(p, s->buf);
}

static struct value *parts_of(uint32_t from, const struct impi_step *s)
{
    struct value *copy;

    if (s->nparts == 0)
        return NULL;
    copy = malloc(s->nparts * sizeof(*copy));
    assert_non_null(copy);
    assert_true(s->part + s->nparts <= world.g.nmasters);
    memcpy(copy, split(&world.p[from], s->buf) + s->part,
           s->nparts * sizeof(*copy));
    return copy;
}

static void take(struct member *p, const struct impi_step *s, struct mail *m)
{
    m->taken = true;
    if (s->nparts == 0) {
        assert_null(m->parts);
        whole(p, s->buf);
        p->buf[s->buf] = m->value;
        return;
    }
    assert_non_null(m->parts);
    memcpy(split(p, s->buf) + s->part, m->parts, s->nparts * sizeof(*m->parts));
    free(m->parts);
}

static void post(uint32_t from, const struct impi_step *s, uint32_t round)
{
    struct member *p = &world.p[s->rank];

    if (p->nmail == p->mail_size) {
        p->mail_size = p->mail_size ? 2 * p->mail_size : 8;
        p->mail = realloc(p->mail, p->mail_size * sizeof(*p->mail));
        assert_non_null(p->mail);
    }
    p->mail[p->nmail++] =
        (struct mail){.from = from, .tag = s->tag, .round = round};
    if (s->nparts > 0)
        p->mail[p->nmail - 1].parts = parts_of(from, s);
    else
        p->mail[p->nmail - 1].value = value_of(from, s);
}

static struct mail *find(struct member *p, const struct impi_step *s)
{
    for (size_t i = 0; i < p->nmail; i++)
        if (p->mail[i].from == s->rank && p->mail[i].tag == s->tag &&
            !p->mail[i].taken)
            return &p->mail[i];
    return NULL;
}

/* How many blocks of one process are in it. */
static uint64_t blocks_of(const struct impi_step *s)
{
    uint64_t n = 0;
    uint32_t v;

    if (s->buf == IMPI_BUF_NONE)
        return 0;
    if (s->buf != IMPI_BUF_OUT || s->block < world.g.size)
        return 1;
    v = s->block - world.g.size;
    for (uint32_t i = v; i < v + impi_packed_span(&world.g, &world.rules, v);
         i++) {
        uint32_t num = impi_packed_client(&world.g, world.root, i);

        n += world.g.first[num + 1] - world.g.first[num];
    }
    return n;
}

static size_t row_end(const struct member *p)
{
    size_t end = p->at;

    while (p->s.steps[end].more)
        end++;
    return end + 1;
}

static void send_row(uint32_t r, size_t end)
{
    struct member *p = &world.p[r];
    uint32_t round = p->round;

    for (size_t i = p->at; i < end; i++) {
        const struct impi_step *s = &p->s.steps[i];

        if (s->kind != IMPI_STEP_SEND)
            continue;
        if (!s->local) {
            round++;
            p->messages++;
            p->blocks += blocks_of(s);
            p->vectors +=
                s->nparts > 0 ? (double)s->nparts / world.g.nmasters : 1;
        }
        post(r, s, round);
    }
    p->sent = true;
}

/* False: something has not come. */
static bool finish_row(uint32_t r, size_t end)
{
    struct member *p = &world.p[r];
    uint32_t in = p->round, out = p->round, local = p->round;

    for (size_t i = p->at; i < end; i++)
        if (p->s.steps[i].kind == IMPI_STEP_RECV && !find(p, &p->s.steps[i]))
            return false;
    for (size_t i = p->at; i < end; i++) {
        const struct impi_step *s = &p->s.steps[i];
        struct mail *m = s->kind == IMPI_STEP_RECV ? find(p, s) : NULL;

        if (m)
            take(p, s, m);
        if (m && s->local)
            local = later(local, m->round);
        else if (m)
            in = later(in + 1, m->round);
        else if (s->kind == IMPI_STEP_SEND && !s->local)
            out++;
    }
    p->round = later(later(in, out), local);
    p->at = end;
    p->sent = false;
    return true;
}

static bool together(uint32_t r, const struct impi_step *s)
{
    struct member *p = &world.p[r];
    uint32_t num = world.g.num_of[r];
    struct slot *slot = &slots[num][p->slot];
    bool inward =
        s->kind == IMPI_STEP_LOCAL_FANIN || s->kind == IMPI_STEP_LOCAL_REDUCE;
    uint32_t others = world.g.first[num + 1] - world.g.first[num] - 1;

    assert_int_equal(world.g.num_of[s->rank], num);
    if (s->rank == r && inward) {
        if (slot->come < others)
            return false;
        p->round = later(p->round, slot->last);
        if (s->kind == IMPI_STEP_LOCAL_REDUCE)
            p->buf[IMPI_BUF_ACC] = fold(&p->buf[IMPI_BUF_OWN], &slot->value);
    } else if (s->rank == r) {
        slot->open = true;
        slot->opened = p->round;
        slot->value = *whole(p, s->buf);
    } else if (inward) {
        slot->come++;
        slot->last = later(slot->last, p->round);
        if (s->kind == IMPI_STEP_LOCAL_REDUCE)
            slot->value = fold(&slot->value, &p->buf[IMPI_BUF_OWN]);
    } else {
        if (!slot->open)
            return false;
        p->round = later(p->round, slot->opened);
        p->buf[s->buf] = slot->value;
    }
    p->slot++;
    assert_true(p->slot < WORLD_SLOTS);
    p->at++;
    return true;
}

static void combine_parts(struct member *p, const struct impi_step *s)
{
    struct value *buf = split(p, s->buf), *acc = split(p, IMPI_BUF_ACC);

    assert_int_equal(s->kind, IMPI_STEP_COMBINE);
    for (uint32_t i = s->part; i < s->part + s->nparts; i++) {
        assert_true(buf[i].n > 0 && acc[i].n > 0);
        acc[i] = fold(&buf[i], &acc[i]);
    }
}

static void compute_whole(struct member *p, const struct impi_step *s)
{
    struct value *acc = whole(p, IMPI_BUF_ACC), *buf = whole(p, s->buf);

    if (s->kind == IMPI_STEP_COMBINE_INTO)
        assert_true(buf->n > 0 && p->buf[s->into].n > 0);
    else if (s->kind != IMPI_STEP_LOCAL_OTHER)
        assert_true(buf->n > 0 && (s->kind == IMPI_STEP_COPY || acc->n > 0));
    if (s->kind == IMPI_STEP_COMBINE)
        *acc = fold(buf, acc);
    else if (s->kind == IMPI_STEP_COMBINE_UNDER)
        *acc = fold(acc, buf);
    else if (s->kind == IMPI_STEP_COMBINE_INTO)
        p->buf[s->into] = fold(buf, &p->buf[s->into]);
    else if (s->kind == IMPI_STEP_COPY)
        *acc = *buf;
}

static void compute(struct member *p, const struct impi_step *s)
{
    if (s->nparts > 0) {
        combine_parts(p, s);
        return;
    }
    compute_whole(p, s);
}

static bool is_together(uint8_t kind)
{
    return kind == IMPI_STEP_LOCAL_FANIN || kind == IMPI_STEP_LOCAL_FANOUT ||
           kind == IMPI_STEP_LOCAL_REDUCE || kind == IMPI_STEP_LOCAL_BCAST;
}

static bool move(uint32_t r)
{
    struct member *p = &world.p[r];
    bool moved = false;

    while (p->at < p->s.count) {
        const struct impi_step *s = &p->s.steps[p->at];
        bool message = s->kind == IMPI_STEP_SEND || s->kind == IMPI_STEP_RECV;

        if (message) {
            size_t end = row_end(p);

            if (!p->sent) {
                send_row(r, end);
                moved = true;
            }
            if (!finish_row(r, end))
                return moved;
        } else if (!is_together(s->kind)) {
            compute(p, s);
            p->at++;
        } else if (!together(r, s))
            return moved;
        moved = true;
    }
    return moved;
}

static struct counted count(void)
{
    struct value kept[IMPI_NBUFS];
    struct counted c = {0};

    for (uint32_t r = 0; r < world.g.size; r++) {
        struct member *p = &world.p[r];

        assert_int_equal(p->at, p->s.count);
        for (size_t i = 0; i < p->nmail; i++)
            assert_true(p->mail[i].taken);
        c.rounds = later(c.rounds, p->round);
        c.messages += p->messages;
        if (p->messages > c.busiest)
            c.busiest = p->messages;
        if (p->blocks > c.blocks)
            c.blocks = p->blocks;
        if (p->vectors > c.vectors)
            c.vectors = p->vectors;
        for (int b = 0; b < IMPI_NBUFS; b++)
            free(p->part[b]);
        impi_schedule_free(&p->s);
        free(p->mail);
        memcpy(kept, p->buf, sizeof(kept));
        *p = (struct member){.round = 0};
        memcpy(p->buf, kept, sizeof(kept));
    }
    memset(slots, 0, sizeof(slots));
    return c;
}

struct counted world_run(void)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (uint32_t r = 0; r < world.g.size; r++)
            moved |= move(r);
    }
    return count();
}

void world_begin(const uint32_t *client, uint32_t size)
{
    memset(&world, 0, sizeof(world));
    memset(slots, 0, sizeof(slots));
    assert_true(size <= WORLD_MAX);
    assert_int_equal(impi_group_init(&world.g, client, size), 0);
}

void world_end(void)
{
    impi_group_free(&world.g);
}

void world_fill(enum impi_step_buf too)
{
    for (uint32_t r = 0; r < world.g.size; r++) {
        struct value own = {r, 1, r + 1};

        memset(world.p[r].buf, 0, sizeof(world.p[r].buf));
        world.p[r].buf[IMPI_BUF_OWN] = own;
        if (too != IMPI_BUF_NONE)
            world.p[r].buf[too] = own;
    }
}

void value_is(const struct value *v, uint32_t low, uint32_t n)
{
    assert_int_equal(v->n, n);
    if (n > 0 && !world.any_order)
        assert_int_equal(v->low, low);
}
