/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The same trouble again and again is told once, then each time that it has
 * come ten times as often; other trouble is told at once.  Zero to begin with.
 */
#ifndef SF_BASE_REPEAT_H
#define SF_BASE_REPEAT_H

#include <stdint.h>

#include "base/errbuf.h"

struct repeat {
    char text[SF_ERRBUF_SIZE]; /* what came last */
    uint64_t count;            /* how often in a row */
    uint64_t next;             /* the count at which it is told again */
};

/* The text has come: how often by now, or 0 when it is not to be told. */
uint64_t repeat_count(struct repeat *r, const char *text);
/* All is well again: the next text is news. */
void repeat_over(struct repeat *r);

#endif
