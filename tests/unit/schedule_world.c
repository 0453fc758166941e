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

/* ---- parts ---- */

static struct stretches *stretches_new(uint32_t room)
{
    struct stretches *l = malloc(sizeof(*l) + room * sizeof(l->s[0]));

    assert_non_null(l);
    l->n = 0;
    return l;
}

static void add_stretch(struct stretches *l, uint32_t from, uint32_t end,
                        const struct value *v)
{
    if (from >= end)
        return;
    l->s[l->n++] = (struct stretch){from, *v};
    l->end = end;
}

static uint32_t end_of(const struct stretches *l, uint32_t i)
{
    return i + 1 < l->n ? l->s[i + 1].from : l->end;
}

/* Those of [from, to), behind what is in `out`. */
static void copy_stretches(struct stretches *out, const struct stretches *l,
                           uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t low = later(l->s[i].from, from), end = end_of(l, i);

        add_stretch(out, low, end < to ? end : to, &l->s[i].value);
    }
}

static struct stretches *split(struct member *p, uint8_t buf)
{
    if (!p->part[buf]) {
        p->part[buf] = stretches_new(1);
        add_stretch(p->part[buf], 0, p->s.parts.n, &p->buf[buf]);
    }
    return p->part[buf];
}

static void put_parts(struct member *p, uint8_t buf, const struct stretches *in)
{
    struct stretches *old = split(p, buf);
    struct stretches *all = stretches_new(old->n + in->n + 2);

    copy_stretches(all, old, 0, in->s[0].from);
    copy_stretches(all, in, 0, in->end);
    copy_stretches(all, old, in->end, old->end);
    assert_int_equal(all->end, p->s.parts.n);
    free(old);
    p->part[buf] = all;
}

/* One value again: all parts are of as many. */
static struct value *whole(struct member *p, uint8_t buf)
{
    struct stretches *l = p->part[buf];

    if (!l)
        return &p->buf[buf];
    p->buf[buf] = l->s[0].value;
    for (uint32_t i = 0; i < l->n; i++) {
        assert_int_equal(l->s[i].value.n, l->s[0].value.n);
        for (uint32_t k = l->s[i].from; k < end_of(l, i); k++)
            p->buf[buf].mark = p->buf[buf].mark * 31 + l->s[i].value.mark;
    }
    p->part[buf] = NULL;
    free(l);
    return &p->buf[buf];
}

static uint32_t part_of_rank(const struct impi_parts *parts, uint32_t r)
{
    uint32_t i = 0, k = 0;

    while (parts->ranks[k] != r)
        k++;
    while (parts->first[i + 1] <= k)
        i++;
    return i;
}

/* Blocks that are handed out are acc's. */
static struct value value_of(uint32_t from, const struct impi_step *s)
{
    struct member *p = &world.p[from];
    struct stretches *l = p->part[IMPI_BUF_ACC];
    uint32_t i = 0, part;

    if (s->buf != IMPI_BUF_OUT)
        return *whole(p, s->buf);
    if (!l)
        return p->buf[IMPI_BUF_ACC];
    part = part_of_rank(&p->s.parts, s->rank);
    while (end_of(l, i) <= part)
        i++;
    return l->s[i].value;
}

static bool in_order_already(const struct impi_parts *parts)
{
    for (uint32_t i = 0; parts->ranks && i < world.g.size; i++)
        if (parts->ranks[i] != i)
            return false;
    return true;
}

static void needs_order(const struct member *p)
{
    assert_true(p->ordered || in_order_already(&p->s.parts));
}

static struct stretches *parts_of(uint32_t from, const struct impi_step *s)
{
    struct member *p = &world.p[from];
    struct stretches *copy, *all = split(p, s->buf);

    if (s->buf == IMPI_BUF_ACC)
        needs_order(p);
    copy = stretches_new(all->n);
    assert_true(s->part + s->nparts <= p->s.parts.n);
    copy_stretches(copy, all, s->part, s->part + s->nparts);
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
    assert_int_equal(m->parts->s[0].from, s->part);
    assert_int_equal(m->parts->end, s->part + s->nparts);
    put_parts(p, s->buf, m->parts);
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

/* Of a vector whose parts are as long as each other. */
static double share_of(const struct member *p, const struct impi_step *s)
{
    if (s->buf == IMPI_BUF_NONE)
        return 0;
    return s->nparts > 0 ? (double)s->nparts / p->s.parts.n : 1;
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
            p->vectors += share_of(p, s);
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
        else if (m) {
            in = later(in + 1, m->round);
            p->taken += share_of(p, s);
        } else if (s->kind == IMPI_STEP_SEND && !s->local)
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

/* acc = buf op acc, or acc op buf. */
static void combine_parts(struct member *p, const struct impi_step *s)
{
    uint32_t to = s->part + s->nparts;
    struct stretches *acc = split(p, IMPI_BUF_ACC), *buf = split(p, s->buf);
    struct stretches *sum = stretches_new(acc->n + buf->n);

    needs_order(p);
    for (uint32_t i = 0; i < acc->n; i++)
        for (uint32_t k = 0; k < buf->n; k++) {
            uint32_t low = later(acc->s[i].from, buf->s[k].from);
            uint32_t end = end_of(acc, i) < end_of(buf, k) ? end_of(acc, i)
                                                           : end_of(buf, k);
            const struct value *a = &acc->s[i].value, *b = &buf->s[k].value;
            struct value v;

            low = later(low, s->part);
            end = end < to ? end : to;
            if (low >= end)
                continue;
            assert_true(a->n > 0 && b->n > 0);
            v = s->kind == IMPI_STEP_COMBINE ? fold(b, a) : fold(a, b);
            add_stretch(sum, low, end, &v);
        }
    put_parts(p, IMPI_BUF_ACC, sum);
    free(sum);
}

static void put_in_order(struct member *p, const struct impi_step *s)
{
    struct value v = *whole(p, s->buf);

    assert_true(v.n > 0 && p->s.parts.ranks);
    assert_true(s->buf == IMPI_BUF_OWN || s->buf == IMPI_BUF_ACC);
    whole(p, IMPI_BUF_ACC);
    p->buf[IMPI_BUF_ACC] = v;
    p->ordered = true;
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
    if (s->nparts > 0)
        combine_parts(p, s);
    else if (s->kind == IMPI_STEP_ORDER)
        put_in_order(p, s);
    else
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

/* Is it one value again? */
static bool are_alike(const struct stretches *l)
{
    for (uint32_t i = 1; i < l->n; i++)
        if (l->s[i].value.n != l->s[0].value.n)
            return false;
    return true;
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
        if (p->taken > c.taken)
            c.taken = p->taken;
        c.sum += p->vectors;
        for (uint8_t b = 0; b < IMPI_NBUFS; b++) {
            if (p->part[b] && are_alike(p->part[b]))
                whole(p, b);
            free(p->part[b]);
        }
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
