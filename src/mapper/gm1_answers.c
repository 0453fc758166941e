/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What hosts answer to resets, Configs and Cloud Queries, or do not.
 */
#include "mapper/gm1_priv.h"
#include "mapper/gm_address.h"

static void drop_host(struct gm1 *g, struct gm1_heard *host)
{
    for (int i = 0; i < GM1_TALKS; i++)
        if (g->talk[i].host == host)
            g->talk[i].purpose = GM1_TALK_FREE;
    host->failed = true;
    g->dirty = true;
    g->unconfigured++;
}

static void config_acked(struct gm1 *g, struct gm1_heard *host,
                         const struct gm1_reply *reply)
{
    char who[GM_ADDRESS_TEXT];

    host->reply = *reply;
    if (reply->version > g->version) {
        if (reply->version > g->highest)
            g->highest = reply->version;
        gm1_notice(g, "host %s has version %u and refuses %u",
                   gm_address_text(host->address, who), reply->version,
                   g->version);
        drop_host(g, host);
        return;
    }
    if (++host->acked == host->nmessages)
        host->outdated = false;
}

static void ping_answered(struct gm1 *g, const struct gm1_message *msg)
{
    const struct gm1_reply *reply = &msg->reply;

    if (reply->address == g->higher && reply->level == g->higher_level)
        return;
    g->higher = 0;
    gm1_fire(g, GM1_EVENT_WAKE_UP);
}

void gm1_talk_answered(struct gm1 *g, const struct gm1_talk *talk,
                       const struct gm1_message *msg)
{
    switch (talk->purpose) {
    case GM1_TALK_QUERY:
        if (msg->subtype == GM1_CLOUD_QUERY_REPLY)
            gm1_take_members(talk->host, msg);
        gm1_query_more(g);
        break;
    case GM1_TALK_RESET:
        talk->host->reset = false;
        gm1_configure_more(g);
        break;
    case GM1_TALK_CONFIG:
        if (msg->subtype == GM1_REPLY &&
            msg->reply.address == talk->host->address)
            config_acked(g, talk->host, &msg->reply);
        else
            drop_host(g, talk->host);
        gm1_configure_more(g);
        break;
    case GM1_TALK_PING:
        if (msg->subtype == GM1_REPLY)
            ping_answered(g, msg);
        break;
    case GM1_TALK_FREE:
        break;
    }
}

void gm1_talk_given_up(struct gm1 *g, const struct gm1_talk *talk)
{
    char who[GM_ADDRESS_TEXT];

    switch (talk->purpose) {
    case GM1_TALK_QUERY:
        gm1_notice(g, "gateway %s does not give rows from %u on",
                   gm_address_text(talk->host->address, who), talk->first);
        g->dirty = true;
        gm1_query_more(g);
        break;
    case GM1_TALK_RESET:
    case GM1_TALK_CONFIG:
        gm1_notice(g, "host %s does not take its configuration",
                   gm_address_text(talk->host->address, who));
        drop_host(g, talk->host);
        gm1_configure_more(g);
        break;
    case GM1_TALK_PING:
        g->higher = 0;
        gm1_fire(g, GM1_EVENT_WAKE_UP);
        break;
    case GM1_TALK_FREE:
        break;
    }
}
