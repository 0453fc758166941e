/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric history: what a link was like, by switchmgrd's files.
 */
#include <inttypes.h>
#include <string.h>

#include "base/jsonx.h"
#include "base/limits.h"
#include "sfabric/format.h"
#include "sfabric/sfabric.h"

/* What is printed: the last so many samples, so many in a line. */
struct span {
    bool year;
    size_t last, each;
};
static const struct span a_day = {false, 1440, 60};
static const struct span an_hour = {false, 60, 1};
static const struct span a_year = {true, 366 * 24, 24};

/* Samples that share a line. */
struct summed {
    int64_t in, out, errors, known, state;
};

static const char *const states[] = {"",         "healthy",  "unknown",
                                     "degraded", "flapping", "down"};
#define NSTATES (int)(sizeof(states) / sizeof(states[0]))

static int state_of(struct json_object *list, size_t i)
{
    const char *text =
        json_object_get_string(json_object_array_get_idx(list, i));

    for (int s = 1; text && s < NSTATES; s++) {
        if (strcmp(text, states[s]) == 0)
            return s;
    }
    return 0;
}

static int64_t number(struct json_object *list, size_t i)
{
    int64_t v = json_object_get_int64(json_object_array_get_idx(list, i));

    return v < 0 || v > INT64_MAX / 1000000 ? 0 : v;
}

struct lists {
    struct json_object *in, *out, *errors, *known, *state;
    int64_t from, step;
    size_t n;
};

static bool take(struct lists *l, struct json_object *h)
{
    static const char *const keys[] = {"in", "out", "errors", "known", "state"};
    struct json_object **to[] = {&l->in, &l->out, &l->errors, &l->known,
                                 &l->state};
    size_t n;

    if (!h || !jsonx_int(h, "from", 0, INT64_MAX / 2, &l->from) ||
        !jsonx_int(h, "step", 1, 86400000, &l->step))
        return false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        *to[i] = jsonx_array(h, keys[i], &n);
        if (!*to[i] || (i > 0 && n != l->n))
            return false;
        l->n = n;
    }
    return true;
}

/* Rates are means of the minutes in which they are known. */
static void add(struct summed *line, const struct lists *l, size_t i)
{
    int64_t known = number(l->known, i);
    int state = state_of(l->state, i);

    known = known > 60 ? 60 : known;
    line->in += number(l->in, i) * known;
    line->out += number(l->out, i) * known;
    line->errors += number(l->errors, i);
    line->known += known;
    if (state > line->state)
        line->state = state;
}

static void rate_text(char *buf, size_t size, int64_t sum, int64_t minutes)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s"};
    double v = minutes ? (double)sum / (double)minutes : 0;
    int u = 0;

    for (; v >= 1000 && u < 3; u++)
        v /= 1000;
    snprintf(buf, size, minutes ? (u && v < 100 ? "%.1f %s" : "%.0f %s") : "-",
             v, units[u]);
}

/* Is this sample the first of a line? */
static bool begins(const struct lists *l, const struct span *s, size_t i)
{
    return (l->from / l->step + (int64_t)i) % (int64_t)s->each == 0;
}

static void print(const struct lists *l, const struct span *s,
                  const struct sfabric_options *o)
{
    static const char *const titles[] = {"FROM", "IN", "OUT", "ERRORS",
                                         "WORST"};
    struct sfabric_columns *c = sfabric_columns_new(5, titles);
    size_t first = l->n > s->last ? l->n - s->last : 0;
    bool begun = false;

    for (size_t i = first, k; i < l->n; i = k) {
        char when[32], in[32], out[32], errors[32];
        const char *cells[] = {when, in, out, errors, ""};
        struct summed line = {0};

        /* Whole hours, whole days (UTC). */
        for (k = i; k == i || (k < l->n && !begins(l, s, k)); k++)
            add(&line, l, k);
        if (!begun && !line.state && !line.known)
            continue; /* before there was one */
        begun = true;
        format_time(when, l->from + (int64_t)i * l->step);
        rate_text(in, sizeof(in), line.in, line.known);
        rate_text(out, sizeof(out), line.out, line.known);
        snprintf(errors, sizeof(errors), line.known ? "%" PRId64 : "-",
                 line.errors);
        cells[4] = line.state ? states[line.state] : "not watched";
        sfabric_columns_add(c, cells);
    }
    sfabric_columns_print(c, o);
}

enum { OPT_HOUR = 0x1000, OPT_YEAR };

static const struct option options[] = {
    {"hour", no_argument, NULL, OPT_HOUR},
    {"year", no_argument, NULL, OPT_YEAR},
    {0},
};

static bool take_option(int val, const char *value, void *span)
{
    (void)value;
    *(const struct span **)span = val == OPT_HOUR ? &an_hour : &a_year;
    return true;
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct json_object *in, *reply;
    const struct span *span = &a_day;
    struct lists l = {0};
    int rc = SFABRIC_OK;

    if (sfabric_parse(&cmd_history, argc, argv, o, &span) < 0)
        return SFABRIC_UNKNOWN;
    in = json_object_new_object();
    jsonx_add_str(in, "link", argv[1]);
    jsonx_add_bool(in, "year", span->year);
    reply = sfabric_ask(o, "switchmgrd", "history", in);
    if (!reply)
        return SFABRIC_UNKNOWN;
    if (o->json)
        sfabric_print_json(reply);
    else if (take(&l, jsonx_object(reply, "history")))
        print(&l, span, o);
    else
        rc = sfabric_fail("switchmgrd's answer cannot be understood");
    json_object_put(reply);
    return rc;
}

const struct sfabric_cmd cmd_history = {
    .name = "history",
    .args = "[--hour|--year] LINK",
    .help = "what a link was like",
    .options = options,
    .take = take_option,
    .least = 1,
    .most = 1,
    .run = run,
};
