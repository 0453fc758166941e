/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the clients of a generation prove themselves.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/seal.h"
#include "impid/impi_server.h"

/* The credential must be of the user whose job this is. */
static int open_credential(void *arg, const char *cred, struct bytebuf *payload,
                           struct errbuf *err)
{
    const struct server *s = arg;
    struct seal_info info;
    void *data;
    size_t len;

    if (seal_open(&data, &len, &info, cred,
                  s->start.munge[0] ? s->start.munge : NULL, err) < 0)
        return -1;
    bytebuf_add(payload, data, len);
    free(data);
    if (info.uid != getuid())
        return errprintf(err, "credential: made by uid %u, not by the job's",
                         (unsigned)info.uid);
    if (info.expired)
        return errprintf(err, "credential: expired (clocks of the nodes?)");
    return 0;
}

/* For a step MUNGE always, and what the standard has when the user asked srun
 * for it.  Started by hand: the user's choice, MUNGE when there is none. */
size_t server_world_methods(struct world *w, struct errbuf *err)
{
    const struct server_start *start = &w->server->start;
    struct impi_auth_list list;
    struct impi_auth_method *user = w->methods + 1;
    struct errbuf text;
    size_t left;
    int n;

    if (start->auth[0] && impi_auth_list_parse(&list, start->auth, err) < 0)
        return 0;

    w->munge.binding = (struct impi_auth_binding){
        .job = w->server->start.job,
        .step = w->server->start.step,
        .generation = w->generation,
    };
    w->munge.open = open_credential;
    w->munge.arg = w->server;
    w->methods[0] = impi_auth_munge(&w->munge);
    n = impi_auth_from_env(user, getenv("IMPI_AUTH_NONE"),
                           getenv("IMPI_AUTH_KEY"), err);
    if (n < 0)
        return 0;
    if (start->world && n > 0)
        memmove(w->methods, user, (size_t)n * sizeof(*user));
    else
        n++;
    left =
        impi_auth_order(w->methods, (size_t)n, start->auth[0] ? &list : NULL);
    if (left == 0)
        errprintf(err, IMPI_AUTH_NOTHING);
    else if (impi_auth_warning(w->methods, left, &text))
        server_note(w->server, text.text);
    return left;
}
