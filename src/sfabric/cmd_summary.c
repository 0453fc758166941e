/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric summary: how the fabric is, in the manner of sinfo.
 *
 *   (nothing)  nodes by state
 *   -l         with rails, since when, and evidence
 *   -N         a line for each node
 *   -R         what is not healthy, with its evidence
 */
#include <string.h>

#include "base/jsonx.h"
#include "base/limits.h"
#include "sfabric/format.h"
#include "sfabric/sfabric.h"

struct wishes {
    bool each, more, reasons;
};

static bool is_bad(struct json_object *node)
{
    const char *state = jsonx_str(node, "state", 32);

    return !state || strcmp(state, "healthy") != 0;
}

static const char *format_of(const struct wishes *w,
                             const struct sfabric_options *o)
{
    if (o->format)
        return o->format;
    if (w->reasons)
        return "%30R %8T %19S %N";
    if (w->each && w->more)
        return "%14N %8T %24r %.5C %7d %19S %R";
    if (w->each)
        return "%14N %8T %R";
    if (w->more)
        return "%8T %.5D %24r %7d %30R %N";
    return "%8T %.5D %N";
}

/* The names are sinfo's. */
static const struct option options[] = {
    {"Node", no_argument, NULL, 'N'},
    {"long", no_argument, NULL, 'l'},
    {"list-reasons", no_argument, NULL, 'R'},
    {0},
};

static bool take(int val, const char *value, void *wishes)
{
    struct wishes *w = wishes;

    (void)value;
    w->each |= val == 'N';
    w->more |= val == 'l';
    w->reasons |= val == 'R';
    return true;
}

static int64_t count_of(struct json_object *summary, const char *what,
                        const char *state)
{
    int64_t n = 0;

    jsonx_int(jsonx_object(summary, what), state, 0, INT64_MAX, &n);
    return n;
}

/* The worst of the hosts; a lost link or crossbar alone is "degraded". */
static int status_of(struct json_object *s)
{
    static const char *const states[] = {"healthy", "degraded", "flapping",
                                         "down", "unknown"};
    int rc = SFABRIC_OK;
    int64_t hosts = 0;

    for (int i = 0; i < 5; i++) {
        if (count_of(s, "hosts", states[i]))
            rc = sfabric_worse(rc, sfabric_status(states[i]));
        hosts += count_of(s, "hosts", states[i]);
        if (i > 0 && i < 4 &&
            count_of(s, "links", states[i]) + count_of(s, "xbars", states[i]))
            rc = sfabric_worse(rc, SFABRIC_DEGRADED);
    }
    return hosts ? rc : SFABRIC_UNKNOWN;
}

/* of: what is said of its rail, where there are several. */
static void print_map(struct json_object *s, struct json_object *map,
                      const char *of)
{
    int64_t version = 0, verify = 0, at = 0, now = 0;
    const char *leader = jsonx_str(map, "leader", 256);
    bool whole = false;

    if (!jsonx_int(map, "version", 0, INT64_MAX, &version))
        return;
    jsonx_int(map, "verify_us", 0, INT64_MAX, &verify);
    jsonx_int(map, "at", 0, INT64_MAX, &at);
    jsonx_int(s, "now", 0, INT64_MAX, &now);
    jsonx_bool(map, "configured", &whole);
    printf("map %lld%s by %s, %s, verified in %.1f ms, heard of %.1f s ago\n",
           (long long)version, of, leader ? leader : "?",
           whole ? "network fully configured" : "not yet distributed to all",
           (double)verify / 1000.0, (double)(now - at) / 1000.0);
}

static void print_maps(struct json_object *s)
{
    struct json_object *maps = NULL, *map;
    char of[sizeof(" of rail 255")];
    int64_t rail = 0;

    if (!json_object_object_get_ex(s, "maps", &maps) ||
        !json_object_is_type(maps, json_type_array) ||
        json_object_array_length(maps) < 2) {
        print_map(s, jsonx_object(s, "map"), "");
        return;
    }
    for (size_t i = 0; i < json_object_array_length(maps); i++) {
        map = json_object_array_get_idx(maps, i);
        jsonx_int(map, "rail", 0, UINT8_MAX, &rail);
        snprintf(of, sizeof(of), " of rail %u", (unsigned)(uint8_t)rail);
        print_map(s, map, of);
    }
}

static void print_parts(struct json_object *s, const char *what)
{
    static const char *const states[] = {"healthy", "degraded", "flapping",
                                         "down", "unknown"};
    bool any = false;

    for (int i = 0; i < 5; i++) {
        int64_t n = count_of(s, what, states[i]);

        if (!n)
            continue;
        if (!any)
            printf("%s: ", what);
        printf("%s%lld %s", any ? ", " : "", (long long)n, states[i]);
        if (!any)
            any = true;
    }
    if (any)
        putchar('\n');
}

/* ---- which crossbars and cables ------------------------------------------ */

#define BAD_MAX 8 /* of a kind that are named */

struct bad {
    size_t shown, more;
    char xbars[BAD_MAX][SF_NET_NAME_MAX]; /* that are down: told already */
    size_t nxbars;
};

/* "NAME:PORT" is an end on a crossbar that was told. */
static bool is_told(const struct bad *b, const char *end)
{
    size_t n = end ? strcspn(end, ":") : 0;

    for (size_t i = 0; i < b->nxbars; i++)
        if (strlen(b->xbars[i]) == n && strncmp(b->xbars[i], end, n) == 0)
            return true;
    return false;
}

static void print_item(struct bad *b, const char *kind, struct json_object *o)
{
    const char *name = jsonx_str(o, "name", SF_NET_NAME_MAX);
    const char *peer = jsonx_str(o, "peer", SF_NET_NAME_MAX);
    const char *state = jsonx_str(o, "state", 32);
    const char *why = jsonx_str(o, "why", 256);
    bool xbar = strcmp(kind, "xbar") == 0;

    if (!name || !state || strcmp(state, "healthy") == 0 ||
        strcmp(state, "unknown") == 0)
        return;
    if (!xbar && (is_told(b, name) || is_told(b, peer)))
        return;
    if (b->shown == BAD_MAX) {
        b->more++;
        return;
    }
    if (xbar && strcmp(state, "down") == 0)
        snprintf(b->xbars[b->nxbars++], SF_NET_NAME_MAX, "%s", name);
    printf("  %s %s%s%s is %s%s%s\n", kind, name, xbar || !peer ? "" : " - ",
           xbar || !peer ? "" : peer, state, why && *why ? ": " : "",
           why ? why : "");
    b->shown++;
}

static void print_bad(struct bad *b, const struct sfabric_options *o,
                      const char *kind)
{
    struct json_object *request = json_object_new_object(), *reply, *list;
    size_t n;

    jsonx_add_str(request, "kind", kind);
    reply = sfabric_ask(o, "switchmgrd", "items", request);
    list = jsonx_array(reply, "items", &n);
    b->shown = b->more = 0;
    for (size_t i = 0; list && i < n; i++)
        print_item(b, kind, json_object_array_get_idx(list, i));
    if (b->more)
        printf("  and %zu more, see sfabric draw\n", b->more);
    json_object_put(reply);
}

/* The crossbars and cables that are not well, by name; the cables of a crossbar
 * that is down go without saying. */
static void print_parts_of(struct json_object *s,
                           const struct sfabric_options *o)
{
    static const char *const states[] = {"degraded", "flapping", "down"};
    struct bad bad = {.nxbars = 0};
    int64_t xbars = 0, links = 0;

    for (int i = 0; i < 3; i++) {
        xbars += count_of(s, "xbars", states[i]);
        links += count_of(s, "links", states[i]);
    }
    print_parts(s, "xbars");
    if (xbars)
        print_bad(&bad, o, "xbar");
    print_parts(s, "links");
    if (links)
        print_bad(&bad, o, "link");
}

static void print_slurm(struct json_object *s)
{
    struct json_object *u = jsonx_object(s, "slurm");
    const char *error = jsonx_str(u, "error", 256);
    bool reachable = false, dry = false;

    jsonx_bool(u, "reachable", &reachable);
    jsonx_bool(s, "dry_run", &dry);
    if (!reachable)
        printf("slurmctld does not answer%s%s\n", error && *error ? ": " : "",
               error ? error : "");
    if (dry)
        puts("dry run: Slurm is told nothing");
}

static int show(struct json_object *s, struct json_object *nodes,
                const struct wishes *w, const struct sfabric_options *o)
{
    size_t n;
    struct json_object *list = jsonx_array(nodes, "nodes", &n);

    if (!list || format_nodes(format_of(w, o), list, w->each,
                              w->reasons ? is_bad : NULL, o) < 0)
        return SFABRIC_UNKNOWN;
    if (!w->each && !w->reasons && !o->format && !o->noheader) {
        print_parts_of(s, o);
        print_maps(s);
        print_slurm(s);
    }
    return status_of(s);
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct wishes w = {false, false, false};
    struct json_object *s, *nodes, *list = NULL;
    int rc = SFABRIC_UNKNOWN;

    if (sfabric_parse(&cmd_summary, argc, argv, o, &w) < 0)
        return SFABRIC_UNKNOWN;
    s = sfabric_ask(o, "switchmgrd", "summary", NULL);
    if (!s)
        return SFABRIC_UNKNOWN;
    nodes = sfabric_ask(o, "switchmgrd", "nodes", NULL);
    if (nodes && o->json) {
        json_object_object_get_ex(nodes, "nodes", &list);
        json_object_object_add(s, "nodes", json_object_get(list));
        sfabric_print_json(s);
        rc = status_of(s);
    } else if (nodes) {
        rc = show(s, nodes, &w, o);
    }
    json_object_put(nodes);
    json_object_put(s);
    return rc;
}

const struct sfabric_cmd cmd_summary = {
    .name = "summary",
    .args = "[-N] [-l] [-R]",
    .help = "how the fabric is (what sfabric alone shows)",
    .options = options,
    .take = take,
    .run = run,
};
