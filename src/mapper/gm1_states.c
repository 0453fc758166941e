/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The states of a GM-1 mapper and all ways between them.
 */
#include "mapper/gm1.h"

static const struct edge {
    enum gm1_state from;
    enum gm1_event event;
    enum gm1_state to;
} edges[] = {
    {GM1_STATE_DORMANT, GM1_EVENT_WAKE_UP, GM1_STATE_EXPLORING},

    {GM1_STATE_EXPLORING, GM1_EVENT_EXPLORED, GM1_STATE_QUERYING},
    {GM1_STATE_EXPLORING, GM1_EVENT_FAILED, GM1_STATE_SLEEPING},
    {GM1_STATE_EXPLORING, GM1_EVENT_MET_HIGHER, GM1_STATE_DORMANT},

    {GM1_STATE_QUERYING, GM1_EVENT_GATHERED, GM1_STATE_CONFIGURING},
    {GM1_STATE_QUERYING, GM1_EVENT_MET_HIGHER, GM1_STATE_DORMANT},

    {GM1_STATE_CONFIGURING, GM1_EVENT_CONFIGURED, GM1_STATE_SLEEPING},
    {GM1_STATE_CONFIGURING, GM1_EVENT_FAILED, GM1_STATE_SLEEPING},
    {GM1_STATE_CONFIGURING, GM1_EVENT_MET_HIGHER, GM1_STATE_DORMANT},

    {GM1_STATE_SLEEPING, GM1_EVENT_VERIFY, GM1_STATE_VERIFYING},
    {GM1_STATE_SLEEPING, GM1_EVENT_EXPLORE, GM1_STATE_EXPLORING},
    {GM1_STATE_SLEEPING, GM1_EVENT_MET_HIGHER, GM1_STATE_DORMANT},

    {GM1_STATE_VERIFYING, GM1_EVENT_UNCHANGED, GM1_STATE_SLEEPING},
    {GM1_STATE_VERIFYING, GM1_EVENT_OUTDATED, GM1_STATE_CONFIGURING},
    {GM1_STATE_VERIFYING, GM1_EVENT_CHANGED, GM1_STATE_EXPLORING},
    {GM1_STATE_VERIFYING, GM1_EVENT_MET_HIGHER, GM1_STATE_DORMANT},
};

enum gm1_state gm1_next_state(enum gm1_state from, enum gm1_event event)
{
    for (unsigned i = 0; i < sizeof(edges) / sizeof(*edges); i++)
        if (edges[i].from == from && edges[i].event == event)
            return edges[i].to;
    return GM1_NSTATES;
}

const char *gm1_state_name(enum gm1_state state)
{
    static const char *const names[GM1_NSTATES] = {
        "dormant",     "exploring", "querying",
        "configuring", "verifying", "sleeping",
    };

    return state < GM1_NSTATES ? names[state] : "?";
}

const char *gm1_event_name(enum gm1_event event)
{
    static const char *const names[GM1_NEVENTS] = {
        "wake-up",  "met-higher", "explored",  "failed",
        "gathered", "configured", "unchanged", "outdated",
        "changed",  "verify",     "explore",
    };

    return event < GM1_NEVENTS ? names[event] : "?";
}
