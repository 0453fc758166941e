/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups: from handles to members and back, and the calls that take them.
 */
#include "libimpi/group.h"

#include <stdlib.h>
#include <string.h>

#include "libimpi/handles.h"
#include "libimpi/ours.h"
#include "libimpi/state.h"

static struct handles groups;
static MPI_Group native_world = MPI_GROUP_NULL;

static void write_place(MPI_Group group, uint32_t index);

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

/* Rank in the native world, -1: of another client, or of another world. */
static int native_of(int world)
{
    return (uint32_t)world < impi_be.home ? impi_be.world_comm->native[world]
                                          : -1;
}

int group_native_part(const int *world, int n, MPI_Group *group)
{
    int *native = malloc(((size_t)n + 1) * sizeof(int)), count = 0, rc;

    if (!native)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < n; i++) {
        if (native_of(world[i]) >= 0)
            native[count++] = native_of(world[i]);
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
    MPI_Fint fortran = INT_OF_INDEX(IMPI_GROUP_TAG, index);

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

static int group_make(const int *world, int n, MPI_Group *group)
{
    bool native = true;

    for (int i = 0; i < n; i++) {
        if (world[i] < 0)
            return MPI_ERR_GROUP;
        native = native && native_of(world[i]) >= 0;
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

/* ---- group calls ------------------------------------------------------- */

/* MPI_Group_X. Calls in which no group of ours has a part are the native
 * library's. */

#define RAISE(rc) be_raise(MPI_COMM_WORLD, rc)

/* ---- what a group is ---- */

int impi_Group_size(MPI_Group group, int *size)
{
    struct members m;
    int rc;

    if (!impi_group_ours(group))
        return impi_real.Group_size(group, size);
    rc = members_of(group, &m);
    *size = m.n;
    free(m.world);
    return RAISE(rc);
}

int impi_Group_rank(MPI_Group group, int *rank)
{
    struct members m;
    int rc;

    if (!impi_group_ours(group))
        return impi_real.Group_rank(group, rank);
    rc = members_of(group, &m);
    if (rc == MPI_SUCCESS)
        *rank = members_find(&m, impi_be.rank);
    if (rc == MPI_SUCCESS && *rank < 0)
        *rank = MPI_UNDEFINED;
    free(m.world);
    return RAISE(rc);
}

/* Both groups, as members. */
static int both(MPI_Group a, MPI_Group b, struct members *ma,
                struct members *mb)
{
    int rc = members_of(a, ma);

    *mb = (struct members){0};
    if (rc == MPI_SUCCESS)
        rc = members_of(b, mb);
    return rc;
}

static int neither_ours(MPI_Group a, MPI_Group b)
{
    return !impi_group_ours(a) && !impi_group_ours(b);
}

static int translate_ranks(const struct members *a, const struct members *b,
                           int n, const int *from, int *to)
{
    for (int i = 0; i < n; i++) {
        if (from[i] == MPI_PROC_NULL) {
            to[i] = MPI_PROC_NULL;
            continue;
        }
        if (from[i] < 0 || from[i] >= a->n)
            return MPI_ERR_RANK;
        to[i] = members_find(b, a->world[from[i]]);
        if (to[i] < 0)
            to[i] = MPI_UNDEFINED;
    }
    return MPI_SUCCESS;
}

int impi_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[],
                               MPI_Group group2, int ranks2[])
{
    struct members a, b;
    int rc;

    if (neither_ours(group1, group2))
        return impi_real.Group_translate_ranks(group1, n, ranks1, group2,
                                               ranks2);
    rc = both(group1, group2, &a, &b);
    if (rc == MPI_SUCCESS)
        rc = translate_ranks(&a, &b, n, ranks1, ranks2);
    free(a.world);
    free(b.world);
    return RAISE(rc);
}

static int compare(const struct members *a, const struct members *b)
{
    int result = MPI_IDENT;

    if (a->n != b->n)
        return MPI_UNEQUAL;
    for (int i = 0; i < a->n; i++) {
        if (a->world[i] == b->world[i])
            continue;
        if (members_find(b, a->world[i]) < 0)
            return MPI_UNEQUAL;
        result = MPI_SIMILAR;
    }
    return result;
}

int impi_Group_compare(MPI_Group group1, MPI_Group group2, int *result)
{
    struct members a, b;
    int rc;

    if (neither_ours(group1, group2))
        return impi_real.Group_compare(group1, group2, result);
    rc = both(group1, group2, &a, &b);
    if (rc == MPI_SUCCESS)
        *result = compare(&a, &b);
    free(a.world);
    free(b.world);
    return RAISE(rc);
}

/* ---- sets ---- */

enum set { UNION, INTERSECTION, DIFFERENCE };

/* Those of a whose being in b is as wanted, behind the n there are. */
static int pick(const struct members *a, const struct members *b, int in_b,
                int *out, int n)
{
    for (int i = 0; i < a->n; i++) {
        if ((members_find(b, a->world[i]) >= 0) == in_b)
            out[n++] = a->world[i];
    }
    return n;
}

static int combine(enum set how, const struct members *a,
                   const struct members *b, MPI_Group *group)
{
    int *out = malloc(((size_t)a->n + (size_t)b->n + 1) * sizeof(int));
    int n = 0, rc;

    if (!out)
        return MPI_ERR_NO_MEM;
    if (how != DIFFERENCE)
        n = pick(a, b, 1, out, n);
    if (how == UNION) {
        for (n = 0; n < a->n; n++)
            out[n] = a->world[n];
        n = pick(b, a, 0, out, n);
    } else if (how == DIFFERENCE) {
        n = pick(a, b, 0, out, n);
    }
    rc = group_make(out, n, group);
    free(out);
    return rc;
}

static int set(enum set how, MPI_Group group1, MPI_Group group2,
               MPI_Group *newgroup)
{
    struct members a, b;
    int rc = both(group1, group2, &a, &b);

    if (rc == MPI_SUCCESS)
        rc = combine(how, &a, &b, newgroup);
    free(a.world);
    free(b.world);
    return RAISE(rc);
}

#define SET(name, how)                                                         \
    int impi_##name(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)   \
    {                                                                          \
        if (neither_ours(group1, group2))                                      \
            return impi_real.name(group1, group2, newgroup);                   \
        return set(how, group1, group2, newgroup);                             \
    }

SET(Group_union, UNION)
SET(Group_intersection, INTERSECTION)
SET(Group_difference, DIFFERENCE)

/* ---- parts ---- */

/* Ranks r[n] of m, in that order; or with `without` all others.  Each rank
 * once, or it is an error. */
static int select_ranks(const struct members *m, const int *r, int n,
                        bool without, MPI_Group *group)
{
    int *out = malloc(((size_t)m->n + 1) * sizeof(int)), count = 0, rc;
    bool *taken = calloc((size_t)m->n + 1, sizeof(bool));

    rc = out && taken ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        if (r[i] < 0 || r[i] >= m->n || taken[r[i]]) {
            rc = MPI_ERR_RANK;
            break;
        }
        taken[r[i]] = true;
        if (!without)
            out[count++] = m->world[r[i]];
    }
    for (int i = 0; i < m->n && without && rc == MPI_SUCCESS; i++) {
        if (!taken[i])
            out[count++] = m->world[i];
    }
    if (rc == MPI_SUCCESS)
        rc = group_make(out, count, group);
    free(out);
    free(taken);
    return rc;
}

static int part(MPI_Group group, int n, const int *ranks, bool without,
                MPI_Group *newgroup)
{
    struct members m;
    int rc = members_of(group, &m);

    if (rc == MPI_SUCCESS)
        rc =
            n < 0 ? MPI_ERR_ARG : select_ranks(&m, ranks, n, without, newgroup);
    free(m.world);
    return RAISE(rc);
}

int impi_Group_incl(MPI_Group group, int n, const int ranks[],
                    MPI_Group *newgroup)
{
    if (!impi_group_ours(group))
        return impi_real.Group_incl(group, n, ranks, newgroup);
    return part(group, n, ranks, false, newgroup);
}

int impi_Group_excl(MPI_Group group, int n, const int ranks[],
                    MPI_Group *newgroup)
{
    if (!impi_group_ours(group))
        return impi_real.Group_excl(group, n, ranks, newgroup);
    return part(group, n, ranks, true, newgroup);
}

static int range_length(const int range[3])
{
    int first = range[0], last = range[1], step = range[2];

    if (step == 0 || (step > 0 && first > last) || (step < 0 && first < last))
        return step == 0 ? -1 : 0;
    return (last - first) / step + 1;
}

/* The ranks that ranges name; a wrong one is left to part(). */
static int *unroll(int n, int ranges[][3], int size, int *count)
{
    size_t sum = 0;
    int *out;

    *count = 0;
    for (int i = 0; i < n; i++) {
        int len = range_length(ranges[i]);

        if (len < 0 || len > size)
            return NULL;
        sum += (size_t)len;
    }
    out = malloc((sum + 1) * sizeof(int));
    for (int i = 0; out && i < n; i++) {
        for (int k = 0; k < range_length(ranges[i]); k++)
            out[(*count)++] = ranges[i][0] + k * ranges[i][2];
    }
    return out;
}

static int range_part(MPI_Group group, int n, int ranges[][3], bool without,
                      MPI_Group *newgroup)
{
    int size = 0, count, rc, *ranks;

    impi_Group_size(group, &size);
    ranks = unroll(n, ranges, size, &count);
    if (!ranks)
        return RAISE(MPI_ERR_ARG);
    rc = part(group, count, ranks, without, newgroup);
    free(ranks);
    return rc;
}

int impi_Group_range_incl(MPI_Group group, int n, int ranges[][3],
                          MPI_Group *newgroup)
{
    if (!impi_group_ours(group))
        return impi_real.Group_range_incl(group, n, ranges, newgroup);
    return range_part(group, n, ranges, false, newgroup);
}

int impi_Group_range_excl(MPI_Group group, int n, int ranges[][3],
                          MPI_Group *newgroup)
{
    if (!impi_group_ours(group))
        return impi_real.Group_range_excl(group, n, ranges, newgroup);
    return range_part(group, n, ranges, true, newgroup);
}

int impi_Group_free(MPI_Group *group)
{
    if (!impi_group_ours(*group))
        return impi_real.Group_free(group);
    group_drop(*group);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

/* ---- those of communicators ---- */

int impi_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return impi_real.Comm_group(comm, group);
    return be_raise(comm, group_make(c->world + c->first, c->local, group));
}

int impi_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return impi_real.Comm_remote_group(comm, group);
    if (!c->inter)
        return be_raise(comm, MPI_ERR_COMM);
    return be_raise(comm, group_make(c->world + c->peer, c->peers, group));
}

/* ---- Fortran ---- */

NUMBERS_OF(Group, impi_group_ours, group, IMPI_GROUP_TAG)
