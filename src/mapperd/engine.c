/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapperd/engine.h"

#include <stdlib.h>

#include "base/jsonx.h"
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

struct hsn_peer *engine_peers(struct mapperd *d, size_t n)
{
    struct hsn_peer *peers = calloc(n + 1, sizeof(*peers));

    if (!peers)
        mapperd_notice(d, "no memory for the routes");
    return peers;
}

void engine_alarm(const char *unproved)
{
    if (unproved[0])
        log_error("SF-E857 routes could deadlock and are not used; %s",
                  unproved);
}

void engine_put_routes(struct json_object *out, enum net_engine engine,
                       const char *unproved)
{
    jsonx_add_str(out, "routes", net_engine_name(engine));
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
