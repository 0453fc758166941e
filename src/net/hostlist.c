/* SPDX-License-Identifier: BSD-3-Clause
 * See hostlist.h.
 */
#include "net/hostlist.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

#define DIGITS_MAX 9

/* ---- reading ------------------------------------------------------------- */

struct expand {
    net_name_f *each;
    void *arg;
    struct errbuf *err;
    uint32_t count;
    char name[SF_NET_NAME_MAX];
};

static int from(struct expand *e, const char *at, const char *end, size_t len);

static int finish(struct expand *e, size_t len)
{
    e->name[len] = '\0';
    if (len == 0)
        return errprintf(e->err, "an empty name");
    if (e->count++ == SF_NET_NODES_MAX)
        return errprintf(e->err, "more than %u names", SF_NET_NODES_MAX);
    return e->each(e->arg, e->name) ? 0 : -1;
}

/* Up to DIGITS_MAX digits; how many, 0: none or too many. */
static size_t number(const char *at, const char *end, uint32_t *value)
{
    size_t n = 0;

    *value = 0;
    while (at + n < end && isdigit((unsigned char)at[n])) {
        if (n == DIGITS_MAX)
            return 0;
        *value = *value * 10 + (uint32_t)(at[n++] - '0');
    }
    return n;
}

/* One range of a bracket, then what follows the bracket, for each number. */
static int range(struct expand *e, const char *at, const char *stop,
                 const char *rest, const char *end, size_t len)
{
    uint32_t lo, hi;
    size_t width = number(at, stop, &lo), n = width;

    hi = lo;
    if (width && at + width < stop && at[width] == '-') {
        n = number(at + width + 1, stop, &hi);
        n = n ? n + width + 1 : 0;
    }
    if (!n || at + n != stop || hi < lo)
        return errprintf(e->err, "%.*s is no range", (int)(stop - at), at);
    for (uint32_t v = lo; v <= hi; v++) {
        int got = snprintf(e->name + len, sizeof(e->name) - len, "%0*u",
                           (int)width, v);

        if ((size_t)got >= sizeof(e->name) - len)
            return errprintf(e->err, "a name is too long");
        if (from(e, rest, end, len + (size_t)got) < 0)
            return -1;
    }
    return 0;
}

/* The rest of one name: e->name[0..len) stands. */
static int from(struct expand *e, const char *at, const char *end, size_t len)
{
    const char *close, *stop;

    while (at < end && *at != '[') {
        if (len + 1 >= sizeof(e->name))
            return errprintf(e->err, "a name is too long");
        if (*at == ']' || iscntrl((unsigned char)*at))
            return errprintf(e->err, "a %s in a name",
                             *at == ']' ? "]" : "control character");
        e->name[len++] = *at++;
    }
    if (at == end)
        return finish(e, len);
    close = memchr(at, ']', (size_t)(end - at));
    if (!close)
        return errprintf(e->err, "a [ without ]");
    for (at++;; at = stop + 1) {
        stop = memchr(at, ',', (size_t)(close - at));
        if (!stop)
            stop = close;
        if (range(e, at, stop, close + 1, end, len) < 0)
            return -1;
        if (stop == close)
            return 0;
    }
}

/* The comma that ends the first name, outside brackets. */
static const char *name_end(const char *at)
{
    int depth = 0;

    for (; *at && (*at != ',' || depth > 0); at++)
        depth += (*at == '[') - (*at == ']');
    return at;
}

int net_hostlist_expand(const char *text, net_name_f *each, void *arg,
                        struct errbuf *err)
{
    struct expand e = {.each = each, .arg = arg, .err = err};
    const char *end;

    for (;; text = end + 1) {
        end = name_end(text);
        if (from(&e, text, end, 0) < 0)
            return -1;
        if (!*end)
            return 0;
    }
}

/* ---- writing ------------------------------------------------------------- */

struct split {
    const char *name;
    size_t prefix; /* bytes before the number */
    size_t width;  /* of the number, 0: there is none */
    uint32_t value;
};

static struct split split_name(const char *name)
{
    struct split s = {.name = name, .prefix = strlen(name)};

    while (s.prefix > 0 && s.width < DIGITS_MAX &&
           isdigit((unsigned char)name[s.prefix - 1])) {
        s.prefix--;
        s.width++;
    }
    if (s.width)
        s.value = (uint32_t)strtoul(name + s.prefix, NULL, 10);
    return s;
}

/* Numbers without leading zeros stand together whatever their width. */
static bool padded(const struct split *s)
{
    return s->width > 1 && s->name[s->prefix] == '0';
}

static int by_name(const void *va, const void *vb)
{
    const struct split *a = va, *b = vb;
    size_t n = a->prefix < b->prefix ? a->prefix : b->prefix;
    int d = memcmp(a->name, b->name, n);

    if (d)
        return d;
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix ? -1 : 1;
    if (!a->width != !b->width)
        return a->width ? 1 : -1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Can b stand in a's bracket? */
static bool together(const struct split *a, const struct split *b)
{
    return a->width && b->width && a->prefix == b->prefix &&
           memcmp(a->name, b->name, a->prefix) == 0 &&
           (a->width == b->width || (!padded(a) && !padded(b))) &&
           b->value != a->value;
}

static void add_text(struct bytebuf *out, const char *text)
{
    bytebuf_add(out, text, strlen(text));
}

/* s[0..n) belong together, n > 1. */
static void add_bracket(struct bytebuf *out, const struct split *s, size_t n)
{
    bytebuf_add(out, s[0].name, s[0].prefix);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && s[k].value == s[k - 1].value + 1; k++)
            ;
        add_text(out, i ? "," : "[");
        add_text(out, s[i].name + s[i].prefix);
        if (k - i > 1) {
            add_text(out, "-");
            add_text(out, s[k - 1].name + s[k - 1].prefix);
        }
    }
    add_text(out, "]");
}

bool net_hostlist_compress(const char **names, size_t n, struct bytebuf *out)
{
    struct split *s = malloc((n + 1) * sizeof(*s));

    if (!s)
        return false;
    for (size_t i = 0; i < n; i++)
        s[i] = split_name(names[i]);
    qsort(s, n, sizeof(*s), by_name);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1;
             k < n && together(&s[k - 1], &s[k]) && together(&s[i], &s[k]); k++)
            ;
        if (i)
            add_text(out, ",");
        if (k - i > 1)
            add_bracket(out, s + i, k - i);
        else
            add_text(out, s[i].name);
    }
    for (size_t i = 0; i < n; i++)
        names[i] = s[i].name;
    free(s);
    return true;
}
