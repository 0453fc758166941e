/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables on standard output, each column as wide as its widest cell.
 */
#include <stdlib.h>
#include <string.h>

#include "sfabric/sfabric.h"

struct sfabric_columns {
    int n;
    size_t nrows, room;
    char **cells; /* nrows * n, the first row holds the titles */
};

static void add_row(struct sfabric_columns *c, const char *const *cells)
{
    if (c->nrows == c->room) {
        size_t room = c->room ? c->room * 2 : 16;
        char **more = realloc(c->cells, room * (size_t)c->n * sizeof(char *));

        if (!more)
            return;
        c->cells = more;
        c->room = room;
    }
    for (int i = 0; i < c->n; i++)
        c->cells[c->nrows * (size_t)c->n + (size_t)i] =
            strdup(cells[i] ? cells[i] : "");
    c->nrows++;
}

struct sfabric_columns *sfabric_columns_new(int n, const char *const *titles)
{
    struct sfabric_columns *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->n = n;
    add_row(c, titles);
    return c;
}

void sfabric_columns_add(struct sfabric_columns *c, const char *const *cells)
{
    if (c)
        add_row(c, cells);
}

static const char *cell(const struct sfabric_columns *c, size_t row, int i)
{
    const char *s = c->cells[row * (size_t)c->n + (size_t)i];

    return s ? s : "";
}

static const char *color_of(const char *text)
{
    if (strcmp(text, "down") == 0)
        return "\033[31m";
    if (strcmp(text, "degraded") == 0 || strcmp(text, "flapping") == 0)
        return "\033[33m";
    if (strcmp(text, "unknown") == 0)
        return "\033[35m";
    if (strcmp(text, "healthy") == 0)
        return "\033[32m";
    return NULL;
}

static void print_cell(const char *text, int width, bool color)
{
    const char *on = color ? color_of(text) : NULL;

    if (on)
        fputs(on, stdout);
    fputs(text, stdout);
    if (on)
        fputs("\033[0m", stdout);
    if (width > 0)
        printf("%*s", width - (int)strlen(text) + 1, "");
}

static int width_of(const struct sfabric_columns *c, int i, size_t from)
{
    int width = 0;

    for (size_t r = from; r < c->nrows; r++) {
        int len = (int)strlen(cell(c, r, i));

        width = len > width ? len : width;
    }
    return width;
}

void sfabric_columns_print(struct sfabric_columns *c,
                           const struct sfabric_options *o)
{
    size_t from = o->noheader ? 1 : 0;
    int width[32];

    if (!c)
        return;
    for (int i = 0; i < c->n && i < 32; i++)
        width[i] = i == c->n - 1 ? 0 : width_of(c, i, from);
    for (size_t r = from; r < c->nrows; r++) {
        for (int i = 0; i < c->n && i < 32; i++)
            print_cell(cell(c, r, i), width[i], o->color && r > 0);
        putchar('\n');
    }
    for (size_t i = 0; i < c->nrows * (size_t)c->n; i++)
        free(c->cells[i]);
    free(c->cells);
    free(c);
}
