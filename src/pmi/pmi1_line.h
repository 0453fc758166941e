/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One line of PMI-1: blank-separated key=value words.
 */
#ifndef SF_PMI_PMI1_LINE_H
#define SF_PMI_PMI1_LINE_H

#include <stddef.h>

#define PMI1_WORDS_MAX 16

struct pmi1_line {
    size_t nwords;
    struct {
        const char *key;
        const char *value;
    } word[PMI1_WORDS_MAX];
};

/* Split text (NUL terminated, no newline) in place; the words borrow from
 * it.  Returns 0, or -1 with errno EPROTO: no '=' in a word, too many. */
int pmi1_line_split(struct pmi1_line *line, char *text);

/* The value of a key, or NULL. */
const char *pmi1_line_get(const struct pmi1_line *line, const char *key);

#endif
