/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Indexes of the identity table.  Nothing may stand in it twice: names, ids
 * of a rail, boards.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elan/elanhosts_impl.h"

struct named {
    const char *name;
    uint32_t host;
};

struct numbered {
    uint32_t id;
    uint32_t host;
};

struct reporter {
    const char *file;
    conf_error_f *report;
    void *arg;
    int errors;
};

static void complain(struct reporter *r, const struct elan_host *host,
                     const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void complain(struct reporter *r, const struct elan_host *host,
                     const char *fmt, ...)
{
    struct errbuf text, line;
    va_list ap;

    va_start(ap, fmt);
    verrprintf(&text, fmt, ap);
    va_end(ap);
    errprintf(&line, "%.200s:%u: %.300s", r->file, host->line, text.text);
    if (r->report)
        r->report(line.text, r->arg);
    r->errors++;
}

static int less_more(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Equal keys stay in the order of the file, so that the later is named. */
static int compare_names(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int diff = strcmp(x->name, y->name);

    return diff ? diff : less_more(x->host, y->host);
}

static int compare_ids(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    int diff = less_more(x->id, y->id);

    return diff ? diff : less_more(x->host, y->host);
}

static int compare_boards(const void *a, const void *b)
{
    const struct board_index *x = a, *y = b;
    int diff = less_more(x->board, y->board);

    return diff ? diff : less_more(x->host, y->host);
}

static int index_names(struct elanhosts *hosts, struct reporter *r)
{
    struct named *names = calloc(hosts->n, sizeof(*names));

    hosts->by_name = calloc(hosts->n, sizeof(*hosts->by_name));
    if (!names || !hosts->by_name) {
        free(names);
        return -1;
    }
    for (uint32_t i = 0; i < hosts->n; i++)
        names[i] = (struct named){hosts->host[i].name, i};
    qsort(names, hosts->n, sizeof(*names), compare_names);
    for (uint32_t i = 0; i < hosts->n; i++) {
        hosts->by_name[i] = names[i].host;
        if (i > 0 && strcmp(names[i].name, names[i - 1].name) == 0)
            complain(r, &hosts->host[names[i].host],
                     "NodeName: %.100s: already in line %u", names[i].name,
                     hosts->host[names[i - 1].host].line);
    }
    free(names);
    return 0;
}

static int check_ids(const struct elanhosts *hosts, uint32_t rail,
                     struct reporter *r)
{
    struct numbered *ids = calloc(hosts->n, sizeof(*ids));

    if (!ids)
        return -1;
    for (uint32_t i = 0; i < hosts->n; i++)
        ids[i] = (struct numbered){hosts->host[i].id[rail], i};
    qsort(ids, hosts->n, sizeof(*ids), compare_ids);
    for (uint32_t i = 1; i < hosts->n; i++) {
        const struct elan_host *before = &hosts->host[ids[i - 1].host];

        if (ids[i].id == ids[i - 1].id)
            complain(r, &hosts->host[ids[i].host],
                     "ElanId: rail %u: %u is already %.100s's (line %u)", rail,
                     ids[i].id, before->name, before->line);
    }
    free(ids);
    return 0;
}

static uint32_t collect_boards(struct elanhosts *hosts)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < hosts->n; i++)
        for (uint32_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++)
            if (hosts->host[i].board[rail] != 0)
                hosts->by_board[n++] =
                    (struct board_index){hosts->host[i].board[rail], i, rail};
    return n;
}

static int index_boards(struct elanhosts *hosts, struct reporter *r)
{
    size_t most = (size_t)hosts->n * SF_ELAN_RAILS_MAX;

    hosts->by_board = calloc(most, sizeof(*hosts->by_board));
    if (!hosts->by_board)
        return -1;
    hosts->nboards = collect_boards(hosts);
    qsort(hosts->by_board, hosts->nboards, sizeof(*hosts->by_board),
          compare_boards);
    for (uint32_t i = 1; i < hosts->nboards; i++) {
        const struct board_index *at = &hosts->by_board[i];
        const struct elan_host *before = &hosts->host[at[-1].host];

        if (at->board == at[-1].board)
            complain(r, &hosts->host[at->host],
                     "Board: %llx is already %.100s's (line %u)",
                     (unsigned long long)at->board, before->name, before->line);
    }
    return 0;
}

/* A rail's ids are looked at when they differ from rail 0's somewhere. */
static bool same_as_rail_0(const struct elanhosts *hosts, uint32_t rail)
{
    for (uint32_t i = 0; i < hosts->n; i++)
        if (hosts->host[i].id[rail] != hosts->host[i].id[0])
            return false;
    return true;
}

int elanhosts_index(struct elanhosts *hosts, const char *name,
                    conf_error_f *report, void *arg)
{
    struct reporter r = {name, report, arg, 0};

    if (hosts->n == 0)
        return 0;
    if (index_names(hosts, &r) < 0)
        return -1;
    for (uint32_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++)
        if ((rail == 0 || !same_as_rail_0(hosts, rail)) &&
            check_ids(hosts, rail, &r) < 0)
            return -1;
    if (index_boards(hosts, &r) < 0)
        return -1;
    errno = EINVAL;
    return r.errors > 0 ? -1 : 0;
}
