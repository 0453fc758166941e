/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes that no library has: IMPI's four (impi.h) on every communicator,
 * and those of MPI that one client cannot tell of all.  Neither library's
 * Fortran binding asks its own C function, so the front has those of Fortran
 * and asks impi_fortran_attr().  And those of MPI_COMM_SELF, which MPI_Finalize
 * deletes while MPI_COMM_WORLD is still ours.
 */
#include <stdlib.h>

#include "impi/spawn.h"
#include "libimpi/attr.h"
#include "libimpi/backend.h"
#include "libimpi/family.h"
#include "libimpi/group.h"
#include "libimpi/impi.h"
#include "libimpi/state.h"
#include "libimpi/win.h"

static bool is_impi(int keyval)
{
    return keyval >= IMPI_CLIENT_SIZE && keyval <= IMPI_HOST_COLOR;
}

/* ---- who is in a communicator ---- */

/* Both groups of an intercommunicator. */
static int add_group(MPI_Comm comm, bool remote, struct members *all)
{
    struct members m = {0};
    MPI_Group group;
    int *more, rc = remote ? impi_real.Comm_remote_group(comm, &group)
                           : impi_real.Comm_group(comm, &group);

    if (rc == MPI_SUCCESS) {
        rc = members_of(group, &m);
        group_drop(group);
    }
    if (rc != MPI_SUCCESS)
        return rc;
    more = realloc(all->world, ((size_t)all->n + (size_t)m.n) * sizeof(int));
    if (more)
        all->world = more;
    for (int i = 0; more && i < m.n; i++)
        more[all->n++] = m.world[i];
    free(m.world);
    return more ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static int native_members(MPI_Comm comm, struct members *all)
{
    int inter = 0, rc = impi_real.Comm_test_inter(comm, &inter);

    if (rc == MPI_SUCCESS)
        rc = add_group(comm, false, all);
    if (rc == MPI_SUCCESS && inter)
        rc = add_group(comm, true, all);
    return rc;
}

/* ---- counting ---- */

static uint32_t place_of(int world, bool host)
{
    struct impi_proc p = impi_world_proc(&impi_be.world, (uint32_t)world);

    return host ? p.host : p.client;
}

/* Different places of n processes, and which of them is the own: hosts and
 * clients are numbered as they stand in MPI_COMM_WORLD. */
static int count(const int *world, int n, bool host, bool color)
{
    uint32_t max = host ? impi_be.world.nhosts : impi_be.world.nclients;
    uint32_t own = place_of(impi_be.rank, host);
    bool *seen = calloc(max + 1, sizeof(bool));
    int sum = 0;

    if (!seen)
        return -1;
    for (int i = 0; i < n; i++) {
        uint32_t place = world[i] >= 0 ? place_of(world[i], host) : own;

        if (place >= max || seen[place])
            continue;
        seen[place] = true;
        sum += !color || place < own;
    }
    free(seen);
    return sum;
}

static int value_of(MPI_Comm comm, int keyval, int *value)
{
    const struct impi_comm *c = impi_span_find(comm);
    bool host = keyval >= IMPI_HOST_SIZE;
    bool color = keyval == IMPI_CLIENT_COLOR || keyval == IMPI_HOST_COLOR;
    struct members m = {0};
    int rc = MPI_SUCCESS;

    if (!c)
        rc = native_members(comm, &m);
    if (rc == MPI_SUCCESS)
        *value = c ? count(c->world, c->size, host, color)
                   : count(m.world, m.n, host, color);
    free(m.world);
    return rc == MPI_SUCCESS && *value < 0 ? MPI_ERR_NO_MEM : rc;
}

/* ---- the calls ---- */

/* A world of one client is not known any closer. */
static bool alone(int keyval, int *value)
{
    *value = keyval == IMPI_CLIENT_SIZE;
    return keyval < IMPI_HOST_SIZE && impi_be.started;
}

static int get_impi(MPI_Comm comm, int keyval, int **value, int *flag)
{
    static __thread int values[4];
    int *v = &values[keyval - IMPI_CLIENT_SIZE], rc;

    *value = v;
    if (!impi_be.spanning) {
        *flag = alone(keyval, v);
        return MPI_SUCCESS;
    }
    rc = comm == MPI_COMM_NULL ? MPI_ERR_COMM : value_of(comm, keyval, v);
    *flag = rc == MPI_SUCCESS;
    return rc == MPI_SUCCESS
               ? rc
               : be_raise(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, rc);
}

/* Other steps of the job may have them just now. */
static int *universe(void)
{
    int room = impi_spawn_room(getenv("SLURM_JOB_CPUS_PER_NODE"),
                               getenv("SLURM_CPUS_PER_TASK"));

    if (!impi_be.spanning)
        impi_real.Comm_size(MPI_COMM_WORLD, &impi_be.universe);
    else
        impi_be.universe = (int)impi_be.home;
    if (room > impi_be.universe)
        impi_be.universe = room;
    return &impi_be.universe;
}

/* Of a communicator of the library alone, too? */
static bool is_of_all(MPI_Comm comm, int keyval)
{
    return keyval == MPI_UNIVERSE_SIZE
               ? impi_be.started && comm == MPI_COMM_WORLD
               : impi_be.spanning && impi_span_find(comm);
}

/* The value of an attribute that holds for all clients together, else NULL: the
 * highest tag that all have agreed on; as many processes as there are, or as
 * the job has processors for; and no global clock, since two clients may have
 * two. */
static int *of_all(int keyval)
{
    static int no_global_clock;

    switch (keyval) {
    case MPI_TAG_UB:
        return &impi_be.tagub;
    case MPI_UNIVERSE_SIZE:
        return universe();
    case MPI_WTIME_IS_GLOBAL:
        return &no_global_clock;
    default:
        return NULL;
    }
}

int impi_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val,
                       int *flag)
{
    int *value;

    if (is_impi(comm_keyval))
        return get_impi(comm, comm_keyval, attribute_val, flag);
    value = is_of_all(comm, comm_keyval) ? of_all(comm_keyval) : NULL;
    if (!value)
        return impi_real.Comm_get_attr(comm, comm_keyval, attribute_val, flag);
    *(int **)attribute_val = value;
    *flag = 1;
    return MPI_SUCCESS;
}

int impi_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return impi_Comm_get_attr(comm, keyval, attribute_val, flag);
}

/* ---- MPI_COMM_SELF ---- */

/* Key values in the order in which they were last set there. */
static struct {
    int *keyvals;
    size_t n;
} of_self;

static int note_self(int keyval)
{
    int rc = MPI_SUCCESS;
    size_t i = 0, n;
    int *more;

    be_lock();
    n = of_self.n;
    while (i < n && of_self.keyvals[i] != keyval)
        i++;
    if (i == n) {
        more = realloc(of_self.keyvals, (n + 1) * sizeof(*more));
        if (more) {
            of_self.keyvals = more;
            of_self.n++;
        } else {
            rc = MPI_ERR_NO_MEM;
        }
    }
    for (; i + 1 < of_self.n; i++)
        of_self.keyvals[i] = of_self.keyvals[i + 1];
    if (rc == MPI_SUCCESS)
        of_self.keyvals[of_self.n - 1] = keyval;
    be_unlock();
    return rc;
}

int impi_Comm_set_attr(MPI_Comm comm, int keyval, void *value)
{
    int rc = comm == MPI_COMM_SELF && impi_be.started ? note_self(keyval)
                                                      : MPI_SUCCESS;

    return rc == MPI_SUCCESS ? impi_real.Comm_set_attr(comm, keyval, value)
                             : be_raise(comm, rc);
}

int impi_Attr_put(MPI_Comm comm, int keyval, void *value)
{
    return impi_Comm_set_attr(comm, keyval, value);
}

/* Is it there?  A key value that is freed is an error once nobody has it. */
static bool self_has(int keyval)
{
    MPI_Errhandler own;
    void *value;
    int flag = 0, rc;

    impi_real.Comm_get_errhandler(MPI_COMM_SELF, &own);
    impi_real.Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    rc = impi_real.Comm_get_attr(MPI_COMM_SELF, keyval, &value, &flag);
    impi_real.Comm_set_errhandler(MPI_COMM_SELF, own);
    impi_real.Errhandler_free(&own);
    return rc == MPI_SUCCESS && flag;
}

/* A callback may set more. */
void attr_delete_self(void)
{
    int keyval;

    while (of_self.n > 0) {
        keyval = of_self.keyvals[--of_self.n];
        if (self_has(keyval))
            impi_real.Comm_delete_attr(MPI_COMM_SELF, keyval);
    }
    free(of_self.keyvals);
    of_self.keyvals = NULL;
}

/* ---- Fortran ---- */

__attribute__((visibility("default"))) impi_fortran_attr_f impi_fortran_attr;

/* The address, or the number that it points to. */
static int win_attr(int win, int keyval, intptr_t *value, int *flag)
{
    MPI_Win w = OF_FORTRAN(Win, win);
    void *p;

    keyval = keyval_of_fortran(keyval);
    if (!impi_win_spans(w) || !win_attr_ours(keyval))
        return -1;
    if (impi_Win_get_attr(w, keyval, &p, flag) != MPI_SUCCESS || !*flag)
        return -1;
    if (keyval == MPI_WIN_BASE)
        *value = (intptr_t)p;
    else
        *value = keyval == MPI_WIN_SIZE ? *(MPI_Aint *)p : *(int *)p;
    return MPI_SUCCESS;
}

int impi_fortran_attr(bool win, int handle, int keyval, intptr_t *value,
                      int *flag)
{
    MPI_Comm c = OF_FORTRAN(Comm, handle);
    int *p, rc;

    if (win)
        return win_attr(handle, keyval, value, flag);
    if (!is_impi(keyval)) {
        keyval = keyval_of_fortran(keyval);
        if (!is_of_all(c, keyval) || !of_all(keyval))
            return -1;
    }
    rc = impi_Comm_get_attr(c, keyval, &p, flag);
    if (rc == MPI_SUCCESS && *flag)
        *value = *p;
    return rc;
}
