/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the subcommands share: messages, questions to daemons, exit status.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctl.h"
#include "base/jsonx.h"
#include "base/sitedir.h"
#include "sfabric/sfabric.h"

int sfabric_fail(const char *fmt, ...)
{
    va_list ap;

    fputs("sfabric: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    return SFABRIC_UNKNOWN;
}

int sfabric_usage(const struct sfabric_cmd *cmd)
{
    return sfabric_fail("usage: sfabric %s %s", cmd->name, cmd->args);
}

struct json_object *sfabric_ask(const struct sfabric_options *o,
                                const char *daemon, const char *verb,
                                struct json_object *request)
{
    char path[108];
    struct json_object *reply;
    struct errbuf err;
    bool absent;
    int rc;

    if (!request)
        request = json_object_new_object();
    if (o->socket)
        snprintf(path, sizeof(path), "%s", o->socket);
    else
        snprintf(path, sizeof(path), "%s/%s.sock", SITEDIR_RUN(""), daemon);
    jsonx_add_str(request, "verb", verb);
    rc = ctl_call(path, request, &reply, o->timeout, &err);
    if (rc == 0) {
        json_object_put(request);
        return reply;
    }
    absent = errno == ENOENT || errno == ECONNREFUSED;
    sfabric_fail("%s: %s%s", daemon, err.text,
                 absent ? "; does it run on this host?" : "");
    json_object_put(request);
    return NULL;
}

void sfabric_print_json(struct json_object *o)
{
    json_object_object_del(o, "ok");
    puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
                                               JSON_C_TO_STRING_SPACED |
                                               JSON_C_TO_STRING_NOSLASHESCAPE));
}

int sfabric_status(const char *state)
{
    if (!state)
        return SFABRIC_UNKNOWN;
    if (strcmp(state, "healthy") == 0)
        return SFABRIC_OK;
    if (strcmp(state, "degraded") == 0 || strcmp(state, "flapping") == 0)
        return SFABRIC_DEGRADED;
    if (strcmp(state, "down") == 0)
        return SFABRIC_DOWN;
    return SFABRIC_UNKNOWN;
}

int sfabric_worse(int a, int b)
{
    static const int rank[] = {0, 2, 3, 1}; /* by status */

    return rank[a] >= rank[b] ? a : b;
}
