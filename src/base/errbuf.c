/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>

#include "base/errbuf.h"

/* Texts quote what users wrote and end in the logs of daemons, where a line
 * must stay one line. */
static void make_plain(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

int verrprintf(struct errbuf *err, const char *fmt, va_list ap)
{
    int saved_errno = errno;

    if (err) {
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
        make_plain(err->text);
    }
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
