/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of the words that exist somebody meant who wrote another one.
 */
#ifndef SF_BASE_MEANT_H
#define SF_BASE_MEANT_H

struct meant {
    const char *wrote;
    const char *word; /* the closest so far, NULL: none is close */
    unsigned least;   /* the word must differ in fewer letters */
};

/* A word of n letters may have n / 3 letters too many, too few or wrong, or
 * swapped with their neighbour; case does not matter. */
void meant_begin(struct meant *m, const char *wrote);

/* A word that exists; of several that are as close the first one counts. */
void meant_try(struct meant *m, const char *word);

#endif
