/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes that are proved free of deadlock before anybody uses them, also where
 * each host knows its own alone.  See deadlock.h.
 */
#include <errno.h>

#include "net/deadlock.h"
#include "net/route_impl.h"

/* A route with a turn that is not among those that are proved together. */
static int name_route(const struct net *net, const struct net_path *path,
                      struct errbuf *err)
{
    uint32_t from = path->port[0], to = net->ports[path->port[path->hops]].peer;

    errprintf(err,
              "the route from host %012llx to %012llx goes up again after it "
              "went down: it could deadlock with others",
              (unsigned long long)net->nodes[net->ports[from].node].id,
              (unsigned long long)net->nodes[net->ports[to].node].id);
    return 1;
}

static int check_paths(const struct net_cdg *cdg, const struct net_routes *r,
                       uint32_t host, struct errbuf *err)
{
    struct net_path paths[NET_ALTERNATIVES_MAX];
    const struct net *net = r->net;

    for (uint32_t to = 0; to < net->nnodes; to++) {
        unsigned n = 0;

        if (net_is_host(net, to))
            n = net_routes_paths(r, host, to, paths, NET_ALTERNATIVES_MAX);
        while (n-- > 0)
            if (!net_cdg_has_path(cdg, &paths[n]))
                return name_route(net, &paths[n], err);
    }
    return 0;
}

int net_routes_host_deadlock(const struct net_routes *r, uint32_t host,
                             struct errbuf *err)
{
    struct net_cdg *cdg = net_cdg_new(r->net);
    int rc;

    if (!cdg) {
        errno = ENOMEM;
        return errprintf(err, "out of memory for the deadlock check");
    }
    net_cdg_add_turns(cdg, r);
    rc = net_cdg_check(cdg, err);
    if (rc == 0)
        rc = check_paths(cdg, r, host, err);
    net_cdg_free(cdg);
    return rc;
}

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
    const enum net_engine ladder[] = {params->engine, NET_AUTO, NET_UPDOWN};
    struct net_route_params p = *params;
    struct net_routes *r = NULL;

    why->text[0] = '\0';
    for (unsigned i = 0; !r && i < sizeof(ladder) / sizeof(*ladder); i++) {
        if (i > 0 && (ladder[i] == p.engine || params->engine == NET_UPDOWN))
            continue;
        p.engine = ladder[i];
        r = attempt(net, &p, host, err);
        if (r || errno != EDEADLK)
            break;
        if (why->text[0] == '\0')
            errprintf(why, "engine %s: %s", net_engine_name(p.engine),
                      err->text);
    }
    return r;
}
