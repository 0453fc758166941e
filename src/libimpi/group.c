/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups: from handles to members and back.
 */
#include "libimpi/group.h"

#include <stdlib.h>
#include <string.h>

#include "libimpi/handles.h"
#include "libimpi/ours.h"
#include "libimpi/state.h"

static struct handles groups;
static MPI_Group native_world = MPI_GROUP_NULL;

/* ---- native groups ---- */

/* That of a duplicate would do, but MPICH's MPI_Comm_create_group crashes on
 * groups made from it. */
static int find_native_world(void)
{
    int rc = MPI_SUCCESS;

    be_lock();
    if (native_world == MPI_GROUP_NULL)
        rc = impi_real.Comm_group(MPI_COMM_WORLD, &native_world);
    be_unlock();
    return rc;
}

/* m->world[] is 0 to n - 1 on the way in. */
static int translate(MPI_Group group, struct members *m)
{
    const struct impi_comm *w = impi_be.world_comm;
    int *native = malloc(((size_t)m->n + 1) * sizeof(int)), rc;

    if (!native)
        return MPI_ERR_NO_MEM;
    rc = impi_real.Group_translate_ranks(group, m->n, m->world, native_world,
                                         native);
    for (int i = 0; i < m->n && rc == MPI_SUCCESS; i++)
        m->world[i] = native[i] >= 0 && native[i] < w->native_size
                          ? w->members[native[i]]
                          : -1;
    free(native);
    return rc;
}

static int native_members(MPI_Group group, struct members *m)
{
    int rc = impi_real.Group_size(group, &m->n);

    if (rc == MPI_SUCCESS)
        rc = find_native_world();
    if (rc != MPI_SUCCESS)
        return rc;
    m->world = malloc(((size_t)m->n + 1) * sizeof(int));
    if (!m->world)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < m->n; i++)
        m->world[i] = i;
    return translate(group, m);
}

static int own_members(MPI_Group group, struct members *m)
{
    const struct members *g;

    be_lock();
    g = handles_get(&groups, group_to_index(group));
    be_unlock();
    if (!g)
        return MPI_ERR_GROUP;
    m->n = g->n;
    m->world = malloc((size_t)m->n * sizeof(int));
    if (!m->world)
        return MPI_ERR_NO_MEM;
    memcpy(m->world, g->world, (size_t)m->n * sizeof(int));
    return MPI_SUCCESS;
}

int members_of(MPI_Group group, struct members *m)
{
    int rc;

    *m = (struct members){0};
    if (group == MPI_GROUP_NULL)
        return MPI_ERR_GROUP;
    rc = impi_group_ours(group) ? own_members(group, m)
                                : native_members(group, m);
    if (rc != MPI_SUCCESS) {
        free(m->world);
        m->world = NULL;
    }
    return rc;
}

int members_find(const struct members *m, int world)
{
    for (int i = 0; i < m->n; i++) {
        if (m->world[i] == world)
            return i;
    }
    return -1;
}

/* ---- new ones ---- */

int group_native_part(const int *world, int n, MPI_Group *group)
{
    const struct impi_comm *w = impi_be.world_comm;
    int *native = malloc(((size_t)n + 1) * sizeof(int)), count = 0, rc;

    if (!native)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < n; i++) {
        if (w->native[world[i]] >= 0)
            native[count++] = w->native[world[i]];
    }
    rc = find_native_world();
    if (rc == MPI_SUCCESS) /* an empty one, too: MPI_GROUP_EMPTY is counted */
        rc = impi_real.Group_incl(native_world, count, native, group);
    free(native);
    return rc;
}

#ifdef IMPI_FAMILY_OPENMPI
char group_places[(GROUP_INDEX_MAX + 1) * GROUP_PLACE]
    __attribute__((aligned(GROUP_PLACE)));

static void write_place(MPI_Group group, uint32_t index)
{
    MPI_Fint fortran = -1 - (MPI_Fint)index;

    memcpy((char *)group + GROUP_FORTRAN_AT, &fortran, sizeof(fortran));
}
#else
static void write_place(MPI_Group group, uint32_t index)
{
}
#endif

static int add_own(const int *world, int n, MPI_Group *group)
{
    struct members *g = malloc(sizeof(*g));
    uint32_t index = UINT32_MAX;

    if (g && (g->world = malloc((size_t)n * sizeof(int)))) {
        g->n = n;
        memcpy(g->world, world, (size_t)n * sizeof(int));
        be_lock();
        index = handles_add(&groups, g);
        if (index > GROUP_INDEX_MAX && index != UINT32_MAX) {
            handles_remove(&groups, index);
            index = UINT32_MAX;
        }
        be_unlock();
    }
    if (index == UINT32_MAX) {
        if (g)
            free(g->world);
        free(g);
        return MPI_ERR_NO_MEM;
    }
    *group = group_from_index(index);
    write_place(*group, index);
    return MPI_SUCCESS;
}

int group_make(const int *world, int n, MPI_Group *group)
{
    bool native = true;

    for (int i = 0; i < n; i++) {
        if (world[i] < 0)
            return MPI_ERR_GROUP;
        native = native && impi_be.world_comm->native[world[i]] >= 0;
    }
    return native ? group_native_part(world, n, group)
                  : add_own(world, n, group);
}

static void drop_own(uint32_t index)
{
    struct members *g;

    be_lock();
    g = handles_get(&groups, index);
    handles_remove(&groups, index);
    be_unlock();
    if (g)
        free(g->world);
    free(g);
}

void group_drop(MPI_Group group)
{
    if (impi_group_ours(group))
        drop_own(group_to_index(group));
    else
        impi_real.Group_free(&group);
}

void group_end(void)
{
    if (native_world != MPI_GROUP_NULL)
        impi_real.Group_free(&native_world);
}
