/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A dry run: what would be done goes to the log, each thing once, and Slurm is
 * told nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "switchmgrd/updater.h"

#define DRY_TEXT_MAX (3 * SF_PLAN_TEXT_MAX + 64)

static void write_texts(const struct plan *p, char *text, size_t size)
{
    snprintf(text, size, "features %s, extra %s, comment %s",
             p->set_features ? p->features_act : "as they are",
             p->set_extra ? p->extra : "as it is",
             p->set_comment ? p->comment : "as it is");
}

void upd_dry_known(const struct upd_node *n, struct plan *p)
{
    char text[DRY_TEXT_MAX];

    write_texts(p, text, sizeof(text));
    if (n->dry_told && strcmp(n->dry_told, text) == 0)
        p->set_features = p->set_extra = p->set_comment = false;
    if ((p->state == PLAN_DRAIN && n->dry_drained == n->want.since) ||
        (p->state == PLAN_RESUME && n->dry_resumed == n->want.since))
        p->state = PLAN_LEAVE;
}

void upd_dry_texts(const char *names, const struct plan *p)
{
    char text[DRY_TEXT_MAX];

    write_texts(p, text, sizeof(text));
    log_info("dry run: %s would get %s", names, text);
}

void upd_dry_texts_told(struct upd_node *n, const struct plan *p)
{
    char text[DRY_TEXT_MAX];

    write_texts(p, text, sizeof(text));
    free(n->dry_told);
    n->dry_told = strdup(text);
}

void upd_dry_state(struct updater *u, struct upd_node *n, const struct plan *p)
{
    if (p->state == PLAN_RESUME) {
        n->dry_resumed = n->want.since;
        log_info("dry run: %s would be resumed: its fabric is healthy",
                 n->name);
    } else if (n->dry_drained == n->want.since) {
        return;
    } else if (!upd_caps_take(u)) {
        upd_caps_hold(u, n);
    } else {
        n->dry_drained = n->want.since;
        log_info("dry run: %s would be drained: %s", n->name, p->reason);
    }
}

void upd_dry_forget(struct upd_node *n)
{
    free(n->dry_told);
    n->dry_told = NULL;
    n->dry_drained = n->dry_resumed = 0;
}
