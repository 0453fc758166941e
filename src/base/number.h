/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decimal numbers in text: digits and nothing else, no sign, no blanks.
 */
#ifndef SF_BASE_NUMBER_H
#define SF_BASE_NUMBER_H

#include <stdint.h>

/* A number from lo to hi; text may be NULL, which is none.  0, or -1 with
 * EINVAL; then *out is as it was. */
int number_parse(uint32_t *out, const char *text, uint32_t lo, uint32_t hi);

#endif
