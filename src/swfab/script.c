/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults as text, in the order of their times, and what they do.
 */
#include "swfab/script.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- script parse ------------------------------------------------------ */

/* Faults as text. */

enum { WORDS_MAX = 10, LINE_MAX_BYTES = 256 };

struct line {
    char text[LINE_MAX_BYTES];
    char *word[WORDS_MAX + 1];
    unsigned n;
};

struct parser {
    struct swfab_script *script;
    const struct net *net;
    struct errbuf *err;
    const char *name;
    unsigned number; /* of the line */
};

static int swfab_script_add(struct swfab_script *script,
                            struct swfab_fault fault);
static void swfab_script_sort(struct swfab_script *script);

static int fail(struct parser *p, const char *what, const char *word)
{
    errno = EINVAL;
    return errprintf(p->err, "%s:%u: %s: %.80s", p->name, p->number, what,
                     word ? word : "(nothing)");
}

/* Cut into words; false: too long or too many. */
static bool cut(struct line *line, const char *text, size_t len)
{
    char *save = NULL;

    if (len >= sizeof(line->text))
        return false;
    memcpy(line->text, text, len);
    line->text[len] = '\0';
    line->text[strcspn(line->text, "#")] = '\0';
    line->n = 0;
    for (char *w = strtok_r(line->text, " \t\r", &save); w;
         w = strtok_r(NULL, " \t\r", &save)) {
        if (line->n == WORDS_MAX)
            return false;
        line->word[line->n++] = w;
    }
    line->word[line->n] = NULL;
    return true;
}

static int get_time(struct parser *p, const char *word, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end = NULL;
    double v = word ? strtod(word, &end) : -1;

    if (!word || end == word || !isfinite(v) || v < 0)
        return fail(p, "not a time", word);
    for (unsigned i = 0; i < 4; i++) {
        if (strcmp(end, units[i].unit) == 0 && v * units[i].factor < 1e18) {
            *ns = (uint64_t)(v * units[i].factor + 0.5);
            return 0;
        }
    }
    return fail(p, "a time is a number with ns, us, ms or s", word);
}

static int get_chance(struct parser *p, const char *word, double *chance)
{
    char *end = NULL;
    double v = word ? strtod(word, &end) : -1;

    if (!word || end == word || *end || !(v >= 0 && v <= 1))
        return fail(p, "not a probability (0 to 1)", word);
    *chance = v;
    return 0;
}

static int get_node(struct parser *p, const char *word, enum net_kind kind,
                    uint32_t *node)
{
    *node = word ? net_find_name(p->net, word) : NET_NONE;
    if (*node == NET_NONE)
        return fail(p, "no such node", word);
    if (p->net->nodes[*node].kind != kind)
        return fail(p, kind == NET_HOST ? "not a host" : "not a crossbar",
                    word);
    return 0;
}

/* NODE:PORT; a host's only port may be left out. */
static int get_port(struct parser *p, char *word, uint32_t *node,
                    unsigned *port)
{
    char *colon = word ? strrchr(word, ':') : NULL, *end = NULL;
    unsigned long v = 0;

    *node = word ? net_find_name(p->net, word) : NET_NONE;
    if (*node != NET_NONE && p->net->nodes[*node].kind == NET_HOST)
        colon = NULL;
    else if (!colon || colon[1] < '0' || colon[1] > '9')
        return fail(p, "not NODE:PORT", word);
    if (colon) {
        v = strtoul(colon + 1, &end, 10);
        *colon = '\0';
        *node = net_find_name(p->net, word);
        *colon = ':';
        if (*end || *node == NET_NONE || v >= p->net->nodes[*node].nports)
            return fail(p, "no such port", word);
    }
    *port = (unsigned)v;
    return 0;
}

static int add(struct parser *p, const struct swfab_fault *f)
{
    int rc = swfab_script_add(p->script, *f);

    if (rc < 0)
        errprintf(p->err, "%s:%u: %s", p->name, p->number,
                  errno == EMSGSIZE ? "too many faults" : "out of memory");
    return rc;
}

/* ---- one function per kind of line ---- */

static int do_cable(struct parser *p, char **arg, struct swfab_fault *f)
{
    return get_port(p, arg[0], &f->node, &f->port) < 0 ? -1 : add(p, f);
}

static int do_plug(struct parser *p, char **arg, struct swfab_fault *f)
{
    if (get_port(p, arg[0], &f->node, &f->port) < 0 ||
        get_port(p, arg[1], &f->node2, &f->port2) < 0)
        return -1;
    return add(p, f);
}

static int do_xbar(struct parser *p, char **arg, struct swfab_fault *f)
{
    return get_node(p, arg[0], NET_XBAR, &f->node) < 0 ? -1 : add(p, f);
}

static int do_host(struct parser *p, char **arg, struct swfab_fault *f)
{
    return get_node(p, arg[0], NET_HOST, &f->node) < 0 ? -1 : add(p, f);
}

static int do_chance(struct parser *p, char **arg, struct swfab_fault *f)
{
    f->node = NET_NONE;
    if (arg[0] && strcmp(arg[0], "all") != 0 &&
        get_port(p, arg[0], &f->node, &f->port) < 0)
        return -1;
    return get_chance(p, arg[1], &f->p) < 0 ? -1 : add(p, f);
}

static int do_seed(struct parser *p, char **arg, struct swfab_fault *f)
{
    char *end = NULL;

    if (!arg[0] || arg[0][0] < '0' || arg[0][0] > '9')
        return fail(p, "not a number", arg[0]);
    f->seed = strtoull(arg[0], &end, 0);
    return *end ? fail(p, "not a number", arg[0]) : add(p, f);
}

/* PORT every TIME for TIME: down and up in turns, up at the end. */
static int do_flap(struct parser *p, char **arg, struct swfab_fault *f)
{
    uint64_t every, during, start = f->time;
    bool up = false;

    if (get_port(p, arg[0], &f->node, &f->port) < 0)
        return -1;
    if (!arg[1] || strcmp(arg[1], "every") != 0 || !arg[2] || !arg[3] ||
        strcmp(arg[3], "for") != 0)
        return fail(p, "expected: every TIME for TIME, after", arg[0]);
    if (get_time(p, arg[2], &every) < 0 || get_time(p, arg[4], &during) < 0)
        return -1;
    if (every == 0)
        return fail(p, "too often", arg[2]);
    for (uint64_t t = 0; t < during; t += every, up = !up) {
        f->time = start + t;
        f->op = up ? SWFAB_OP_UP : SWFAB_OP_DOWN;
        if (add(p, f) < 0)
            return -1;
    }
    f->time = start + during;
    f->op = SWFAB_OP_UP;
    return add(p, f);
}

static const struct {
    const char *word;
    unsigned nargs;
    enum swfab_fault_op op;
    int (*parse)(struct parser *p, char **arg, struct swfab_fault *f);
} verbs[] = {
    {"down", 1, SWFAB_OP_DOWN, do_cable},
    {"up", 1, SWFAB_OP_UP, do_cable},
    {"pull", 1, SWFAB_OP_PULL, do_cable},
    {"plug", 2, SWFAB_OP_PLUG, do_plug},
    {"kill", 1, SWFAB_OP_KILL, do_xbar},
    {"revive", 1, SWFAB_OP_REVIVE, do_xbar},
    {"mute", 1, SWFAB_OP_MUTE, do_host},
    {"unmute", 1, SWFAB_OP_UNMUTE, do_host},
    {"loss", 2, SWFAB_OP_LOSS, do_chance},
    {"corrupt", 2, SWFAB_OP_CORRUPT, do_chance},
    {"flap", 5, SWFAB_OP_DOWN, do_flap},
    {"seed", 1, SWFAB_OP_SEED, do_seed},
};

static int parse_line(struct parser *p, struct line *line)
{
    struct swfab_fault f = {.node = NET_NONE, .node2 = NET_NONE};
    char **word = line->word;
    unsigned n = line->n;

    if (n && strcmp(word[0], "at") == 0) {
        if (get_time(p, word[1], &f.time) < 0)
            return -1;
        word += 2;
        n -= 2;
    }
    for (unsigned i = 0; n && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(word[0], verbs[i].word) != 0)
            continue;
        if (n - 1 != verbs[i].nargs)
            return fail(p, "wrong number of words after", word[0]);
        f.op = verbs[i].op;
        return verbs[i].parse(p, word + 1, &f);
    }
    if (line->n == 0)
        return 0;
    return fail(p, "no such fault", n ? word[0] : NULL);
}

int swfab_script_parse(struct swfab_script *script, const char *name,
                       const char *text, const struct net *net,
                       struct errbuf *err)
{
    struct parser p = {.script = script, .net = net, .err = err, .name = name};
    struct line line;

    while (*text) {
        size_t len = strcspn(text, "\n");

        p.number++;
        if (!cut(&line, text, len))
            return fail(&p, "line too long", "");
        if (parse_line(&p, &line) < 0)
            return -1;
        text += len + (text[len] == '\n');
    }
    swfab_script_sort(script);
    return 0;
}

/* ---- script ------------------------------------------------------------ */

/* Append one fault.  0, or -1 with errno EMSGSIZE, ENOMEM. */
static int swfab_script_add(struct swfab_script *script,
                            struct swfab_fault fault)
{
    if (script->n == SF_SWFAB_FAULTS_MAX) {
        errno = EMSGSIZE;
        return -1;
    }
    if (script->n == script->size) {
        size_t size = script->size ? 2 * script->size : 16;
        struct swfab_fault *more =
            realloc(script->faults, size * sizeof(*more));

        if (!more)
            return -1;
        script->faults = more;
        script->size = size;
    }
    script->faults[script->n++] = fault;
    return 0;
}

/* Two halves in order become one. */
static void merge(struct swfab_fault *all, size_t half, size_t n,
                  struct swfab_fault *room)
{
    size_t a = 0, b = half;

    for (size_t i = 0; i < n; i++) {
        bool first = b == n || (a < half && all[a].time <= all[b].time);

        room[i] = all[first ? a++ : b++];
    }
    for (size_t i = 0; i < n; i++)
        all[i] = room[i];
}

static void sort(struct swfab_fault *all, size_t n, struct swfab_fault *room)
{
    if (n < 2)
        return;
    sort(all, n / 2, room);
    sort(all + n / 2, n - n / 2, room);
    merge(all, n / 2, n, room);
}

/* Without memory for it by the slow way: also stable. */
static void sort_in_place(struct swfab_fault *all, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct swfab_fault f = all[i];
        size_t at = i;

        for (; at && all[at - 1].time > f.time; at--)
            all[at] = all[at - 1];
        all[at] = f;
    }
}

/* Bring all into the order of time; what has equal times stays as it was. */
static void swfab_script_sort(struct swfab_script *script)
{
    struct swfab_fault *room = malloc((script->n + 1) * sizeof(*room));

    if (room)
        sort(script->faults, script->n, room);
    else
        sort_in_place(script->faults, script->n);
    free(room);
}

void swfab_script_free(struct swfab_script *script)
{
    free(script->faults);
    *script = (struct swfab_script){0};
}

static bool apply_chance(struct swfab *fab, const struct swfab_fault *f)
{
    bool loss = f->op == SWFAB_OP_LOSS;

    if (f->node == NET_NONE)
        return loss ? swfab_set_loss_all(fab, f->p)
                    : swfab_set_corruption_all(fab, f->p);
    return loss ? swfab_set_loss(fab, f->node, f->port, f->p)
                : swfab_set_corruption(fab, f->node, f->port, f->p);
}

bool swfab_fault_apply(struct swfab *fab, const struct swfab_fault *f)
{
    switch (f->op) {
    case SWFAB_OP_DOWN:
    case SWFAB_OP_UP:
        return swfab_set_link(fab, f->node, f->port, f->op == SWFAB_OP_UP);
    case SWFAB_OP_PULL:
        return swfab_disconnect(fab, f->node, f->port);
    case SWFAB_OP_PLUG:
        return swfab_connect(fab, f->node, f->port, f->node2, f->port2);
    case SWFAB_OP_KILL:
    case SWFAB_OP_REVIVE:
        return swfab_set_xbar_dead(fab, f->node, f->op == SWFAB_OP_KILL);
    case SWFAB_OP_MUTE:
    case SWFAB_OP_UNMUTE:
        return swfab_set_host_mute(fab, f->node, f->op == SWFAB_OP_MUTE);
    case SWFAB_OP_LOSS:
    case SWFAB_OP_CORRUPT:
        return apply_chance(fab, f);
    case SWFAB_OP_SEED:
        swfab_seed(fab, f->seed);
        return true;
    }
    return false;
}
