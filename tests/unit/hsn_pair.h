/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two boards, the first of which sends to the second.  Included by one test
 * program each.
 */
#ifndef HSN_PAIR_H
#define HSN_PAIR_H

#include "hsn_util.h"

static uint8_t page[8192];
static const char head[] = "header of the module";

/* One message to module `module` of a board; where its packets are:
 * n->nic.out[returned ..]. */
static inline size_t say_to(struct node *n, uint64_t board, uint16_t module,
                            size_t data_len, size_t header_len, unsigned seed)
{
    size_t at = n->nic.nout;

    fill(page, sizeof(page), seed);
    assert_int_equal(
        send_to(n, module, board, page, data_len, head, header_len, 0), 0);
    return at;
}

static inline size_t say(struct node *n, uint16_t module, size_t data_len,
                         size_t header_len, unsigned seed)
{
    return say_to(n, 2, module, data_len, header_len, seed);
}

struct pair {
    struct node *from, *to;
};

static inline struct pair pair(size_t page_size,
                               const struct hsn_module_ops *module)
{
    return (struct pair){node_new(1, 8192, &copy_module),
                         node_new(2, page_size, module)};
}

static inline void pair_free(struct pair *p)
{
    node_free(p->from);
    node_free(p->to);
}

static inline struct hsn_levels levels(struct node *n)
{
    struct hsn_levels l;

    hsn_engine_levels(n->e, &l);
    return l;
}

static inline void expect_from(uint64_t board, const struct inbox *box,
                               size_t i, size_t data_len, size_t header_len,
                               unsigned seed)
{
    static uint8_t wanted[8192];
    const struct got *g = &box->got[i];

    fill(wanted, sizeof(wanted), seed);
    assert_int_equal(g->data_len, data_len);
    assert_int_equal(g->header_len, header_len);
    assert_memory_equal(g->data, wanted, data_len);
    if (header_len)
        assert_memory_equal(g->header, head, header_len);
    assert_true(g->d.from == board);
}

static inline void expect(const struct inbox *box, size_t i, size_t data_len,
                          size_t header_len, unsigned seed)
{
    expect_from(1, box, i, data_len, header_len, seed);
}

static inline bool aligned(const void *p, size_t size)
{
    return p && (uintptr_t)p % size == 0;
}

#endif
