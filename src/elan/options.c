/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/sitedir.h"
#include "elan/elanvp.h"
#include "elan/options.h"
#include "elan/payload.h"

#define N_WORDS(table) (sizeof(table) / sizeof((table)[0]))

struct word {
    const char *name;
    size_t offset;
    uint32_t min, max; /* of a number; max 0: a path */
};

struct list {
    const char *what; /* for messages */
    const struct word *words;
    size_t nwords;
    unsigned seen; /* bit per word */
};

static int bad(struct errbuf *err, const struct list *list, const char *why,
               const char *text)
{
    errno = EINVAL;
    return errprintf(err, "%s: %s: %.200s", list->what, text, why);
}

static int set_number(const struct word *word, const char *value, void *into,
                      struct errbuf *err, const struct list *list)
{
    char *end;
    unsigned long n;

    errno = 0;
    n = strtoul(value, &end, 0);
    if (*value < '0' || *value > '9' || *end != '\0' || errno != 0)
        return bad(err, list, "not a number", word->name);
    if (n < word->min || n > word->max) {
        errno = EINVAL;
        return errprintf(err, "%s: %s: %lu is not between %u and %u",
                         list->what, word->name, n, word->min, word->max);
    }
    *(uint32_t *)((char *)into + word->offset) = (uint32_t)n;
    return 0;
}

static int set_path(const struct word *word, const char *value, void *into,
                    struct errbuf *err, const struct list *list)
{
    size_t len = strlen(value);

    if (*value != '/' || len >= SF_ELAN_PATH_MAX)
        return bad(err, list, "not an absolute path", word->name);
    memcpy((char *)into + word->offset, value, len + 1);
    return 0;
}

static int unknown(const struct list *list, const char *text,
                   struct errbuf *err)
{
    char known[128];
    size_t len = 0;

    known[0] = '\0';
    for (size_t i = 0; i < list->nwords && len < sizeof(known); i++)
        len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s",
                                i > 0 ? ", " : "", list->words[i].name);
    errno = EINVAL;
    return errprintf(err, "%s: %.200s: no such word; there are: %s", list->what,
                     text, known);
}

static int set_word(struct list *list, char *text, void *into,
                    struct errbuf *err)
{
    char *value = strchr(text, '=');
    size_t len = value ? (size_t)(value - text) : strlen(text);

    for (size_t i = 0; i < list->nwords; i++) {
        const struct word *word = &list->words[i];

        if (strlen(word->name) != len ||
            strncasecmp(word->name, text, len) != 0)
            continue;
        if (!value)
            return bad(err, list, "wants a value", word->name);
        if (list->seen & 1u << i)
            return bad(err, list, "given twice", word->name);
        list->seen |= 1u << i;
        if (word->max == 0)
            return set_path(word, value + 1, into, err, list);
        return set_number(word, value + 1, into, err, list);
    }
    return unknown(list, text, err);
}

static int parse(struct list *list, const char *text, void *into,
                 struct errbuf *err)
{
    char *copy, *word, *rest;
    int rc = 0;

    if (!text)
        return 0;
    if (strnlen(text, SF_ELAN_OPTIONS_MAX) == SF_ELAN_OPTIONS_MAX)
        return bad(err, list, "too long", "text");
    copy = rest = strdup(text);
    if (!copy)
        return errprintf(err, "out of memory");
    while (rc == 0 && (word = strsep(&rest, ",")))
        if (*word)
            rc = set_word(list, word, into, err);
    free(copy);
    if (rc < 0)
        errno = EINVAL;
    return rc;
}

void elan_site_defaults(struct elan_site *site)
{
    struct sitedir sitedir;

    *site = (struct elan_site){
        .base_context = ELAN_RMS_BASE_CONTEXT_NUM,
        .top_context = ELAN_RMS_TOP_CONTEXT_NUM,
        .rails = 1,
        .max_age = ELAN_PAYLOAD_MAX_AGE,
    };
    snprintf(site->elanhosts, sizeof(site->elanhosts), "%s",
             sitedir_conf(&sitedir, "elanhosts"));
}

int elan_site_parse(struct elan_site *site, const char *text,
                    struct errbuf *err)
{
    static const struct word words[] = {
        {"base_context", offsetof(struct elan_site, base_context), 0,
         ELAN_MAX_CONTEXTS - 1},
        {"top_context", offsetof(struct elan_site, top_context), 0,
         ELAN_MAX_CONTEXTS - 1},
        {"rails", offsetof(struct elan_site, rails), 1, SF_ELAN_RAILS_MAX},
        {"max_age", offsetof(struct elan_site, max_age), 1,
         ELAN_PAYLOAD_MAX_AGE},
        {"descent", offsetof(struct elan_site, descent), 0, 1},
        {"elanhosts", offsetof(struct elan_site, elanhosts), 0, 0},
    };
    struct list list = {"SwitchParameters", words, N_WORDS(words), 0};
    int rc;

    elan_site_defaults(site);
    rc = parse(&list, text, site, err);
    if (rc == 0 && site->base_context > site->top_context) {
        rc = errprintf(err,
                       "SwitchParameters: base_context %u is above "
                       "top_context %u",
                       site->base_context, site->top_context);
        errno = EINVAL;
    }
    if (rc < 0)
        elan_site_defaults(site);
    return rc;
}

int elan_options_parse(struct elan_options *options, const char *text,
                       const struct elan_site *site, struct errbuf *err)
{
    const struct word words[] = {
        {"rails", offsetof(struct elan_options, rails), 1, site->rails},
        {"contexts", offsetof(struct elan_options, extra_contexts), 0,
         ELAN_MAX_CONTEXTS},
    };
    struct list list = {"--network", words, N_WORDS(words), 0};

    *options = (struct elan_options){.rails = site->rails};
    return parse(&list, text, options, err);
}
