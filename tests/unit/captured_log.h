/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is logged meanwhile, from level info on, for tests that count lines.
 */
#ifndef CAPTURED_LOG_H
#define CAPTURED_LOG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

struct captured_log {
    FILE *file; /* stderr, meanwhile */
    int stderr_fd;
};

static inline void captured_log_open(struct captured_log *l)
{
    static const struct log_options options = {"test", LOG_LEVEL_INFO, false};

    l->file = tmpfile();
    assert_non_null(l->file);
    l->stderr_fd = dup(STDERR_FILENO);
    dup2(fileno(l->file), STDERR_FILENO);
    log_open(&options);
}

static inline void captured_log_close(struct captured_log *l)
{
    dup2(l->stderr_fd, STDERR_FILENO);
    close(l->stderr_fd);
    fclose(l->file);
}

/* Lines so far that say so. */
static inline size_t captured_log_lines(struct captured_log *l,
                                        const char *text)
{
    char line[2048];
    size_t n = 0;

    rewind(l->file);
    while (fgets(line, sizeof(line), l->file))
        n += strstr(line, text) != NULL;
    return n;
}

#endif
