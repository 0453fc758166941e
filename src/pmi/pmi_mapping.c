/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMI_process_mapping: runs of nodes that hold the same number of consecutive
 * ranks, as (first node, nodes, ranks on each).
 */
#include "pmi/pmi_mapping.h"

#include <stdio.h>
#include <stdlib.h>

struct run {
    uint32_t node, nodes, ranks;
};

/* Number the nodes by first use: out[i] for rank i. */
static int renumber(uint32_t *out, const uint32_t *node, uint32_t size)
{
    uint32_t *seen = calloc(size, sizeof(*seen));
    uint32_t nseen = 0;

    if (!seen)
        return -1;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t k = 0;

        if (i > 0 && node[i] == node[i - 1]) {
            out[i] = out[i - 1];
            continue;
        }
        while (k < nseen && seen[k] != node[i])
            k++;
        if (k == nseen)
            seen[nseen++] = node[i];
        out[i] = k;
    }
    free(seen);
    return 0;
}

/* The block of consecutive ranks on one node that starts at rank i. */
static uint32_t block_length(const uint32_t *node, uint32_t size, uint32_t i)
{
    uint32_t n = 1;

    while (i + n < size && node[i + n] == node[i])
        n++;
    return n;
}

static struct run next_run(const uint32_t *node, uint32_t size, uint32_t *pos)
{
    struct run run = {.node = node[*pos], .nodes = 1};
    uint32_t i = *pos;

    run.ranks = block_length(node, size, i);
    i += run.ranks;
    while (i < size && node[i] == run.node + run.nodes &&
           block_length(node, size, i) == run.ranks) {
        run.nodes++;
        i += run.ranks;
    }
    *pos = i;
    return run;
}

char *pmi_mapping(const uint32_t *node, uint32_t size)
{
    uint32_t *number = calloc(size ? size : 1, sizeof(*number));
    char *text = NULL;
    size_t len;
    FILE *f;

    if (!number || renumber(number, node, size) < 0) {
        free(number);
        return NULL;
    }
    f = open_memstream(&text, &len);
    if (f) {
        fputs("(vector", f);
        for (uint32_t pos = 0; pos < size;) {
            struct run run = next_run(number, size, &pos);

            fprintf(f, ",(%u,%u,%u)", run.node, run.nodes, run.ranks);
        }
        fputs(")", f);
        if (fclose(f) != 0) {
            free(text);
            text = NULL;
        }
    }
    free(number);
    return text;
}
