/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Expands a list of node names as slurm.conf writes them: "n[0-3,8],login",
 * "r[1-2]n[00-15]".  Order and repetitions are kept; a number is padded with
 * zeros to the width of the first number of its range.
 */
#ifndef SF_ELAN_HOSTLIST_H
#define SF_ELAN_HOSTLIST_H

#include <stdint.h>

#include "base/errbuf.h"

struct elan_names {
    char **name; /* [n], each owned */
    uint32_t n;
    uint32_t room; /* private */
};

/* Expand text into *names (elan_names_free() it; empty on failure).  Returns
 * 0, or -1 with errno and text: EINVAL malformed, E2BIG more than
 * SF_ELAN_NODES_MAX names, ENOMEM. */
int elan_hostlist_expand(struct elan_names *names, const char *text,
                         struct errbuf *err);
void elan_names_free(struct elan_names *names);

#endif
