/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the updater must not forget over a restart: when it drained (the caps)
 * and for which fault (so that an admin's resume is respected).  Lines
 * "cap MS" and "drained NODE MS" / "undone NODE MS"; a file that cannot be
 * read counts as none.  A cap's time is the wall clock's; a fault's is its name
 * in the network side's model.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "switchmgrd/net_clock.h"
#include "switchmgrd/updater.h"

static void take_line(struct updater *u, const char *line)
{
    char name[SF_REPORT_NAME_MAX];
    int64_t at, now = net_now();
    struct upd_node *n;

    if (sscanf(line, "cap %" SCNd64, &at) == 1) {
        /* By a clock that was set back since: as if it were now. */
        u->caps.at[u->caps.n++ % CAPS_MAX] = at < now ? at : now;
    } else if (sscanf(line, "drained %63s %" SCNd64, name, &at) == 2) {
        if ((n = upd_node_make(u, name)))
            n->drained_since = at;
    } else if (sscanf(line, "undone %63s %" SCNd64, name, &at) == 2) {
        if ((n = upd_node_make(u, name)))
            n->undone = at;
    }
}

void upd_state_load(struct updater *u)
{
    FILE *f = fopen(u->state_path, "re");
    char line[160];

    if (!f) {
        if (errno != ENOENT)
            log_warn("SF-E704: %s: %m; the caps begin anew", u->state_path);
        return;
    }
    while (fgets(line, sizeof(line), f))
        take_line(u, line);
    fclose(f);
}

static void put_all(const struct updater *u, FILE *f)
{
    uint32_t have = u->caps.n < CAPS_MAX ? u->caps.n : CAPS_MAX;
    const struct upd_node *n;

    for (uint32_t i = 0; i < have; i++)
        fprintf(f, "cap %" PRId64 "\n", net_wall(u->caps.at[i]));
    for (n = u->nodes; n; n = n->hh.next) {
        if (n->drained_since)
            fprintf(f, "drained %s %" PRId64 "\n", n->name, n->drained_since);
        if (n->undone)
            fprintf(f, "undone %s %" PRId64 "\n", n->name, n->undone);
    }
}

void upd_state_save(const struct updater *u)
{
    struct errbuf err = {"no memory"};
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    int rc = -1;

    if (f) {
        put_all(u, f);
        if (fclose(f) == 0)
            rc = file_replace(u->state_path, text, len, 0600, FILE_DURABLE,
                              &err);
    }
    free(text);
    if (rc < 0)
        log_error("SF-E704: %s; caps may be forgotten at a restart", err.text);
}
