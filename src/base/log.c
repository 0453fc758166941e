/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/log.h"

/* One line, so that concurrent writers do not mix. */
#define LINE_SIZE 1024

static struct log_options opts = {.level = LOG_LEVEL_WARN};

static const struct {
    const char *name;
    int priority;
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", LOG_ERR},
    [LOG_LEVEL_WARN] = {"warning", LOG_WARNING},
    [LOG_LEVEL_INFO] = {"info", LOG_INFO},
    [LOG_LEVEL_DEBUG] = {"debug", LOG_DEBUG},
};

enum log_level log_level_of(const char *word, enum log_level otherwise)
{
    static const char *const words[] = {"error", "warn", "info", "debug"};

    for (int i = 0; i < 4; i++)
        if (word && strcmp(word, words[i]) == 0)
            return (enum log_level)i;
    return otherwise;
}

void log_open(const struct log_options *options)
{
    opts = *options;
    if (opts.to_syslog)
        openlog(opts.program, LOG_PID, LOG_DAEMON);
}

static void write_line(enum log_level level, const char *text)
{
    char line[LINE_SIZE];
    const char *program = opts.program ? opts.program : "";
    int n = snprintf(line, sizeof(line) - 1, "%s%s%s: %s", program,
                     opts.program ? ": " : "", levels[level].name, text);

    if (n < 0)
        return;
    if ((size_t)n > sizeof(line) - 2)
        n = sizeof(line) - 2;
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return; /* nowhere left to complain */
}

static void vlog(enum log_level level, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static void vlog(enum log_level level, const char *fmt, va_list ap)
{
    char text[LINE_SIZE];
    int saved_errno = errno;

    if (level > opts.level)
        return;
    vsnprintf(text, sizeof(text), fmt, ap);
    if (opts.to_syslog)
        syslog(levels[level].priority, "%s", text);
    else
        write_line(level, text);
    errno = saved_errno;
}

#define DEFINE_LOG(name, level)                                                \
    void name(const char *fmt, ...)                                            \
    {                                                                          \
        va_list ap;                                                            \
                                                                               \
        va_start(ap, fmt);                                                     \
        vlog(level, fmt, ap);                                                  \
        va_end(ap);                                                            \
    }

DEFINE_LOG(log_error, LOG_LEVEL_ERROR)
DEFINE_LOG(log_warn, LOG_LEVEL_WARN)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
DEFINE_LOG(log_debug, LOG_LEVEL_DEBUG)
