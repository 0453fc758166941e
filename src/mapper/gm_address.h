/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 48-bit board ids, kept in the low bits of a uint64_t, and the rank of
 * mappers: level first, then the id as an unsigned number.
 */
#ifndef SF_MAPPER_GM_ADDRESS_H
#define SF_MAPPER_GM_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/be.h"

/* A mapper that meets its own board id elsewhere believes so many searches in
 * a row: one may be wrong when packets are lost, since a crossbar that is not
 * known again counts twice, with all its hosts. */
#define GM_TWIN_SEARCHES 3

#define GM_ADDRESS_TEXT 18 /* "00:60:dd:00:00:01" and its NUL */

void gm_put_address(struct be_writer *w, uint64_t address);
uint64_t gm_get_address(struct be_reader *r);
/* Writes to text[GM_ADDRESS_TEXT] and returns it. */
const char *gm_address_text(uint64_t address, char *text);

/* True when mapper a outranks mapper b. */
bool gm_outranks(uint32_t level_a, uint64_t a, uint32_t level_b, uint64_t b);

#endif
