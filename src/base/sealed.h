/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bytes that one process makes and others read in place: a memory file that
 * nobody can change any more, whoever holds its descriptor.
 */
#ifndef SF_BASE_SEALED_H
#define SF_BASE_SEALED_H

#include <stddef.h>

#include "base/errbuf.h"

/* A close-on-exec descriptor of a file that holds a copy of data[0..len), len
 * > 0.  name: what /proc shows.  -1 with errno: ENOMEM, EMFILE, others of
 * memfd_create(2). */
int sealed_make(const char *name, const void *data, size_t len);

/* Map it for reading: *len bytes, at most max, until munmap(2); the descriptor
 * may be closed.  NULL with errno and a text: EPROTO not such a file, or empty;
 * EMSGSIZE longer than max; others of mmap(2). */
const void *sealed_map(int fd, size_t max, size_t *len, struct errbuf *err);

#endif
