/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collector's history of links: what it puts there, and what it tells.
 */
#ifndef SF_SWITCHMGRD_COLLECTOR_HISTORY_H
#define SF_SWITCHMGRD_COLLECTOR_HISTORY_H

#include <json-c/json.h>

#include "health/model.h"
#include "switchmgrd/history.h"

struct collector;
struct collector_history;

/* Nothing with HistoryLinks=0.  -1 with text. */
int collector_history_open(struct collector *n, struct errbuf *err);
void collector_history_close(struct collector *n);
/* Time passes; a state has changed. */
void collector_history_tick(struct collector *n, int64_t now);
void collector_history_changed(struct collector *n,
                               const struct health_item *item,
                               enum health_state was);
/* Ask for the last day or year of a link: from, step (ms), and in, out (bytes
 * per second), errors, known (minutes), state for each; null: not known.  It is
 * read beside the loop; `give` gets it there, borrowed, or NULL when the
 * program ends before.  -1 with errno: ENOENT there is none, EAGAIN too many
 * wait, ENOMEM; then `give` is not called. */
typedef void collector_history_f(struct json_object *day, void *arg);
int collector_history_ask(struct collector *n, const char *name,
                          enum history_by by, collector_history_f *give,
                          void *arg);

#endif
