/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whole files: read one into memory, replace one in a step.
 */
#ifndef SF_BASE_FILE_H
#define SF_BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/errbuf.h"

/* Flags of file_read(). */
#define FILE_NO_LINK 1u /* a symbolic link is refused (ELOOP) */
#define FILE_ANY 2u     /* a pipe or a device, too, and wait for it */

/* The whole of a file of at most `max` bytes, with a NUL behind it; *len (may
 * be NULL) without that.  The caller frees it.  NULL with *err, which names
 * the file, and errno: that of open(2) or read(2), EINVAL for what is not a
 * regular file, EFBIG for more than `max`.  Without FILE_ANY it never waits,
 * whatever stands under that name. */
char *file_read(const char *path, size_t max, unsigned flags, size_t *len,
                struct errbuf *err);

/* Flags of file_replace(). */
#define FILE_DURABLE 1u /* on the disk, also after a power failure, or -1 */
#define FILE_UMASK 2u   /* the mode is less the umask, as open(2)'s */

/* Put `bytes` into a file: whoever opens it sees all of the old ones or all of
 * the new ones.  Written is PATH.new first, which must not be somebody else's
 * to make.  0, or -1 with *err, which names the file, and errno; then PATH is
 * as it was and PATH.new is gone. */
int file_replace(const char *path, const void *bytes, size_t len, mode_t mode,
                 unsigned flags, struct errbuf *err);

#endif
