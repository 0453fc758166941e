/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A text, line by line, for the readers of src/net.  Nothing is copied but
 * one line at a time; errors name file and line.
 */
#ifndef SF_NET_LINES_H
#define SF_NET_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/limits.h"

struct net_lines {
    const char *file, *text;
    size_t len, at;
    unsigned number; /* of the line in `line`, from 1 */
    char line[SF_NET_LINE_MAX];
    bool bad; /* a line too long, or with a NUL: *err says so */
    struct errbuf *err;
};

void net_lines_init(struct net_lines *l, const char *file, const char *text,
                    size_t len, struct errbuf *err);
/* The next line without its end; false at the end or when bad. */
bool net_lines_next(struct net_lines *l);
/* "FILE:LINE: ..." into the error buffer, errno EINVAL; returns -1. */
int net_lines_error(struct net_lines *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* What stands between words of a line. */
#define NET_WHITE " \t\r\v\f"
/* The next word (up to white space) of *at, which moves behind it; NULL: no
 * more.  The text is cut there. */
char *net_next_word(char **at);

/* A number in `base`, all of the word.  False: it is not, or above max. */
bool net_parse_number(const char *word, int base, uint64_t max, uint64_t *out);

#endif
