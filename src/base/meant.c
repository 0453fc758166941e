/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/meant.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define LONGEST 40 /* letters of a word that is compared at all */

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned less(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Letters that must be added, left out, changed or swapped to make b of a. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
    unsigned rows[3][LONGEST + 1]; /* of the last three letters of a */

    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *before = rows[(i + 2) % 3], *first = rows[(i + 1) % 3];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned change = before[j - 1] + !same(a[i - 1], b[j - 1]);

            row[j] = less(change, less(before[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
                same(a[i - 2], b[j - 1]))
                row[j] = less(row[j], first[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

void meant_begin(struct meant *m, const char *wrote)
{
    size_t n = strlen(wrote);

    m->wrote = wrote;
    m->word = NULL;
    m->least = n > LONGEST ? 0 : (unsigned)n / 3 + 1;
}

void meant_try(struct meant *m, const char *word)
{
    size_t na = strlen(m->wrote), nb = strlen(word);
    unsigned d;

    if (na > LONGEST || nb > LONGEST)
        return;
    d = distance(m->wrote, na, word, nb);
    if (d >= m->least)
        return;
    m->least = d;
    m->word = word;
}
