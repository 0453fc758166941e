/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A collector that has what the page looks at, with a clock of the test's own.
 */
#ifndef SF_TESTS_PAGE_BED_H
#define SF_TESTS_PAGE_BED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonx.h"
#include "net/format.h"
#include "switchmgrd/collector.h"
#include "switchmgrd/jobs.h"
#include "switchmgrd/page.h"
#include "switchmgrd/page_host.h"

struct page_bed {
    struct collector n;
    struct page *page;
    uint64_t seq;
};

static int64_t page_bed_now = 1700000000000;

int64_t steady_now(void)
{
    return page_bed_now;
}

int64_t steady_wall(int64_t when)
{
    return when;
}

void collector_events_alarm(const char *text, int64_t now, void *arg)
{
}

struct json_object *collector_events_since(const struct collector *n,
                                           uint64_t id, size_t max)
{
    return json_object_new_array();
}

static inline struct collector_node *page_bed_peer(struct page_bed *b,
                                                   const char *name)
{
    struct collector_node *p = calloc(1, sizeof(*p));

    if (!p)
        abort();
    snprintf(p->name, sizeof(p->name), "%s", name);
    HASH_ADD_STR(b->n.nodes, name, p);
    return p;
}

static inline void page_bed_says(struct page_bed *b, int node,
                                 enum report_seen seen, const char *why)
{
    struct report_record r = {.kind = REPORT_HOST, .seen = seen};
    struct report rep = {.from = REPORT_HSND,
                         .instance = 1,
                         .seq = ++b->seq,
                         .records = &r,
                         .nrecords = 1};
    struct errbuf err;

    snprintf(r.name, sizeof(r.name), "n%d", node);
    snprintf(r.why, sizeof(r.why), "%s", why);
    snprintf(rep.node, sizeof(rep.node), "n%d", node);
    if (model_input(b->n.model, &rep, page_bed_now, &err) < 0)
        abort();
}

/* The mapper on a node leads this rail, and says a map of one host. */
static inline void page_bed_leads(struct page_bed *b, int node, uint8_t rail)
{
    struct report_record r = {
        .kind = REPORT_HOST, .seen = SEEN_UP, .rail = rail, .name = "n1"};
    struct report rep = {.from = REPORT_MAPPERD,
                         .instance = 1,
                         .seq = ++b->seq,
                         .map = {.present = true,
                                 .rail = rail,
                                 .leader = true,
                                 .version = 7,
                                 .part = 1,
                                 .parts = 1},
                         .records = &r,
                         .nrecords = 1};
    struct errbuf err;

    snprintf(rep.node, sizeof(rep.node), "n%d", node);
    if (model_input(b->n.model, &rep, page_bed_now, &err) < 0)
        abort();
}

static inline int page_bed_up(void **state)
{
    struct page_bed *b = calloc(1, sizeof(*b));
    struct model_conf conf;
    struct model_ops ops = {0};

    if (!b)
        abort();
    model_conf_defaults(&conf);
    b->n.model = model_new(&conf, &ops);
    b->page = page_new();
    b->n.page = b->page;
    b->n.jobs = jobs_new();
    *state = b;
    return 0;
}

static inline int page_bed_down(void **state)
{
    struct page_bed *b = *state;
    struct collector_node *p, *next;

    HASH_ITER(hh, b->n.nodes, p, next)
    {
        HASH_DEL(b->n.nodes, p);
        free(p);
    }
    page_free(b->page);
    jobs_free(b->n.jobs);
    model_free(b->n.model);
    free(b);
    return 0;
}

#endif
