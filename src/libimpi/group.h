/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups.  One whose members are all in the own client is the native
 * library's; one with members of other clients is ours, with a handle of its
 * own.  Both can be looked at as a list of ranks in MPI_COMM_WORLD.
 */
#ifndef LIBIMPI_GROUP_H
#define LIBIMPI_GROUP_H

#include "libimpi/calls.h"

struct members {
    int n;
    int *world; /* -1: a process outside this world.  free() it */
};

/* MPI error class; m->world is NULL after an error. */
int members_of(MPI_Group group, struct members *m);
/* The native group of those of world[n] that are in the own client, in the
 * same order. */
int group_native_part(const int *world, int n, MPI_Group *group);
/* Place of a world rank, or -1. */
int members_find(const struct members *m, int world);
/* Give a group back that was made here. */
void group_drop(MPI_Group group);
/* At MPI_Finalize. */
void group_end(void);

#endif
