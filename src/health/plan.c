/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "health/plan.h"
#include "health/policy.h"
#include "health/report.h"

static bool clean(const char *s, size_t size, const char *also)
{
    size_t len = strnlen(s, size);

    if (len == size)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)s[i]) && !strchr(also, s[i]))
            return false;
    }
    return true;
}

void plan_want_make(struct plan_want *w, const char *name,
                    const struct health_node *node,
                    const struct policy_want *decided)
{
    memset(w, 0, sizeof(*w));
    snprintf(w->node, sizeof(w->node), "%s", name);
    w->state = (uint8_t)node->state;
    w->rails = node->rails;
    for (int r = 0; r < SF_ELAN_RAILS_MAX; r++)
        w->rail_state[r] = (uint8_t)node->rail_state[r];
    w->drain = decided->drain;
    w->resume = decided->resume;
    w->since = node->since;
    w->count = node->count;
    snprintf(w->why, sizeof(w->why), "%s", node->worst->why);
}

bool plan_want_valid(const struct plan_want *w)
{
    if (!clean(w->node, sizeof(w->node), ".-_") || !w->node[0] ||
        !clean(w->why, sizeof(w->why), REPORT_WHY_ALSO) ||
        w->state >= HEALTH_STATES || w->drain > 1 || w->resume > 1 ||
        w->since < 0)
        return false;
    for (int r = 0; r < SF_ELAN_RAILS_MAX; r++) {
        if (w->rail_state[r] >= HEALTH_STATES)
            return false;
    }
    return true;
}

/* In the words of features and of Extra. */
static const char *word_of(unsigned state)
{
    static const char *const words[HEALTH_STATES] = {
        [HEALTH_HEALTHY] = "up",
        [HEALTH_UNKNOWN] = "unknown",
        [HEALTH_DEGRADED] = "degraded",
        [HEALTH_FLAPPING] = "degraded",
        [HEALTH_DOWN] = "down"};

    return words[state];
}

struct text {
    char *buf;
    size_t len;
    bool full;
};

static void add(struct text *t, const char *sep, const char *s, size_t len)
{
    size_t seplen = t->len ? strlen(sep) : 0;

    if (t->len + seplen + len + 1 > SF_PLAN_TEXT_MAX) {
        t->full = true;
        return;
    }
    memcpy(t->buf + t->len, sep, seplen);
    memcpy(t->buf + t->len + seplen, s, len);
    t->len += seplen + len;
    t->buf[t->len] = '\0';
}

static bool same_word(const char *a, size_t len, const char *b)
{
    return strlen(b) == len && memcmp(a, b, len) == 0;
}

/* Does a comma separated list hold the word? */
static bool holds(const char *list, const char *word, size_t wlen)
{
    size_t len;

    for (; list && *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (len == wlen && memcmp(list, word, len) == 0)
            return true;
    }
    return false;
}

static const char *const feature_words[] = {"up", "degraded", "down"};

/* Ours: fabric_WORD, fabric_railR_WORD. */
static bool is_our_feature(const char *s, size_t len)
{
    char name[40];

    for (int r = -1; r < SF_ELAN_RAILS_MAX; r++) {
        for (int i = 0; i < 3; i++) {
            if (r < 0)
                snprintf(name, sizeof(name), "fabric_%s", feature_words[i]);
            else
                snprintf(name, sizeof(name), "fabric_rail%d_%s", r,
                         feature_words[i]);
            if (same_word(s, len, name))
                return true;
        }
    }
    return false;
}

static void add_feature(struct text *t, const char *declared, const char *name)
{
    if (holds(declared, name, strlen(name)))
        add(t, ",", name, strlen(name));
}

static void make_features(const struct plan_want *w, const struct plan_node *n,
                          struct text *t)
{
    const char *at = n->features_act ? n->features_act : "";
    char name[40];
    size_t len;

    for (; *at; at += len + (at[len] == ',')) {
        len = strcspn(at, ",");
        if (len && !is_our_feature(at, len))
            add(t, ",", at, len);
    }
    snprintf(name, sizeof(name), "fabric_%s", word_of(w->state));
    add_feature(t, n->features, name);
    for (int r = 0; r < SF_ELAN_RAILS_MAX; r++) {
        if (!(w->rails & 1u << r))
            continue;
        snprintf(name, sizeof(name), "fabric_rail%d_%s", r,
                 word_of(w->rail_state[r]));
        add_feature(t, n->features, name);
    }
}

/* The same words, in any order? */
static bool same_features(const char *a, const char *b)
{
    const char *lists[2][2] = {{a ? a : "", b ? b : ""},
                               {b ? b : "", a ? a : ""}};
    size_t len;

    for (int i = 0; i < 2; i++) {
        for (const char *at = lists[i][0]; *at; at += len + (at[len] == ',')) {
            len = strcspn(at, ",");
            if (len && !holds(lists[i][1], at, len))
                return false;
        }
    }
    return true;
}

/* One short line for programs: no blanks, so that it is one word of Extra.
 * That of healthy nodes is the same for all: one update serves thousands. */
static void make_line(const struct plan_want *w, char line[160])
{
    int n = snprintf(line, 160, PLAN_MARK "%s", word_of(w->state));

    for (int r = 0; r < SF_ELAN_RAILS_MAX && n < 120; r++) {
        if (w->rails & 1u << r)
            n += snprintf(line + n, 160 - (size_t)n, ":rail%d=%s", r,
                          word_of(w->rail_state[r]));
    }
    if (w->state != HEALTH_HEALTHY && w->state != HEALTH_UNKNOWN)
        n += snprintf(line + n, 160 - (size_t)n,
                      ":since=%" PRId64 ":count=%u:why=%.30s", w->since / 1000,
                      w->count, w->why);
    for (int i = 0; line[i]; i++) {
        if (line[i] == ' ')
            line[i] = '_';
    }
}

static bool is_ours(const char *s)
{
    return strncmp(s, PLAN_MARK, strlen(PLAN_MARK)) == 0;
}

static void merge_extra(const char *old, const char *line, struct text *t)
{
    size_t len;

    for (old = old ? old : ""; *old; old += len + (old[len] == ' ')) {
        len = strcspn(old, " ");
        if (len && !is_ours(old))
            add(t, " ", old, len);
    }
    add(t, " ", line, strlen(line));
}

/* "switchmgrd: fabric rail 0 down (mute) since 2023-11-14T22:13:20, 3 times",
 * without the number when it was once. */
static void make_reason(const struct plan_want *w, const char *since,
                        char *reason)
{
    unsigned worst = 0;
    char times[32] = "";

    if (w->count > 1)
        snprintf(times, sizeof(times), ", %u times", w->count);

    for (unsigned r = 0; r < SF_ELAN_RAILS_MAX; r++) {
        if (w->rails & 1u << r && w->rail_state[r] >= w->rail_state[worst])
            worst = r;
        if (w->rail_state[worst] == w->state)
            break;
    }
    snprintf(reason, SF_PLAN_TEXT_MAX,
             PLAN_REASON "fabric rail %u %s (%s) since %s%s", worst,
             health_state_name((enum health_state)w->state), w->why,
             since ? since : "?", times);
}

bool plan_is_own(const char *reason)
{
    return reason && strncmp(reason, PLAN_REASON, strlen(PLAN_REASON)) == 0;
}

static enum plan_state decide(const struct plan_want *w,
                              const struct plan_node *n)
{
    if (w->drain && !n->drain && !n->unusable && n->undone != w->since)
        return PLAN_DRAIN;
    if (w->resume && n->drain && plan_is_own(n->reason))
        return PLAN_RESUME;
    return PLAN_LEAVE;
}

static bool differs(const char *old, const char *new)
{
    return strcmp(old ? old : "", new) != 0;
}

bool plan_make(const struct plan_want *w, const struct plan_node *n,
               struct plan *p)
{
    struct text features = {.buf = p->features_act};
    struct text extra = {.buf = p->extra};
    char line[160];

    memset(p, 0, sizeof(*p));
    make_line(w, line);
    make_features(w, n, &features);
    merge_extra(n->extra, line, &extra);
    if (features.full || extra.full)
        return false;
    p->set_features = !same_features(n->features_act, p->features_act);
    p->set_extra = differs(n->extra, p->extra);
    snprintf(p->comment, sizeof(p->comment), "%s", line);
    p->set_comment = (!n->comment || !*n->comment || is_ours(n->comment)) &&
                     differs(n->comment, p->comment);
    p->state = decide(w, n);
    if (p->state == PLAN_DRAIN)
        make_reason(w, n->since, p->reason);
    return true;
}

bool plan_drain_was_lost(int64_t seen, int64_t boot)
{
    return seen > 0 && boot > 0 && boot + 999 >= seen;
}
