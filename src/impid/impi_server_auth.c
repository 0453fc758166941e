/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the clients of a generation prove themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "impid/impi_server.h"

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
    w->munge.open = server_credential;
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
        errprintf(err, IMPI_AUTH_NOTHING
                  " (set IMPI_AUTH_KEY or IMPI_AUTH_NONE, or name others by "
                  "-auth)");
    else if (impi_auth_warning(w->methods, left, &text))
        server_note(w->server, text.text);
    return left;
}
