/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "impi/taskmap.h"

_Static_assert(SF_AGENTS_MAX <= UINT16_MAX + 1, "taskmap.node");

/* While a text is read. */
struct reading {
    struct taskmap *map;
    bool *placed; /* each task has its node */
};

struct range {
    uint32_t first, last, step;
};

static int invalid(struct errbuf *err, const char *text)
{
    errno = EINVAL;
    return errprintf(err, "task map: %s", text);
}

/* A decimal number below the limit on tasks; false: none there. */
static bool number(const char **pos, uint32_t *value)
{
    const char *p = *pos;
    uint32_t v = 0;

    if (!isdigit((unsigned char)*p))
        return false;
    for (; isdigit((unsigned char)*p); p++) {
        v = v * 10 + (uint32_t)(*p - '0');
        if (v > SF_IMPI_PROCS_MAX)
            return false;
    }
    *pos = p;
    *value = v;
    return true;
}

static bool range_parse(const char **pos, struct range *r)
{
    if (!number(pos, &r->first))
        return false;
    r->last = r->first;
    r->step = 1;
    if (**pos != '-')
        return true;
    (*pos)++;
    if (!number(pos, &r->last) || r->last < r->first)
        return false;
    if (**pos != ':')
        return true;
    (*pos)++;
    return number(pos, &r->step) && r->step > 0;
}

/* Call visit for every range of the text with its node. */
typedef int visit_f(struct reading *in, const struct range *r, uint32_t node,
                    struct errbuf *err);

static int walk(struct reading *in, const char *text, visit_f *visit,
                struct errbuf *err)
{
    const char *pos = text;
    uint32_t node = 0;

    for (;;) {
        struct range r;

        if (!range_parse(&pos, &r))
            return invalid(err, "not a list of ranks");
        if (visit(in, &r, node, err) < 0)
            return -1;
        if (*pos == '\0')
            break;
        if (*pos != ',' && *pos != ';')
            return invalid(err, "not a list of ranks");
        if (*pos == ';' && ++node == SF_AGENTS_MAX) {
            errno = E2BIG;
            return errprintf(err, "task map: more than %d nodes",
                             SF_AGENTS_MAX);
        }
        pos++;
    }
    in->map->nnodes = node + 1;
    return 0;
}

static int count(struct reading *in, const struct range *r, uint32_t node,
                 struct errbuf *err)
{
    struct taskmap *map = in->map;

    map->ntasks += (r->last - r->first) / r->step + 1;
    if (map->ntasks <= SF_IMPI_PROCS_MAX)
        return 0;
    errno = E2BIG;
    return errprintf(err, "task map: more than %d tasks", SF_IMPI_PROCS_MAX);
}

static int place(struct reading *in, const struct range *r, uint32_t node,
                 struct errbuf *err)
{
    for (uint32_t id = r->first; id <= r->last; id += r->step) {
        if (id >= in->map->ntasks)
            return invalid(err, "a rank is missing");
        if (in->placed[id])
            return invalid(err, "a rank is there twice");
        in->placed[id] = true;
        in->map->node[id] = (uint16_t)node;
    }
    return 0;
}

int taskmap_parse(struct taskmap *map, const char *text, struct errbuf *err)
{
    struct reading in = {.map = map};
    int rc;

    memset(map, 0, sizeof(*map));
    rc = walk(&in, text, count, err);
    if (rc == 0) {
        map->node = calloc(map->ntasks, sizeof(*map->node));
        in.placed = calloc(map->ntasks, sizeof(*in.placed));
        if (map->node && in.placed)
            rc = walk(&in, text, place, err);
        else
            rc = errprintf(err, "task map: %s", strerror(errno));
    }
    free(in.placed);
    if (rc < 0)
        taskmap_free(map);
    return rc;
}

void taskmap_free(struct taskmap *map)
{
    int saved = errno;

    free(map->node);
    memset(map, 0, sizeof(*map));
    errno = saved;
}

/* The longest run with one step that starts at ids[0]. */
static uint32_t run_length(const uint32_t *ids, uint32_t n)
{
    uint32_t len = 2;

    if (n < 2 || ids[1] <= ids[0])
        return 1;
    while (len < n && ids[len] > ids[len - 1] &&
           ids[len] - ids[len - 1] == ids[1] - ids[0])
        len++;
    return len;
}

/* Print a run; returns the ids that it covers (two ids with a gap between
 * are clearer one by one). */
static uint32_t print_run(FILE *f, const uint32_t *ids, uint32_t n)
{
    uint32_t len = run_length(ids, n);
    uint32_t step = len > 1 ? ids[1] - ids[0] : 1;

    if (len == 1 || (len == 2 && step > 1)) {
        fprintf(f, "%u", ids[0]);
        return 1;
    }
    fprintf(f, "%u-%u", ids[0], ids[len - 1]);
    if (step > 1)
        fprintf(f, ":%u", step);
    return len;
}

static void print_node(FILE *f, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        if (i > 0)
            fputc(',', f);
        i += print_run(f, ids + i, n - i);
    }
}

static char *finish(FILE *f, char **text)
{
    if (fclose(f) == 0)
        return *text;
    free(*text);
    return NULL;
}

char *taskmap_format_ranks(const uint32_t *ids, uint32_t n)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return NULL;
    print_node(f, ids, n);
    return finish(f, &text);
}

char *taskmap_format(uint32_t nnodes, const uint16_t *tasks,
                     uint32_t *const *ids)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return NULL;
    for (uint32_t node = 0; node < nnodes; node++) {
        if (node > 0)
            fputc(';', f);
        print_node(f, ids[node], tasks[node]);
    }
    return finish(f, &text);
}

int64_t taskmap_component_node(const struct taskmap *map, uint32_t first,
                               uint32_t count, uint32_t nodeid)
{
    bool *used = calloc(map->nnodes, sizeof(*used));
    int64_t found = -1;

    if (!used)
        return -1;
    for (uint32_t i = 0; i < map->ntasks; i++)
        if (i >= first && i - first < count)
            used[map->node[i]] = true;
    for (uint32_t node = 0; node < map->nnodes && found < 0; node++)
        if (used[node] && nodeid-- == 0)
            found = node;
    free(used);
    if (found < 0)
        errno = ENOENT;
    return found;
}
