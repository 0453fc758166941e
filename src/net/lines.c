/* SPDX-License-Identifier: BSD-3-Clause
 * See lines.h.
 */
#include "net/lines.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void net_lines_init(struct net_lines *l, const char *file, const char *text,
                    size_t len, struct errbuf *err)
{
    l->file = file;
    l->text = text;
    l->len = len;
    l->at = 0;
    l->number = 0;
    l->line[0] = '\0';
    l->bad = false;
    l->err = err;
}

int net_lines_error(struct net_lines *l, const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    errprintf(l->err, "%s:%u: %s", l->file, l->number, text);
    l->bad = true;
    errno = EINVAL;
    return -1;
}

bool net_lines_next(struct net_lines *l)
{
    const char *from = l->text + l->at, *end;
    size_t n;

    if (l->bad || l->at >= l->len)
        return false;
    end = memchr(from, '\n', l->len - l->at);
    n = end ? (size_t)(end - from) : l->len - l->at;
    l->number++;
    l->at += n + (end != NULL);
    if (n >= sizeof(l->line)) {
        net_lines_error(l, "longer than %zu bytes", sizeof(l->line) - 1);
        return false;
    }
    if (memchr(from, '\0', n)) {
        net_lines_error(l, "not a text");
        return false;
    }
    memcpy(l->line, from, n);
    l->line[n] = '\0';
    return true;
}

char *net_next_word(char **at)
{
    char *word;

    while (isspace((unsigned char)**at))
        (*at)++;
    if (!**at)
        return NULL;
    word = *at;
    while (**at && !isspace((unsigned char)**at))
        (*at)++;
    if (**at)
        *(*at)++ = '\0';
    return word;
}

bool net_parse_number(const char *word, int base, uint64_t max, uint64_t *out)
{
    unsigned long long v;
    char *end;

    if (!*word || word[strspn(word, "0123456789abcdefABCDEF")])
        return false;
    errno = 0;
    v = strtoull(word, &end, base);
    if (errno || *end || v > max)
        return false;
    *out = v;
    return true;
}
