/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "elan/runs.h"

#define RUN_SIZE 12

size_t elan_runs_size(size_t n)
{
    return 4 + (n / 2 + 1) * RUN_SIZE;
}

/* Length of the regular run that starts at values[0]. */
static size_t run_length(const uint32_t *values, size_t n)
{
    size_t len = 2;

    if (n < 2)
        return n;
    while (len < n && values[len] - values[len - 1] == values[1] - values[0])
        len++;
    return len;
}

void elan_runs_put(struct be_writer *w, const uint32_t *values, size_t n)
{
    uint8_t *count_at = w->start + w->len;
    uint32_t nruns = 0;
    size_t len;

    be_put32(w, 0);
    for (size_t i = 0; i < n; i += len) {
        len = run_length(values + i, n - i);
        be_put32(w, values[i]);
        be_put32(w, (uint32_t)len);
        be_put32(w, len > 1 ? values[i + 1] - values[i] : 0);
        nruns++;
    }
    if (!w->bad)
        be_store32(count_at, nruns);
}

/* Sum of the counts; -1 when it passes max or the bytes are not there. */
static int count_values(struct be_reader r, uint32_t nruns, size_t max,
                        size_t *total)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < nruns; i++) {
        be_get32(&r);
        sum += be_get32(&r);
        be_get32(&r);
        if (r.bad || sum > max)
            return -1;
    }
    *total = sum;
    return 0;
}

static void expand(struct be_reader *r, uint32_t nruns, uint32_t *out)
{
    for (uint32_t i = 0; i < nruns; i++) {
        uint32_t value = be_get32(r);
        uint32_t count = be_get32(r);
        uint32_t step = be_get32(r);

        for (uint32_t j = 0; j < count; j++, value += step)
            *out++ = value;
    }
}

int elan_runs_get(struct be_reader *r, uint32_t **values, size_t *n, size_t max)
{
    uint32_t nruns = be_get32(r);

    *values = NULL;
    *n = 0;
    if (r->bad || nruns > r->left / RUN_SIZE ||
        count_values(*r, nruns, max, n) < 0) {
        r->bad = true;
        errno = EPROTO;
        return -1;
    }
    if (*n == 0) {
        be_get_bytes(r, (size_t)nruns * RUN_SIZE);
        return 0;
    }
    *values = malloc(*n * sizeof(**values));
    if (!*values)
        return -1;
    expand(r, nruns, *values);
    return 0;
}
