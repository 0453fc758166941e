/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Typed configuration: `Key=Value` files read with inih.  The caller gives a
 * table of the keys that exist; anything else in the file is an error that
 * names file, line and key.  All errors of a file are found in one pass.
 */
#ifndef SF_BASE_CONF_H
#define SF_BASE_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errbuf.h"

enum conf_type {
    CONF_BOOL,   /* bool: yes no true false 1 0 */
    CONF_INT,    /* long, between min and max; 0x for hexadecimal */
    CONF_STRING, /* char *, allocated; conf_free() frees it */
};

struct conf_key {
    const char *name; /* compared without case */
    enum conf_type type;
    size_t offset; /* of the member in the caller's struct */
    long min, max; /* CONF_INT only */
};

/* A key of a member of struct `type`. */
#define CONF_KEY_BOOL(type, key, member)                                       \
    {                                                                          \
        key, CONF_BOOL, offsetof(struct type, member), 0, 0                    \
    }
#define CONF_KEY_INT(type, key, member, lo, hi)                                \
    {                                                                          \
        key, CONF_INT, offsetof(struct type, member), lo, hi                   \
    }
#define CONF_KEY_STRING(type, key, member)                                     \
    {                                                                          \
        key, CONF_STRING, offsetof(struct type, member), 0, 0                  \
    }

/* Called once per error, with the complete text. */
typedef void conf_error_f(const char *text, void *arg);

/* Read `path` into *config by the table keys[nkeys].  What the file does not
 * name keeps the value it has.  A key given twice is an error.  A '#' at the
 * beginning of a line or behind a blank begins a remark; but for that a line
 * has at most 199 bytes (inih's buffer).  A file that is not there is one that
 * names nothing, unless it must be.
 * Returns 0; or -1 with errno: EINVAL at least one error was reported through
 * report (which may be NULL); ENOENT and others: the file could not be read
 * (reported as well). */
int conf_read(const char *path, bool must, const struct conf_key *keys,
              size_t nkeys, void *config, conf_error_f *report, void *arg);

/* The same from memory; `name` stands for the file in messages. */
int conf_parse(const char *name, const char *text, const struct conf_key *keys,
               size_t nkeys, void *config, conf_error_f *report, void *arg);

/* Set one key, from a command line say.  Returns what is wrong with the value,
 * in *err or for ever, or that there is no such key; NULL if nothing. */
const char *conf_set(const struct conf_key *keys, size_t nkeys, void *config,
                     const char *key, const char *value, struct errbuf *err);

/* The line of a file that gives this key, for what turns out to be wrong later;
 * 0: none does, or the file cannot be read. */
int conf_line(const char *path, const char *key);

/* *err is "KEY: WHAT": put "FILE:LINE: " before it, or "FILE: " when no line
 * gives the key.  Keeps errno; -1. */
int conf_locate(struct errbuf *err, const char *path);

/* What one key alone does not show: the caller's checks after reading, which
 * count what they find wrong. */
struct conf_check {
    const char *name; /* of the file */
    conf_error_f *report;
    void *arg;
    int errors;
};
/* "FILE:LINE: KEY: WHAT"; see conf_locate() */
void conf_wrong(struct conf_check *check, const char *key, const char *what);
/* The index of the value among the words (the last is NULL), ignoring case; 0
 * if the value is NULL; 0 and a complaint if it is not one of them. */
int conf_one_of(struct conf_check *check, const char *key, const char *value,
                const char *const *words, const char *what);

/* Free the CONF_STRING members and set them to NULL. */
void conf_free(const struct conf_key *keys, size_t nkeys, void *config);

#endif
