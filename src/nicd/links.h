/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel's word that something of a network interface of this machine has
 * changed (rtnetlink): then a look need not wait for its time.  What has
 * changed sysfs tells.
 */
#ifndef SF_NICD_LINKS_H
#define SF_NICD_LINKS_H

#include "base/errbuf.h"

/* A socket that can be read when something has changed; -1 with text. */
int links_open(struct errbuf *err);
/* Take what has come; all of it, or as much as is taken at a time. */
void links_drain(int fd);

#endif
