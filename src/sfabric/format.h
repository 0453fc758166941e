/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric -o: lines from a format like sinfo's, "%N %.4D %T".  A field is
 * %[[.]WIDTH]LETTER: at least (and when given at most) WIDTH wide, the dot
 * puts it to the right.
 *
 *   %N nodes  %D how many  %T state  %S since  %C count  %R evidence
 *   %r rails  %d drained by whom
 *
 * Nodes whose other fields are the same share a line.
 */
#ifndef SF_SFABRIC_FORMAT_H
#define SF_SFABRIC_FORMAT_H

#include <json-c/json.h>

#include "sfabric/sfabric.h"

/* Print the nodes (an array of switchmgrd's verb "nodes"), those for which
 * keep() is true (NULL: all).  each: one line for each node.  -1: the format
 * is wrong (told). */
int format_nodes(const char *format, struct json_object *nodes, bool each,
                 bool (*keep)(struct json_object *node),
                 const struct sfabric_options *o);

/* 2026-11-20T17:00:00 of ms since the epoch, local time. */
void format_time(char buf[32], int64_t ms);

#endif
