/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the site configured: SwitchParameters and the elanhosts file.
 */
#ifndef SF_SWITCH_ELAN_SITE_H
#define SF_SWITCH_ELAN_SITE_H

#include "base/errbuf.h"
#include "elan/elanhosts.h"
#include "elan/options.h"

struct site {
    struct elan_site options;
    struct elanhosts *hosts;
};

/* Read both; errors of the file go to Slurm's log line by line.  0, or -1
 * with text; then *site is empty. */
int site_read(struct site *site, struct errbuf *err);
void site_free(struct site *site);

#endif
