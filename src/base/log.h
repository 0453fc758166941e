/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Log of our own daemons and helpers (never of engines, which do not log,
 * nor of the Slurm plugins, which use Slurm's log).  Lines go to stderr as
 * "PROGRAM: level: text", or to syslog.
 */
#ifndef SF_BASE_LOG_H
#define SF_BASE_LOG_H

#include <stdbool.h>

enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG
};

struct log_options {
    const char *program;  /* borrowed; must outlive the log */
    enum log_level level; /* what is less urgent is dropped */
    bool to_syslog;       /* else stderr */
};

/* The level that a configuration file calls error, warn, info or debug;
 * otherwise for any other word and for NULL. */
enum log_level log_level_of(const char *word, enum log_level otherwise);

/* May be called again; before the first call errors and warnings go to
 * stderr without a program name. */
void log_open(const struct log_options *options);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
