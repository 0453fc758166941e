/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>

#include "base/errbuf.h"

int verrprintf(struct errbuf *err, const char *fmt, va_list ap)
{
    int saved_errno = errno;

    if (err)
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
    errno = saved_errno;
    return -1;
}

int errprintf(struct errbuf *err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    verrprintf(err, fmt, ap);
    va_end(ap);
    return -1;
}
