/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See findings.h.
 */
#include "sfabric/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonx.h"

static const char *const words[] = {"ok", "warn", "wrong", "unknown"};

void findings_begin(struct findings *f, const struct sfabric_options *o,
                    bool brief)
{
    const char *node = getenv("SLURMD_NODENAME"); /* in a step */

    *f = (struct findings){.brief = brief};
    if (node && *node)
        snprintf(f->host, sizeof(f->host), "%s", node);
    else
        gethostname(f->host, sizeof(f->host) - 1);
    if (o->json)
        f->json = json_object_new_array();
}

static void add_json(struct findings *f, int status, const char *what,
                     const char *text)
{
    struct json_object *o = json_object_new_object();

    jsonx_add_str(o, "status", words[status]);
    jsonx_add_str(o, "what", what);
    jsonx_add_str(o, "text", text);
    json_object_array_add(f->json, o);
}

void findings_say(struct findings *f, int status, const char *what,
                  const char *fmt, ...)
{
    char text[8192];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    f->status = sfabric_worse(f->status, status);
    if (f->json)
        add_json(f, status, what, text);
    else if (!f->brief)
        printf("%-8s %-16s %s\n", words[status], what, text);
    else if (status != SFABRIC_OK)
        printf("%s: %s: %s: %s\n", f->host, words[status], what, text);
}

int findings_end(struct findings *f)
{
    struct json_object *all;

    if (!f->json)
        return f->status;
    all = json_object_new_object();
    jsonx_add_str(all, "host", f->host);
    jsonx_add_int(all, "exit_status", f->status);
    json_object_object_add(all, "findings", f->json);
    sfabric_print_json(all);
    json_object_put(all);
    return f->status;
}
