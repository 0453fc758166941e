/* SPDX-License-Identifier: BSD-3-Clause */
#include "hsn/count.h"

static const struct {
    const char *name;
    int loss;
} counts[HSN_COUNT_N] = {
#define X(name, loss, text) {#name, loss},
    HSN_COUNTS(X)
#undef X
};

const char *hsn_count_name(enum hsn_count c)
{
    return counts[c].name;
}

uint64_t hsn_counts_lost(const struct hsn_counts *c)
{
    uint64_t lost = 0;

    for (int i = 0; i < HSN_COUNT_N; i++)
        if (counts[i].loss)
            lost += c->n[i];
    return lost;
}
