/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the two example models, ocean.c and atmosphere.c, find each other and
 * exchange fields.  Plain MPI; nothing of slurm-fabric is needed.
 *
 *     MODEL world FILE        both are in one MPI_COMM_WORLD
 *     MODEL port NAME FILE    each is started by itself; the atmosphere
 *                             publishes a port under NAME
 *
 * Either way `sea_air` is an intercommunicator of the two models, so the rest
 * of the program does not know the difference.  Both write what they computed
 * to FILE; it does not depend on how they met, on the number of processes, or
 * on the MPI libraries.
 */
#ifndef EXAMPLES_COUPLED_H
#define EXAMPLES_COUPLED_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CELLS 96 /* of the surface between them, around the equator */
#define STEPS 50
#define TAG_FIELD 3
#define TAG_LEFT 4
#define TAG_RIGHT 5

enum { OCEAN, ATMOSPHERE };

static MPI_Comm model;   /* the processes of this model */
static MPI_Comm sea_air; /* and those of the other one */
static int rank, size, remote;
static int first, cells; /* of the surface: this process's */
static FILE *record;     /* of process 0 */

/* ---- meeting ---- */

static void meet_in_world(int which)
{
    int own, leader[2];

    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_split(MPI_COMM_WORLD, which, 0, &model);
    leader[OCEAN] = which == OCEAN ? own : 1 << 30;
    leader[ATMOSPHERE] = which == ATMOSPHERE ? own : 1 << 30;
    MPI_Allreduce(MPI_IN_PLACE, leader, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Intercomm_create(model, 0, MPI_COMM_WORLD, leader[!which], 1, &sea_air);
}

/* The other model may not have been started yet. */
static void look_up(const char *name, char port[MPI_MAX_PORT_NAME])
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (MPI_Lookup_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS)
        usleep(100000);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void meet_by_port(int which, const char *name)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int own;

    MPI_Comm_dup(MPI_COMM_WORLD, &model);
    MPI_Comm_rank(model, &own);
    if (which == OCEAN) {
        if (own == 0)
            look_up(name, port);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, model, &sea_air);
        return;
    }
    if (own == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name(name, MPI_INFO_NULL, port);
    }
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, model, &sea_air);
    if (own == 0) {
        MPI_Unpublish_name(name, MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
}

/* Cells that process r of n has. */
static int first_of(int r, int n)
{
    return r * CELLS / n;
}

static void begin(int which, int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    if (*argc == 3 && strcmp((*argv)[1], "world") == 0) {
        meet_in_world(which);
    } else if (*argc == 4 && strcmp((*argv)[1], "port") == 0) {
        meet_by_port(which, (*argv)[2]);
    } else {
        fprintf(stderr, "usage: %s world FILE | port NAME FILE\n", (*argv)[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_rank(model, &rank);
    MPI_Comm_size(model, &size);
    MPI_Comm_remote_size(sea_air, &remote);
    first = first_of(rank, size);
    cells = first_of(rank + 1, size) - first;
    if (cells == 0 || (rank == 0 && !(record = fopen((*argv)[*argc - 1], "w"))))
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void end(void)
{
    if (record && fclose(record) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_disconnect(&sea_air);
    MPI_Comm_free(&model);
    MPI_Finalize();
}

/* ---- fields ---- */

/* A value for each cell goes to the other model, and its come back: each
 * process talks to those that have some of its cells there. */
static void exchange(const double *out, double *in)
{
    MPI_Request *r = malloc(2 * (size_t)remote * sizeof(*r));
    MPI_Status *st = malloc(2 * (size_t)remote * sizeof(*st));
    int n = 0;

    for (int i = 0; i < remote; i++) {
        int from = first_of(i, remote), to = first_of(i + 1, remote);

        from = from > first ? from : first;
        to = to < first + cells ? to : first + cells;
        if (from >= to)
            continue;
        MPI_Irecv(in + from - first, to - from, MPI_DOUBLE, i, TAG_FIELD,
                  sea_air, &r[n++]);
        MPI_Isend(out + from - first, to - from, MPI_DOUBLE, i, TAG_FIELD,
                  sea_air, &r[n++]);
    }
    MPI_Waitall(n, r, st);
    free(st);
    free(r);
}

/* field[0] and field[n + 1] are the neighbours' last and first values. */
static void fill_halo(double *field, int n)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    MPI_Sendrecv(&field[1], 1, MPI_DOUBLE, left, TAG_LEFT, &field[n + 1], 1,
                 MPI_DOUBLE, right, TAG_LEFT, model, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&field[n], 1, MPI_DOUBLE, right, TAG_RIGHT, &field[0], 1,
                 MPI_DOUBLE, left, TAG_RIGHT, model, MPI_STATUS_IGNORE);
}

/* The whole field, by process 0: `each` values for a cell. */
static void write_field(const char *what, int step, const double *field,
                        int each)
{
    int *counts = calloc(2 * (size_t)size, sizeof(*counts));
    double *all = malloc((size_t)(CELLS * each) * sizeof(*all));

    for (int i = 0; i < size; i++) {
        counts[size + i] = each * first_of(i, size);
        counts[i] = each * first_of(i + 1, size) - counts[size + i];
    }
    MPI_Gatherv(field, each * cells, MPI_DOUBLE, all, counts, counts + size,
                MPI_DOUBLE, 0, model);
    for (int i = 0; record && i < CELLS * each; i++)
        fprintf(record, "%s %d %d %.17g\n", what, step, i, all[i]);
    free(all);
    free(counts);
}

#endif
