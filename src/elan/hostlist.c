/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "elan/hostlist.h"

/* A name while it grows. */
struct prefix {
    char text[SF_ELAN_NAME_MAX];
    size_t len;
    int brackets;
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

void elan_names_free(struct elan_names *names)
{
    int saved = errno;

    for (uint32_t i = 0; i < names->n; i++)
        free(names->name[i]);
    free(names->name);
    memset(names, 0, sizeof(*names));
    errno = saved;
}

static int grow(struct elan_names *names)
{
    uint32_t room = names->room ? 2 * names->room : 16;
    char **name = realloc(names->name, room * sizeof(char *));

    if (!name)
        return -1;
    names->name = name;
    names->room = room;
    return 0;
}

static int add_name(struct elan_names *names, const struct prefix *p,
                    struct errbuf *err)
{
    if (names->n == SF_ELAN_NODES_MAX) {
        errno = E2BIG;
        return errprintf(err, "more than %d names", SF_ELAN_NODES_MAX);
    }
    if (names->n == names->room && grow(names) < 0)
        return errprintf(err, "out of memory");
    names->name[names->n] = strndup(p->text, p->len);
    if (!names->name[names->n])
        return errprintf(err, "out of memory");
    names->n++;
    return 0;
}

static int append(struct prefix *p, const char *text, size_t len,
                  const char *at, struct errbuf *err)
{
    if (len >= sizeof(p->text) - p->len)
        return bad(err, "a name is too long", at);
    memcpy(p->text + p->len, text, len);
    p->len += len;
    return 0;
}

/* Digits at *s; returns how many, 0 when there are none or too many. */
static int get_number(const char **s, uint32_t *value)
{
    int n = 0;

    *value = 0;
    for (; isdigit((unsigned char)**s); (*s)++, n++) {
        if (n == SF_ELAN_DIGITS_MAX)
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
    if (r->high - r->low >= SF_ELAN_NODES_MAX)
        return bad(err, "a range is too long", at);
    if (**s != ',' && **s != ']')
        return bad(err, "neither , nor ] after a number", at);
    return 0;
}

static int expand_from(struct elan_names *names, struct prefix p, const char *s,
                       const char *end, struct errbuf *err);

static int expand_range(struct elan_names *names, const struct prefix *p,
                        const struct range *r, const char *rest,
                        const char *end, struct errbuf *err)
{
    char digits[SF_ELAN_DIGITS_MAX + 2];

    for (uint32_t v = r->low; v <= r->high; v++) {
        struct prefix q = *p;
        int len = snprintf(digits, sizeof(digits), "%0*u", r->width, v);

        if (append(&q, digits, (size_t)len, rest, err) < 0 ||
            expand_from(names, q, rest, end, err) < 0)
            return -1;
    }
    return 0;
}

/* s points after '['. */
static int expand_bracket(struct elan_names *names, struct prefix *p,
                          const char *s, const char *end, struct errbuf *err)
{
    const char *close = memchr(s, ']', (size_t)(end - s));
    struct range r;

    if (!close)
        return bad(err, "] is missing", s);
    if (++p->brackets > SF_ELAN_BRACKETS_MAX)
        return bad(err, "too many brackets in one name", s);
    for (;;) {
        if (get_range(&s, &r, err) < 0 ||
            expand_range(names, p, &r, close + 1, end, err) < 0)
            return -1;
        if (*s++ == ']')
            return 0;
    }
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("-_.", c));
}

/* Expand what is left of one name; p is what stands before it. */
static int expand_from(struct elan_names *names, struct prefix p, const char *s,
                       const char *end, struct errbuf *err)
{
    const char *start = s;

    while (s < end && name_char(*s))
        s++;
    if (append(&p, start, (size_t)(s - start), start, err) < 0)
        return -1;
    if (s == end)
        return add_name(names, &p, err);
    if (*s == '[')
        return expand_bracket(names, &p, s + 1, end, err);
    return bad(err, "a character that no node name has", s);
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

static int expand_all(struct elan_names *names, const char *text,
                      struct errbuf *err)
{
    for (;;) {
        const char *end = name_end(text);
        struct prefix p = {.len = 0};

        if (end == text)
            return bad(err, "a name is missing", text);
        if (expand_from(names, p, text, end, err) < 0)
            return -1;
        if (*end == '\0')
            return 0;
        text = end + 1;
    }
}

int elan_hostlist_expand(struct elan_names *names, const char *text,
                         struct errbuf *err)
{
    memset(names, 0, sizeof(*names));
    if (expand_all(names, text, err) == 0)
        return 0;
    elan_names_free(names);
    return -1;
}
