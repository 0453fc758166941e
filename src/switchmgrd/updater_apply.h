/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From wants to updates: nodes that are to get the same texts get them in one
 * RPC, drains and resumes one by one, all no faster than SlurmRate.
 */
#ifndef SF_SWITCHMGRD_UPDATER_APPLY_H
#define SF_SWITCHMGRD_UPDATER_APPLY_H

#include "switchmgrd/updater.h"

/* Do what can be done now.  True when something is left for later. */
bool upd_apply(struct updater *u);

#endif
