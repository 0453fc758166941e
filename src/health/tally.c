/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLEAN 3              /* windows until it is well again */
#define LEAST 10000          /* of a window, ms */
#define LIMIT_MAX 1000000000 /* of a rule */
#define MOST (UINT64_MAX / 4000000)

static const struct {
    const char *name, *text;
    struct tally_rule rule;
} known[TALLY_COUNTERS] = {
    {"symbol_error", "symbol errors", {10, 1, TALLY_DEGRADE}},
    {"link_error_recovery", "link recoveries", {5, 60, TALLY_DEGRADE}},
    {"link_downed", "link downs", {4, 3600, TALLY_SHOW}},
    {"port_rcv_errors", "receive errors", {10, 1, TALLY_DEGRADE}},
    {"port_xmit_discards", "discards", {100, 1, TALLY_SHOW}},
    {"local_link_integrity_errors", "integrity errors", {5, 60, TALLY_DEGRADE}},
    {"excessive_buffer_overrun_errors",
     "buffer overruns",
     {5, 60, TALLY_DEGRADE}},
    {"rnr_nak_retry_err", "RNR retries used up", {5, 60, TALLY_SHOW}},
    {"local_ack_timeout_err", "ACK timeouts", {1, 1, TALLY_DEGRADE}},
    {"roce_slow_restart", "slow restarts", {10, 1, TALLY_DEGRADE}},
    {"rx_crc_errors", "CRC errors", {10, 1, TALLY_DEGRADE}},
};
static const char *const actions[] = {"ignore", "show", "degrade", "drain"};
static const struct {
    const char *text;
    uint32_t seconds;
} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}};

void tally_rules_default(struct tally_rules *r)
{
    for (int i = 0; i < TALLY_COUNTERS; i++)
        r->of[i] = known[i].rule;
}

/* ---- rules --------------------------------------------------------------- */

/* "10/s" */
static bool read_limit(const char *word, struct tally_rule *rule)
{
    char *end;
    unsigned long long v;

    if (*word < '0' || *word > '9')
        return false;
    v = strtoull(word, &end, 10);
    if (v > LIMIT_MAX || *end != '/')
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(end + 1, units[i].text) == 0) {
            rule->limit = (uint32_t)v;
            rule->per = units[i].seconds;
            return true;
        }
    return false;
}

const char *tally_counter_name(enum tally_counter counter)
{
    return known[counter].name;
}

/* The action, or -1 if there is no such word. */
static int action_parse(const char *word)
{
    for (int i = 0; i <= TALLY_DRAIN; i++)
        if (strcmp(word, actions[i]) == 0)
            return i;
    return -1;
}

enum report_seen tally_seen(enum tally_action action)
{
    return action == TALLY_DRAIN     ? SEEN_DOWN
           : action == TALLY_DEGRADE ? SEEN_DEGRADED
                                     : SEEN_UP;
}

bool tally_fault_read(const struct tally_fault *faults, size_t n,
                      enum tally_action *chosen, const char *line,
                      const char **wrong)
{
    char name[24], action[12], more[2];
    int words = sscanf(line, "%23s %11s %1s", name, action, more), what;

    for (size_t i = 0; words >= 1 && i < n; i++) {
        if (strcmp(name, faults[i].name) != 0)
            continue;
        what = words == 2 ? action_parse(action) : -1;
        *wrong =
            what < 0 ? "not FAULT and ignore, show, degrade or drain" : NULL;
        if (what >= 0)
            chosen[i] = (enum tally_action)what;
        return true;
    }
    return false;
}

const char *tally_rule_read(void *rules, const char *line)
{
    struct tally_rules *r = rules;
    char name[48], sign[4], limit[24], action[12], more[2];
    int n =
        sscanf(line, "%47s %3s %23s %11s %1s", name, sign, limit, action, more);
    struct tally_rule rule;
    int what;

    if (n <= 0)
        return NULL;
    if (n != 4 || strcmp(sign, ">") != 0)
        return "not COUNTER > LIMIT/UNIT ACTION";
    for (int i = 0; i < TALLY_COUNTERS; i++) {
        if (strcmp(name, known[i].name) != 0)
            continue;
        if (!read_limit(limit, &rule))
            return "the limit is not NUMBER/s, NUMBER/min or NUMBER/h";
        if ((what = action_parse(action)) < 0)
            return "the action is not ignore, show, degrade or drain";
        rule.action = (enum tally_action)what;
        r->of[i] = rule;
        return NULL;
    }
    return "no such counter";
}

int tally_lines_parse(void *rules, tally_line_f *read, const char *path,
                      const char *text, size_t len, struct errbuf *err)
{
    const char *end = text + len, *wrong;
    char line[160];

    for (unsigned number = 1; text < end; number++) {
        const char *eol = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((eol ? eol : end) - text);

        if (n >= sizeof(line))
            return errprintf(err, "%s:%u: the line is too long", path, number);
        memcpy(line, text, n);
        line[n] = '\0';
        line[strcspn(line, "#")] = '\0';
        if ((wrong = read(rules, line)))
            return errprintf(err, "%s:%u: %s", path, number, wrong);
        text += n + 1;
    }
    return 0;
}

/* ---- counting ------------------------------------------------------------ */

static int64_t window_of(const struct tally_rule *rule)
{
    int64_t ms = (int64_t)rule->per * 1000;

    return ms < LEAST ? LEAST : ms;
}

/* What a whole window may have. */
static uint64_t allowed(const struct tally_rule *rule)
{
    return (uint64_t)rule->limit * (uint64_t)window_of(rule) /
           ((uint64_t)rule->per * 1000);
}

static void begin(struct tally *t, int64_t now)
{
    t->began = now;
    t->in = 0;
}

static uint64_t rate_of(const struct tally *t, const struct tally_rule *rule,
                        int64_t now)
{
    int64_t took = now - t->began;
    int64_t unit = (int64_t)rule->per * 1000;

    if (took < unit)
        took = unit;
    return t->in * rule->per * 1000 / (uint64_t)took;
}

/* Told anew only when it has doubled or halved. */
static void note_high(struct tally *t, const struct tally_rule *rule,
                      int64_t now)
{
    uint64_t rate = rate_of(t, rule, now);

    if (!t->high || rate / 2 >= t->rate || rate <= t->rate / 2)
        t->rate = rate;
    t->high = true;
    t->clean = 0;
    begin(t, now);
}

static void end_window(struct tally *t, const struct tally_rule *rule,
                       int64_t now)
{
    bool clean = t->in <= allowed(rule) / 2;

    begin(t, now);
    t->clean = clean ? t->clean + 1 : 0;
    if (t->clean >= CLEAN)
        t->high = false;
}

void tally_take(struct tally *t, const struct tally_rule *rule, uint64_t value,
                bool full, bool anew, int64_t now)
{
    bool from_here = t->seen && !anew && value >= t->last && !t->blind;
    uint64_t more = from_here ? value - t->last : 0;

    if (!t->seen)
        begin(t, now);
    t->seen = true;
    t->last = value;
    t->last_at = now;
    t->blind = full;
    if (rule->action == TALLY_IGNORE) {
        t->high = false;
        begin(t, now);
        return;
    }
    t->in = more > MOST - t->in ? MOST : t->in + more;
    if (full && !more)
        return; /* it says neither that it is well nor that it is not */
    if (now - t->began < window_of(rule) && t->in <= allowed(rule))
        return;
    if (t->in > allowed(rule) && rate_of(t, rule, now) > rule->limit)
        note_high(t, rule, now);
    else if (now - t->began >= window_of(rule))
        end_window(t, rule, now);
}

void tally_text(enum tally_counter c, const struct tally *t,
                const struct tally_rule *rule, char *text, size_t size)
{
    const char *unit = "s";

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (units[i].seconds == rule->per)
            unit = units[i].text;
    if (t->high)
        snprintf(text, size, "%s %" PRIu64 "/%s > %u/%s", known[c].text,
                 t->rate, unit, rule->limit, unit);
    else
        snprintf(text, size, "%s: counter is full", known[c].text);
}
