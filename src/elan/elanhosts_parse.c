/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text -> identity table.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "elan/elanhosts_impl.h"
#include "elan/hostlist.h"
#include "elan/numbers.h"

/* Numbers of one key, one for each node. */
struct numbers {
    struct elan_numbers list;
    bool given;
};

struct line {
    struct elan_names names;
    struct numbers id[SF_ELAN_RAILS_MAX];
    struct numbers board[SF_ELAN_RAILS_MAX];
};

struct parser {
    struct elanhosts *hosts;
    const char *file;
    uint32_t lineno;
    conf_error_f *report;
    void *arg;
    bool failed;
    bool no_memory;
};

static int complain(struct parser *p, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int complain(struct parser *p, const char *key, const char *fmt, ...)
{
    struct errbuf text, line;
    va_list ap;

    va_start(ap, fmt);
    verrprintf(&text, fmt, ap);
    va_end(ap);
    errprintf(&line, "%.200s:%u: %.40s: %.200s", p->file, p->lineno, key,
              text.text);
    if (p->report)
        p->report(line.text, p->arg);
    p->failed = true;
    return -1;
}

static int no_memory(struct parser *p)
{
    p->no_memory = true;
    return complain(p, "elanhosts", "out of memory");
}

static void line_free(struct line *line)
{
    elan_names_free(&line->names);
    for (int rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        elan_numbers_free(&line->id[rail].list);
        elan_numbers_free(&line->board[rail].list);
    }
}

static int check_values(struct parser *p, const char *key,
                        enum elan_numbers_base base,
                        const struct elan_numbers *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (base == ELAN_DECIMAL && list->value[i] > SF_ELAN_NODE_ID_MAX)
            return complain(p, key, "%llu is above %d",
                            (unsigned long long)list->value[i],
                            SF_ELAN_NODE_ID_MAX);
        if (base == ELAN_HEXADECIMAL && list->value[i] == 0)
            return complain(p, key, "0 is no board");
    }
    return 0;
}

static int set_numbers(struct parser *p, const char *key, const char *value,
                       enum elan_numbers_base base, struct numbers *out)
{
    struct errbuf err;

    if (out->given)
        return complain(p, key, "given twice");
    out->given = true;
    if (elan_numbers_parse(&out->list, value, base, &err) == 0)
        return check_values(p, key, base, &out->list);
    if (errno == ENOMEM)
        return no_memory(p);
    return complain(p, key, "%.200s", err.text);
}

static int set_names(struct parser *p, const char *key, const char *value,
                     struct line *line)
{
    struct errbuf err;

    if (line->names.n > 0)
        return complain(p, key, "given twice");
    if (elan_hostlist_expand(&line->names, value, &err) == 0)
        return 0;
    if (errno == ENOMEM)
        return no_memory(p);
    return complain(p, key, "%.200s", err.text);
}

/* Rail of "ElanId", "ElanId1" ...; -1 when the key is another. */
static int rail_of(const char *key, const char *stem)
{
    size_t len = strlen(stem);

    if (strncasecmp(key, stem, len) != 0)
        return -1;
    key += len;
    if (*key == '\0')
        return 0;
    if (*key < '0' || *key >= '0' + SF_ELAN_RAILS_MAX || key[1] != '\0')
        return -1;
    return *key - '0';
}

static int set_key(struct parser *p, char *word, struct line *line)
{
    char *value = strchr(word, '=');
    int rail;

    if (!value)
        return complain(p, word, "not Key=Value");
    *value++ = '\0';
    if (strcasecmp(word, "NodeName") == 0)
        return set_names(p, word, value, line);
    if ((rail = rail_of(word, "ElanId")) >= 0)
        return set_numbers(p, word, value, ELAN_DECIMAL, &line->id[rail]);
    if ((rail = rail_of(word, "Board")) >= 0)
        return set_numbers(p, word, value, ELAN_HEXADECIMAL,
                           &line->board[rail]);
    return complain(p, word, "no such key");
}

/* As many numbers as names? */
static int check_count(struct parser *p, const char *stem, int rail,
                       const struct numbers *numbers, uint32_t names)
{
    struct errbuf key;

    if (!numbers->given || numbers->list.n == names)
        return 0;
    errprintf(&key, rail ? "%s%d" : "%s", stem, rail);
    return complain(p, key.text, "%u numbers for %u nodes", numbers->list.n,
                    names);
}

static int check_line(struct parser *p, const struct line *line)
{
    uint32_t names = line->names.n;
    int rc = 0;

    if (names == 0)
        return complain(p, "NodeName", "missing");
    if (!line->id[0].given)
        return complain(p, "ElanId", "missing");
    for (int rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        rc |= check_count(p, "ElanId", rail, &line->id[rail], names);
        rc |= check_count(p, "Board", rail, &line->board[rail], names);
    }
    return rc;
}

static int reserve(struct parser *p, uint32_t more)
{
    struct elanhosts *hosts = p->hosts;
    uint32_t want = hosts->n + more;
    struct elan_host *host;

    if (want > SF_ELAN_NODES_MAX)
        return complain(p, "NodeName", "more than %d nodes", SF_ELAN_NODES_MAX);
    if (want <= hosts->room)
        return 0;
    if (want < 2 * hosts->room)
        want = 2 * hosts->room;
    host = realloc(hosts->host, want * sizeof(*host));
    if (!host)
        return no_memory(p);
    hosts->host = host;
    hosts->room = want;
    return 0;
}

static void fill_host(struct elan_host *host, const struct line *line,
                      uint32_t i)
{
    for (int rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        const struct numbers *id = &line->id[line->id[rail].given ? rail : 0];
        const struct numbers *board = &line->board[rail];

        host->id[rail] = (uint32_t)id->list.value[i];
        host->board[rail] = board->given ? board->list.value[i] : 0;
    }
}

static void add_hosts(struct parser *p, struct line *line)
{
    if (check_line(p, line) < 0 || reserve(p, line->names.n) < 0)
        return;
    for (uint32_t i = 0; i < line->names.n; i++) {
        struct elan_host *host = &p->hosts->host[p->hosts->n++];

        *host = (struct elan_host){.line = p->lineno};
        host->name = line->names.name[i]; /* taken over */
        line->names.name[i] = NULL;
        fill_host(host, line, i);
    }
}

static void parse_line(struct parser *p, char *text)
{
    struct line line = {0};
    char *word, *rest = text;
    bool any = false, good = true;

    while ((word = strsep(&rest, " \t\r"))) {
        if (*word == '\0')
            continue;
        any = true;
        if (set_key(p, word, &line) < 0)
            good = false;
    }
    if (any && good)
        add_hosts(p, &line);
    line_free(&line);
}

static void parse_text(struct parser *p, char *text)
{
    char *line;

    while ((line = strsep(&text, "\n"))) {
        p->lineno++;
        line[strcspn(line, "#")] = '\0';
        parse_line(p, line);
    }
}

static int finish(struct parser *p)
{
    if (p->no_memory) {
        errno = ENOMEM;
        return -1;
    }
    errno = EINVAL;
    if (p->failed)
        return -1;
    return elanhosts_index(p->hosts, p->file, p->report, p->arg);
}

struct elanhosts *elanhosts_parse(const char *name, const char *text,
                                  size_t len, conf_error_f *report, void *arg)
{
    struct parser p = {.file = name, .report = report, .arg = arg};
    char *copy;
    int rc;

    if (len > SF_ELAN_HOSTS_SIZE_MAX || memchr(text, 0, len)) {
        complain(&p, "elanhosts", "longer than %d bytes, or not a text",
                 SF_ELAN_HOSTS_SIZE_MAX);
        errno = len > SF_ELAN_HOSTS_SIZE_MAX ? EMSGSIZE : EINVAL;
        return NULL;
    }
    p.hosts = calloc(1, sizeof(*p.hosts));
    copy = strndup(text, len);
    if (!p.hosts || !copy) {
        free(p.hosts);
        free(copy);
        errno = ENOMEM;
        return NULL;
    }
    parse_text(&p, copy);
    rc = finish(&p);
    free(copy);
    if (rc == 0)
        return p.hosts;
    elanhosts_destroy(p.hosts);
    return NULL;
}
