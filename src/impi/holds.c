/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/holds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impi/taskmap.h"

/* "0-1"; of very many that are strewn about only the first. */
static void print_ranks(char *out, const uint32_t *ranks, uint32_t n)
{
    char *all = taskmap_format_ranks(ranks, n), *comma;

    snprintf(out, SF_AGENT_RANKS_MAX, "%s", all ? all : "?");
    if (all && strlen(all) >= SF_AGENT_RANKS_MAX) {
        out[SF_AGENT_RANKS_MAX - sizeof("...")] = '\0';
        comma = strrchr(out, ',');
        strcpy(comma ? comma + 1 : out, "...");
    }
    free(all);
}

void impi_holds_add(struct impi_holds *h, int64_t client, const char *one,
                    const char *many, const uint32_t *ranks, uint32_t n)
{
    size_t len = strlen(h->text), room = sizeof(h->text) - len;
    const char *comma = len ? ", " : "", *what = n == 1 ? one : many;
    char list[SF_AGENT_RANKS_MAX];

    print_ranks(list, ranks, n);
    if (client < 0)
        snprintf(h->text + len, room, "%s%s %s", comma, what, list);
    else
        snprintf(h->text + len, room, "%sclient %u (%s %s)", comma,
                 (uint32_t)client, what, list);
}
