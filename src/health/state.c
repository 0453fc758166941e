/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "health/state.h"

static const char *const names[HEALTH_STATES] = {
    "healthy", "unknown", "degraded", "flapping", "down"};

const char *health_state_name(enum health_state state)
{
    return names[state];
}

int health_state_parse(const char *name)
{
    for (int i = 0; name && i < HEALTH_STATES; i++) {
        if (strcmp(name, names[i]) == 0)
            return i;
    }
    return -1;
}
