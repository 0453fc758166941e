/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `sfabric verify` and `sfabric doctor` find: a line for each thing that
 * was looked at, with one of the exit statuses of sfabric.h.
 */
#ifndef SF_SFABRIC_FINDINGS_H
#define SF_SFABRIC_FINDINGS_H

#include <stdbool.h>

#include "sfabric/sfabric.h"

struct findings {
    int status; /* the worst so far */
    bool brief; /* print what is not right only, each with this host's name */
    char host[256];
    struct json_object *json; /* NULL: print at once */
};

void findings_begin(struct findings *f, const struct sfabric_options *o,
                    bool brief);

/* One thing that was looked at; the text is a sentence for people. */
void findings_say(struct findings *f, int status, const char *what,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Print the JSON, if that was wanted; the exit status. */
int findings_end(struct findings *f);

#endif
