/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapperd/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonx.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mac.h"
#include "mapper/gm_address.h"
#include "mapperd/mapperd.h"

void engine_send(const uint8_t *route, size_t nroute, const void *body,
                 size_t len, void *arg)
{
    mapperd_send(arg, route, nroute, body, len);
}

void engine_notice(const char *text, void *arg)
{
    mapperd_notice(arg, text);
}

int engine_seed(uint64_t *seed, struct errbuf *err)
{
    return mac_random(seed, sizeof(*seed)) < 0 ? errprintf(err, "no randomness")
                                               : 0;
}

/* Hosts that each host sends echoes to.  Three, so that one that is dead is
 * not most of them, and EchoReporters (3) can be reached. */
#define NEIGHBOURS 3

struct hsn_peer *engine_peers(struct mapperd *d, size_t n)
{
    struct hsn_peer *peers = calloc(n + 1, sizeof(*peers));

    if (!peers)
        mapperd_notice(d, "no memory for the routes");
    return peers;
}

void engine_pick_neighbours(struct hsn_peer *peers, size_t n, uint64_t own)
{
    struct hsn_peer *next[NEIGHBOURS]; /* the nearest ones first */
    size_t picked = 0;

    for (size_t i = 0; i < n; i++) {
        size_t at = picked;

        while (at > 0 && peers[i].address - own < next[at - 1]->address - own)
            at--;
        if (at == NEIGHBOURS)
            continue;
        if (picked < NEIGHBOURS)
            picked++;
        memmove(next + at + 1, next + at, (picked - at - 1) * sizeof(*next));
        next[at] = &peers[i];
    }
    for (size_t i = 0; i < picked; i++)
        next[i]->neighbour = true;
}

void engine_alarm(struct mapperd *d, const char *unproved, const char *beyond)
{
    if (beyond[0])
        log_paced(&d->alarms, clock_ns(), log_error, "SF-E860 %s", beyond);
    if (unproved[0])
        log_paced(&d->alarms, clock_ns(), log_error,
                  "SF-E857 routes could deadlock and are not used; %s",
                  unproved);
}

void engine_put_routes(struct json_object *out, enum net_engine engine,
                       const char *unproved, const char *beyond)
{
    jsonx_add_str(out, "routes", net_engine_name(engine));
    if (beyond[0])
        jsonx_add_str(out, "beyond", beyond);
    else
        json_object_object_add(out, "beyond", NULL);
    if (unproved[0])
        jsonx_add_str(out, "deadlock", unproved);
    else
        json_object_object_add(out, "deadlock", NULL);
}

void engine_put_address(struct json_object *out, const char *key,
                        uint64_t address)
{
    char text[GM_ADDRESS_TEXT];

    if (address)
        jsonx_add_str(out, key, gm_address_text(address, text));
    else
        json_object_object_add(out, key, NULL);
}
