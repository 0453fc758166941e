/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "switchmgrd/linksrc.h"

static const struct linksrc_ops *const sources[] = {&linksrc_dir};

struct linksrc {
    const struct linksrc_ops *ops;
    void *state;
};

struct linksrc *linksrc_open(const char *spec, struct errbuf *err)
{
    const char *colon = strchr(spec, ':');
    size_t len = colon ? (size_t)(colon - spec) : strlen(spec);
    struct linksrc *s;

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        if (strlen(sources[i]->name) != len ||
            strncmp(sources[i]->name, spec, len) != 0)
            continue;
        s = calloc(1, sizeof(*s));
        if (!s)
            break;
        s->ops = sources[i];
        s->state = s->ops->open(colon ? colon + 1 : "", err);
        if (s->state)
            return s;
        free(s);
        return NULL;
    }
    errprintf(err, "LinkStatus: no such source: %s", spec);
    errno = EINVAL;
    return NULL;
}

void linksrc_close(struct linksrc *s)
{
    if (!s)
        return;
    s->ops->close(s->state);
    free(s);
}

struct filling {
    struct report *report;
    size_t room;
    int failed;
};

static void add(const struct report_record *record, void *arg)
{
    struct filling *f = arg;
    struct report *r = f->report;

    if (r->nrecords == f->room) {
        size_t room = f->room ? f->room * 2 : 64;
        struct report_record *more = realloc(r->records, room * sizeof(*more));

        if (!more) {
            f->failed = 1;
            return;
        }
        r->records = more;
        f->room = room;
    }
    r->records[r->nrecords++] = *record;
}

int linksrc_report(struct linksrc *s, struct report *report, struct errbuf *err)
{
    struct filling f = {.report = report};

    memset(report, 0, sizeof(*report));
    report->from = REPORT_LINKS;
    if (s->ops->poll(s->state, add, &f, err) == 0 && !f.failed)
        return 0;
    report_free(report);
    return -1;
}
