/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts which ways from state to state were gone.
 */
#include "mapper_edges.h"

#include <stdio.h>
#include <string.h>

#include "mapper_world.h"

static bool gone1[GM1_NSTATES][GM1_NEVENTS][GM1_NSTATES];
static bool gone2[GM2_NSTATES][GM2_NEVENTS][GM2_NSTATES];
static bool said2[GM2_NSTATES][GM2_NEVENTS][GM2_NSTATES];
static char words[2000];

void edges_gm1(enum gm1_state from, enum gm1_event event, enum gm1_state to)
{
    gone1[from][event][to] = true;
}

void edges_gm2(enum gm2_state from, enum gm2_event event, enum gm2_state to)
{
    gone2[from][event][to] = true;
}

static void add(const char *from, const char *event, const char *to)
{
    size_t len = strlen(words);

    snprintf(words + len, sizeof(words) - len, "%s: %s->%s\n", event, from, to);
}

const char *world_gm1_untaken(void)
{
    words[0] = '\0';
    for (int s = 0; s < GM1_NSTATES; s++) {
        for (int e = 0; e < GM1_NEVENTS; e++) {
            enum gm1_state to = gm1_next_state(s, e);

            if (to != GM1_NSTATES && !gone1[s][e][to])
                add(gm1_state_name(s), gm1_event_name(e), gm1_state_name(to));
        }
    }
    return words[0] ? words : NULL;
}

/* Of each kind of mapper: one that may map or not, that leads or not. */
static void look_at(enum gm2_state s, enum gm2_event e, bool may_map,
                    bool leader)
{
    enum gm2_state to = gm2_next_state(s, e, may_map, leader);

    if (to == GM2_NSTATES || gone2[s][e][to] || said2[s][e][to])
        return;
    add(gm2_state_name(s), gm2_event_name(e), gm2_state_name(to));
    said2[s][e][to] = true;
}

const char *world_gm2_untaken(void)
{
    words[0] = '\0';
    memset(said2, 0, sizeof(said2));
    for (int s = 0; s < GM2_NSTATES; s++) {
        for (int e = 0; e < GM2_NEVENTS; e++) {
            look_at(s, e, true, false);
            look_at(s, e, true, true);
            look_at(s, e, false, false);
        }
    }
    return words[0] ? words : NULL;
}
