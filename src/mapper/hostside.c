/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapper/hostside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/limits.h"

struct slot {
    struct gm1_entry entry;
    UT_hash_handle hh;
};

struct hostside {
    struct hostside_config config;
    char name[GM1_NAME_SIZE];
    struct hostside_ops ops;
    void *arg;
    struct hostside_state state;
    struct slot *table; /* by address; uthash keeps the order of insertion */
    struct gm1_member *members;
    uint32_t nmembers;
    struct gm1_route to_mapper; /* of the last Scout: queries carry none */
    struct hostside_counters counters;
};

struct hostside *hostside_new(const struct hostside_config *config,
                              const struct hostside_ops *ops, void *arg)
{
    struct hostside *host = calloc(1, sizeof(*host));

    if (!host)
        return NULL;
    host->config = *config;
    host->config.name = NULL;
    if (config->name)
        memcpy(host->name, config->name,
               strnlen(config->name, GM1_NAME_SIZE - 1));
    host->ops = *ops;
    host->arg = arg;
    return host;
}

static void drop_table(struct hostside *host)
{
    struct slot *slot, *tmp;

    HASH_ITER(hh, host->table, slot, tmp)
    {
        HASH_DEL(host->table, slot);
        free(slot);
    }
    host->state.nentries = 0;
    host->state.complete = false;
}

void hostside_free(struct hostside *host)
{
    if (!host)
        return;
    drop_table(host);
    free(host->members);
    free(host);
}

int hostside_set_members(struct hostside *host,
                         const struct gm1_member *members, uint32_t n)
{
    struct gm1_member *copy;

    if (n > SF_GM_CLOUD_MAX) {
        errno = EOVERFLOW;
        return -1;
    }
    copy = calloc(n + 1, sizeof(*copy));
    if (!copy)
        return -1;
    if (n > 0)
        memcpy(copy, members, n * sizeof(*copy));
    free(host->members);
    host->members = copy;
    host->nmembers = n;
    return 0;
}

void hostside_set_level(struct hostside *host, uint32_t level)
{
    host->config.level = level;
}

static void send_message(struct hostside *host, const struct gm1_route *back,
                         const void *body, size_t len)
{
    if (len == 0)
        return;
    host->counters.replies_sent++;
    host->ops.send(back->byte, back->len, body, len, host->arg);
}

uint32_t hostside_whole_version(const struct hostside *host)
{
    return host->state.complete ? host->state.version : 0;
}

/* The Reply to a Scout or Config; a gateway's carries its first members. */
static void reply(struct hostside *host, const struct gm1_message *to,
                  const struct gm1_route *back, uint32_t version)
{
    uint8_t body[GM1_CLOUD_REPLY_SIZE + GM1_MEMBERS_MAX * GM1_MEMBER_SIZE];
    struct gm1_message msg = {
        .subtype = GM1_REPLY, .port = to->port, .phase = to->phase};
    struct gm1_reply *r = &msg.reply;
    bool cloud = host->config.gateway;

    r->address = host->config.address;
    r->mapper = host->state.mapper;
    r->gmid = host->state.gmid;
    r->version = version;
    memcpy(r->name, host->name, sizeof(r->name));
    r->level = host->config.level;
    r->node_type = host->config.node_type;
    if (cloud)
        r->option = GM1_OPTION_CLOUD;
    else if (host->config.minimal)
        r->option = GM1_OPTION_NO_ROUTES;
    r->nhosts = host->nmembers;
    send_message(host, back, body,
                 gm1_encode_members(body, sizeof(body), &msg, host->members,
                                    cloud ? host->nmembers : 0));
}

static void clear_routes(struct hostside *host)
{
    drop_table(host);
    if (host->ops.cleared)
        host->ops.cleared(host->arg);
}

static void reset(struct hostside *host)
{
    host->counters.resets++;
    clear_routes(host);
    memset(&host->state, 0, sizeof(host->state));
}

static void take_scout(struct hostside *host, const struct gm1_message *msg)
{
    host->counters.scouts++;
    host->to_mapper = msg->scout.back;
    if (msg->scout.command == GM1_COMMAND_RESET)
        reset(host);
    reply(host, msg, &msg->scout.back, hostside_whole_version(host));
    if (host->ops.scouted)
        host->ops.scouted(&msg->scout, host->arg);
}

/* A row for an address that is there already replaces it. */
static void take_entry(struct hostside *host, const struct gm1_entry *entry)
{
    struct slot *slot;

    HASH_FIND(hh, host->table, &entry->address, sizeof(entry->address), slot);
    if (slot) {
        slot->entry = *entry;
        return;
    }
    if (host->state.nentries >= host->state.announced) {
        host->counters.dropped_broken++;
        return;
    }
    slot = calloc(1, sizeof(*slot));
    if (!slot)
        return; /* never complete */
    slot->entry = *entry;
    HASH_ADD(hh, host->table, entry.address, sizeof(slot->entry.address), slot);
    host->state.nentries++;
}

static void take_entries(struct hostside *host, const struct gm1_message *msg)
{
    struct gm1_entry entry;

    for (uint32_t i = 0; i < msg->nrows; i++) {
        if (gm1_entry_at(msg, i, &entry) == 0)
            take_entry(host, &entry);
        else
            host->counters.dropped_broken++;
    }
}

static void begin_version(struct hostside *host,
                          const struct gm1_config *config)
{
    if (config->version != host->state.version ||
        config->mapper != host->state.mapper)
        clear_routes(host);
    host->state.version = config->version;
    host->state.mapper = config->mapper;
    host->state.gmid = config->gmid;
    host->state.announced = config->nhosts;
}

static void take_config(struct hostside *host, const struct gm1_message *msg)
{
    const struct gm1_config *config = &msg->config;
    bool before = host->state.complete;

    if (config->address != host->config.address) {
        host->counters.dropped_address++;
        return;
    }
    host->counters.configs++;
    if (config->version < host->state.version && config->version != 0) {
        host->counters.ignored_old++;
        reply(host, msg, &config->back, host->state.version);
        return;
    }
    begin_version(host, config);
    if (!host->state.complete)
        before = false;
    take_entries(host, msg);
    host->state.complete = host->state.nentries >= host->state.announced;
    reply(host, msg, &config->back, host->state.version);
    if (host->state.complete && !before && host->ops.complete)
        host->ops.complete(host->state.version, host->arg);
}

/* The rows asked for, as far as the table has them (now). */
static void take_query(struct hostside *host, const struct gm1_message *msg)
{
    uint8_t
        body[GM1_CLOUD_QUERY_REPLY_SIZE + GM1_MEMBERS_MAX * GM1_MEMBER_SIZE];
    struct gm1_message answer = {.subtype = GM1_CLOUD_QUERY_REPLY,
                                 .port = msg->port,
                                 .phase = msg->phase};
    const struct gm1_member *rows = host->members;
    uint32_t n = 0;

    if (!host->config.gateway) {
        host->counters.dropped_foreign++;
        return;
    }
    host->counters.queries++;
    if (msg->query.first < host->nmembers) {
        rows += msg->query.first;
        n = host->nmembers - msg->query.first;
    }
    if (n > msg->query.nhosts)
        n = msg->query.nhosts;
    answer.query_reply.address = host->config.address;
    send_message(host, &host->to_mapper, body,
                 gm1_encode_members(body, sizeof(body), &answer, rows, n));
}

bool hostside_input(struct hostside *host, const void *body, size_t len)
{
    struct gm1_message msg;

    if (gm1_decode(&msg, body, len) < 0) {
        if (errno == ENOMSG)
            host->counters.dropped_foreign++;
        else
            host->counters.dropped_broken++;
        return false;
    }
    switch (msg.subtype) {
    case GM1_SCOUT:
        take_scout(host, &msg);
        return false;
    case GM1_CONFIG:
        take_config(host, &msg);
        return false;
    case GM1_CLOUD_QUERY:
        take_query(host, &msg);
        return false;
    case GM1_PROBE:
    case GM1_VERIFY:
        host->counters.dropped_switch++;
        return false;
    case GM1_REPLY:
    case GM1_CLOUD_QUERY_REPLY:
        return true;
    }
    return false;
}

void hostside_state(const struct hostside *host, struct hostside_state *state)
{
    *state = host->state;
}

const struct hostside_counters *hostside_counters(const struct hostside *host)
{
    return &host->counters;
}

void hostside_entries(const struct hostside *host,
                      void (*each)(const struct gm1_entry *entry, void *arg),
                      void *arg)
{
    const struct slot *slot;

    for (slot = host->table; slot; slot = slot->hh.next)
        each(&slot->entry, arg);
}

const struct gm1_entry *hostside_find(const struct hostside *host,
                                      uint64_t address)
{
    struct slot *slot;

    HASH_FIND(hh, host->table, &address, sizeof(address), slot);
    return slot ? &slot->entry : NULL;
}
