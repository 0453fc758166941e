/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the messages of other mappers mean to this one: who is higher, who is
 * the parent, whether there is another map, whether ours is still true.
 */
#include "mapper/gm2_priv.h"
#include "mapper/gm_address.h"

static bool outranks_me(const struct gm2 *m, uint32_t level, uint64_t address)
{
    return gm_outranks(level, address, m->config.level, m->config.address);
}

static bool leader_outranks_me(const struct gm2 *m, const struct gm2_version *v)
{
    return outranks_me(m, v->level, v->leader);
}

/* Of one leader: not an older map that somebody still has. */
static bool is_older(const struct gm2_version *a, const struct gm2_version *b)
{
    return a->leader == b->leader &&
           b->counter - a->counter <= UINT32_C(0x10000);
}

/* May the sender's map stand in the place of that one?  The own parent's
 * always may, for its children have what it has; else a higher leader's. */
static bool replaces(const struct gm2 *m, const struct gm2_message *msg,
                     const struct gm2_version *old)
{
    const struct gm2_version *v = &msg->version;

    if (gm2_version_equal(v, old) || is_older(v, old))
        return false;
    return msg->sender == m->parent.address ||
           !gm_outranks(old->level, old->leader, v->level, v->leader);
}

static bool in_map(const struct gm2 *m, uint64_t address)
{
    return gm2_map_host(m->map, address) != NET_NONE;
}

static void stranger(struct gm2 *m, const struct gm2_message *msg)
{
    char who[GM_ADDRESS_TEXT];

    if (m->state == GM2_STATE_VERIFYING && !in_map(m, msg->sender))
        gm2_changed(m, "host %s is new", gm_address_text(msg->sender, who));
}

void gm2_meet(struct gm2 *m, const struct gm2_message *msg,
              const struct gm2_route *route)
{
    const struct gm2_version *mine = NULL;

    if (!outranks_me(m, msg->level, msg->sender)) {
        stranger(m, msg);
        return;
    }
    if (m->state == GM2_STATE_VERIFYING)
        mine = &m->map->version;
    else if (m->state == GM2_STATE_FETCHING)
        mine = &m->want;
    else if (m->state == GM2_STATE_PASSIVE || m->state == GM2_STATE_PAUSED)
        return;
    if (mine &&
        (!(msg->flags & GM2_MAPPING) ||
         !gm_outranks(msg->level, msg->sender, mine->level, mine->leader))) {
        stranger(m, msg);
        return;
    }
    gm2_adopt(m, msg->sender, route);
    gm2_fire(m, GM2_EVENT_MET_HIGHER);
}

/* ---- scouts -------------------------------------------------------------- */

static void told_parent(struct gm2 *m, const struct gm2_message *msg)
{
    const struct gm2_version *v = &msg->version;

    if (!(msg->flags & GM2_VALID) || v->counter == 0 ||
        !leader_outranks_me(m, v))
        return;
    if (m->map && gm2_version_equal(v, &m->map->version)) {
        if (m->valid)
            gm2_adopt(m, msg->sender, &msg->scout.back);
        return; /* not valid: the reply told the parent */
    }
    if (m->state == GM2_STATE_VERIFYING && !replaces(m, msg, &m->map->version))
        return;
    if (m->state == GM2_STATE_FETCHING && !replaces(m, msg, &m->want))
        return;
    gm2_adopt(m, msg->sender, &msg->scout.back);
    m->want = *v;
    m->offered = msg->flags & GM2_GIVES_DELTA;
    gm2_fire(m, GM2_EVENT_TOLD_PARENT);
}

/* A mapper with our map that says it is not true. */
static bool disowned(const struct gm2 *m, const struct gm2_message *msg)
{
    return m->state == GM2_STATE_VERIFYING && !(msg->flags & GM2_VALID) &&
           gm2_version_equal(&msg->version, &m->map->version);
}

static void doubt(struct gm2 *m, const struct gm2_message *msg)
{
    char who[GM_ADDRESS_TEXT];

    gm2_changed(m, "host %s holds the map for invalid",
                gm_address_text(msg->sender, who));
}

static void take_pause(struct gm2 *m, const struct gm2_message *msg)
{
    uint32_t seconds = msg->scout.argument;

    if (!outranks_me(m, msg->level, msg->sender))
        return;
    if (seconds > GM2_PAUSE_MAX)
        seconds = GM2_PAUSE_MAX;
    m->pause_until = m->now + seconds * UINT64_C(1000000000);
    gm2_fire(m, GM2_EVENT_PAUSE);
}

void gm2_take_scout(struct gm2 *m, const struct gm2_message *msg)
{
    if (msg->sender == m->config.address && gm2_search_own(m, msg))
        return;
    gm2_answer_scout(m, msg);
    switch (msg->reason) {
    case GM2_LX_MAPPING:
        gm2_meet(m, msg, &msg->scout.back);
        break;
    case GM2_LX_TREE:
        told_parent(m, msg);
        break;
    case GM2_LX_PAUSE:
        take_pause(m, msg);
        break;
    case GM2_LX_QUERYING_MAP_VERSION:
        if (disowned(m, msg))
            doubt(m, msg);
        else
            stranger(m, msg);
        break;
    case GM2_LX_VERIFYING:
        stranger(m, msg);
        break;
    case GM2_LX_QUERYING_MAP_PIECE:
    case GM2_LX_QUERYING_MAP_DELTA:
        break;
    }
}

/* ---- replies ------------------------------------------------------------- */

/* A parent has a new map when leader or counter differ and the counter is not
 * zero. */
static bool new_map(struct gm2 *m, const struct gm2_message *msg)
{
    const struct gm2_version *v = &msg->version;

    if (!(msg->flags & GM2_VALID) || v->counter == 0 ||
        !leader_outranks_me(m, v))
        return false;
    if (m->map && gm2_version_equal(v, &m->map->version))
        return false;
    if (m->state == GM2_STATE_VERIFYING && !replaces(m, msg, &m->map->version))
        return false;
    m->want = *v;
    m->offered = msg->flags & GM2_GIVES_DELTA;
    gm2_fire(m, GM2_EVENT_NEW_MAP);
    return true;
}

/* Everybody proves that what goes up, then down as his own routes do cannot
 * deadlock: that holds for all together if up is the same for all.  Of two
 * hosts for which it is not, some two neighbours of the tree on the way from
 * the one to the other are such. */
static void compare_ups(struct gm2 *m, const struct gm2_message *msg)
{
    bool same = msg->ups == m->ups;

    if (!m->valid || msg->ups == 0 ||
        !gm2_version_equal(&msg->version, &m->map->version))
        return;
    if (same && m->unlike == msg->sender)
        m->unlike = 0;
    if (same || m->unlike != 0)
        return;
    m->unlike = msg->sender;
    if (m->ops.unlike)
        m->ops.unlike(msg->sender, m->arg);
}

static void parent_replied(struct gm2 *m, const struct gm2_message *msg)
{
    if (new_map(m, msg))
        return;
    if (disowned(m, msg)) {
        doubt(m, msg);
        return;
    }
    if ((msg->flags & GM2_COMPLETE) &&
        gm2_version_equal(&msg->version, &m->map->version))
        m->complete = true;
    gm2_round_partners(m);
}

static void child_replied(struct gm2 *m, unsigned which,
                          const struct gm2_message *msg)
{
    const struct gm2_version *mine = &m->map->version, *theirs = &msg->version;
    struct gm2_partner *child = &m->child[which];
    bool valid = msg->flags & GM2_VALID;

    if (disowned(m, msg)) {
        doubt(m, msg);
        return;
    }
    child->same = valid && gm2_version_equal(theirs, mine);
    child->done = child->same ? msg->reply.done : 0;
    gm2_sum_done(m);
}

static void partner_replied(struct gm2 *m, const struct gm2_talk *talk,
                            const struct gm2_message *msg)
{
    compare_ups(m, msg);
    if (talk->which == 2) {
        parent_replied(m, msg);
        return;
    }
    child_replied(m, talk->which, msg);
    if (m->state == GM2_STATE_VERIFYING)
        gm2_round_partners(m);
}

void gm2_take_reply(struct gm2 *m, const struct gm2_message *msg)
{
    struct gm2_talk *talk = gm2_talk_of(m, msg), was;

    if (!talk) {
        if (gm2_search_reply(m, msg))
            return;
        m->counters.dropped_late++;
        gm2_look_out_answered(m, msg);
        return;
    }
    was = *talk;
    if (was.purpose == GM2_TALK_PIECE && msg->flags & GM2_NO_PIECE) {
        gm2_fire(m, GM2_EVENT_FETCH_FAILED);
        return;
    }
    talk->purpose = GM2_TALK_FREE;
    switch (was.purpose) {
    case GM2_TALK_DELTA: /* it has none from our map */
        gm2_fetch_whole(m);
        break;
    case GM2_TALK_PING:
        new_map(m, msg);
        break;
    case GM2_TALK_TREE:
        child_replied(m, was.which, msg);
        break;
    case GM2_TALK_PARTNER:
        partner_replied(m, &was, msg);
        break;
    default:
        break;
    }
}

void gm2_unanswered(struct gm2 *m, const struct gm2_talk *talk)
{
    char who[GM_ADDRESS_TEXT];

    gm_address_text(talk->address, who);
    switch (talk->purpose) {
    case GM2_TALK_PIECE:
        gm2_notice(m, "parent %s does not give piece %u of its map", who,
                   talk->argument);
        gm2_fire(m, GM2_EVENT_FETCH_FAILED);
        break;
    case GM2_TALK_DELTA:
        gm2_fetch_whole(m);
        break;
    case GM2_TALK_PING:
    case GM2_TALK_PARTNER:
        if (talk->which != 2 && talk->purpose == GM2_TALK_PARTNER) {
            gm2_changed(m, "host %s does not answer", who);
            break;
        }
        m->counters.lost_parents++;
        gm2_notice(m, "parent %s does not answer", who);
        gm2_fire(m, GM2_EVENT_PARENT_LOST);
        break;
    default:
        break; /* LX_TREE: the next round tells it again */
    }
}
