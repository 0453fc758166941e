/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <ini.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/conf.h"
#include "base/meant.h"

#define CONF_KEYS_MAX 128 /* keys in one table */

struct reading {
    const char *file;
    FILE *stream;
    int line; /* that inih was last given, from 1 */
    const struct conf_key *keys;
    size_t nkeys;
    void *config;
    conf_error_f *report;
    void *arg;
    bool seen[CONF_KEYS_MAX];
    int errors;
};

static void complain(struct reading *r, int line, const char *key,
                     const char *what)
{
    struct errbuf err;

    r->errors++;
    if (line > 0)
        errprintf(&err, "%s:%d: %s: %s", r->file, line, key, what);
    else
        errprintf(&err, "%s: %s", r->file, what);
    if (r->report)
        r->report(err.text, r->arg);
}

static const struct conf_key *find_key(const struct conf_key *keys,
                                       size_t nkeys, const char *name)
{
    for (size_t i = 0; i < nkeys; i++) {
        if (strcasecmp(keys[i].name, name) == 0)
            return &keys[i];
    }
    return NULL;
}

/* What is wrong with a key that find_key() does not find. */
static const char *unknown_key(const struct conf_key *keys, size_t nkeys,
                               const char *name, struct errbuf *err)
{
    struct meant m;

    meant_begin(&m, name);
    for (size_t i = 0; i < nkeys; i++)
        meant_try(&m, keys[i].name);
    if (!m.word)
        return "no such key";
    errprintf(err, "no such key; did you mean %s?", m.word);
    return err->text;
}

static const char *set_bool(bool *member, const char *value)
{
    static const char *const yes[] = {"yes", "true", "1", "on"};
    static const char *const no[] = {"no", "false", "0", "off"};

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        if (strcasecmp(value, yes[i]) == 0) {
            *member = true;
            return NULL;
        }
        if (strcasecmp(value, no[i]) == 0) {
            *member = false;
            return NULL;
        }
    }
    return "not yes or no";
}

static const char *set_int(long *member, const struct conf_key *key,
                           const char *value, struct errbuf *err)
{
    char *end;
    long v;

    errno = 0;
    v = strtol(value, &end, 0);
    if (end == value || *end != '\0' || errno == ERANGE)
        return "not a whole number";
    if (v < key->min || v > key->max) {
        errprintf(err, "%ld is not between %ld and %ld", v, key->min, key->max);
        return err->text;
    }
    *member = v;
    return NULL;
}

static const char *set_string(char **member, const char *value)
{
    char *copy = strdup(value);

    if (!copy)
        return "out of memory";
    free(*member);
    *member = copy;
    return NULL;
}

/* Returns what is wrong with the value, or NULL. */
static const char *set_member(void *config, const struct conf_key *key,
                              const char *value, struct errbuf *err)
{
    void *member = (char *)config + key->offset;

    switch (key->type) {
    case CONF_BOOL:
        return set_bool(member, value);
    case CONF_INT:
        return set_int(member, key, value, err);
    case CONF_STRING:
        return set_string(member, value);
    }
    return "key of unknown type";
}

/* The rest of a line that did not fit; whether there was any. */
static bool skip_rest(FILE *stream)
{
    int c = getc(stream);
    bool any = c != EOF;

    while (c != EOF && c != '\n')
        c = getc(stream);
    return any;
}

/* inih takes a line that begins with a blank for more of the value before it,
 * and a remark behind a value for a part of it unless it begins with ';'.
 * Returns whether the line ended in a remark. */
static bool make_plain(char *line)
{
    size_t blanks = strspn(line, " \t");

    memmove(line, line + blanks, strlen(line + blanks) + 1);
    for (char *c = line; (c = strchr(c, '#')); c++) {
        if (c == line || c[-1] == ' ' || c[-1] == '\t') {
            *c = '\0';
            return true;
        }
    }
    return line[0] == ';';
}

/* Debian's inih tells its handler no line numbers, so we count the lines that
 * it reads.  Of one that is longer than its buffer it would take the rest for
 * another line. */
static char *next_line(char *buf, int size, void *arg)
{
    struct reading *r = arg;
    struct errbuf err;
    bool cut;

    r->line++;
    if (!fgets(buf, size, r->stream))
        return NULL;
    cut = strlen(buf) == (size_t)size - 1 && buf[size - 2] != '\n' &&
          skip_rest(r->stream);
    if (!make_plain(buf) && cut) {
        errprintf(&err, "the line is longer than %d bytes", size - 1);
        buf[strcspn(buf, "= \t")] = '\0';
        complain(r, r->line, buf, err.text);
        buf[0] = '\0';
    }
    return buf;
}

static int handle(void *user, const char *section, const char *name,
                  const char *value)
{
    struct reading *r = user;
    int line = r->line;
    const struct conf_key *key = find_key(r->keys, r->nkeys, name);
    struct errbuf err;
    size_t index;
    const char *wrong;

    if (section[0] != '\0') {
        complain(r, line, name, "sections are not used in this file");
        return 1;
    }
    if (!key) {
        complain(r, line, name, unknown_key(r->keys, r->nkeys, name, &err));
        return 1;
    }
    index = (size_t)(key - r->keys);
    if (r->seen[index]) {
        complain(r, line, name, "given twice");
        return 1;
    }
    r->seen[index] = true;
    wrong = set_member(r->config, key, value, &err);
    if (wrong)
        complain(r, line, name, wrong);
    return 1;
}

/* ini_parse_stream() returns the number of the first line without '='. */
static int read_stream(struct reading *r)
{
    int bad_line = ini_parse_stream(next_line, r, handle, r);

    if (bad_line > 0)
        complain(r, bad_line, "syntax", "not of the form Key=Value");
    if (ferror(r->stream)) /* a directory can be opened, too */
        complain(r, 0, NULL, "cannot be read; is it a file?");
    if (r->errors > 0) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}

static int read_and_close(struct reading *r)
{
    int rc;

    if (!r->stream) {
        int saved_errno = errno;

        complain(r, 0, NULL, strerror(errno));
        errno = saved_errno;
        return -1;
    }
    if (r->nkeys > CONF_KEYS_MAX) {
        complain(r, 0, NULL, "more keys than this program can read");
        fclose(r->stream);
        errno = E2BIG;
        return -1;
    }
    rc = read_stream(r);
    fclose(r->stream);
    return rc;
}

int conf_parse(const char *name, const char *text, const struct conf_key *keys,
               size_t nkeys, void *config, conf_error_f *report, void *arg)
{
    struct reading r = {.file = name,
                        .keys = keys,
                        .nkeys = nkeys,
                        .config = config,
                        .report = report,
                        .arg = arg};

    if (text[0] == '\0')
        return 0; /* fmemopen() takes no empty buffer */
    r.stream = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    return read_and_close(&r);
}

int conf_read(const char *path, bool must, const struct conf_key *keys,
              size_t nkeys, void *config, conf_error_f *report, void *arg)
{
    struct reading r = {.file = path,
                        .keys = keys,
                        .nkeys = nkeys,
                        .config = config,
                        .report = report,
                        .arg = arg};

    r.stream = fopen(path, "re");
    if (!r.stream && errno == ENOENT && !must)
        return 0;
    return read_and_close(&r);
}

const char *conf_set(const struct conf_key *keys, size_t nkeys, void *config,
                     const char *key, const char *value, struct errbuf *err)
{
    const struct conf_key *it = find_key(keys, nkeys, key);

    return it ? set_member(config, it, value, err)
              : unknown_key(keys, nkeys, key, err);
}

struct finding {
    struct reading reading; /* counts the lines */
    const char *key;
    int line;
};

static int look(void *user, const char *section, const char *name,
                const char *value)
{
    struct finding *f = user;

    if (strcasecmp(name, f->key) == 0)
        f->line = f->reading.line;
    return 1;
}

int conf_line(const char *path, const char *key)
{
    struct finding f = {.key = key,
                        .reading = {.file = path, .stream = fopen(path, "re")}};

    if (!f.reading.stream)
        return 0;
    ini_parse_stream(next_line, &f.reading, look, &f);
    fclose(f.reading.stream);
    return f.line;
}

int conf_locate(struct errbuf *err, const char *path)
{
    struct errbuf what = *err;
    size_t len = strcspn(what.text, ":");
    int e = errno, line = 0;
    char key[64];

    if (len < sizeof(key)) {
        memcpy(key, what.text, len);
        key[len] = '\0';
        line = conf_line(path, key);
    }
    if (line > 0)
        errprintf(err, "%s:%d: %s", path, line, what.text);
    else
        errprintf(err, "%s: %s", path, what.text);
    errno = e;
    return -1;
}

void conf_wrong(struct conf_check *k, const char *key, const char *what)
{
    struct errbuf err;

    k->errors++;
    errprintf(&err, "%s: %s", key, what);
    conf_locate(&err, k->name);
    if (k->report)
        k->report(err.text, k->arg);
}

int conf_one_of(struct conf_check *k, const char *key, const char *value,
                const char *const *words, const char *what)
{
    for (int i = 0; value && words[i]; i++) {
        if (strcasecmp(value, words[i]) == 0)
            return i;
    }
    if (value)
        conf_wrong(k, key, what);
    return 0;
}

void conf_free(const struct conf_key *keys, size_t nkeys, void *config)
{
    for (size_t i = 0; i < nkeys; i++) {
        char **member = (char **)((char *)config + keys[i].offset);

        if (keys[i].type != CONF_STRING)
            continue;
        free(*member);
        *member = NULL;
    }
}
