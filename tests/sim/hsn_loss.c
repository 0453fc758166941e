/* SPDX-License-Identifier: BSD-3-Clause
 * Five drivers in virtual time over a fabric that loses a third of all
 * packets, repeats, reorders, breaks and misroutes them.  Whatever is
 * delivered was sent, by that host, to that module of that host, byte for
 * byte; every message completes exactly once; no buffer is lost.
 *
 * One seed of one's own: HSN_SEED=N tests/sim/hsn_loss
 */
#include <stdio.h>

#include "../unit/hsn_util.h"

#define NODES 5
#define STEPS 4000
#define FLIGHT 256

struct world {
    uint64_t seed;
    struct node *node[NODES];
    struct fake_packet flight[FLIGHT];
    uint8_t to[FLIGHT];
    size_t nflight;
    uint64_t sent, number, delivered;
    size_t refused;
};

static uint64_t draw(struct world *w, uint64_t below)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return (w->seed >> 11) % below;
}

/* What message `number` looks like: everything follows from its number. */
struct shape {
    unsigned from, to;
    uint16_t module;
    size_t data_len, header_len;
};

static struct shape shape_of(uint64_t number)
{
    struct world w = {.seed = number * 0x9e3779b97f4a7c15ULL + 1};
    struct shape s;

    for (int i = 0; i < 4; i++)
        draw(&w, 2);
    s.from = (unsigned)draw(&w, NODES);
    s.to = (unsigned)((s.from + 1 + draw(&w, NODES - 1)) % NODES);
    s.module = draw(&w, 2) ? HSN_MODULE_CLIENT : HSN_MODULE_SERVER;
    s.data_len = draw(&w, 3) ? draw(&w, 8193) : 8192;
    s.header_len = 8 + draw(&w, 300);
    return s;
}

static void fill_message(uint64_t number, const struct shape *s, uint8_t *data,
                         uint8_t *header)
{
    fill(data, s->data_len, (unsigned)number);
    fill(header, s->header_len, (unsigned)(number * 3));
    memcpy(header, &number, 8);
}

static void check(struct world *w, unsigned to, uint16_t module,
                  const struct got *g)
{
    static uint8_t data[HSN_DATA_MAX], header[HSN_HEADER_MAX];
    struct shape s;
    uint64_t number;

    assert_true(g->header_len >= 8);
    memcpy(&number, g->header, 8);
    assert_true(number < w->number);
    s = shape_of(number);
    assert_true(s.to == to && s.module == module && g->d.from == s.from + 1);
    assert_true(s.data_len == g->data_len && s.header_len == g->header_len);
    fill_message(number, &s, data, header);
    assert_memory_equal(g->data, data, s.data_len);
    assert_memory_equal(g->header, header, s.header_len);
    w->delivered++;
}

static void look_at_inbox(struct world *w, unsigned i)
{
    struct inbox *box[] = {&w->node[i]->client, &w->node[i]->server};

    for (int b = 0; b < 2; b++) {
        for (size_t k = 0; k < box[b]->ngot; k++)
            check(w, i, b ? HSN_MODULE_SERVER : HSN_MODULE_CLIENT,
                  &box[b]->got[k]);
        box[b]->ngot = 0;
    }
}

/* Messages whose memory is still the driver's, by cookie. */
static uint8_t memory[64][2][HSN_DATA_MAX];
static bool in_use[64];

static void reclaim(struct inbox *box, uint64_t cookie, int error)
{
    (void)error;
    assert_true(in_use[cookie]); /* exactly once */
    in_use[cookie] = false;
    memset(memory[cookie], 0xee, sizeof(memory[cookie]));
    box->ndone = 0;
}

static void send_one(struct world *w)
{
    uint64_t place = draw(w, 64);
    struct shape s = shape_of(w->number);

    if (in_use[place])
        return;
    fill_message(w->number++, &s, memory[place][0], memory[place][1]);
    in_use[place] = true;
    if (send_to(w->node[s.from], s.module, s.to + 1, memory[place][0],
                s.data_len, memory[place][1], s.header_len, place) < 0)
        in_use[place] = false;
    else
        w->sent++;
}

/* Packets that left come into the fabric; some break or go astray there. */
static void collect(struct world *w, unsigned i)
{
    struct fake_nic *nic = &w->node[i]->nic;

    for (size_t k = 0; k < nic->nout; k++) {
        struct fake_packet *p = &nic->out[k];
        size_t at = w->nflight < FLIGHT ? w->nflight++ : draw(w, FLIGHT);

        w->flight[at] = *p;
        w->to[at] = (uint8_t)(p->bytes[p->len - HSN_TRAILER + 15] - 1);
        if (draw(w, 20) == 0)
            w->flight[at].bytes[draw(w, p->len)] ^= (uint8_t)(1 + draw(w, 255));
        if (draw(w, 30) == 0)
            w->flight[at].len -= draw(w, p->len);
        if (draw(w, 20) == 0)
            w->to[at] = (uint8_t)draw(w, NODES);
    }
    nic->nout = 0;
}

/* One packet of those under way, any: lost, or arrives, perhaps twice. */
static void move_one(struct world *w)
{
    size_t at;
    bool lost = draw(w, 10) < 3, twice = draw(w, 10) == 0;

    if (w->nflight == 0)
        return;
    at = draw(w, w->nflight);
    if (!lost)
        arrive(w->node[w->to[at]], &w->flight[at]);
    if (twice)
        return;
    w->flight[at] = w->flight[--w->nflight];
    w->to[at] = w->to[w->nflight];
}

static void wake_one(struct world *w, unsigned i, uint64_t ns)
{
    struct node *n = w->node[i];

    n->now += ns;
    n->nic.room = draw(w, 4) ? 40 : 0;
    wake(n);
    if (n->nic.next_in == n->nic.nin)
        n->nic.next_in = n->nic.nin = 0;
    collect(w, i);
    look_at_inbox(w, i);
}

static void step(struct world *w)
{
    for (uint64_t k = draw(w, 8); k > 0; k--)
        send_one(w);
    for (uint64_t k = draw(w, 16); k > 0; k--)
        move_one(w);
    for (unsigned i = 0; i < NODES; i++)
        wake_one(w, i, draw(w, 20000000));
}

static void run(uint64_t seed, size_t page_size,
                const struct hsn_module_ops *module)
{
    struct world *w = calloc(1, sizeof(*w));
    struct hsn_levels l;
    int64_t full[NODES];

    w->seed = seed * 2 + 1;
    memset(in_use, 0, sizeof(in_use));
    for (unsigned i = 0; i < NODES; i++) {
        w->node[i] = node_new(i + 1, page_size, module);
        w->node[i]->nic.lend = i % 2;
        w->node[i]->client.on_done = w->node[i]->server.on_done = reclaim;
        full[i] = w->node[i]->pages_out;
    }
    for (int i = 0; i < STEPS; i++)
        step(w);
    for (unsigned i = 0; i < NODES; i++) { /* everything expires */
        for (int k = 0; k < 200; k++)
            wake_one(w, i, 2000000000);
        hsn_engine_levels(w->node[i]->e, &l);
        assert_int_equal(l.halves + l.pending + l.busy, 0);
        assert_int_equal(w->node[i]->pages_out, full[i]);
    }
    for (int i = 0; i < 64; i++)
        assert_false(in_use[i]);
    printf("# seed %llu: %llu sent, %llu delivered\n", (unsigned long long)seed,
           (unsigned long long)w->sent, (unsigned long long)w->delivered);
    assert_true(w->delivered > w->sent / 5); /* it does work */
    for (unsigned i = 0; i < NODES; i++)
        node_free(w->node[i]);
    free(w);
}

static void only_what_was_sent_is_delivered(void **state)
{
    const char *own = getenv("HSN_SEED");
    uint64_t seed = own ? strtoull(own, NULL, 0) : 1;

    for (uint64_t i = 0; i < (own ? 1 : 3); i++)
        run(seed + i, 8192, &copy_module);
}

static void also_with_pages_of_4k(void **state)
{
    run(11, 4096, &copy_module);
    run(12, 4096, &copy_module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_was_sent_is_delivered),
        cmocka_unit_test(also_with_pages_of_4k),
    };

    return cmocka_run_group_tests_name("hsn_loss", tests, NULL, NULL);
}
