/* SPDX-License-Identifier: BSD-3-Clause
 * Runs by seed: see mapper_seeds.h.
 */
#include "mapper_seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 42 /* by 13 families, by 2 protocols: 1 092 */

/* Small nets, the seed chooses one; "#" becomes a number that it draws, 3 or
 * what the net was once. */
static const char *const nets[] = {
    "clos:4x4:1x2:1x2", "line:3:3",
    "ring:5:2",         "torus:3x3:1",
    "random:6:16:#",    "clos:4x4:1x4:1x1",
    "line:1:8",         "C64+cut=3:#",
    "hostless-ring:4",  "clos:4x2:1x2:1x1+ids",
};
#define NETS SEEDS_NETS
_Static_assert(sizeof(nets) / sizeof(*nets) == SEEDS_NETS, "see SEEDS_NETS");
#define NET_TEXT 64
#define SHAPES 1000

static const char *choose_net(uint64_t seed, char text[NET_TEXT])
{
    const char *name = nets[world_draw(seed, DRAW_NET, NETS)], *at;

    /* 64 hosts are dear: one in ten, and two planes of them now and then. */
    if (world_draw(seed, DRAW_LARGE, 200) == 57)
        return "two-planes";
    at = strchr(name, '#');
    if (!at)
        return name;
    if (world_draws_rests)
        return strchr(name, '+') ? "C64+cut=3" : "random:6:16:3";
    snprintf(text, NET_TEXT, "%.*s%u", (int)(at - name), name,
             world_draw(seed, DRAW_SHAPE, SHAPES));
    return text;
}

/* ---- distributions ------------------------------------------------------- */

struct tally {
    double *seconds, *packets; /* packets: by host */
    unsigned n, size, failed;
};

static void tally_init(struct tally *t, unsigned size)
{
    *t = (struct tally){.size = size};
    t->seconds = calloc(size + 1u, sizeof(*t->seconds));
    t->packets = calloc(size + 1u, sizeof(*t->packets));
    if (!t->seconds || !t->packets)
        world_die("no memory");
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void print_values(const char *what, double *values, unsigned n)
{
    qsort(values, n, sizeof(*values), by_size);
    printf("; %s %.4g %.4g %.4g %.4g", what, values[n / 10], values[n / 2],
           values[n * 9 / 10], values[n - 1]);
}

/* Smallest tenth, median, largest tenth, most. */
static void tally_end(struct tally *t, const char *name)
{
    printf("# %-20s %4u runs", name, t->n);
    if (t->n > 0) {
        print_values("settled after s", t->seconds, t->n);
        print_values("packets by host", t->packets, t->n);
    }
    printf("\n");
    fflush(stdout);
    free(t->seconds);
    free(t->packets);
}

static void tally_add(struct tally *t, const struct world *w, uint64_t since)
{
    if (t->n == t->size)
        return;
    t->seconds[t->n] = (double)(world_now(w) - since) / 1e9;
    t->packets[t->n++] = (double)w->packets / w->net->nhosts;
}

/* ---- one run ------------------------------------------------------------- */

static bool sound(const struct seeds *s, struct world *w)
{
    struct errbuf why = {""};

    if (!s->sound || s->sound(w, &why))
        return true;
    printf("# %s\n", why.text);
    return false;
}

static bool play(const struct seeds *s, const struct harm *harm, uint64_t seed,
                 bool verbose, struct tally *tally)
{
    char text[NET_TEXT];
    const char *net = choose_net(seed, text);
    struct world *w = world_new(net, seed);
    uint64_t since = 0;
    bool ok;

    w->verbose = verbose;
    if (verbose)
        printf("# %s seed %" PRIu64 ": %s\n", harm->name, seed, net);
    w->loss = harm->loss;
    s->start(w);
    ok = world_until(w, s->start_limit, s->hands.settled);
    if (ok && harm->before)
        harm->before(w, &s->hands);
    if (ok && harm != &harms[0]) {
        w->packets = 0;
        since = world_now(w);
        harm->strike(w, &s->hands);
        ok = world_until(w, world_now(w) + s->heal_limit, s->hands.settled);
    }
    if (!ok)
        s->explain(w);
    ok = ok && sound(s, w);
    if (ok && tally)
        tally_add(tally, w, since);
    world_free(w);
    return ok;
}

static void play_counted(const struct seeds *s, const struct harm *harm,
                         uint64_t seed, struct tally *tally)
{
    if (play(s, harm, seed, false, tally))
        return;
    tally->failed++;
    printf("# failed: replay with  tests/sim/%s %s %" PRIu64 "\n", s->program,
           harm->name, seed);
    fflush(stdout);
}

/* ---- many ---------------------------------------------------------------- */

static unsigned run(const struct seeds *s, const struct harm *harm,
                    uint64_t first, unsigned count)
{
    struct tally tally;

    tally_init(&tally, count);
    for (uint64_t seed = first; seed < first + count; seed++)
        play_counted(s, harm, seed, &tally);
    tally_end(&tally, harm->name);
    return tally.failed;
}

bool seeds_run_family(const struct seeds *s, const struct harm *harm)
{
    const char *text = getenv("SF_SIM_SEEDS");

    return run(s, harm, 1, text ? (unsigned)strtoul(text, NULL, 10) : SEEDS) ==
           0;
}

static const struct harm *harm_named(const char *family)
{
    for (unsigned i = 0; i < HARMS; i++)
        if (strcmp(harms[i].name, family) == 0)
            return &harms[i];
    return NULL;
}

bool seeds_run_one(const struct seeds *s, const char *family, uint64_t seed)
{
    bool ok;

    world_draws_rests = true;
    ok = play(s, harm_named(family), seed, false, NULL);
    world_draws_rests = false;
    return ok;
}

static int replay(const struct seeds *s, const char *family, const char *seed)
{
    const struct harm *harm = harm_named(family);

    if (harm)
        return play(s, harm, strtoull(seed, NULL, 10), true, NULL) ? 0 : 1;
    fprintf(stderr, "no family %s\n", family);
    return 2;
}

unsigned seeds_combinations(uint64_t seeds, enum world_draw a, uint32_t na,
                            enum world_draw b, uint32_t nb)
{
    bool *met = calloc((size_t)na * nb, sizeof(*met));
    unsigned n = 0;

    for (uint64_t seed = 1; met && seed <= seeds; seed++)
        met[world_draw(seed, a, na) * nb + world_draw(seed, b, nb)] = true;
    for (uint32_t i = 0; met && i < na * nb; i++)
        n += met[i];
    free(met);
    return n;
}

int seeds_main(const struct seeds *s, int argc, char **argv)
{
    unsigned failed = 0;

    if (argc == 4 && strcmp(argv[1], "--seeds") == 0) {
        for (unsigned i = 0; i < HARMS; i++)
            failed += run(s, &harms[i], strtoull(argv[2], NULL, 10),
                          (unsigned)strtoul(argv[3], NULL, 10));
        return failed ? 1 : 0;
    }
    return argc == 3 ? replay(s, argv[1], argv[2]) : -1;
}
