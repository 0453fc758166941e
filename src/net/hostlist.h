/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of names as Slurm's files write them: "n[0-3,8],login,r[1-2]n[00-15]".
 */
#ifndef SF_NET_HOSTLIST_H
#define SF_NET_HOSTLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytebuf.h"
#include "base/errbuf.h"

/* Gets each name in turn; returns false to stop (which is a failure). */
typedef bool net_name_f(void *arg, const char *name);

/* Expand text.  0, or -1 with *err: malformed, more than SF_NET_NODES_MAX
 * names, a name of SF_NET_NAME_MAX bytes or more, or stopped. */
int net_hostlist_expand(const char *text, net_name_f *each, void *arg,
                        struct errbuf *err);

/* Append the names, sorted, the numbers at their ends put together in
 * brackets.  Sorts the array.  False: out of memory. */
bool net_hostlist_compress(const char **names, size_t n, struct bytebuf *out);

#endif
