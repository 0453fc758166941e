/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text for people, in a buffer that the caller owns.  A function that can
 * fail takes a `struct errbuf *` (which may be NULL), fills it and returns -1
 * in one line:
 *
 *     return errprintf(err, "%s:%d: no such rail: %d", file, line, rail);
 */
#ifndef SF_BASE_ERRBUF_H
#define SF_BASE_ERRBUF_H

#include <stdarg.h>

#include "base/limits.h"

struct errbuf {
    char text[SF_ERRBUF_SIZE];
};

/* Replace the text.  Cuts at SF_ERRBUF_SIZE; control characters become '?'.
 * Keeps errno.  Returns -1. */
int errprintf(struct errbuf *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int verrprintf(struct errbuf *err, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

#endif
