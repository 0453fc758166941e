/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mapperd for InfiniBand: a daemon that looks at all ports every few seconds
 * and reports to switchmgrd.  It only asks; the subnet manager stays who it
 * is.  One of them is enough for a fabric, on any host with an adapter.
 */
#ifndef SF_MAPPERD_RUN_IB_H
#define SF_MAPPERD_RUN_IB_H

#include "mapperd/settings.h"

int run_ib(struct settings *settings); /* the exit status */

#endif
