/* SPDX-License-Identifier: BSD-3-Clause */
#include "hsn/count.h"

static const struct {
    const char *name, *text;
    int loss;
} counts[HSN_COUNT_N] = {
#define X(name, loss, text) {#name, text, loss},
    HSN_COUNTS(X)
#undef X
};

const char *hsn_count_name(enum hsn_count c)
{
    return counts[c].name;
}

const char *hsn_count_text(enum hsn_count c)
{
    return counts[c].text;
}

int hsn_count_is_loss(enum hsn_count c)
{
    return counts[c].loss;
}

uint64_t hsn_counts_lost(const struct hsn_counts *c)
{
    uint64_t lost = 0;

    for (int i = 0; i < HSN_COUNT_N; i++)
        if (counts[i].loss)
            lost += c->n[i];
    return lost;
}
