/* SPDX-License-Identifier: BSD-3-Clause
 * All processes of a schedule at once.
 */
#include "schedule_sim.h"

struct sim sim;

void begin(uint32_t size, uint32_t nclients)
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

void run(void)
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

void is_letters(const char *s, uint32_t first, uint32_t n, bool order)
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

void is_block(const struct text *t, uint32_t from, uint32_t block)
{
    assert_int_equal(t->s[0], 'a' + from);
    assert_int_equal(t->s[1], '0' + block);
}
