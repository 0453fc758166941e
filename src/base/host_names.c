/* SPDX-License-Identifier: BSD-3-Clause
 * See host_names.h.
 */
#include "base/host_names.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"

/* ---- reading ------------------------------------------------------------- */

struct expand {
    host_name_f *each;
    void *arg;
    struct errbuf *err;
    uint32_t count;
    char name[SF_HOST_NAME_MAX]; /* while it grows */
};

/* One range inside brackets. */
struct range {
    uint32_t low, high;
    int width; /* digits to pad to */
};

static int bad(struct errbuf *err, const char *why, const char *at)
{
    errno = EINVAL;
    return errprintf(err, "%s at \"%.40s\"", why, at);
}

static int finish(struct expand *e, size_t len)
{
    e->name[len] = '\0';
    if (e->count++ == SF_HOST_NAMES_MAX) {
        errno = E2BIG;
        return errprintf(e->err, "more than %u names", SF_HOST_NAMES_MAX);
    }
    return e->each(e->arg, e->name) ? 0 : -1;
}

/* Digits at *s; returns how many, 0 when there are none or too many. */
static int get_number(const char **s, uint32_t *value)
{
    int n = 0;

    *value = 0;
    for (; isdigit((unsigned char)**s); (*s)++, n++) {
        if (n == SF_HOST_NAME_DIGITS_MAX)
            return 0;
        *value = *value * 10 + (uint32_t)(**s - '0');
    }
    return n;
}

static int get_range(const char **s, struct range *r, struct errbuf *err)
{
    const char *at = *s;

    r->width = get_number(s, &r->low);
    if (r->width == 0)
        return bad(err, "a number is missing or too long", at);
    r->high = r->low;
    if (**s == '-') {
        (*s)++;
        if (get_number(s, &r->high) == 0)
            return bad(err, "a number is missing or too long", at);
    }
    if (r->high < r->low)
        return bad(err, "a range runs backwards", at);
    if (r->high - r->low >= SF_HOST_NAMES_MAX)
        return bad(err, "a range is too long", at);
    if (**s != ',' && **s != ']')
        return bad(err, "neither , nor ] after a number", at);
    return 0;
}

static int expand_from(struct expand *e, const char *s, const char *end,
                       size_t len, int brackets);

/* e->name[0..len) and each number of the range, then what follows the
 * bracket. */
static int expand_range(struct expand *e, const struct range *r,
                        const char *rest, const char *end, size_t len,
                        int brackets)
{
    for (uint32_t v = r->low; v <= r->high; v++) {
        size_t room = sizeof(e->name) - len;
        int got = snprintf(e->name + len, room, "%0*u", r->width, v);

        if ((size_t)got >= room)
            return bad(e->err, "a name is too long", rest);
        if (expand_from(e, rest, end, len + (size_t)got, brackets) < 0)
            return -1;
    }
    return 0;
}

/* s points after '['. */
static int expand_bracket(struct expand *e, const char *s, const char *end,
                          size_t len, int brackets)
{
    const char *close = memchr(s, ']', (size_t)(end - s));
    struct range r = {0};

    if (!close)
        return bad(e->err, "] is missing", s);
    if (brackets == SF_HOST_NAME_BRACKETS_MAX)
        return bad(e->err, "too many brackets in one name", s);
    for (;;) {
        if (get_range(&s, &r, e->err) < 0 ||
            expand_range(e, &r, close + 1, end, len, brackets + 1) < 0)
            return -1;
        if (*s++ == ']')
            return 0;
    }
}

/* What is left of one name; e->name[0..len) stands before it. */
static int expand_from(struct expand *e, const char *s, const char *end,
                       size_t len, int brackets)
{
    for (; s < end && *s != '['; s++) {
        if (len + 1 >= sizeof(e->name))
            return bad(e->err, "a name is too long", s);
        if (*s == ']' || iscntrl((unsigned char)*s))
            return bad(e->err, "a character that no name has", s);
        e->name[len++] = *s;
    }
    return s == end ? finish(e, len)
                    : expand_bracket(e, s + 1, end, len, brackets);
}

/* End of the name at s: the next comma outside brackets. */
static const char *name_end(const char *s)
{
    bool inside = false;

    for (; *s && (inside || *s != ','); s++) {
        if (*s == '[')
            inside = true;
        else if (*s == ']')
            inside = false;
    }
    return s;
}

int host_names_each(const char *text, host_name_f *each, void *arg,
                    struct errbuf *err)
{
    struct expand e = {.each = each, .arg = arg, .err = err};
    const char *end;

    for (;; text = end + 1) {
        end = name_end(text);
        if (end == text)
            return bad(err, "a name is missing", text);
        if (expand_from(&e, text, end, 0, 0) < 0)
            return -1;
        if (*end == '\0')
            return 0;
    }
}

/* ---- into an array ------------------------------------------------------- */

struct collect {
    struct host_names *names;
    uint32_t most;
    struct errbuf *err;
};

void host_names_free(struct host_names *names)
{
    int saved = errno;

    for (uint32_t i = 0; i < names->n; i++)
        free(names->name[i]);
    free(names->name);
    memset(names, 0, sizeof(*names));
    errno = saved;
}

static bool grow(struct host_names *names)
{
    uint32_t room = names->room ? 2 * names->room : 16;
    char **name = realloc(names->name, room * sizeof(char *));

    if (!name)
        return false;
    names->name = name;
    names->room = room;
    return true;
}

static bool add_name(void *arg, const char *name)
{
    struct collect *c = arg;
    struct host_names *names = c->names;
    const char *s = name;

    while (isalnum((unsigned char)*s) || (*s && strchr("-_.", *s)))
        s++;
    if (*s) {
        bad(c->err, "a character that no node name has", s);
        return false;
    }
    if (names->n == c->most) {
        errno = E2BIG;
        errprintf(c->err, "more than %u names", c->most);
        return false;
    }
    if ((names->n == names->room && !grow(names)) ||
        !(names->name[names->n] = strdup(name))) {
        errno = ENOMEM;
        errprintf(c->err, "out of memory");
        return false;
    }
    names->n++;
    return true;
}

struct nth {
    uint32_t left;
    char *buf;
    size_t size;
    bool found;
};

/* Stops at the one that is looked for. */
static bool take_nth(void *arg, const char *name)
{
    struct nth *n = arg;

    if (n->left-- > 0)
        return true;
    n->found = true;
    snprintf(n->buf, n->size, "%s", name);
    return false;
}

bool host_names_nth(const char *text, uint32_t i, char *buf, size_t size)
{
    struct nth n = {.left = i, .buf = buf, .size = size};

    host_names_each(text, take_nth, &n, NULL);
    return n.found;
}

int host_names_expand(struct host_names *names, const char *text, uint32_t most,
                      struct errbuf *err)
{
    struct collect c = {names, most, err};

    memset(names, 0, sizeof(*names));
    if (host_names_each(text, add_name, &c, err) == 0)
        return 0;
    host_names_free(names);
    return -1;
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

    while (s.prefix > 0 && s.width < SF_HOST_NAME_DIGITS_MAX &&
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

bool host_names_compress(const char **names, size_t n, struct bytebuf *out)
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

int host_names_own(char *name, size_t size, const char *set, struct errbuf *err)
{
    char host[HOST_NAME_MAX + 1] = "";

    if (!set && gethostname(host, sizeof(host) - 1) == 0)
        host[strcspn(host, ".")] = '\0';
    if (!set)
        set = host;
    if (!set[0] || strlen(set) >= size)
        return errprintf(err, "NodeName: missing or longer than %zu bytes",
                         size - 1);
    strcpy(name, set);
    return 0;
}
