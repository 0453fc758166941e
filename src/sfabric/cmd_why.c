/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric why NODE: a node's state, explained from its evidence; of a job,
 * why_job.c.
 */
#include <string.h>

#include "base/jsonx.h"
#include "sfabric/format.h"
#include "sfabric/sfabric.h"
#include "sfabric/why_job.h"

static const char *text(struct json_object *o, const char *key)
{
    const char *s = jsonx_str(o, key, 512);

    return s ? s : "?";
}

static int64_t number(struct json_object *o, const char *key)
{
    int64_t v = 0;

    jsonx_int(o, key, 0, INT64_MAX, &v);
    return v;
}

static bool flag(struct json_object *o, const char *key)
{
    bool b = false;

    return jsonx_bool(o, key, &b) && b;
}

static void print_evidence(struct json_object *rail, int64_t now)
{
    size_t n;
    struct json_object *list = jsonx_array(rail, "evidence", &n);

    for (size_t i = 0; i < n; i++) {
        struct json_object *e = json_object_array_get_idx(list, i);
        const char *why = text(e, "why");

        printf("    %-8s says %s%s%s%s, %.1f s ago\n", text(e, "from"),
               text(e, "seen"), *why ? " (" : "", why, *why ? ")" : "",
               (double)(now - number(e, "at")) / 1000.0);
    }
}

static void print_rail(struct json_object *rail, int64_t now)
{
    char since[32];
    const char *why = text(rail, "why");
    const char *peer = jsonx_str(rail, "peer", 256);
    long long count = number(rail, "count");
    char times[40] = "once";

    if (count != 1)
        snprintf(times, sizeof(times), "%lld times", count);
    format_time(since, number(rail, "since"));
    printf("  rail %lld is %s since %s, went down %s%s%s\n",
           (long long)number(rail, "rail"), text(rail, "state"), since, times,
           peer ? ", plugged into " : "", peer ? peer : "");
    if (strcmp(text(rail, "state"), "healthy") != 0 || *why)
        printf("    decided by %s%s%s\n", text(rail, "source"),
               *why ? ": " : "", why);
    print_evidence(rail, now);
}

#define HEARD_LATELY 10000 /* ms: whoever speaks now is there */

/* Of the rails, who was heard last the longest ago; NULL: nobody ever was. */
static const char *silent_one(struct json_object *node, int64_t now,
                              int64_t *ago)
{
    size_t nrails, n;
    struct json_object *rails = jsonx_array(node, "rails", &nrails), *list, *e;
    const char *who = NULL;

    *ago = 0;
    for (size_t r = 0; r < nrails; r++) {
        list = jsonx_array(json_object_array_get_idx(rails, r), "evidence", &n);
        for (size_t i = 0; i < n; i++) {
            e = json_object_array_get_idx(list, i);
            if (who && now - number(e, "at") <= *ago)
                continue;
            who = text(e, "from");
            *ago = now - number(e, "at");
        }
    }
    return who;
}

/* Asks whether a daemon is there only where it may not be. */
static void print_unknown(struct json_object *node, int64_t now)
{
    int64_t ago;
    const char *who = silent_one(node, now, &ago);

    if (!who)
        puts("  unknown: nobody has reported it; does hsnd, mapperd or nicd "
             "run there?");
    else if (ago > HEARD_LATELY)
        printf("  unknown: %s there is silent for %.0f s; does it run, and "
               "reach switchmgrd?\n",
               who, (double)ago / 1000.0);
    else
        puts("  unknown: who reports it is heard, and does not know more");
}

/* What each state means for jobs. */
static void print_meaning(struct json_object *node, bool dry, int64_t now)
{
    const char *state = text(node, "state");

    if (flag(node, "drained_by_us"))
        puts("  drained by switchmgrd; resumed when it has been healthy for "
             "ResumeAfter");
    else if (flag(node, "drained"))
        puts("  drained by somebody else: left alone");
    if (flag(node, "maintenance"))
        puts("  in maintenance: not drained");
    if (flag(node, "capped"))
        puts(
            "  not drained yet: DrainMax, DrainInterval and DrainPercent allow "
            "no more drains now");
    if (flag(node, "drain_undone"))
        puts("  not drained again for this fault: somebody took our drain "
             "back");
    if (!flag(node, "in_slurm"))
        puts("  Slurm has no such node (or has not been heard of yet)");
    if (dry)
        puts("  dry run: Slurm is told nothing, no step is refused");
    else if (strcmp(state, "down") == 0)
        puts("  steps that need it are refused (unless DownPolicy or "
             "RefusePercent say otherwise)");
    if (strcmp(state, "unknown") == 0)
        print_unknown(node, now);
    else if (strcmp(state, "flapping") == 0)
        puts("  flapping: went down FlapCount times within FlapWindow; quiet "
             "for FlapQuiet makes it healthy");
}

static void print_around(struct json_object *reply)
{
    size_t n;
    struct json_object *list = jsonx_array(reply, "around", &n);

    for (size_t i = 0; i < n; i++) {
        struct json_object *x = json_object_array_get_idx(list, i);
        const char *peer = jsonx_str(x, "peer", 256);

        if (strcmp(text(x, "state"), "healthy") == 0)
            continue;
        printf("  %s %s%s%s is %s (%s)\n", text(x, "kind"), text(x, "name"),
               peer ? " - " : "", peer ? peer : "", text(x, "state"),
               text(x, "why"));
    }
}

static const struct option options[] = {
    {"brief", no_argument, NULL, SFABRIC_FLAG},
    {0},
};

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct json_object *in, *reply, *node, *rails;
    size_t n;
    bool brief = false;
    int rc;

    if (sfabric_parse(&cmd_why, argc, argv, o, &brief) < 0)
        return SFABRIC_UNKNOWN;
    if (why_job_is_one(argv[1]))
        return why_job(argv[1], brief, o);
    if (brief)
        return sfabric_usage(&cmd_why);
    if (strpbrk(argv[1], "[,"))
        return sfabric_fail("why: one node at a time, not %s; sfabric -N "
                            "lists many",
                            argv[1]);
    in = json_object_new_object();
    jsonx_add_str(in, "node", argv[1]);
    reply = sfabric_ask(o, "switchmgrd", "node", in);
    if (!reply)
        return SFABRIC_UNKNOWN;
    node = jsonx_object(reply, "node");
    rc = sfabric_status(text(node, "state"));
    if (o->json) {
        sfabric_print_json(reply);
    } else {
        printf("%s: %s\n", text(node, "name"), text(node, "state"));
        rails = jsonx_array(node, "rails", &n);
        for (size_t i = 0; i < n; i++)
            print_rail(json_object_array_get_idx(rails, i),
                       number(reply, "now"));
        print_around(reply);
        print_meaning(node, flag(reply, "dry_run"), number(reply, "now"));
    }
    json_object_put(reply);
    return rc;
}

const struct sfabric_cmd cmd_why = {
    .name = "why",
    .args = "NODE|[--brief] JOBID",
    .help = "why a node is in its state; what a job's links were like",
    .options = options,
    .take = sfabric_take_flag,
    .least = 1,
    .most = 1,
    .run = run,
};
