/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of host names as Slurm's files write them:
 * "n[0-3,8],login,r[1-2]n[00-15]".  Order and repetitions are kept; a number
 * is padded with zeros to the width of the first number of its range
 * (slurm.conf(5), "NodeName").
 */
#ifndef SF_BASE_HOST_NAMES_H
#define SF_BASE_HOST_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytebuf.h"
#include "base/errbuf.h"

/* Gets each name in turn; returns false to stop, which is a failure. */
typedef bool host_name_f(void *arg, const char *name);

/* Calls each() for every name of text.  Names may contain any character but
 * brackets, commas and control characters.  Returns 0, or -1 with errno and
 * *err (may be NULL): EINVAL malformed, E2BIG more than SF_HOST_NAMES_MAX
 * names, or stopped, where errno and *err are what each() left there. */
int host_names_each(const char *text, host_name_f *each, void *arg,
                    struct errbuf *err);

struct host_names {
    char **name; /* [n], each owned */
    uint32_t n;
    uint32_t room; /* private */
};

/* Expands text, names of Slurm nodes (letters, digits, '-', '_', '.'), into
 * *names, which the caller frees with host_names_free() and which is empty on
 * failure.  Returns 0, or -1 with errno and *err (may be NULL): EINVAL
 * malformed, E2BIG more than `most` names, ENOMEM. */
int host_names_expand(struct host_names *names, const char *text, uint32_t most,
                      struct errbuf *err);
/* Name `i` of text, from 0, cut to size - 1 bytes.  False: text is malformed or
 * has not so many. */
bool host_names_nth(const char *text, uint32_t i, char *buf, size_t size);
/* Leaves errno as it is. */
void host_names_free(struct host_names *names);

/* The NodeName of this host: as it is set, if it is (not NULL), else the host's
 * name without its domain.  0; -1 with text: empty, or longer than size - 1. */
int host_names_own(char *name, size_t size, const char *set,
                   struct errbuf *err);

/* Appends the names, sorted, with the numbers at their ends combined in
 * brackets.  Sorts the array.  False: out of memory. */
bool host_names_compress(const char **names, size_t n, struct bytebuf *out);

#endif
