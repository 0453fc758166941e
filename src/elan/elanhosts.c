/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The identity table: its text, its indexes, look-ups.
 */
#include "elan/elanhosts.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/host_names.h"
#include "base/limits.h"
#include "elan/numbers.h"

/* Shared by the parser and the look-ups of the identity table only.
 */
struct board_index {
    uint64_t board;
    uint32_t host;
    uint32_t rail;
};

struct elanhosts {
    bool natural;
    struct elan_host *host; /* [n], order of the file */
    uint32_t n, room;
    uint32_t *by_name; /* [n] */
    struct board_index *by_board;
    uint32_t nboards;
};

/* ---- elanhosts index --------------------------------------------------- */

/* Indexes of the identity table. Nothing may stand in it twice: names, ids of
 * a rail, boards. */

struct named {
    const char *name;
    uint32_t host;
};

struct numbered {
    uint32_t id;
    uint32_t host;
};

struct reporter {
    const char *file;
    conf_error_f *report;
    void *arg;
    int errors;
};

static void complain_of(struct reporter *r, const struct elan_host *host,
                        const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void complain_of(struct reporter *r, const struct elan_host *host,
                        const char *fmt, ...)
{
    struct errbuf text, line;
    va_list ap;

    va_start(ap, fmt);
    verrprintf(&text, fmt, ap);
    va_end(ap);
    errprintf(&line, "%.200s:%u: %.300s", r->file, host->line, text.text);
    if (r->report)
        r->report(line.text, r->arg);
    r->errors++;
}

static int less_more(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Equal keys stay in the order of the file, so that the later is named. */
static int compare_names(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int diff = strcmp(x->name, y->name);

    return diff ? diff : less_more(x->host, y->host);
}

static int compare_ids(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    int diff = less_more(x->id, y->id);

    return diff ? diff : less_more(x->host, y->host);
}

static int compare_boards(const void *a, const void *b)
{
    const struct board_index *x = a, *y = b;
    int diff = less_more(x->board, y->board);

    return diff ? diff : less_more(x->host, y->host);
}

static int index_names(struct elanhosts *hosts, struct reporter *r)
{
    struct named *names = calloc(hosts->n, sizeof(*names));

    hosts->by_name = calloc(hosts->n, sizeof(*hosts->by_name));
    if (!names || !hosts->by_name) {
        free(names);
        return -1;
    }
    for (uint32_t i = 0; i < hosts->n; i++)
        names[i] = (struct named){hosts->host[i].name, i};
    qsort(names, hosts->n, sizeof(*names), compare_names);
    for (uint32_t i = 0; i < hosts->n; i++) {
        hosts->by_name[i] = names[i].host;
        if (i > 0 && strcmp(names[i].name, names[i - 1].name) == 0)
            complain_of(r, &hosts->host[names[i].host],
                        "NodeName: %.100s: already in line %u", names[i].name,
                        hosts->host[names[i - 1].host].line);
    }
    free(names);
    return 0;
}

static int check_ids(const struct elanhosts *hosts, uint32_t rail,
                     struct reporter *r)
{
    struct numbered *ids = calloc(hosts->n, sizeof(*ids));

    if (!ids)
        return -1;
    for (uint32_t i = 0; i < hosts->n; i++)
        ids[i] = (struct numbered){hosts->host[i].id[rail], i};
    qsort(ids, hosts->n, sizeof(*ids), compare_ids);
    for (uint32_t i = 1; i < hosts->n; i++) {
        const struct elan_host *before = &hosts->host[ids[i - 1].host];

        if (ids[i].id == ids[i - 1].id)
            complain_of(r, &hosts->host[ids[i].host],
                        "ElanId: rail %u: %u is already %.100s's (line %u)",
                        rail, ids[i].id, before->name, before->line);
    }
    free(ids);
    return 0;
}

static uint32_t collect_boards(struct elanhosts *hosts)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < hosts->n; i++)
        for (uint32_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++)
            if (hosts->host[i].board[rail] != 0)
                hosts->by_board[n++] =
                    (struct board_index){hosts->host[i].board[rail], i, rail};
    return n;
}

static int index_boards(struct elanhosts *hosts, struct reporter *r)
{
    size_t most = (size_t)hosts->n * SF_ELAN_RAILS_MAX;

    hosts->by_board = calloc(most, sizeof(*hosts->by_board));
    if (!hosts->by_board)
        return -1;
    hosts->nboards = collect_boards(hosts);
    qsort(hosts->by_board, hosts->nboards, sizeof(*hosts->by_board),
          compare_boards);
    for (uint32_t i = 1; i < hosts->nboards; i++) {
        const struct board_index *at = &hosts->by_board[i];
        const struct elan_host *before = &hosts->host[at[-1].host];

        if (at->board == at[-1].board)
            complain_of(r, &hosts->host[at->host],
                        "Board: %llx is already %.100s's (line %u)",
                        (unsigned long long)at->board, before->name,
                        before->line);
    }
    return 0;
}

/* A rail's ids are looked at when they differ from rail 0's somewhere. */
static bool same_as_rail_0(const struct elanhosts *hosts, uint32_t rail)
{
    for (uint32_t i = 0; i < hosts->n; i++)
        if (hosts->host[i].id[rail] != hosts->host[i].id[0])
            return false;
    return true;
}

/* Sort the indexes and report what stands twice.  0, or -1 with errno EINVAL
 * (reported) or ENOMEM. */
static int elanhosts_index(struct elanhosts *hosts, const char *name,
                           conf_error_f *report, void *arg)
{
    struct reporter r = {name, report, arg, 0};

    if (hosts->n == 0)
        return 0;
    if (index_names(hosts, &r) < 0)
        return -1;
    for (uint32_t rail = 0; rail < SF_ELAN_RAILS_MAX; rail++)
        if ((rail == 0 || !same_as_rail_0(hosts, rail)) &&
            check_ids(hosts, rail, &r) < 0)
            return -1;
    if (index_boards(hosts, &r) < 0)
        return -1;
    errno = EINVAL;
    return r.errors > 0 ? -1 : 0;
}

/* ---- elanhosts parse --------------------------------------------------- */

/* Text -> identity table. */

/* Numbers of one key, one for each node. */
struct numbers {
    struct elan_numbers list;
    bool given;
};

struct hosts_line {
    struct host_names names;
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

static void line_free(struct hosts_line *line)
{
    host_names_free(&line->names);
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
                     struct hosts_line *line)
{
    struct errbuf err;

    if (line->names.n > 0)
        return complain(p, key, "given twice");
    if (host_names_expand(&line->names, value, SF_ELAN_NODES_MAX, &err) == 0)
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

static int set_key(struct parser *p, char *word, struct hosts_line *line)
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

static int check_line(struct parser *p, const struct hosts_line *line)
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

static void fill_host(struct elan_host *host, const struct hosts_line *line,
                      uint32_t i)
{
    for (int rail = 0; rail < SF_ELAN_RAILS_MAX; rail++) {
        const struct numbers *id = &line->id[line->id[rail].given ? rail : 0];
        const struct numbers *board = &line->board[rail];

        host->id[rail] = (uint32_t)id->list.value[i];
        host->board[rail] = board->given ? board->list.value[i] : 0;
    }
}

static void add_hosts(struct parser *p, struct hosts_line *line)
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
    struct hosts_line line = {0};
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

/* ---- elanhosts --------------------------------------------------------- */

struct elanhosts *elanhosts_natural(void)
{
    struct elanhosts *hosts = calloc(1, sizeof(*hosts));

    if (hosts)
        hosts->natural = true;
    return hosts;
}

void elanhosts_destroy(struct elanhosts *hosts)
{
    int saved = errno;

    if (!hosts)
        return;
    for (uint32_t i = 0; i < hosts->n; i++)
        free(hosts->host[i].name);
    free(hosts->host);
    free(hosts->by_name);
    free(hosts->by_board);
    free(hosts);
    errno = saved;
}

const struct elan_host *elanhosts_get(const struct elanhosts *hosts,
                                      uint32_t index)
{
    return index < hosts->n ? &hosts->host[index] : NULL;
}

const struct elan_host *elanhosts_find(const struct elanhosts *hosts,
                                       const char *node)
{
    uint32_t low = 0, high = hosts->n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct elan_host *host = &hosts->host[hosts->by_name[mid]];
        int diff = strcmp(node, host->name);

        if (diff == 0)
            return host;
        if (diff < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

const struct elan_host *elanhosts_find_board(const struct elanhosts *hosts,
                                             uint64_t board, uint32_t *rail)
{
    uint32_t low = 0, high = hosts->nboards;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct board_index *at = &hosts->by_board[mid];

        if (at->board == board) {
            *rail = at->rail;
            return &hosts->host[at->host];
        }
        if (board < at->board)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

/* The number that ends a name, up to its first dot. */
static int natural_id(const char *node, uint32_t *id, struct errbuf *err)
{
    size_t end = strcspn(node, "."), start = end;
    uint64_t value = 0;

    while (start > 0 && isdigit((unsigned char)node[start - 1]))
        start--;
    if (start == end) {
        errno = ENOENT;
        return errprintf(err,
                         "node %.100s: no number ends its name and there "
                         "is no elanhosts file",
                         node);
    }
    for (size_t i = start; i < end && value <= SF_ELAN_NODE_ID_MAX; i++)
        value = value * 10 + (uint64_t)(node[i] - '0');
    if (value > SF_ELAN_NODE_ID_MAX) {
        errno = EINVAL;
        return errprintf(err,
                         "node %.100s: Elan id above %d, write an "
                         "elanhosts file",
                         node, SF_ELAN_NODE_ID_MAX);
    }
    *id = (uint32_t)value;
    return 0;
}

int elanhosts_ids(const struct elanhosts *hosts, const char *node,
                  uint32_t nrails, uint32_t *ids, struct errbuf *err)
{
    const struct elan_host *host;
    uint32_t id = 0;

    if (hosts->natural) {
        if (natural_id(node, &id, err) < 0)
            return -1;
        for (uint32_t rail = 0; rail < nrails; rail++)
            ids[rail] = id;
        return 0;
    }
    host = elanhosts_find(hosts, node);
    if (!host) {
        errno = ENOENT;
        return errprintf(err, "node %.100s is not in elanhosts", node);
    }
    memcpy(ids, host->id, nrails * sizeof(*ids));
    return 0;
}

static int fill_ids(const struct elanhosts *hosts,
                    const struct host_names *names, uint32_t nrails,
                    uint32_t *ids, struct errbuf *err)
{
    uint32_t one[SF_ELAN_RAILS_MAX];

    for (uint32_t n = 0; n < names->n; n++) {
        if (elanhosts_ids(hosts, names->name[n], nrails, one, err) < 0)
            return -1;
        for (uint32_t rail = 0; rail < nrails; rail++)
            ids[(size_t)rail * names->n + n] = one[rail];
    }
    return 0;
}

static int make_layout(const struct elanhosts *hosts,
                       const struct host_names *names,
                       struct elan_layout *layout,
                       const struct elan_step_layout *step, uint32_t nrails,
                       struct errbuf *err)
{
    uint32_t *ids = calloc((size_t)nrails * names->n, sizeof(*ids));
    int rc = -1;

    if (!ids)
        return errprintf(err, "out of memory");
    if (fill_ids(hosts, names, nrails, ids, err) == 0) {
        struct elan_layout_spec spec = {
            .nnodes = step->nnodes,
            .nrails = nrails,
            .ids = ids,
            .tasks = step->tasks,
            .tids = step->tids,
            .cyclic = step->cyclic,
        };

        rc = elan_layout_make(layout, &spec, err);
    }
    free(ids);
    return rc;
}

int elanhosts_layout(const struct elanhosts *hosts, struct elan_layout *layout,
                     const struct elan_step_layout *step, uint32_t nrails,
                     struct errbuf *err)
{
    struct host_names names;
    int rc = -1;

    memset(layout, 0, sizeof(*layout));
    errno = EINVAL;
    if (nrails < 1 || nrails > SF_ELAN_RAILS_MAX)
        return errprintf(err, "%u rails, limit %d", nrails, SF_ELAN_RAILS_MAX);
    if (host_names_expand(&names, step->node_list, SF_ELAN_NODES_MAX, err) < 0)
        return -1;
    if (names.n == step->nnodes) {
        rc = make_layout(hosts, &names, layout, step, nrails, err);
    } else {
        errprintf(err, "%u names for %u nodes", names.n, step->nnodes);
        errno = EINVAL;
    }
    host_names_free(&names);
    return rc;
}
