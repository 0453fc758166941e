/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What links were like: for each a day by minutes and a year by hours, in two
 * files of a directory (doc/web.md has the format).
 *
 *   names   which link has which column since when; replaced as a whole
 *   ring    for each 63 columns a group of HISTORY_MINUTES + HISTORY_HOURS
 *           blocks of 512 bytes, each with its time and a sum of its own
 *
 * A block is one sector and is written once, so a crash costs the minute that
 * was being written and nothing else.  An hour is made from the minutes in the
 * file, not from what was in memory.  A group takes 5.2 MB; nothing is ever
 * longer than that for each 63 of the links that are allowed.
 *
 * What is read is not believed: a file that cannot be used is put aside as
 * NAME.bad and told of, a block with a wrong sum is told of and counts as not
 * known.  Times are minutes or hours since the epoch, from the caller.
 */
#ifndef SF_SWITCHMGRD_HISTORY_H
#define SF_SWITCHMGRD_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/limits.h"

#define HISTORY_MINUTES 1440
#define HISTORY_HOURS (366 * 24)
#define HISTORY_COLUMNS 63 /* of a group */
#define HISTORY_BLOCK 512
#define HISTORY_HEAD 512 /* bytes before the first group */

struct history_sample {
    uint64_t in, out; /* bytes per second; in an hour, of the known minutes */
    uint64_t errors;  /* in this time */
    uint8_t known;    /* minutes of which rates are known: 0 or 1; 0 to 60 */
    uint8_t state;    /* 0: nobody watched; else 1 + the worst health_state */
};

enum history_by { HISTORY_BY_MINUTE, HISTORY_BY_HOUR };

/* Something that a person should hear. */
typedef void history_tell_f(const char *text, void *arg);

struct history_options {
    const char *dir; /* made, if need be */
    size_t links_max;
    history_tell_f *tell;
    void *arg;
};

struct history;

/* Open or begin; `now` is this minute.  NULL: with text, and errno. */
struct history *history_open(const struct history_options *o, int64_t now,
                             struct errbuf *err);
void history_close(struct history *h);

/* What a link was like in the minute that is written next.  -1 ENOSPC: there
 * are links_max others, all of them seen within a day; or ENOMEM. */
int history_set(struct history *h, const char *name, int64_t now,
                const struct history_sample *s);
/* The minute is over: what was set becomes a turn, which has all that it needs
 * of its own.  NULL: no memory, the minute is lost.
 *
 * history_turn_write() puts it on the disk and may take long; another thread
 * may do it, for one turn after the other in their order, while the history is
 * used, but not closed.  history_turn_end() then frees the turn: 0, or -1 with
 * text: the minute is lost.  Until then its minute is not known. */
struct history_turn;
struct history_turn *history_turn_new(struct history *h, int64_t minute);
void history_turn_write(struct history_turn *t);
bool history_turn_is_written(const struct history_turn *t);
int history_turn_end(struct history *h, struct history_turn *t,
                     struct errbuf *err);
/* All three. */
int history_write(struct history *h, int64_t minute, struct errbuf *err);

/* The last n minutes or hours up to `last`, oldest first, on the way from the
 * disk.  NULL with errno: ENOENT, there is no such link; ENOMEM.
 *
 * history_asked_read() may take long; another thread may do it, while the
 * history is used, but not closed.  history_asked_end() then frees it. */
struct history_asked;
struct history_asked *history_asked_new(struct history *h, const char *name,
                                        enum history_by by, int64_t last,
                                        size_t n);
void history_asked_read(struct history_asked *a);
const struct history_sample *
history_asked_samples(const struct history_asked *a);
void history_asked_end(struct history *h, struct history_asked *a);
/* All of it, into out[0..n).  False: no such link, or no memory. */
bool history_read(struct history *h, const char *name, enum history_by by,
                  int64_t last, struct history_sample *out, size_t n);

/* Codecs, for the reader's tests. */
uint16_t history_code(uint64_t value); /* 11 bits of it, rounded down */
uint64_t history_value(uint16_t code);
void history_block_write(uint8_t block[HISTORY_BLOCK], uint32_t time,
                         const struct history_sample *s);
/* 1: good.  0: of another time, or never written.  -1: damaged. */
int history_block_read(const uint8_t block[HISTORY_BLOCK], uint32_t time,
                       struct history_sample s[HISTORY_COLUMNS]);

struct history_name {
    uint32_t column, since, seen;
    char name[SF_HISTORY_NAME_MAX];
};
typedef int history_name_f(const struct history_name *name, void *arg);
/* Lines "COLUMN SINCE SEEN NAME" as a whole file, with its title and its sum.
 * The caller frees it; NULL: no memory. */
char *history_names_close(const char *lines, size_t len, size_t *whole);
/* The file of names.  Nothing is given unless all of it is sound; -1 with
 * text, or what `add` returned. */
int history_names_read(const char *text, size_t len, history_name_f *add,
                       void *arg, struct errbuf *err);

#endif
