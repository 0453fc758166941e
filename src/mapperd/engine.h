/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What differs between the protocols, and what their engines in the daemon
 * have in common.
 */
#ifndef SF_MAPPERD_ENGINE_H
#define SF_MAPPERD_ENGINE_H

#include <json-c/json.h>

#include "base/errbuf.h"
#include "hsn/libhsn.h"
#include "net/graph.h"
#include "net/route.h"

struct mapperd;

struct engine {
    const char *name;
    int (*start)(struct mapperd *d, struct errbuf *err);
    void (*stop)(struct mapperd *d);
    void (*input)(struct mapperd *d, uint64_t now, const void *body,
                  size_t len);
    void (*tick)(struct mapperd *d, uint64_t now);
    uint64_t (*deadline)(const struct mapperd *d);
    /* Members of the answer to "status". */
    void (*status)(const struct mapperd *d, struct json_object *out);
    /* The map, NULL before the first (or ever, for the host side). */
    const struct net *(*map)(const struct mapperd *d);
    /* Of the cable between crossbars at a port of the map: crossings lost of a
     * million, 0: it is well.  NULL: nobody looks. */
    uint32_t (*lost)(const struct mapperd *d, uint32_t port);
    /* How often that cable was gone for a moment.  NULL: nobody looks. */
    uint32_t (*falls)(const struct mapperd *d, uint32_t port);
};

extern const struct engine engine_gm2, engine_gm1, engine_host;

/* Callbacks of all of them; arg is the mapperd. */
void engine_send(const uint8_t *route, size_t nroute, const void *body,
                 size_t len, void *arg);
void engine_notice(const char *text, void *arg);
/* A seed, for each start another.  -1 and *err. */
int engine_seed(uint64_t *seed, struct errbuf *err);
/* Room for n peers; NULL, and a notice, without memory. */
struct hsn_peer *engine_peers(struct mapperd *d, size_t n);
/* Whom this board's echoes ask: the next ones by address, in a circle, so
 * that each board is asked by as many. */
void engine_pick_neighbours(struct hsn_peer *peers, size_t n, uint64_t own);

/* Routes could deadlock and others are in use, or some are longer than may be
 * (texts, "": none): an alarm; members of an answer. */
void engine_alarm(struct mapperd *d, const char *unproved, const char *beyond);
void engine_put_routes(struct json_object *out, enum net_engine engine,
                       const char *unproved, const char *beyond);

/* A member of an answer that is a board id; null: nobody's. */
void engine_put_address(struct json_object *out, const char *key,
                        uint64_t address);

#endif
