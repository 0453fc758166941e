/* SPDX-License-Identifier: BSD-3-Clause
 * See history.h.
 */
#include "switchmgrd/history.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include "base/be.h"
#include "base/bytebuf.h"
#include "base/crc32c.h"
#include "base/file.h"

#define MAGIC "SFhist\0\1"
#define TITLE "slurm-fabric history 1\n"
#define BLOCKS (HISTORY_MINUTES + HISTORY_HOURS)
#define GROUP ((off_t)BLOCKS * HISTORY_BLOCK)
#define CATCH_UP 24 /* hours that are made from minutes after a start */
#define DAY_MINUTES 1440
#define SETTLED 10 /* minutes after a start */

struct column {
    struct history_name is;
    bool set;
    struct history_sample next;
    UT_hash_handle hh;
};

struct history {
    struct history_options o;
    char names[SF_HISTORY_PATH_MAX], ring[SF_HISTORY_PATH_MAX];
    int fd;
    struct column *by_name, **columns;
    size_t ncolumns, ngroups; /* columns that are taken; groups in the ring */
    int64_t hours_done;       /* the last hour that was made */
    int64_t names_saved;      /* in this minute */
    int64_t opened;
    int64_t none_at; /* the last minute when no column could be had again */
    bool names_changed;
    bool damage_told;
    size_t turns; /* that have not ended */
    int64_t from; /* their first minute */
};

/* All that the turn of a minute puts on the disk, apart from the history. */
struct history_turn {
    const char *names_path, *ring; /* the history's */
    int fd;
    int64_t minute;
    size_t old_groups, ngroups;
    uint8_t *blocks; /* of each group; NULL: only hours */
    char *names;     /* the file, when it is to be written */
    size_t names_len;
    int64_t hour_from, hour_to; /* hours to be made; the second is none */
    uint32_t *since;            /* of each column, when there are hours */
    size_t ncolumns;
    off_t damaged; /* the first block that is; 0: none */
    bool done;
    int rc;
    struct errbuf err;
};

static void tell(const struct history *h, const char *text)
{
    if (h->o.tell)
        h->o.tell(text, h->o.arg);
}

/* ---- a block ---------------------------------------------------------------
 */

uint16_t history_code(uint64_t value)
{
    unsigned shift = 0;

    while (value >> shift >= 4096 && shift < 30)
        shift++;
    if (value >> shift >= 4096)
        return UINT16_MAX;
    value >>= shift;
    return value < 2048 ? (uint16_t)value
                        : (uint16_t)((shift + 1) << 11 | (value & 2047));
}

uint64_t history_value(uint16_t code)
{
    unsigned e = code >> 11;
    uint64_t m = code & 2047u;

    return e ? (2048 | m) << (e - 1) : m;
}

/* time, sum of all but itself, cells: in, out, errors, known, state. */
static uint32_t sum_of(const uint8_t *block)
{
    return crc32c(crc32c(0, block, 4), block + 8, HISTORY_BLOCK - 8);
}

void history_block_write(uint8_t block[HISTORY_BLOCK], uint32_t time,
                         const struct history_sample *s)
{
    struct be_writer w;

    be_writer_init(&w, block, HISTORY_BLOCK);
    be_put32(&w, time);
    be_put32(&w, 0);
    for (size_t i = 0; i < HISTORY_COLUMNS; i++) {
        be_put16(&w, history_code(s[i].in));
        be_put16(&w, history_code(s[i].out));
        be_put16(&w, history_code(s[i].errors));
        be_put8(&w, s[i].known);
        be_put8(&w, s[i].state);
    }
    be_store32(block + 4, sum_of(block));
}

int history_block_read(const uint8_t block[HISTORY_BLOCK], uint32_t time,
                       struct history_sample s[HISTORY_COLUMNS])
{
    static const uint8_t hole[HISTORY_BLOCK];
    struct be_reader r;

    memset(s, 0, HISTORY_COLUMNS * sizeof(*s));
    if (memcmp(block, hole, HISTORY_BLOCK) == 0)
        return 0;
    if (be_load32(block + 4) != sum_of(block))
        return -1;
    if (be_load32(block) != time)
        return 0;
    be_reader_init(&r, block + 8, HISTORY_BLOCK - 8);
    for (size_t i = 0; i < HISTORY_COLUMNS; i++) {
        s[i].in = history_value(be_get16(&r));
        s[i].out = history_value(be_get16(&r));
        s[i].errors = history_value(be_get16(&r));
        s[i].known = be_get8(&r);
        s[i].state = be_get8(&r);
    }
    return 1;
}

/* ---- names -----------------------------------------------------------------
 */

static bool is_name(const char *s)
{
    if (!isalnum((unsigned char)*s) || strlen(s) >= SF_HISTORY_NAME_MAX)
        return false;
    for (; *s; s++) {
        if (!isalnum((unsigned char)*s) && !strchr(".-_:/", *s))
            return false;
    }
    return true;
}

/* "COLUMN SINCE SEEN NAME\n"; the text has a NUL behind it. */
static bool read_line(const char **at, struct history_name *n)
{
    uint32_t *const numbers[] = {&n->column, &n->since, &n->seen};
    const char *p = *at;
    size_t len;

    for (int i = 0; i < 3; i++) {
        char *end;
        unsigned long v;

        if (!isdigit((unsigned char)*p))
            return false;
        v = strtoul(p, &end, 10);
        if (v > UINT32_MAX || *end != ' ')
            return false;
        *numbers[i] = (uint32_t)v;
        p = end + 1;
    }
    len = strcspn(p, "\n");
    if (len == 0 || len >= sizeof(n->name) || p[len] != '\n')
        return false;
    memcpy(n->name, p, len);
    n->name[len] = '\0';
    *at = p + len + 1;
    return n->column < SF_HISTORY_LINKS_MAX && is_name(n->name);
}

/* The last line, "end SUM", is of all before it. */
static const char *sound(const char *text, size_t len, struct errbuf *err)
{
    static const char end[] = "end 00000000\n";
    size_t tail = sizeof(end) - 1;
    char want[sizeof(end)];

    if (len < sizeof(TITLE) - 1 + tail ||
        memcmp(text, TITLE, sizeof(TITLE) - 1) != 0) {
        errprintf(err, "not a file of names, or cut off");
        return NULL;
    }
    snprintf(want, sizeof(want), "end %08" PRIx32 "\n",
             crc32c(0, text, len - tail));
    if (memcmp(text + len - tail, want, tail) != 0) {
        errprintf(err, "cut off or changed: its sum is wrong");
        return NULL;
    }
    return text + len - tail;
}

int history_names_read(const char *text, size_t len, history_name_f *add,
                       void *arg, struct errbuf *err)
{
    const char *end = sound(text, len, err), *at;
    struct history_name n;

    if (!end)
        return -1;
    for (at = text + sizeof(TITLE) - 1; at < end;) {
        if (!read_line(&at, &n) || at > end)
            return errprintf(err, "a line that is none: %.32s", at);
    }
    for (at = text + sizeof(TITLE) - 1; at < end;) {
        int rc = read_line(&at, &n) ? add(&n, arg) : -1;

        if (rc != 0)
            return rc;
    }
    return 0;
}

char *history_names_close(const char *lines, size_t len, size_t *whole)
{
    size_t title = sizeof(TITLE) - 1;
    char *text = malloc(title + len + 32);

    if (!text)
        return NULL;
    memcpy(text, TITLE, title);
    memcpy(text + title, lines, len);
    *whole = title + len;
    *whole += (size_t)sprintf(text + *whole, "end %08" PRIx32 "\n",
                              crc32c(0, text, *whole));
    return text;
}

/* The file of names as it should be now; NULL: no memory. */
static char *names_of(const struct history *h, size_t *len)
{
    struct bytebuf b;
    char *text = NULL;

    bytebuf_init(&b, SF_HISTORY_NAMES_MAX);
    for (size_t i = 0; i < h->ncolumns; i++) {
        const struct history_name *n = &h->columns[i]->is;

        bytebuf_printf(&b, "%" PRIu32 " %" PRIu32 " %" PRIu32 " %s\n",
                       n->column, n->since, n->seen, n->name);
    }
    if (!b.bad)
        text = history_names_close((const char *)bytebuf_data(&b),
                                   bytebuf_len(&b), len);
    bytebuf_free(&b);
    return text;
}

/* ---- columns ---------------------------------------------------------------
 */

static struct column *find(const struct history *h, const char *name)
{
    struct column *c;

    HASH_FIND_STR(h->by_name, name, c);
    return c;
}

/* Another column at the end. */
static struct column *grow(struct history *h)
{
    struct column **more, *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    if (h->ncolumns % HISTORY_COLUMNS == 0) {
        more = realloc(h->columns,
                       (h->ncolumns + HISTORY_COLUMNS) * sizeof(*more));
        if (!more) {
            free(c);
            return NULL;
        }
        h->columns = more;
    }
    c->is.column = (uint32_t)h->ncolumns;
    h->columns[h->ncolumns++] = c;
    return c;
}

/* The one that nobody has seen for the longest, and for a day.  How old `seen`
 * is shows only when all that are there had time to be seen. */
static struct column *reuse(struct history *h, int64_t now)
{
    bool none = now - h->opened < SETTLED || h->none_at == now;
    size_t n = none ? 0 : h->ncolumns;
    struct column *oldest = NULL;

    for (size_t i = 0; i < n; i++) {
        struct column *c = h->columns[i];

        if (now - (int64_t)c->is.seen >= DAY_MINUTES && !c->set &&
            (!oldest || c->is.seen < oldest->is.seen))
            oldest = c;
    }
    if (oldest) {
        HASH_DEL(h->by_name, oldest);
    } else {
        h->none_at = now; /* they only grow younger within a minute */
        errno = ENOSPC;
    }
    return oldest;
}

static struct column *take(struct history *h, const char *name, int64_t now)
{
    struct column *c;

    if (!is_name(name)) {
        errno = EINVAL;
        return NULL;
    }
    c = h->ncolumns < h->o.links_max ? grow(h) : reuse(h, now);
    if (!c)
        return NULL;
    snprintf(c->is.name, sizeof(c->is.name), "%s", name);
    c->is.since = (uint32_t)now;
    HASH_ADD_STR(h->by_name, is.name, c);
    h->names_changed = true;
    return c;
}

int history_set(struct history *h, const char *name, int64_t now,
                const struct history_sample *s)
{
    struct column *c = find(h, name);

    if (!c && !(c = take(h, name, now)))
        return -1;
    c->is.seen = (uint32_t)now;
    c->next = *s;
    c->set = true;
    return 0;
}

/* ---- the ring --------------------------------------------------------------
 */

static off_t place(size_t group, enum history_by by, int64_t time)
{
    int64_t at = by == HISTORY_BY_MINUTE
                     ? time % HISTORY_MINUTES
                     : HISTORY_MINUTES + time % HISTORY_HOURS;

    return HISTORY_HEAD + (off_t)group * GROUP + at * HISTORY_BLOCK;
}

/* As history_block_read(); what the file is too short for is not there. */
static int read_block(int fd, size_t group, enum history_by by, int64_t time,
                      struct history_sample *s)
{
    uint8_t block[HISTORY_BLOCK] = {0};
    ssize_t n;

    do
        n = pread(fd, block, sizeof(block), place(group, by, time));
    while (n < 0 && errno == EINTR);
    if (n == 0 || n == HISTORY_BLOCK)
        return history_block_read(block, (uint32_t)time, s);
    memset(s, 0, HISTORY_COLUMNS * sizeof(*s));
    return -1;
}

static void tell_damage(struct history *h, off_t at)
{
    char text[SF_HISTORY_PATH_MAX + 128];

    if (h->damage_told)
        return;
    h->damage_told = true;
    snprintf(text, sizeof(text),
             "%s: the block at %lld is damaged: what it held counts as not "
             "known; others may be, too",
             h->ring, (long long)at);
    tell(h, text);
}

static int write_block(const struct history_turn *t, off_t at,
                       const uint8_t block[HISTORY_BLOCK], struct errbuf *err)
{
    ssize_t n;

    do
        n = pwrite(t->fd, block, HISTORY_BLOCK, at);
    while (n < 0 && errno == EINTR);
    if (n == HISTORY_BLOCK)
        return 0;
    return errprintf(err, "%s: %s", t->ring,
                     n < 0 ? strerror(errno) : "no space left");
}

/* ---- the turn of a minute --------------------------------------------------
 */

/* Groups come before the names that say so. */
static int extend(const struct history_turn *t, struct errbuf *err)
{
    if (t->ngroups <= t->old_groups)
        return 0;
    if (ftruncate(t->fd, HISTORY_HEAD + (off_t)t->ngroups * GROUP) < 0 ||
        fsync(t->fd) < 0)
        return errprintf(err, "%s: %s", t->ring, strerror(errno));
    return 0;
}

/* An hour of one link, of its minutes. */
struct hour {
    uint64_t in, out, errors;
    unsigned known, state;
};

static void add(struct hour *hour, const struct history_sample *s)
{
    if (s->known) {
        hour->in += s->in;
        hour->out += s->out;
        hour->known++;
    }
    hour->errors += s->errors;
    if (s->state > hour->state)
        hour->state = s->state;
}

static int look(struct history_turn *t, size_t group, enum history_by by,
                int64_t time, struct history_sample *s)
{
    int rc = read_block(t->fd, group, by, time, s);

    if (rc < 0 && !t->damaged)
        t->damaged = place(group, by, time);
    return rc;
}

static int make_hour(struct history_turn *t, size_t group, int64_t hour,
                     struct errbuf *err)
{
    struct hour sum[HISTORY_COLUMNS] = {{0}};
    struct history_sample s[HISTORY_COLUMNS];
    uint8_t block[HISTORY_BLOCK];
    bool any = false;

    if (look(t, group, HISTORY_BY_HOUR, hour, s) > 0)
        return 0;
    for (int64_t m = hour * 60; m < hour * 60 + 60; m++) {
        if (look(t, group, HISTORY_BY_MINUTE, m, s) <= 0)
            continue;
        any = true;
        for (size_t i = 0; i < HISTORY_COLUMNS; i++) {
            size_t c = group * HISTORY_COLUMNS + i;

            if (c < t->ncolumns && m >= (int64_t)t->since[c])
                add(&sum[i], &s[i]);
        }
    }
    if (!any)
        return 0;
    for (size_t i = 0; i < HISTORY_COLUMNS; i++) {
        const struct hour *a = &sum[i];

        s[i] = (struct history_sample){
            a->known ? a->in / a->known : 0, a->known ? a->out / a->known : 0,
            a->errors, (uint8_t)a->known, (uint8_t)a->state};
    }
    history_block_write(block, (uint32_t)hour, s);
    return write_block(t, place(group, HISTORY_BY_HOUR, hour), block, err);
}

static int make_hours(struct history_turn *t, struct errbuf *err)
{
    for (; t->hour_from < t->hour_to; t->hour_from++) {
        for (size_t g = 0; g < t->ngroups; g++) {
            if (make_hour(t, g, t->hour_from, err) < 0)
                return -1;
        }
    }
    return 0;
}

static int write_minute(const struct history_turn *t, struct errbuf *err)
{
    for (size_t g = 0; t->blocks && g < t->ngroups; g++) {
        if (write_block(t, place(g, HISTORY_BY_MINUTE, t->minute),
                        t->blocks + g * HISTORY_BLOCK, err) < 0)
            return -1;
    }
    return 0;
}

void history_turn_write(struct history_turn *t)
{
    t->done = true;
    t->rc = -1;
    if (extend(t, &t->err) == 0 &&
        (!t->names || file_replace(t->names_path, t->names, t->names_len, 0600,
                                   FILE_DURABLE, &t->err) == 0) &&
        write_minute(t, &t->err) == 0)
        t->rc = make_hours(t, &t->err);
    if (t->rc == 0 && t->blocks && fdatasync(t->fd) < 0)
        t->rc = errprintf(&t->err, "%s: %s", t->ring, strerror(errno));
}

bool history_turn_is_written(const struct history_turn *t)
{
    return t->done;
}

static void put_blocks(const struct history *h, struct history_turn *t)
{
    for (size_t g = 0; g < t->ngroups; g++) {
        struct history_sample s[HISTORY_COLUMNS];

        memset(s, 0, sizeof(s));
        for (size_t i = 0; i < HISTORY_COLUMNS; i++) {
            size_t c = g * HISTORY_COLUMNS + i;

            if (c < h->ncolumns && h->columns[c]->set)
                s[i] = h->columns[c]->next;
        }
        history_block_write(t->blocks + g * HISTORY_BLOCK, (uint32_t)t->minute,
                            s);
    }
}

static void turn_free(struct history_turn *t)
{
    if (!t)
        return;
    free(t->blocks);
    free(t->names);
    free(t->since);
    free(t);
}

/* The hours that ended before this minute. */
static bool put_hours(const struct history *h, struct history_turn *t,
                      int64_t minute)
{
    t->hour_to = minute / 60;
    t->hour_from = h->hours_done + 1;
    if (t->hour_from < t->hour_to - CATCH_UP)
        t->hour_from = t->hour_to - CATCH_UP;
    if (t->hour_from >= t->hour_to)
        return true;
    t->since = calloc(h->ncolumns + 1, sizeof(*t->since));
    for (size_t i = 0; t->since && i < h->ncolumns; i++)
        t->since[i] = h->columns[i]->is.since;
    return t->since != NULL;
}

static struct history_turn *turn_new(const struct history *h)
{
    struct history_turn *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->fd = h->fd;
    t->names_path = h->names;
    t->ring = h->ring;
    t->ncolumns = h->ncolumns;
    t->old_groups = h->ngroups;
    t->ngroups = (h->ncolumns + HISTORY_COLUMNS - 1) / HISTORY_COLUMNS;
    return t;
}

struct history_turn *history_turn_new(struct history *h, int64_t minute)
{
    bool names = h->names_changed || minute - h->names_saved >= DAY_MINUTES;
    struct history_turn *t = turn_new(h);
    bool ok = t;

    if (ok) {
        t->minute = minute;
        t->blocks = calloc(t->ngroups + 1, HISTORY_BLOCK);
        if (names)
            t->names = names_of(h, &t->names_len);
        ok = t->blocks && (!names || t->names) && put_hours(h, t, minute + 1);
    }
    if (ok) {
        put_blocks(h, t);
        h->from = h->turns++ ? h->from : minute;
    }
    if (ok && names) {
        h->names_changed = false;
        h->names_saved = minute;
    }
    for (size_t i = 0; i < h->ncolumns; i++)
        h->columns[i]->set = false;
    if (ok)
        return t;
    turn_free(t);
    return NULL;
}

int history_turn_end(struct history *h, struct history_turn *t,
                     struct errbuf *err)
{
    int rc = t->done ? t->rc : errprintf(err, "%s: not written", t->ring);

    if (t->damaged)
        tell_damage(h, t->damaged);
    if (t->done && rc < 0)
        *err = t->err;
    if (rc < 0)
        h->names_changed = h->names_changed || t->names;
    else if (t->ngroups > h->ngroups)
        h->ngroups = t->ngroups;
    if (t->hour_from - 1 > h->hours_done)
        h->hours_done = t->hour_from - 1;
    if (t->blocks) {
        h->turns--;
        h->from = t->minute + 1;
    }
    turn_free(t);
    return rc;
}

int history_write(struct history *h, int64_t minute, struct errbuf *err)
{
    struct history_turn *t = history_turn_new(h, minute);

    if (!t)
        return errprintf(err, "%s: no memory", h->ring);
    history_turn_write(t);
    return history_turn_end(h, t, err);
}

/* A start has only the hours to make that ended before. */
static int catch_up(struct history *h, int64_t now, struct errbuf *err)
{
    struct history_turn *t = turn_new(h);

    if (!t || !put_hours(h, t, now)) {
        turn_free(t);
        return errprintf(err, "%s: no memory", h->ring);
    }
    history_turn_write(t);
    return history_turn_end(h, t, err);
}

/* ---- reading ---------------------------------------------------------------
 */

/* What reading needs, apart from the history. */
struct history_asked {
    int fd;
    enum history_by by;
    size_t group, column;        /* of the group */
    int64_t first, since, until; /* the last is not known yet, nor what comes */
    off_t damaged;               /* the first block that is; 0: none */
    size_t n;
    struct history_sample samples[];
};

/* What another thread may be writing just now is not known yet. */
static int64_t written_until(const struct history *h, enum history_by by)
{
    if (h->turns == 0)
        return INT64_MAX;
    return by == HISTORY_BY_MINUTE ? h->from : h->hours_done + 1;
}

struct history_asked *history_asked_new(struct history *h, const char *name,
                                        enum history_by by, int64_t last,
                                        size_t n)
{
    const struct column *c = find(h, name);
    struct history_asked *a;

    errno = ENOENT;
    if (!c || !(a = calloc(1, sizeof(*a) + n * sizeof(a->samples[0]))))
        return NULL;
    a->fd = h->fd;
    a->by = by;
    a->group = c->is.column / HISTORY_COLUMNS;
    a->column = c->is.column % HISTORY_COLUMNS;
    a->first = last - (int64_t)(n - 1);
    a->since = by == HISTORY_BY_MINUTE ? c->is.since : c->is.since / 60;
    a->until = written_until(h, by);
    a->n = n;
    return a;
}

/* A block that is written while it is read is not damaged: once more. */
void history_asked_read(struct history_asked *a)
{
    struct history_sample s[HISTORY_COLUMNS];

    for (size_t i = 0; i < a->n; i++) {
        int64_t time = a->first + (int64_t)i;
        int rc;

        if (time < a->since || time >= a->until)
            continue;
        rc = read_block(a->fd, a->group, a->by, time, s);
        if (rc < 0)
            rc = read_block(a->fd, a->group, a->by, time, s);
        if (rc > 0)
            a->samples[i] = s[a->column];
        else if (rc < 0 && !a->damaged)
            a->damaged = place(a->group, a->by, time);
    }
}

const struct history_sample *
history_asked_samples(const struct history_asked *a)
{
    return a->samples;
}

void history_asked_end(struct history *h, struct history_asked *a)
{
    if (a->damaged)
        tell_damage(h, a->damaged);
    free(a);
}

bool history_read(struct history *h, const char *name, enum history_by by,
                  int64_t last, struct history_sample *out, size_t n)
{
    struct history_asked *a = history_asked_new(h, name, by, last, n);

    if (!a)
        return false;
    history_asked_read(a);
    memcpy(out, a->samples, n * sizeof(*out));
    history_asked_end(h, a);
    return true;
}

/* ---- opening ---------------------------------------------------------------
 */

static int add_name(const struct history_name *n, void *arg)
{
    struct history *h = arg;
    struct column *c;

    if (n->column != h->ncolumns || find(h, n->name) ||
        n->column >= SF_HISTORY_LINKS_MAX)
        return -2;
    c = grow(h);
    if (!c)
        return -1;
    c->is = *n;
    HASH_ADD_STR(h->by_name, is.name, c);
    return 0;
}

static void forget(struct history *h)
{
    HASH_CLEAR(hh, h->by_name);
    for (size_t i = 0; i < h->ncolumns; i++)
        free(h->columns[i]);
    free(h->columns);
    h->columns = NULL;
    h->ncolumns = h->ngroups = 0;
}

/* An unusable file is kept for inspection, and reported. */
static void put_aside(struct history *h, const char *path, const char *why)
{
    char bad[SF_HISTORY_PATH_MAX + 8], text[2 * SF_HISTORY_PATH_MAX];

    snprintf(bad, sizeof(bad), "%s.bad", path);
    if (rename(path, bad) < 0 && errno == ENOENT)
        return;
    snprintf(text, sizeof(text),
             "%s: %s; it is now %s.bad, and history begins anew", path, why,
             path);
    tell(h, text);
}

static void load_names(struct history *h)
{
    struct errbuf err = {"names that contradict each other"};
    size_t len;
    char *text = file_read(h->names, SF_HISTORY_NAMES_MAX, 0, &len, &err);

    if (!text && errno == ENOENT)
        return;
    if (!text || history_names_read(text, len, add_name, h, &err) != 0) {
        forget(h);
        put_aside(h, h->names, err.text);
    }
    free(text);
}

static void make_head(uint8_t head[HISTORY_HEAD])
{
    struct be_writer w;

    memset(head, 0, HISTORY_HEAD);
    be_writer_init(&w, head, HISTORY_HEAD);
    be_put_bytes(&w, MAGIC, 8);
    be_put32(&w, HISTORY_MINUTES);
    be_put32(&w, HISTORY_HOURS);
    be_put32(&w, crc32c(0, head, 16));
}

/* Is the open file what its head says, and as long as the names need it? */
static bool is_ring(struct history *h, char *why, size_t size)
{
    size_t need = (h->ncolumns + HISTORY_COLUMNS - 1) / HISTORY_COLUMNS;
    off_t want = HISTORY_HEAD + (off_t)need * GROUP;
    uint8_t head[HISTORY_HEAD], have[HISTORY_HEAD] = {0};
    struct stat st;
    ssize_t n = pread(h->fd, have, sizeof(have), 0);

    make_head(head);
    if (fstat(h->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        snprintf(why, size, "not a regular file");
        return false;
    }
    if (n != HISTORY_HEAD || memcmp(head, have, HISTORY_HEAD) != 0) {
        snprintf(why, size, "not a history of this format, or cut off");
        return false;
    }
    if (st.st_size > HISTORY_HEAD && need == 0) {
        snprintf(why, size, "nobody knows whose it is, without names");
        return false;
    }
    h->ngroups = need;
    if (st.st_size < want) {
        snprintf(why, size,
                 "%s: cut off at %lld of %lld bytes: what stood behind them "
                 "is not known",
                 h->ring, (long long)st.st_size, (long long)want);
        tell(h, why);
        return ftruncate(h->fd, want) == 0;
    }
    return true;
}

static int begin_ring(struct history *h, struct errbuf *err)
{
    uint8_t head[HISTORY_HEAD];

    make_head(head);
    h->fd = open(h->ring, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (h->fd >= 0 && pwrite(h->fd, head, sizeof(head), 0) == HISTORY_HEAD &&
        fsync(h->fd) == 0)
        return 0;
    return errprintf(err, "%s: %s", h->ring, strerror(errno));
}

static int open_ring(struct history *h, struct errbuf *err)
{
    char why[SF_HISTORY_PATH_MAX + 128];

    h->fd = open(h->ring, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (h->fd < 0 && errno != ENOENT && errno != ELOOP && errno != EISDIR)
        return errprintf(err, "%s: %s", h->ring, strerror(errno));
    if (h->fd >= 0 && is_ring(h, why, sizeof(why)))
        return 0;
    if (h->fd >= 0)
        close(h->fd);
    if (h->fd >= 0 || errno != ENOENT)
        put_aside(h, h->ring, h->fd >= 0 ? why : "not a regular file");
    else if (h->ncolumns)
        tell(h, "the history's ring is gone; it begins anew");
    forget(h);
    put_aside(h, h->names, "its ring is of no use");
    return begin_ring(h, err);
}

struct history *history_open(const struct history_options *o, int64_t now,
                             struct errbuf *err)
{
    struct history *h = calloc(1, sizeof(*h));
    int e;

    if (!h) {
        errprintf(err, "no memory");
        return NULL;
    }
    h->o = *o;
    h->o.dir = NULL;
    h->fd = -1;
    h->hours_done = now / 60 - CATCH_UP - 1;
    h->names_saved = h->opened = now;
    snprintf(h->names, sizeof(h->names), "%s/names", o->dir);
    snprintf(h->ring, sizeof(h->ring), "%s/ring", o->dir);
    if (mkdir(o->dir, 0700) < 0 && errno != EEXIST) {
        errprintf(err, "%s: %s", o->dir, strerror(errno));
    } else {
        load_names(h);
        if (open_ring(h, err) == 0 && catch_up(h, now, err) == 0)
            return h;
    }
    e = errno;
    history_close(h);
    errno = e;
    return NULL;
}

void history_close(struct history *h)
{
    if (!h)
        return;
    forget(h);
    if (h->fd >= 0)
        close(h->fd);
    free(h);
}
