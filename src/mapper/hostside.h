/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host side of GM-1: what every host does whether a mapper runs on it or
 * not.  It answers Scouts, takes and acknowledges Configs, keeps the table of
 * hosts and routes, resets on command, and as a gateway answers for the
 * members of its cloud.  All else is dropped and counted; a Reply or Cloud
 * Query Reply is handed to the mapper.
 *
 * Decisions where the document is silent:
 *  - a Config with an older version is not taken but acknowledged, with the
 *    Reply showing the host's own version, so that the mapper learns of it;
 *  - a host that has only a part of its configuration answers Scouts with map
 *    version 0, so that the mapper configures it again;
 *  - the same version of another mapper is another version;
 *  - a Cloud Query carries no route: its answer goes where the last Scout's
 *    answer went;
 *  - a query partly past the end of the cloud's table gets the rows there are;
 *  - commands other than reset do nothing.
 *
 * Pure: answers leave through the callbacks, nothing else does.
 */
#ifndef SF_MAPPER_HOSTSIDE_H
#define SF_MAPPER_HOSTSIDE_H

#include "mapper/gm1_wire.h"

struct hostside_ops {
    /* Send a message along a route.  The bytes are only lent. */
    void (*send)(const uint8_t *route, size_t nroute, const void *body,
                 size_t len, void *arg);
    /* A Scout came: a mapper that runs here decides whether to be active. */
    void (*scouted)(const struct gm1_scout *scout, void *arg);
    /* All routes are gone: another version begins, or a reset. */
    void (*cleared)(void *arg);
    /* As many different entries as announced have come; read them by
     * hostside_entries(). */
    void (*complete)(uint32_t version, void *arg);
};

struct hostside_config {
    uint64_t address;
    const char *name; /* copied; the first 31 characters go out */
    uint32_t level;   /* of the mapper that runs here; 0 without one */
    uint16_t node_type;
    bool minimal; /* wants no routes: option 2 */
    bool gateway; /* answers with its cloud: option 1 */
};

struct hostside_counters {
    uint64_t scouts, configs, queries, replies_sent;
    uint64_t resets;
    uint64_t dropped_switch;  /* Probe, Verify */
    uint64_t dropped_foreign; /* other types, unknown subtypes */
    uint64_t dropped_broken;
    uint64_t dropped_address; /* Config for another host */
    uint64_t ignored_old;     /* Config of an older version */
};

struct hostside;

/* NULL: no memory. */
struct hostside *hostside_new(const struct hostside_config *config,
                              const struct hostside_ops *ops, void *arg);
void hostside_free(struct hostside *host);

/* The members of a gateway's cloud, copied; may be called again at any time.
 * Returns 0, or -1 with errno ENOMEM or EOVERFLOW. */
int hostside_set_members(struct hostside *host,
                         const struct gm1_member *members, uint32_t n);
void hostside_set_level(struct hostside *host, uint32_t level);

/* One message from the first type byte on.  Returns true when it is none of
 * the host's business but a mapper's (a Reply, a Cloud Query Reply). */
bool hostside_input(struct hostside *host, const void *body, size_t len);

/* ---- what is remembered -------------------------------------------------- */
struct hostside_state {
    uint64_t mapper; /* of the last configuration, 0 none */
    uint16_t gmid;
    uint32_t version;
    uint32_t nentries;  /* different ones so far */
    uint32_t announced; /* numHosts of the configuration */
    bool complete;
};
void hostside_state(const struct hostside *host, struct hostside_state *state);
/* The map version that a Scout is answered with: 0 until all of it is here. */
uint32_t hostside_whole_version(const struct hostside *host);
const struct hostside_counters *hostside_counters(const struct hostside *host);
/* Calls each() for all entries, in the order in which they came. */
void hostside_entries(const struct hostside *host,
                      void (*each)(const struct gm1_entry *entry, void *arg),
                      void *arg);
/* NULL when there is no entry for this address. */
const struct gm1_entry *hostside_find(const struct hostside *host,
                                      uint64_t address);

#endif
