/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many programs a second the partition manager gives out and takes back
 * while 10 000 are live, beside the plain way: a list of all live programs
 * that is searched from a moving start, as switch plugins used to do.
 *
 *     bench_switch_alloc [RUNS [PROGRAMS]]
 *
 * Each run prints one line per case, with tabs between: what the reference is,
 * the case, ours, the reference, in programs per second of CPU time.  Ours
 * builds the whole program (number, contexts, capability with bitmap); the
 * reference only finds the contexts.  Both get the same steps in the same order
 * and run in turn.  The third case puts ours beside itself with 100 live
 * programs: the number must not matter.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "elan/partition.h"

#define LIVE 10000
#define CONTEXTS_LOW ELAN_RMS_BASE_CONTEXT_NUM
#define CONTEXTS_TOP ELAN_RMS_TOP_CONTEXT_NUM

struct bench {
    const char *name;
    uint32_t machine; /* nodes */
    uint32_t nodes;   /* most of one step */
    uint32_t tasks;   /* most per node */
    uint32_t live;
};

struct request {
    uint32_t first, nodes, tasks;
};

/* ---- the plain way --------------------------------------------------------
 */

struct record {
    uint32_t low_node, high_node, low, high;
};

struct plain {
    struct record *live;
    uint32_t n;
    uint32_t start;
};

static bool collides(const struct record *a, const struct record *b)
{
    return a->low_node <= b->high_node && b->low_node <= a->high_node &&
           a->low <= b->high && b->low <= a->high;
}

/* Past every record that is in the way, until none is; once around. */
static bool plain_search(const struct plain *p, struct record *want,
                         uint32_t from, uint32_t width)
{
    want->low = from;
    want->high = from + width - 1;
    for (uint32_t i = 0; i < p->n;) {
        if (want->high > CONTEXTS_TOP)
            return false;
        if (!collides(want, &p->live[i])) {
            i++;
            continue;
        }
        want->low = p->live[i].high + 1;
        want->high = want->low + width - 1;
        i = 0;
    }
    return want->high <= CONTEXTS_TOP;
}

static bool plain_alloc(struct plain *p, const struct request *r,
                        struct record *got)
{
    got->low_node = r->first;
    got->high_node = r->first + r->nodes - 1;
    if (!plain_search(p, got, p->start, r->tasks) &&
        !plain_search(p, got, CONTEXTS_LOW, r->tasks))
        return false;
    p->start = got->high + 1;
    return true;
}

/* ---- the same steps for both -----------------------------------------------
 */

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

static struct request random_request(const struct bench *b, uint32_t *seed)
{
    struct request r;

    r.nodes = next_random(seed) % b->nodes + 1;
    r.tasks = next_random(seed) % b->tasks + 1;
    r.first = next_random(seed) % (b->machine - r.nodes + 1);
    return r;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_switch_alloc: %s\n", what);
    exit(1);
}

static struct elan_layout make_layout(const struct request *r)
{
    uint32_t ids[4096];
    uint16_t tasks[4096];
    struct elan_layout_spec spec = {r->nodes, 1, ids, tasks, NULL, false};
    struct elan_layout l;

    for (uint32_t n = 0; n < r->nodes; n++) {
        ids[n] = r->first + n;
        tasks[n] = (uint16_t)r->tasks;
    }
    if (elan_layout_make(&l, &spec, NULL) < 0)
        die("layout");
    return l;
}

static bool ours_build(struct elan_partition *pm, const struct request *r,
                       struct elan_jobinfo *info)
{
    struct elan_userkey key = {{1, 2, 3, 4}};
    struct elan_step step = {.options = {1, 0}, .keys = &key};
    struct elan_payload payload;
    struct elan_layout l = make_layout(r);
    int rc;

    elan_jobinfo_init(info, 1, 2, 3);
    rc = elan_partition_build(pm, &step, &l, info, &payload, NULL);
    elan_layout_free(&l);
    elan_payload_free(&payload);
    return rc == 0;
}

/* Fill up to b->live, then replace `programs` of them; programs a second. */
static double run_ours(const struct bench *b, uint32_t programs)
{
    struct elan_jobinfo *live = calloc(b->live, sizeof(*live));
    struct elan_site site;
    struct elan_partition *pm;
    uint32_t seed = 12345;
    double start = 0;

    elan_site_defaults(&site);
    pm = elan_partition_create(&site, 1, NULL);
    if (!pm || !live)
        die("out of memory");
    for (uint32_t i = 0; i < b->live + programs; i++) {
        struct request r = random_request(b, &seed);
        uint32_t slot = i < b->live ? i : next_random(&seed) % b->live;

        if (i == b->live)
            start = clock_cpu_s();
        elan_partition_release(pm, &live[slot]);
        elan_jobinfo_free(&live[slot]);
        if (!ours_build(pm, &r, &live[slot]))
            die("ours: no contexts");
    }
    start = clock_cpu_s() - start;
    for (uint32_t i = 0; i < b->live; i++)
        elan_jobinfo_free(&live[i]);
    elan_partition_destroy(pm);
    free(live);
    return programs / start;
}

static double run_plain(const struct bench *b, uint32_t programs)
{
    struct plain p = {.start = CONTEXTS_LOW};
    uint32_t seed = 12345;
    double start = 0;

    p.live = calloc(b->live, sizeof(*p.live));
    if (!p.live)
        die("out of memory");
    for (uint32_t i = 0; i < b->live + programs; i++) {
        struct request r = random_request(b, &seed);
        uint32_t slot = i < b->live ? i : next_random(&seed) % b->live;
        struct record got;

        if (i == b->live)
            start = clock_cpu_s();
        p.live[slot] = (struct record){1, 0, 1, 0}; /* in nobody's way */
        if (!plain_alloc(&p, &r, &got))
            die("reference: no contexts");
        p.live[slot] = got;
        if (i < b->live)
            p.n = i + 1;
    }
    start = clock_cpu_s() - start;
    free(p.live);
    return programs / start;
}

int main(int argc, char **argv)
{
    static const struct bench small = {"1024 nodes, steps of 1 to 8", 1024, 8,
                                       8, LIVE};
    static const struct bench large = {"4096 nodes, steps of 1 to 128", 4096,
                                       128, 4, LIVE};
    static const struct bench few = {"", 1024, 8, 8, LIVE / 100};
    int runs = argc > 1 ? atoi(argv[1]) : 9;
    uint32_t programs = argc > 2 ? (uint32_t)atoi(argv[2]) : 20000;

    if (runs < 1 || programs < 1)
        die("usage: bench_switch_alloc [RUNS [PROGRAMS]]");
    for (int run = 0; run < runs; run++) {
        double rate = run_ours(&small, programs);

        printf("list\t%d live, %s\t%.0f\t%.0f\n", LIVE, small.name, rate,
               run_plain(&small, programs / 10 + 1));
        printf("list\t%d live, %s\t%.0f\t%.0f\n", LIVE, large.name,
               run_ours(&large, programs),
               run_plain(&large, programs / 10 + 1));
        printf("100 live\t%d live, %s, beside 100 live\t%.0f\t%.0f\n", LIVE,
               small.name, rate, run_ours(&few, programs));
        fflush(stdout);
    }
    return 0;
}
