/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a GM-1 mapper knows of hosts: their last replies, the members of their
 * clouds, gmIDs.  A gmID belongs to an address for as long as the mapper
 * lives; it is learnt from replies, so that a new mapper keeps the old ones.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "mapper/gm1_priv.h"
#include "mapper/gm_address.h"

static struct gm1_heard *heard_of(const struct gm1 *g, uint64_t address)
{
    struct gm1_heard *host;

    HASH_FIND(hh, g->heard, &address, sizeof(address), host);
    return host;
}

static void note_version(struct gm1 *g, uint32_t version)
{
    if (version > g->highest)
        g->highest = version;
}

struct gm1_heard *gm1_hear(struct gm1 *g, const struct gm1_reply *reply,
                           const struct gm1_route *route)
{
    struct gm1_heard *host = heard_of(g, reply->address);

    note_version(g, reply->version);
    if (!host) {
        host = calloc(1, sizeof(*host));
        if (!host)
            return NULL;
        host->address = reply->address;
        host->node = NET_NONE;
        host->route = *route;
        HASH_ADD(hh, g->heard, address, sizeof(host->address), host);
        if (reply->option > GM1_OPTION_NO_ROUTES)
            gm1_notice(g, "host %s: unknown reply option %u", reply->name,
                       reply->option);
    }
    host->reply = *reply;
    host->route2 = *route;
    return host;
}

/* A new exploration hears everybody anew. */
void gm1_forget(struct gm1 *g)
{
    struct gm1_heard *host, *tmp;

    HASH_ITER(hh, g->heard, host, tmp)
    {
        HASH_DEL(g->heard, host);
        free(host->members);
        free(host);
    }
}

void gm1_free_hosts(struct gm1 *g)
{
    struct gm1_known *known, *tmp;

    gm1_forget(g);
    HASH_ITER(hh, g->known, known, tmp)
    {
        HASH_DEL(g->known, known);
        free(known);
    }
}

/* ---- clouds -------------------------------------------------------------- */

/* The same address twice is one member; what came last holds. */
static bool put_member(struct gm1_heard *host, const struct gm1_member *member)
{
    struct gm1_member *grown;

    for (uint32_t i = 0; i < host->nmembers; i++) {
        if (host->members[i].address == member->address) {
            host->members[i] = *member;
            return true;
        }
    }
    if (host->nmembers >= SF_GM_CLOUD_MAX)
        return false;
    grown = realloc(host->members, (host->nmembers + 1) * sizeof(*grown));
    if (!grown)
        return false;
    host->members = grown;
    host->members[host->nmembers++] = *member;
    return true;
}

void gm1_take_members(struct gm1_heard *host, const struct gm1_message *msg)
{
    struct gm1_member member;

    for (uint32_t i = 0; i < msg->nrows; i++) {
        gm1_member_at(msg, i, &member);
        put_member(host, &member);
    }
    if (host->asked < msg->nrows)
        host->asked = msg->nrows;
}

static uint64_t print_members(const struct gm1_heard *host)
{
    uint64_t print = GM1_PRINT;

    for (uint32_t i = 0; i < host->nmembers; i++) {
        gm1_mix(&print, host->members[i].address);
        gm1_mix(&print, host->members[i].control);
    }
    return print;
}

void gm1_cloud_told(struct gm1_heard *host)
{
    host->rows = host->reply.nhosts;
    host->print = print_members(host);
}

/* Rows are counted as the gateway counts them: it may have one twice. */
bool gm1_cloud_changed(const struct gm1_heard *host)
{
    return host->reply.option == GM1_OPTION_CLOUD &&
           (host->reply.nhosts != host->rows ||
            print_members(host) != host->print);
}

/* ---- gmIDs --------------------------------------------------------------- */

static struct gm1_known *known_of(struct gm1 *g, uint64_t address)
{
    struct gm1_known *known;

    HASH_FIND(hh, g->known, &address, sizeof(address), known);
    if (known)
        return known;
    known = calloc(1, sizeof(*known));
    if (!known)
        return NULL;
    known->address = address;
    HASH_ADD(hh, g->known, address, sizeof(known->address), known);
    return known;
}

uint16_t gm1_gmid(const struct gm1 *g, uint64_t address)
{
    struct gm1_known *known;

    HASH_FIND(hh, g->known, &address, sizeof(address), known);
    return known ? known->gmid : 0;
}

/* Which gmIDs are taken, one bit each. */
struct taken {
    uint8_t bit[65536 / 8];
};

static bool take(struct taken *taken, uint16_t gmid)
{
    uint8_t mask = (uint8_t)(1 << gmid % 8);

    if (gmid == 0 || taken->bit[gmid / 8] & mask)
        return false;
    taken->bit[gmid / 8] |= mask;
    return true;
}

static void keep_gmid(struct gm1 *g, uint64_t address, struct taken *taken)
{
    struct gm1_known *known = known_of(g, address);

    if (known && known->gmid != 0 && !take(taken, known->gmid))
        known->gmid = 0;
}

/* What was given before stays.  A host that is new to us keeps the one it
 * reports, unless somebody else has it: that host is reset. */
static void keep_gmids(struct gm1 *g, struct taken *taken)
{
    struct gm1_heard *host;

    for (host = g->heard; host; host = host->hh.next) {
        keep_gmid(g, host->address, taken);
        for (uint32_t i = 0; i < host->nmembers; i++)
            keep_gmid(g, host->members[i].address, taken);
    }
    for (host = g->heard; host; host = host->hh.next) {
        struct gm1_known *known = known_of(g, host->address);

        if (known && known->gmid == 0 && take(taken, host->reply.gmid))
            known->gmid = host->reply.gmid;
    }
}

static void give_gmid(struct gm1 *g, uint64_t address, struct taken *taken)
{
    struct gm1_known *known = known_of(g, address);

    for (uint32_t i = 0; known && i < 65535 && known->gmid == 0; i++)
        if (take(taken, ++g->last_gmid))
            known->gmid = g->last_gmid;
}

void gm1_assign_gmids(struct gm1 *g)
{
    struct taken *taken = calloc(1, sizeof(*taken));
    char who[GM_ADDRESS_TEXT];
    struct gm1_heard *host;

    if (!taken)
        return;
    keep_gmids(g, taken);
    for (host = g->heard; host; host = host->hh.next) {
        give_gmid(g, host->address, taken);
        for (uint32_t i = 0; i < host->nmembers; i++)
            give_gmid(g, host->members[i].address, taken);
        host->reset = host->reply.gmid != 0 &&
                      host->reply.gmid != gm1_gmid(g, host->address);
        if (host->reset)
            gm1_notice(g, "host %s has gmID %u of another host: reset",
                       gm_address_text(host->address, who), host->reply.gmid);
        if (gm1_gmid(g, host->address) == 0)
            gm1_notice(g, "no gmID is left for host %s",
                       gm_address_text(host->address, who));
    }
    free(taken);
}
