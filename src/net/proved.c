/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes that are proved free of deadlock before anybody uses them.  See
 * deadlock.h.
 */
#include <errno.h>

#include "net/deadlock.h"
#include "net/route_impl.h"

/* Of all hosts: first routes, of which net_routes_new() has proved all but
 * those of NET_GM2. */
static int check(const struct net_routes *r, uint32_t host, struct errbuf *err)
{
    if (host != NET_NONE)
        return net_routes_host_deadlock(r, host, err);
    return r->engine == NET_GM2 ? net_routes_deadlock(r, err) : 0;
}

static struct net_routes *attempt(const struct net *net,
                                  const struct net_route_params *params,
                                  uint32_t host, struct errbuf *err)
{
    struct net_routes *r = net_routes_new(net, params, err);
    int rc = r ? check(r, host, err) : 0;

    if (rc == 0)
        return r;
    net_routes_free(r);
    errno = rc > 0 ? EDEADLK : ENOMEM;
    return NULL;
}

struct net_routes *net_routes_proved(const struct net *net,
                                     const struct net_route_params *params,
                                     uint32_t host, struct errbuf *why,
                                     struct errbuf *err)
{
    const bool gm2 = params->engine == NET_GM2;
    const enum net_engine ladder[] = {params->engine,
                                      gm2 ? NET_DMODK : NET_AUTO, NET_UPDOWN};
    struct net_route_params p = *params;
    struct net_routes *r = NULL;

    why->text[0] = '\0';
    for (unsigned i = 0; !r && i < sizeof(ladder) / sizeof(*ladder); i++) {
        if (i > 0 && (ladder[i] == p.engine || params->engine == NET_UPDOWN))
            continue;
        p.engine = ladder[i];
        r = attempt(net, &p, host, err);
        if (r || (errno != EDEADLK && !(gm2 && i == 1 && errno == EINVAL)))
            break;
        if (why->text[0] == '\0')
            errprintf(why, "engine %s: %s", net_engine_name(p.engine),
                      err->text);
    }
    return r;
}
