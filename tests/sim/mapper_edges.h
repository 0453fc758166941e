/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A mapper went from one state to another (mapper_world.c tells).
 */
#ifndef SF_TESTS_MAPPER_EDGES_H
#define SF_TESTS_MAPPER_EDGES_H

#include "mapper/gm1.h"
#include "mapper/gm2.h"

void edges_gm1(enum gm1_state from, enum gm1_event event, enum gm1_state to);
void edges_gm2(enum gm2_state from, enum gm2_event event, enum gm2_state to);

#endif
