/* SPDX-License-Identifier: BSD-3-Clause
 * The first cause is told to impi-server, which has every agent kill.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "impid/impid.h"

static void describe(char *text, size_t size, int id,
                     const struct impid_proc *p)
{
    int n = snprintf(text, size, "SF-E%d: ", id);

    if (p && p->task)
        snprintf(text + n, size - (size_t)n, "rank %u on node %s (%s) ",
                 p->task->rank, p->impid->node_name,
                 task_family_name(p->family));
}

void impid_fail(struct impid *a, int id, int32_t code,
                const struct impid_proc *p, const char *fmt, ...)
{
    struct agent_msg msg = {.type = AGENT_ABORT};
    size_t len;
    va_list ap;

    if (a->failed)
        return;
    a->failed = true;
    msg.abort.code = code;
    msg.abort.rank = p && p->task ? (int32_t)p->task->rank : -1;
    msg.abort.client = p && p->client ? (int32_t)p->client->number : -1;
    msg.abort.lost = a->orphan;
    describe(msg.abort.text, sizeof(msg.abort.text), id, p);
    len = strlen(msg.abort.text);
    va_start(ap, fmt);
    vsnprintf(msg.abort.text + len, sizeof(msg.abort.text) - len, fmt, ap);
    va_end(ap);
    log_warn("%s", msg.abort.text);
    impid_link_send(&a->link, &msg);
    if (a->link.state == LINK_DOWN)
        impid_killed(a, msg.abort.text);
}

void impid_refuse_waiting(struct impid *a, const char *text)
{
    struct impid_proc *p;

    LIST_FOREACH(p, &a->procs, link)
    if (p->task && !p->client)
        impid_proc_error(p, text);
}

void impid_killed(struct impid *a, const char *text)
{
    a->failed = true;
    log_debug("killing: %s", text);
    impid_refuse_waiting(a, text);
    impid_task_kill_all(a);
}
