/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who may be asked for.  A page of a stranger can lead a name of its own to
 * this address, and then a browser that is allowed to come here reads us for
 * it ("DNS rebinding").  The name that the browser says gives it away.
 */
#ifndef SF_SWITCHMGRD_PAGE_HOST_H
#define SF_SWITCHMGRD_PAGE_HOST_H

#include <stdbool.h>

/* The Host header, NULL when there is none (no browser's request).  Good are
 * an address, localhost, this machine's `own` name, and what the comma list
 * (may be NULL) has; each with or without a port. */
bool page_host_ok(const char *host, const char *own, const char *list);

#endif
