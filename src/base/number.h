/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decimal numbers in text: digits and nothing else, no sign, no blanks.
 */
#ifndef SF_BASE_NUMBER_H
#define SF_BASE_NUMBER_H

#include <stdint.h>

/* Parse a number from lo to hi.  0, or -1 with EINVAL (also for text NULL);
 * *out is unchanged then. */
int number_parse(uint32_t *out, const char *text, uint32_t lo, uint32_t hi);

#endif
