/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a host's own cable does, by what its hsnd counts: how many of the frames
 * are lost or broken, and how often it was gone for a moment, of which no
 * report need tell.
 *
 * Where crossbars turn frames round hsnd tests its cable by frames that go no
 * further (hsn/loop_test.h): what is missing of these the cable has lost or
 * broken, both ways.  Frames of others that arrive broken may have been broken
 * anywhere; they count where there is no such test.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "health/model_priv.h"

static const struct rule {
    const char *bad, *good; /* counters of hsnd */
    bool part;              /* bad ones are among the good ones */
    const char *what;
} rules[] = {
    {"loop_lost", "loop_sent", true, "lost"},
    {"link_bad_packet", "received", false, "broken"},
};
#define NRULES ((int)(sizeof(rules) / sizeof(rules[0])))

static bool find(const struct report *rep, uint8_t rail, const char *name,
                 uint64_t *value)
{
    for (size_t i = 0; i < rep->ncounters; i++) {
        const struct report_counter *c = &rep->counters[i];

        if (c->rail == rail && strcmp(c->name, name) == 0) {
            *value = c->value;
            return true;
        }
    }
    return false;
}

/* The first rule that there are figures for. */
static int choose(const struct report *rep, uint8_t rail, uint64_t *bad,
                  uint64_t *all)
{
    for (int i = 0; i < NRULES; i++) {
        if (!find(rep, rail, rules[i].bad, bad) ||
            !find(rep, rail, rules[i].good, all))
            continue;
        if (!rules[i].part)
            *all += *bad;
        if (*all > 0)
            return i + 1;
    }
    return 0;
}

/* Times that nothing turned round any more, or that the link went down. */
static void take_gaps(struct model *m, struct model_item *it,
                      const struct report *rep, bool anew, int64_t now)
{
    uint64_t gaps = 0, flaps = 0, all, more;

    if (!find(rep, it->pub.rail, "loop_gaps", &gaps) &
        !find(rep, it->pub.rail, "link_flaps", &flaps))
        return;
    all = gaps + flaps;
    more =
        it->gaps_seen && !anew && all > it->gaps_told ? all - it->gaps_told : 0;
    it->gaps_seen = true;
    it->gaps_told = all;
    for (uint64_t i = 0; i < more && i < MODEL_FLAPS_MAX; i++)
        it->gaps[it->ngaps++ % MODEL_FLAPS_MAX] = now;
    if (more)
        model_judge(m, it, now);
}

static void take_rail(struct model *m, struct model_item *it,
                      const struct report *rep, bool anew, int64_t now)
{
    uint64_t bad, all;
    int by = choose(rep, it->pub.rail, &bad, &all);

    take_gaps(m, it, rep, anew, now);
    if (!by)
        return;
    anew |= by != it->errors_by;
    it->errors_by = by;
    if (rate_take(&it->errors, &m->conf.errors, bad, all, anew, now))
        model_judge(m, it, now);
}

void model_errors_take(struct model *m, const struct report *rep, bool anew,
                       int64_t now)
{
    if (rep->ncounters == 0 || rep->from != REPORT_HSND)
        return;
    for (uint8_t rail = 0; rail < m->nrails; rail++) {
        struct model_item *it =
            model_item_get(m, REPORT_HOST, rail, rep->node, "");

        if (it)
            take_rail(m, it, rep, anew, now);
    }
}

/* The host at an end of a link ("n2:0"). */
static const struct model_item *host_at(struct model *m, uint8_t rail,
                                        const char *end)
{
    char name[SF_REPORT_NAME_MAX];
    size_t len = strcspn(end, ":");

    memcpy(name, end, len);
    name[len] = '\0';
    return model_item_get(m, REPORT_HOST, rail, name, "");
}

const struct model_item *model_errors_of(struct model *m,
                                         const struct model_item *it)
{
    const struct model_item *host = it;

    if (it->pub.kind == REPORT_XBAR)
        return NULL;
    if (it->pub.kind == REPORT_LINK) {
        host = host_at(m, it->pub.rail, it->pub.name);
        if (!host)
            host = host_at(m, it->pub.rail, it->pub.peer);
    }
    return host && host->errors.high ? host : NULL;
}

/* "down 4 times in 300 s at leaf1:0" */
void model_flaps_why(const struct model *m, const struct model_item *it,
                     uint32_t times, char *why, size_t size)
{
    const char *peer = it->pub.kind == REPORT_HOST ? it->pub.peer : "";

    snprintf(why, size, "down %" PRIu32 " times in %" PRId64 " s%s%.20s", times,
             m->conf.flap_window / 1000, *peer ? " at " : "", peer);
}

/* 1234: "0.1234%"; no zeros at the end. */
static void percent(uint32_t rate, char *text, size_t size)
{
    size_t len = (size_t)snprintf(text, size, "%" PRIu32 ".%04" PRIu32,
                                  rate / 10000, rate % 10000);

    while (text[len - 1] == '0')
        len--;
    if (text[len - 1] == '.')
        len--;
    snprintf(text + len, size - len, "%%");
}

/* "1.25% of frames lost at leaf1:0 limit 0.01%" */
void model_errors_why(const struct model *m, const struct model_item *host,
                      char *why, size_t size)
{
    const char *peer = host->pub.peer;
    char rate[16], limit[16];

    percent(host->errors.rate, rate, sizeof(rate));
    percent(m->conf.errors.limit, limit, sizeof(limit));
    snprintf(why, size, "%s of frames %s%s%.20s limit %s", rate,
             host->errors_by ? rules[host->errors_by - 1].what : "lost",
             *peer ? " at " : "", peer, limit);
}
