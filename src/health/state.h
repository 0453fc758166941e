/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The states of health, apart from the model that finds them.
 */
#ifndef SF_HEALTH_STATE_H
#define SF_HEALTH_STATE_H

/* From good to bad: the worse of two is the greater. */
enum health_state {
    HEALTH_HEALTHY,
    HEALTH_UNKNOWN,
    HEALTH_DEGRADED,
    HEALTH_FLAPPING,
    HEALTH_DOWN
};
#define HEALTH_STATES 5

const char *health_state_name(enum health_state state);
/* -1: there is no such state. */
int health_state_parse(const char *name);

#endif
