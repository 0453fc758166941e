/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The states of a GM-2 mapper and all ways between them.
 */
#include "mapper/gm2.h"

#define NONE GM2_NSTATES
#define SLEEPING GM2_STATE_SLEEPING
#define LISTENING GM2_STATE_LISTENING
#define MAPPING GM2_STATE_MAPPING
#define PASSIVE GM2_STATE_PASSIVE
#define FETCHING GM2_STATE_FETCHING
#define VERIFYING GM2_STATE_VERIFYING
#define PAUSED GM2_STATE_PAUSED
#define ENDED GM2_STATE_ENDED

/* Of a mapper that never maps `never` is the next state; of one that made its
 * map itself, `leader`.  NONE there: the same as `to`. */
static const struct edge {
    enum gm2_state from;
    enum gm2_event event;
    enum gm2_state to, never, leader;
} edges[] = {
    {SLEEPING, GM2_EVENT_WAKE, MAPPING, LISTENING, NONE},
    {SLEEPING, GM2_EVENT_MET_HIGHER, PASSIVE, NONE, NONE},
    {SLEEPING, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {SLEEPING, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},

    {LISTENING, GM2_EVENT_MET_HIGHER, PASSIVE, NONE, NONE},
    {LISTENING, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {LISTENING, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},

    {MAPPING, GM2_EVENT_EXPLORED, VERIFYING, NONE, NONE},
    {MAPPING, GM2_EVENT_EXPLORE_FAILED, MAPPING, NONE, NONE},
    {MAPPING, GM2_EVENT_MET_HIGHER, PASSIVE, NONE, NONE},
    {MAPPING, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {MAPPING, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},
    {MAPPING, GM2_EVENT_FATAL, ENDED, NONE, NONE},

    {PASSIVE, GM2_EVENT_NEW_MAP, FETCHING, NONE, NONE},
    {PASSIVE, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {PASSIVE, GM2_EVENT_PARENT_LOST, MAPPING, LISTENING, NONE},
    {PASSIVE, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},

    {FETCHING, GM2_EVENT_FETCHED, VERIFYING, NONE, NONE},
    {FETCHING, GM2_EVENT_FETCH_FAILED, MAPPING, LISTENING, NONE},
    {FETCHING, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {FETCHING, GM2_EVENT_MET_HIGHER, PASSIVE, NONE, NONE},
    {FETCHING, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},
    {FETCHING, GM2_EVENT_FATAL, ENDED, NONE, NONE},

    {VERIFYING, GM2_EVENT_CHANGED, PASSIVE, NONE, MAPPING},
    {VERIFYING, GM2_EVENT_NEW_MAP, FETCHING, NONE, NONE},
    {VERIFYING, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {VERIFYING, GM2_EVENT_MET_HIGHER, PASSIVE, NONE, NONE},
    {VERIFYING, GM2_EVENT_PARENT_LOST, MAPPING, LISTENING, NONE},
    {VERIFYING, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},
    {VERIFYING, GM2_EVENT_FINISHED, ENDED, NONE, NONE},

    {PAUSED, GM2_EVENT_RESUME, MAPPING, LISTENING, NONE},
    {PAUSED, GM2_EVENT_TOLD_PARENT, FETCHING, NONE, NONE},
    {PAUSED, GM2_EVENT_PAUSE, PAUSED, NONE, NONE},
};

enum gm2_state gm2_next_state(enum gm2_state from, enum gm2_event event,
                              bool may_map, bool leader)
{
    for (unsigned i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
        const struct edge *e = &edges[i];

        if (e->from != from || e->event != event)
            continue;
        if (!may_map && e->never != NONE)
            return e->never;
        return leader && e->leader != NONE ? e->leader : e->to;
    }
    return NONE;
}

const char *gm2_state_name(enum gm2_state state)
{
    static const char *const names[GM2_NSTATES] = {
        "sleeping", "listening", "mapping", "passive",
        "fetching", "verifying", "paused",  "ended",
    };

    return state < GM2_NSTATES ? names[state] : "?";
}

const char *gm2_event_name(enum gm2_event event)
{
    static const char *const names[GM2_NEVENTS] = {
        "wake",        "met-higher", "explored", "explore-failed",
        "told-parent", "new-map",    "fetched",  "fetch-failed",
        "parent-lost", "changed",    "pause",    "resume",
        "fatal",       "finished",
    };

    return event < GM2_NEVENTS ? names[event] : "?";
}
