/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytebuf.h"
#include "base/jsonx.h"
#include "base/host_names.h"
#include "sfabric/format.h"

#define FIELDS_MAX 16
#define CELL_MAX 128

struct field {
    char letter;
    int width; /* 0: as wide as needed */
    bool right;
    char before[32]; /* literal text in front of it */
};

struct format {
    struct field fields[FIELDS_MAX];
    int n;
};

struct row {
    char cells[FIELDS_MAX][CELL_MAX];
    const char *name;
    size_t index; /* of the node, to keep the order */
};

void format_time(char buf[32], int64_t ms)
{
    time_t t = (time_t)(ms / 1000);
    struct tm tm;

    localtime_r(&t, &tm);
    strftime(buf, 32, "%Y-%m-%dT%H:%M:%S", &tm);
}

static const char *title_of(char letter)
{
    switch (letter) {
    case 'N':
        return "NODELIST";
    case 'D':
        return "NODES";
    case 'T':
        return "STATE";
    case 'S':
        return "SINCE";
    case 'C':
        return "COUNT";
    case 'R':
        return "REASON";
    case 'r':
        return "RAILS";
    case 'd':
        return "DRAINED";
    default:
        return NULL;
    }
}

static int parse(const char *text, struct format *f)
{
    size_t lit = 0;

    memset(f, 0, sizeof(*f));
    for (; *text; text++) {
        struct field *x = &f->fields[f->n];

        if (f->n == FIELDS_MAX)
            return -1;
        if (*text != '%') {
            if (lit < sizeof(x->before) - 1)
                x->before[lit++] = *text;
            continue;
        }
        text++;
        if (*text == '.') {
            x->right = true;
            text++;
        }
        while (isdigit((unsigned char)*text) && x->width < CELL_MAX)
            x->width = x->width * 10 + (*text++ - '0');
        if (!*text || !title_of(*text) || x->width >= CELL_MAX)
            return -1;
        x->letter = *text;
        f->n++;
        lit = 0;
    }
    return f->n ? 0 : -1;
}

static void rails_text(struct json_object *node, char *buf, size_t size)
{
    size_t n, at = 0;
    struct json_object *rails = jsonx_array(node, "rails", &n);

    buf[0] = '\0';
    for (size_t i = 0; i < n && at < size; i++) {
        struct json_object *r = json_object_array_get_idx(rails, i);
        const char *state = jsonx_str(r, "state", 32);
        int64_t rail = 0;

        jsonx_int(r, "rail", 0, 99, &rail);
        at += (size_t)snprintf(buf + at, size - at, "%s%d=%s", i ? "," : "",
                               (int)rail, state ? state : "?");
    }
}

static const char *drained_text(struct json_object *node)
{
    static const struct {
        const char *flag, *text;
    } known[] = {{"drained_by_us", "fabric"},
                 {"drained", "other"},
                 {"maintenance", "maint"},
                 {"capped", "capped"}};
    bool is = false;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (jsonx_bool(node, known[i].flag, &is) && is)
            return known[i].text;
    }
    return "no";
}

static void fill(char letter, struct json_object *node, char cell[CELL_MAX])
{
    const char *text = "";
    int64_t v = 0;

    cell[0] = '\0';
    switch (letter) {
    case 'T':
        text = jsonx_str(node, "state", 32);
        break;
    case 'R':
        text = jsonx_str(node, "why", CELL_MAX);
        if (text && !*text)
            text = "-";
        break;
    case 'd':
        text = drained_text(node);
        break;
    case 'S':
        if (jsonx_int(node, "since", 0, INT64_MAX, &v))
            format_time(cell, v);
        return;
    case 'C':
        jsonx_int(node, "count", 0, INT64_MAX, &v);
        snprintf(cell, CELL_MAX, "%lld", (long long)v);
        return;
    case 'r':
        rails_text(node, cell, CELL_MAX);
        return;
    default: /* N, D: when the line is known */
        return;
    }
    snprintf(cell, CELL_MAX, "%s", text ? text : "");
}

static int by_cells(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    int c = memcmp(a->cells, b->cells, sizeof(a->cells));

    if (c == 0)
        c = a->index < b->index ? -1 : 1;
    return c;
}

static void print_cell(const struct field *f, const char *text, bool color,
                       bool last)
{
    const char *on = NULL;

    if (color && f->letter == 'T')
        on = sfabric_status(text) == SFABRIC_OK     ? "\033[32m"
             : sfabric_status(text) == SFABRIC_DOWN ? "\033[31m"
                                                    : "\033[33m";
    fputs(f->before, stdout);
    if (on)
        fputs(on, stdout);
    if (f->width == 0 || (last && !f->right && f->letter == 'N'))
        fputs(text, stdout);
    else
        printf(f->right ? "%*.*s" : "%-*.*s", f->width, f->width, text);
    if (on)
        fputs("\033[0m", stdout);
}

static void print_line(const struct format *f, char cells[][CELL_MAX],
                       const char *names, size_t count, bool color)
{
    char number[24];

    snprintf(number, sizeof(number), "%zu", count);
    for (int i = 0; i < f->n; i++) {
        const struct field *x = &f->fields[i];
        const char *text = x->letter == 'N'   ? names
                           : x->letter == 'D' ? number
                                              : cells[i];

        print_cell(x, text, color, i == f->n - 1);
    }
    putchar('\n');
}

static void print_titles(const struct format *f)
{
    for (int i = 0; i < f->n; i++)
        print_cell(&f->fields[i], title_of(f->fields[i].letter), false,
                   i == f->n - 1);
    putchar('\n');
}

/* "n[0-3],login"; sorts the names. */
static void compress(const char **names, size_t n, struct bytebuf *out)
{
    bytebuf_consume(out, bytebuf_len(out));
    if (!host_names_compress(names, n, out))
        bytebuf_add(out, "?", 1);
    bytebuf_add(out, "", 1);
}

static void print_rows(const struct format *f, const struct row *rows, size_t n,
                       bool each, bool color)
{
    const char **names = calloc(n ? n : 1, sizeof(*names));
    struct bytebuf list;
    size_t len;

    bytebuf_init(&list, 64 * 1024 * 1024);
    for (size_t i = 0; names && i < n; i += len) {
        for (len = 0; i + len < n; len++) {
            if (len && (each || memcmp(rows[i].cells, rows[i + len].cells,
                                       sizeof(rows[i].cells)) != 0))
                break;
            names[len] = rows[i + len].name;
        }
        compress(names, len, &list);
        print_line(f, (char(*)[CELL_MAX])rows[i].cells,
                   list.bad ? "?" : (const char *)bytebuf_data(&list), len,
                   color);
    }
    bytebuf_free(&list);
    free(names);
}

static int by_name(const void *x, const void *y)
{
    const struct row *a = x, *b = y;

    return strcmp(a->name, b->name);
}

int format_nodes(const char *text, struct json_object *nodes, bool each,
                 bool (*keep)(struct json_object *node),
                 const struct sfabric_options *o)
{
    size_t n = json_object_array_length(nodes), kept = 0;
    struct row *rows = calloc(n ? n : 1, sizeof(*rows));
    struct format f;

    if (!rows || parse(text, &f) < 0) {
        free(rows);
        sfabric_fail("not a format: %s; fields are %%[[.]WIDTH]LETTER, the "
                     "letters N D T S C R r d: see sfabric(1)",
                     text);
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        struct json_object *node = json_object_array_get_idx(nodes, i);

        if (keep && !keep(node))
            continue;
        rows[kept].index = i;
        rows[kept].name = jsonx_str(node, "name", 256);
        if (!rows[kept].name)
            continue;
        for (int c = 0; c < f.n; c++)
            fill(f.fields[c].letter, node, rows[kept].cells[c]);
        kept++;
    }
    qsort(rows, kept, sizeof(*rows), each ? by_name : by_cells);
    if (!o->noheader)
        print_titles(&f);
    print_rows(&f, rows, kept, each, o->color);
    free(rows);
    return 0;
}
