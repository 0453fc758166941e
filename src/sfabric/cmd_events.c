/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric events: what happened, the newest last; -f goes on with what comes.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonx.h"
#include "base/limits.h"
#include "sfabric/format.h"
#include "sfabric/sfabric.h"

/* Print and return the last id; -1: no answer. */
static int64_t print_since(const struct sfabric_options *o, int64_t since,
                           int64_t max)
{
    struct json_object *in = json_object_new_object(), *reply, *list;
    size_t n;

    jsonx_add_int(in, "since", since);
    jsonx_add_int(in, "max", max);
    reply = sfabric_ask(o, "switchmgrd", "events", in);
    if (!reply)
        return -1;
    list = jsonx_array(reply, "events", &n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *e = json_object_array_get_idx(list, i);
        const char *text = jsonx_str(e, "text", 512);
        int64_t at = 0;
        char when[32];

        jsonx_int(e, "id", 0, INT64_MAX, &since);
        jsonx_int(e, "at", 0, INT64_MAX, &at);
        format_time(when, at);
        if (!o->json)
            printf("%s.%03d %s\n", when, (int)(at % 1000), text ? text : "?");
    }
    if (o->json)
        sfabric_print_json(reply);
    json_object_put(reply);
    return since;
}

/* 0: it is none, or none that is of use. */
static int64_t number_of(const char *text)
{
    char *end;
    int64_t n = strtoll(text, &end, 10);

    if (end == text || *end || n < 0)
        return 0;
    return n < SF_SWITCHMGR_EVENTS_MAX ? n : SF_SWITCHMGR_EVENTS_MAX;
}

struct wishes {
    bool follow;
    int64_t max;
};

static const struct option options[] = {
    {"follow", no_argument, NULL, 'f'},
    {"lines", required_argument, NULL, 'n'},
    {0},
};

static bool take(int val, const char *value, void *wishes)
{
    struct wishes *w = wishes;

    if (val == 'n')
        w->max = number_of(value);
    else
        w->follow = true;
    return w->max > 0;
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct wishes w = {.max = 50};
    int64_t id;

    if (sfabric_parse(&cmd_events, argc, argv, o, &w) < 0)
        return SFABRIC_UNKNOWN;
    id = print_since(o, 0, w.max);
    while (w.follow && id >= 0) {
        fflush(stdout);
        if (ferror(stdout))
            break;
        usleep(500000);
        id = print_since(o, id, 4096);
    }
    return id < 0 ? SFABRIC_UNKNOWN : SFABRIC_OK;
}

const struct sfabric_cmd cmd_events = {
    .name = "events",
    .args = "[-n NUMBER] [-f]",
    .help = "what happened",
    .options = options,
    .take = take,
    .run = run,
};
