/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What arrives at a GM-2 mapper, told apart.
 */
#include <errno.h>
#include <string.h>

#include "mapper/gm2_priv.h"

/* A probe of our own that a crossbar has marked: the record stands behind
 * what we sent. */
static void take_tagged(struct gm2 *m, const uint8_t *body, size_t len)
{
    uint8_t plain[GM2_PROBE_SIZE];
    struct gm2_message msg;
    struct probe_id id = {0};
    struct net_tag tag;
    size_t rest;

    if (len < GM2_PROBE_SIZE)
        return;
    memcpy(plain, body, sizeof(plain));
    net_type_put(plain, NET_TYPE_MAPPING, GM2_PROBE);
    if (gm2_decode(&msg, plain, sizeof(plain)) < 0)
        return;
    if (len == GM2_PROBE_SIZE) {
        gm2_search_back(m, &msg, NULL);
        return;
    }
    if (!net_tags_get(&tag, 1, body + NET_TYPE_SIZE, len - NET_TYPE_SIZE,
                      &rest))
        return;
    id.id = tag.id;
    id.entry = tag.entry;
    id.nports = tag.ports;
    gm2_search_back(m, &msg, &id);
}

static void take(struct gm2 *m, const struct gm2_message *msg)
{
    switch (msg->subtype) {
    case GM2_PROBE:
        gm2_search_back(m, msg, NULL);
        break;
    case GM2_SCOUT:
        gm2_take_scout(m, msg);
        break;
    case GM2_REPLY:
        gm2_take_reply(m, msg);
        break;
    case GM2_PIECE:
        gm2_take_piece(m, msg);
        break;
    case GM2_DELTA:
        gm2_take_delta(m, msg);
        break;
    }
}

void gm2_input(struct gm2 *m, uint64_t now, const void *body, size_t len)
{
    struct gm2_message msg;

    if (now > m->now)
        m->now = now;
    if (m->state == GM2_STATE_ENDED)
        return;
    m->counters.received++;
    if (len >= NET_TYPE_SIZE &&
        net_type_is(body, NET_TYPE_MAPPING, NET_SUBTYPE_TAGGED))
        take_tagged(m, body, len);
    else if (gm2_decode(&msg, body, len) == 0)
        take(m, &msg);
    else if (errno == ENOMSG)
        m->counters.dropped_foreign++;
    else
        m->counters.dropped_broken++;
    gm2_search_run(m, false);
}
