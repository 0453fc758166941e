/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers in text: digits and nothing else, no sign, no blanks.
 */
#ifndef SF_BASE_NUMBER_H
#define SF_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* Parse a decimal number from lo to hi.  0, or -1 with EINVAL (also for text
 * NULL); *out is unchanged then. */
int number_parse(uint32_t *out, const char *text, uint32_t lo, uint32_t hi);

/* Parse n bytes of two hexadecimal digits each, small letters, which are all of
 * the text.  0, or -1 with EINVAL; out may be filled in part then. */
int number_hex(uint8_t *out, size_t n, const char *text);

/* The same with more text behind them, which is returned; NULL with EINVAL. */
const char *number_hex_part(uint8_t *out, size_t n, const char *text);

#endif
