/* SPDX-License-Identifier: BSD-3-Clause
 * See topo_domains.h.
 */
#include "net/topo_domains.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/host_names.h"

struct taken {
    const char *node;
    UT_hash_handle hh;
};

struct reading {
    const char *where;
    unsigned line;
    struct net_domains *d;
    uint32_t room, nodes;
    struct taken *taken;
    struct errbuf *err;
};

/* -1 with errno. */
static int wrong(const struct reading *r, int e, const char *what,
                 const char *word)
{
    errprintf(r->err, "%s:%u: %s%s%.64s", r->where, r->line, what,
              *word ? ": " : "", word);
    errno = e;
    return -1;
}

static bool is_name(const char *s)
{
    if (!isalnum((unsigned char)*s) || strlen(s) >= SF_DOMAIN_NAME_MAX)
        return false;
    for (; *s; s++) {
        if (!isalnum((unsigned char)*s) && !strchr("-_.", *s))
            return false;
    }
    return true;
}

static int take_node(struct reading *r, const char *node)
{
    struct taken *t;

    HASH_FIND_STR(r->taken, node, t);
    if (t)
        return wrong(r, EINVAL, "a node that is in a domain already", node);
    t = malloc(sizeof(*t));
    if (!t)
        return wrong(r, ENOMEM, "out of memory", "");
    t->node = node;
    HASH_ADD_KEYPTR(hh, r->taken, t->node, strlen(t->node), t);
    return 0;
}

/* One more, empty; NULL: told. */
static struct net_domain *add_domain(struct reading *r, const char *name)
{
    struct net_domain *list = r->d->list;

    if (r->d->n == SF_DOMAINS_MAX) {
        wrong(r, E2BIG, "too many domains", "");
        return NULL;
    }
    if (r->d->n == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        list = realloc(list, r->room * sizeof(*list));
        if (!list) {
            wrong(r, ENOMEM, "out of memory", "");
            return NULL;
        }
        r->d->list = list;
    }
    list += r->d->n++;
    memset(list, 0, sizeof(*list));
    strcpy(list->name, name);
    return list;
}

static int take_domain(struct reading *r, const char *name, const char *nodes)
{
    struct host_names names;
    struct net_domain *d;
    struct errbuf err;

    if (!is_name(name))
        return wrong(r, EINVAL, "not a name of a domain", name);
    for (uint32_t i = 0; i < r->d->n; i++) {
        if (strcmp(r->d->list[i].name, name) == 0)
            return wrong(r, EINVAL, "a domain that is there already", name);
    }
    d = add_domain(r, name);
    if (!d)
        return -1;
    if (host_names_expand(&names, nodes, SF_HOST_NAMES_MAX - r->nodes, &err) <
        0)
        return wrong(r, errno, err.text, "");
    d->node = names.name; /* taken over */
    d->n = names.n;
    r->nodes += names.n;
    for (uint32_t i = 0; i < d->n; i++) {
        if (take_node(r, d->node[i]) < 0)
            return -1;
    }
    return 0;
}

/* Of a copy that ends with a NUL. */
static int take_line(struct reading *r, char *line)
{
    static const char space[] = " \t\r";
    char *save, *name, *nodes;

    line[strcspn(line, "#")] = '\0';
    name = strtok_r(line, space, &save);
    if (!name)
        return 0;
    nodes = strtok_r(NULL, space, &save);
    if (!nodes || strtok_r(NULL, space, &save))
        return wrong(r, EINVAL, "not NAME NODES", name);
    return take_domain(r, name, nodes);
}

static int take_text(struct reading *r, const char *text, size_t len)
{
    char *copy = malloc(len + 1), *next = copy;
    int rc = 0;

    if (!copy)
        return wrong(r, ENOMEM, "out of memory", "");
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (strlen(copy) != len)
        rc = wrong(r, EINVAL, "a NUL in it", "");
    while (rc == 0 && next) {
        char *line = strsep(&next, "\n");

        r->line++;
        rc = take_line(r, line);
    }
    if (rc == 0 && r->d->n == 0)
        rc = wrong(r, EINVAL, "no domain in it", "");
    free(copy);
    return rc;
}

struct net_domains *net_domains_parse(const char *where, const char *text,
                                      size_t len, struct errbuf *err)
{
    struct reading r = {.where = where, .err = err};
    struct taken *t, *next;
    int rc, e;

    r.d = calloc(1, sizeof(*r.d));
    rc = r.d ? take_text(&r, text, len) : wrong(&r, ENOMEM, "no memory", "");
    e = errno;
    HASH_ITER(hh, r.taken, t, next)
    {
        HASH_DEL(r.taken, t);
        free(t);
    }
    if (rc == 0)
        return r.d;
    net_domains_free(r.d);
    errno = e;
    return NULL;
}

void net_domains_free(struct net_domains *d)
{
    if (!d)
        return;
    for (uint32_t i = 0; i < d->n; i++) {
        for (uint32_t k = 0; k < d->list[i].n; k++)
            free(d->list[i].node[k]);
        free(d->list[i].node);
    }
    free(d->list);
    free(d);
}
