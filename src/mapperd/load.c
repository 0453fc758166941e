/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes into hsnd, and the map into its file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytebuf.h"
#include "base/log.h"
#include "mapperd/mapperd.h"
#include "mapperd/netfile.h"
#include "net/format.h"

void mapperd_load_again(struct mapperd *d)
{
    if (!d->board || !d->peers)
        return;
    d->loaded = false;
    if (hsn_load_routes(d->board, d->loaded_version, d->loaded_type,
                        d->configured, d->peers, d->npeers) == 0) {
        d->loaded = true;
        log_info("routes to %zu hosts of map %u are loaded", d->npeers,
                 d->loaded_version);
        return;
    }
    if (errno == EAGAIN)
        ev_timer_again(d->loop, &d->reload);
    else
        log_error("SF-E853 hsnd does not take the routes: %s", strerror(errno));
}

void mapperd_load(struct mapperd *d, struct hsn_peer *peers, size_t n,
                  uint32_t version, bool configured)
{
    free(d->peers);
    d->peers = peers;
    d->npeers = n;
    d->loaded_version = version;
    d->loaded_type = (uint32_t)d->settings.host_type;
    d->configured = configured;
    mapperd_load_again(d);
}

/* Maps carry no names: a host goes by its board id, a crossbar by its place. */
struct net *mapperd_named(const struct net *net)
{
    struct net *copy = net_copy(net);
    char name[32];

    for (uint32_t i = 0; copy && i < copy->nnodes; i++) {
        if (copy->nodes[i].kind == NET_HOST)
            snprintf(name, sizeof(name), "%012llx",
                     (unsigned long long)copy->nodes[i].id);
        else
            snprintf(name, sizeof(name), "x%u", i - copy->nhosts);
        if (copy->nodes[i].name[0] == '\0' && !net_set_name(copy, i, name)) {
            net_free(copy);
            copy = NULL;
        }
    }
    return copy;
}

void mapperd_write_map(struct mapperd *d, const struct net *net)
{
    struct errbuf err = {"no memory"};
    struct net *named;
    struct bytebuf text;

    if (!d->settings.map_file || !net)
        return;
    bytebuf_init(&text, SF_NET_FILE_MAX);
    named = mapperd_named(net);
    if (!named)
        return;
    net_write_text(named, &text);
    net_free(named);
    if (text.bad || netfile_put(d->settings.map_file, &text, 0666, &err) < 0)
        log_warn("SF-E854 cannot write the map: %s", err.text);
    bytebuf_free(&text);
}
