/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The live programs of a partition manager, by number: O(1).
 */
#ifndef SF_ELAN_LIVE_H
#define SF_ELAN_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "elan/jobinfo.h"

struct elan_live {
    struct elan_live_program *by_number;
};

struct elan_live_program; /* opaque but for the functions below */

/* Enter the program of *info, which is copied.  0, or -1 with ENOMEM. */
int elan_live_add(struct elan_live *live, const struct elan_jobinfo *info);
struct elan_live_program *elan_live_find(const struct elan_live *live,
                                         uint32_t prognum);
/* Any one of them; NULL when there is none. */
struct elan_live_program *elan_live_any(const struct elan_live *live);
void elan_live_remove(struct elan_live *live, struct elan_live_program *p);
uint32_t elan_live_count(const struct elan_live *live);

/* Of each one; f may remove it. */
void elan_live_each(struct elan_live *live,
                    void (*f)(struct elan_live_program *p, void *arg),
                    void *arg);

/* What was entered, without the sealed text; borrowed. */
const struct elan_jobinfo *elan_live_info(const struct elan_live_program *p);

/* Is it the program of the same step? */
bool elan_live_same_step(const struct elan_live_program *p,
                         const struct elan_jobinfo *info);

#endif
