/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The web page of the fabric (doc/web.md): its three files, which are part of
 * the program, and what its script asks for as JSON.
 */
#ifndef SF_SWITCHMGRD_PAGE_H
#define SF_SWITCHMGRD_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/graph.h"
#include "switchmgrd/history.h"

struct collector;
struct page;

struct page_answer {
    const char *type;
    const char *text;
    size_t len;
};

struct page *page_new(void);
void page_free(struct page *p);

/* The map of a rail, whose hosts have Slurm's names.  The same one again costs
 * nothing. */
void page_take_net(struct page *p, uint8_t rail, const struct net *net);
/* This rail is to have no map any more. */
void page_drop_net(struct page *p, uint8_t rail);

/* What stands at `path`, or false.  Borrowed until the next call. */
bool page_get(struct page *p, const struct collector *n, const char *path,
              struct page_answer *answer);

/* Is it the path of a link's history, /day/LINK or /year/LINK?  That is asked
 * for by collector_history_ask(). */
bool page_is_history(const char *path, const char **link, enum history_by *by);

#endif
