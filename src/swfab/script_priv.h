/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the scripts of faults: how they come to be.
 */
#ifndef SF_SWFAB_SCRIPT_PRIV_H
#define SF_SWFAB_SCRIPT_PRIV_H

#include "swfab/script.h"

/* Append one fault.  0, or -1 with errno EMSGSIZE, ENOMEM. */
int swfab_script_add(struct swfab_script *script, struct swfab_fault fault);
/* Bring all into the order of time; what has equal times stays as it was. */
void swfab_script_sort(struct swfab_script *script);

#endif
