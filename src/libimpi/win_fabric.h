/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of windows that libfabric reads and writes without messages
 * (doc/impi-rma.md).  All under the lock.
 */
#ifndef LIBIMPI_WIN_FABRIC_H
#define LIBIMPI_WIN_FABRIC_H

#include "libimpi/win.h"

/* What the engine needs for that, if all have agreed and this process wants
 * to. */
void win_fabric_add(struct impi_rma_ops *ops);
/* Tell the engine what is over.  True when something is. */
bool win_fabric_progress(void);
/* Nobody uses the window's own memory any more. */
void win_fabric_hide(struct win *w);

#endif
