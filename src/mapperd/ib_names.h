/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the switches of an exploration call themselves, and which are to be
 * asked.  The answer that tells a name may come too late for the explorer; then
 * a later one tells it again.
 */
#ifndef SF_MAPPERD_IB_NAMES_H
#define SF_MAPPERD_IB_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "mapper/idmap.h"

/* A switch that was asked is not asked again for so long.  So only one of the
 * probes that reach it together asks, and it is asked again when the answer was
 * lost or is late.  It is less than a probe waits, so that a repeated probe may
 * ask. */
#define IB_NAME_WAIT_MS 50

struct ib_name;

/* All zero to begin with; ib_names_free() ends it. */
struct ib_names {
    struct idmap asked; /* node GUIDs: when the name was asked for, in ms */
    struct ib_name *names;
};

/* Is the switch to be asked now (of a steady clock)?  It is noted, then.  One
 * without a GUID always is. */
bool ib_names_must_ask(struct ib_names *n, uint64_t guid, uint32_t now_ms);
/* The first one stays; without memory none is kept. */
void ib_names_put(struct ib_names *n, uint64_t guid, const char *text);
/* NULL: not known. */
const char *ib_names_get(const struct ib_names *n, uint64_t guid);
void ib_names_free(struct ib_names *n);

#endif
