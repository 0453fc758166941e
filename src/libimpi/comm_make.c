/* SPDX-License-Identifier: BSD-3-Clause
 *
 * New communicators from a spanning one.  All its members agree on a context
 * id, each client makes its native part, and the new one spans if its members
 * lie in several clients; else it is the native one.
 */
#include "libimpi/comm_make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mac.h"
#include "impi/constants.h"
#include "libimpi/assist.h"
#include "libimpi/coll.h"
#include "libimpi/comm_criss.h"
#include "libimpi/failed.h"
#include "libimpi/group.h"
#include "libimpi/ours.h"
#include "libimpi/port.h"
#include "libimpi/state.h"
#include "libimpi/topo.h"
#include "libimpi/win_share.h"

/* Where a process goes when a communicator is split; a negative color:
 * nowhere. */
struct place {
    int color, key, rank;
};

/* MPI_Comm_create and _split of an intercommunicator, once a context id is
 * agreed on.  Every member of c calls it. */
static int inter_split(struct impi_comm *c, const struct place *own,
                       struct place *all, uint64_t cid, MPI_Comm *newcomm);

/* ---- comm cid ---------------------------------------------------------- */

/* Context ids. By the standard (IMPI 4.6) the members of the old communicator
 * agree on the highest id that any of them uses, made odd, plus one. That
 * wants one agreement at a time: two threads of the same two processes could
 * arrive at one number for two communicators. So whoever may have more than
 * one under way proposes a number that nobody else has, made of its rank and
 * a counter, above all ordinary ones; the highest proposal is then the id
 * itself. */

#define OWN_ID (UINT64_C(1) << 62)
#define FOREIGN_ID (UINT64_C(1) << 61) /* above all others with OWN_ID */
#define OWN_RANK_SHIFT 34

/* Processes of two worlds could propose the same: so who may meet others
 * proposes by chance, among 2^60. */
uint64_t comm_foreign_cid(void)
{
    uint64_t n = 0;

    if (mac_random(&n, sizeof(n)) < 0)
        be_die(1, "SF-E403: no random numbers: %s", strerror(errno));
    return OWN_ID | FOREIGN_ID | (n & (FOREIGN_ID - 1) & ~UINT64_C(1));
}

/* The same, for a proposal that may be under way beside others. */
static uint64_t cid_propose_own(void)
{
    if (impi_be.coupled)
        return comm_foreign_cid();

    static uint64_t counter;
    uint64_t n = __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED);

    return OWN_ID | (uint64_t)impi_be.rank << OWN_RANK_SHIFT | n << 1;
}

bool comm_strict(void)
{
    return !(impi_be.world.flags & IMPI_WORLD_EXTENDED);
}

/* In two parts, where the agreement is the caller's: what this process
 * proposes, and what the largest proposal of all means. */
static uint64_t cid_propose(void)
{
    if ((impi_be.multiple || impi_be.coupled) && !comm_strict())
        return cid_propose_own();
    return impi_be.max_cid | 1;
}

static int cid_take(uint64_t max, uint64_t *cid)
{
    if (max >= IMPI_MAX_CID - 1) {
        be_say("SF-E518: no context id is left for another communicator");
        return MPI_ERR_INTERN;
    }
    if (max & OWN_ID) {
        *cid = max;
        return MPI_SUCCESS;
    }
    be_lock();
    *cid = max + 1;
    if (impi_be.max_cid < max + 2)
        impi_be.max_cid = max + 2;
    be_unlock();
    return MPI_SUCCESS;
}

/* Called by all members of c, also by those that get no communicator. */
static int cid_agree(struct impi_comm *c, uint64_t *cid)
{
    uint64_t own = cid_propose(), max;
    int rc = coll_allreduce(c, &own, &max, 1, MPI_UINT64_T, MPI_MAX);

    return rc == MPI_SUCCESS ? be_raise(c->comm, cid_take(max, cid)) : rc;
}

/* The same for a duplicate of c. */
static int cid_agree_dup(struct impi_comm *c, uint64_t *cid)
{
    uint64_t max = cid_propose();
    int rc;

    if (!c->inter || !comm_strict())
        return cid_agree(c, cid);
    rc = criss_dup(c, &max);
    return rc == MPI_SUCCESS ? be_raise(c->comm, cid_take(max, cid)) : rc;
}

/* ---- putting one together ---- */

static bool comm_in_one_client(const int *world, int size)
{
    for (int i = 1; i < size; i++) {
        if (client_of(world[i]) != client_of(world[0]))
            return false;
    }
    return true;
}

/* Where world rank `rank` stands in world[size], or MPI_UNDEFINED. */
static int comm_place(const int *world, int size, int rank)
{
    for (int i = 0; i < size; i++) {
        if (world[i] == rank)
            return i;
    }
    return MPI_UNDEFINED;
}

/* The same from a hidden duplicate that is there; under the lock. */
static struct impi_comm *comm_add(const struct comm_parts *parts)
{
    struct impi_comm *c = comm_create(parts);

    if (!c)
        return NULL;
    if (impi_span_add(parts->comm, c) == 0)
        return c;
    comm_release(c);
    return NULL;
}

/* A native intercommunicator in place of our two native parts. */
static int native_inter(const struct comm_parts *parts, MPI_Comm *made)
{
    struct impi_comm *w = impi_be.world_comm;
    bool low = false;
    MPI_Comm comm = parts->comm, p2p = parts->p2p;
    int rc;

    for (int i = 0; i < parts->low; i++)
        low = low || parts->world[i] == w->rank;
    rc = ASSISTED(impi_real.Intercomm_create(comm, 0, p2p, low ? parts->low : 0,
                                             IMPI_MERGE_TAG, made));
    impi_real.Comm_free(&comm);
    impi_real.Comm_free(&p2p);
    return rc;
}

/* The hidden duplicate comes by a split, which calls no attribute callbacks. */
static int comm_span(struct comm_parts *parts, MPI_Comm *made)
{
    struct impi_comm *c;
    int rc;

    *made = parts->comm;
    if (comm_in_one_client(parts->world, parts->size))
        return parts->low > 0 ? native_inter(parts, made) : MPI_SUCCESS;
    rc = ASSISTED(impi_real.Comm_split(parts->p2p, 0, 0, &parts->hidden));
    if (rc != MPI_SUCCESS)
        return rc;
    impi_real.Comm_set_errhandler(parts->hidden, MPI_ERRORS_RETURN);
    be_lock();
    c = comm_add(parts);
    be_unlock();
    return c ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* ---- MPI_Comm_dup ---- */

/* comm: the native duplicate of the program's handle. */
static int finish_dup(struct impi_comm *c, uint64_t cid, MPI_Comm comm,
                      MPI_Comm *newcomm)
{
    struct comm_parts parts = {.comm = comm,
                               .p2p = comm,
                               .cid = cid,
                               .world = c->world,
                               .size = c->size,
                               .low = c->inter ? c->first + c->peer : 0};
    int rc = MPI_SUCCESS;

    if (c->inter)
        rc = ASSISTED(impi_real.Comm_split(c->p2p, 0, 0, &parts.p2p));
    if (rc == MPI_SUCCESS)
        rc = comm_span(&parts, newcomm);
    if (rc == MPI_SUCCESS && c->topo)
        impi_span_find(*newcomm)->topo = topo_copy(c->topo);
    return rc;
}

static int dup_comm(struct impi_comm *c, MPI_Info info, bool with_info,
                    MPI_Comm *newcomm)
{
    MPI_Comm comm;
    uint64_t cid;
    int rc = cid_agree_dup(c, &cid);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = with_info
             ? ASSISTED(impi_real.Comm_dup_with_info(c->comm, info, &comm))
             : ASSISTED(impi_real.Comm_dup(c->comm, &comm));
    if (rc != MPI_SUCCESS)
        return rc; /* the native library has told the error handler */
    return be_raise(c->comm, finish_dup(c, cid, comm, newcomm));
}

/* A split calls no attribute callbacks. */
int comm_dup_own(struct impi_comm *c, MPI_Comm *newcomm)
{
    MPI_Errhandler errors;
    MPI_Comm comm;
    uint64_t cid;
    int rc = cid_agree_dup(c, &cid);

    if (rc == MPI_SUCCESS)
        rc = ASSISTED(impi_real.Comm_split(c->comm, 0, 0, &comm));
    if (rc != MPI_SUCCESS)
        return rc; /* the error handler has been told */
    rc = finish_dup(c, cid, comm, newcomm);
    if (rc == MPI_SUCCESS)
        rc = impi_real.Comm_get_errhandler(c->comm, &errors);
    if (rc != MPI_SUCCESS)
        return be_raise(c->comm, rc);
    rc = impi_real.Comm_set_errhandler(*newcomm, errors);
    impi_real.Errhandler_free(&errors);
    return rc;
}

int impi_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return ASSISTED(impi_real.Comm_dup(comm, newcomm));
    return dup_comm(c, MPI_INFO_NULL, false, newcomm);
}

int impi_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);

    if (!c)
        return ASSISTED(impi_real.Comm_dup_with_info(comm, info, newcomm));
    return dup_comm(c, info, true, newcomm);
}

/* ---- MPI_Comm_split ---- */

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

/* World ranks of all with this color, in the new order. */
static int pick(const struct impi_comm *c, struct place *all, int color,
                int *world)
{
    int n = 0;

    qsort(all, (size_t)c->size, sizeof(*all), by_place);
    for (int i = 0; i < c->size; i++) {
        if (all[i].color == color)
            world[n++] = c->world[all[i].rank];
    }
    return n;
}

static int finish_split(struct impi_comm *c, const struct place *own,
                        struct place *all, int *world, uint64_t cid,
                        MPI_Comm *newcomm)
{
    struct comm_parts parts = {.cid = cid, .world = world};
    int rc =
        ASSISTED(impi_real.Comm_split(c->comm, own->color, own->key, newcomm));

    if (rc != MPI_SUCCESS || own->color == MPI_UNDEFINED)
        return rc;
    parts.comm = parts.p2p = *newcomm;
    parts.size = pick(c, all, own->color, world);
    return be_raise(c->comm, comm_span(&parts, newcomm));
}

static int split(struct impi_comm *c, int color, int key, struct place *all,
                 int *world, MPI_Comm *newcomm)
{
    struct place own = {color, key, c->rank};
    uint64_t cid;
    int rc;

    if (!all || !world)
        return be_raise(c->comm, MPI_ERR_NO_MEM);
    rc = cid_agree(c, &cid);
    if (rc == MPI_SUCCESS)
        rc = coll_allgather_ints(c, &own.color, 3, &all->color);
    if (rc != MPI_SUCCESS)
        return rc;
    if (c->inter)
        return be_raise(c->comm, inter_split(c, &own, all, cid, newcomm));
    return finish_split(c, &own, all, world, cid, newcomm);
}

int impi_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct place *all;
    int *world, rc;

    if (!c)
        return ASSISTED(impi_real.Comm_split(comm, color, key, newcomm));
    if (color < 0 && color != MPI_UNDEFINED)
        return be_raise(comm, MPI_ERR_ARG);
    all = calloc((size_t)c->size, sizeof(*all));
    world = calloc((size_t)c->size, sizeof(*world));
    rc = split(c, color, key, all, world, newcomm);
    free(all);
    free(world);
    return rc;
}

/* ---- MPI_Comm_split_type ---- */

/* What each says: what it asks for, and the machine where it would share
 * memory of windows. */
enum { ASKS_NOTHING, ASKS_SHARED, ASKS_OTHER };
struct asked {
    int what, machine[2];
};

static struct asked ask(int split_type)
{
    uint64_t machine = win_share_wanted() ? share_machine() : 0;
    struct asked a = {split_type == MPI_UNDEFINED          ? ASKS_NOTHING
                      : split_type == MPI_COMM_TYPE_SHARED ? ASKS_SHARED
                                                           : ASKS_OTHER,
                      {(int)(machine >> 32), (int)(uint32_t)machine}};

    return a;
}

/* The first of the same machine.  *own: each client splits for itself, for
 * somebody wants no sharing, or all something else. */
static int color_of(const struct asked *all, int n, int rank, bool *own)
{
    int color = rank;

    *own = false;
    for (int i = n - 1; i >= 0; i--) {
        if (all[i].what == ASKS_OTHER ||
            (all[i].what == ASKS_SHARED && !all[i].machine[0] &&
             !all[i].machine[1]))
            *own = true;
        if (all[i].what == ASKS_SHARED &&
            memcmp(all[i].machine, all[rank].machine, sizeof(all[i].machine)) ==
                0)
            color = i;
    }
    return all[rank].what == ASKS_SHARED ? color : MPI_UNDEFINED;
}

static int split_by_machine(struct impi_comm *c, int split_type, int *color,
                            bool *own)
{
    struct asked mine = ask(split_type);
    struct asked *all = calloc((size_t)c->size, sizeof(*all));
    int rc;

    if (!all)
        be_die(1, "SF-E403: no memory for a communicator");
    rc = coll_allgather_ints(c, &mine.what, 3, &all->what);
    *color = color_of(all, c->size, c->rank, own);
    free(all);
    return rc;
}

/* Where windows share memory, so do processes of several clients. */
int impi_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info,
                         MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    bool own = true;
    int color = 0, rc = MPI_SUCCESS;

    if (c && win_may_share(c))
        rc = split_by_machine(c, split_type, &color, &own);
    if (rc != MPI_SUCCESS)
        return rc;
    if (own)
        return ASSISTED(
            impi_real.Comm_split_type(comm, split_type, key, info, newcomm));
    return impi_Comm_split(comm, color, key, newcomm);
}

/* ---- comm create ------------------------------------------------------- */

/* MPI_Comm_create and MPI_Comm_create_group: communicators of a group. */

static bool is_in(const struct impi_comm *c, int world)
{
    for (int i = 0; i < c->local; i++) {
        if (c->world[c->first + i] == world)
            return true;
    }
    return false;
}

/* The members of a group that must be a part of c's own group. */
static int subset(const struct impi_comm *c, MPI_Group group, struct members *m)
{
    int rc = members_of(group, m);

    for (int i = 0; i < m->n && rc == MPI_SUCCESS; i++) {
        if (!is_in(c, m->world[i]))
            rc = MPI_ERR_GROUP;
    }
    return rc;
}

static int create_part(struct impi_comm *c, const struct members *m,
                       uint64_t cid, MPI_Comm *newcomm)
{
    struct comm_parts parts = {.cid = cid, .world = m->world, .size = m->n};
    MPI_Group native;
    int rc = group_native_part(m->world, m->n, &native);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = ASSISTED(impi_real.Comm_create(c->comm, native, newcomm));
    group_drop(native);
    if (rc != MPI_SUCCESS || *newcomm == MPI_COMM_NULL)
        return rc;
    parts.comm = parts.p2p = *newcomm;
    return comm_span(&parts, newcomm);
}

/* As a split in which the place in the group is the key. */
static int create_inter(struct impi_comm *c, const struct members *m,
                        uint64_t cid, MPI_Comm *newcomm)
{
    int at = members_find(m, impi_be.rank), rc;
    struct place own = {at < 0 ? MPI_UNDEFINED : 0, at, c->rank};
    struct place *all = calloc((size_t)c->size, sizeof(*all));

    if (!all)
        return MPI_ERR_NO_MEM;
    rc = coll_allgather_ints(c, &own.color, 3, &all->color);
    if (rc == MPI_SUCCESS)
        rc = inter_split(c, &own, all, cid, newcomm);
    free(all);
    return rc;
}

static int create(struct impi_comm *c, const struct members *m,
                  MPI_Comm *newcomm)
{
    uint64_t cid;
    int rc = cid_agree(c, &cid);

    if (rc != MPI_SUCCESS)
        return rc;
    return be_raise(c->comm, c->inter ? create_inter(c, m, cid, newcomm)
                                      : create_part(c, m, cid, newcomm));
}

int impi_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct members m;
    int rc;

    if (!c && impi_group_ours(group))
        return be_raise(comm, MPI_ERR_GROUP);
    if (!c)
        return ASSISTED(impi_real.Comm_create(comm, group, newcomm));
    rc = subset(c, group, &m);
    rc = rc == MPI_SUCCESS ? create(c, &m, newcomm) : be_raise(comm, rc);
    free(m.world);
    return rc;
}

/* Only the group's members come: they agree in a context that is theirs for
 * the time, told from others of the same kind by the tag. */
static int group_agree(struct comm_parts *parts, int tag)
{
    struct impi_comm *c;
    uint64_t cid;
    int rc = ASSISTED(impi_real.Comm_split(parts->p2p, 0, 0, &parts->hidden));

    if (rc != MPI_SUCCESS)
        return rc;
    impi_real.Comm_set_errhandler(parts->hidden, MPI_ERRORS_RETURN);
    be_lock();
    c = comm_create(parts);
    be_unlock();
    if (!c)
        return MPI_ERR_NO_MEM;
    c->tag_base = (tag & 0x3fffff) << 8;
    rc = cid_agree(c, &cid);
    be_lock();
    c->tag_base = 0;
    c->cid = cid;
    if (rc == MPI_SUCCESS && impi_span_add(parts->comm, c) < 0)
        rc = MPI_ERR_NO_MEM;
    if (rc != MPI_SUCCESS)
        comm_release(c);
    be_unlock();
    return rc;
}

/* MPICH's MPI_Comm_create_group crashes where the communicator's own group was
 * never asked for. */
static int have_native_group(MPI_Comm comm)
{
    MPI_Group group;
    int rc;

    be_lock();
    rc = impi_real.Comm_group(comm, &group);
    if (rc == MPI_SUCCESS)
        rc = impi_real.Group_free(&group);
    be_unlock();
    return rc;
}

static int create_group(struct impi_comm *c, const struct members *m, int tag,
                        MPI_Comm *newcomm)
{
    struct comm_parts parts = {
        .cid = c->cid | CID_FOR_GROUPS, .world = m->world, .size = m->n};
    MPI_Group native;
    int rc = have_native_group(c->comm);

    if (rc == MPI_SUCCESS)
        rc = group_native_part(m->world, m->n, &native);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = ASSISTED(impi_real.Comm_create_group(c->comm, native, tag, newcomm));
    group_drop(native);
    if (rc != MPI_SUCCESS || *newcomm == MPI_COMM_NULL ||
        comm_in_one_client(m->world, m->n))
        return rc;
    parts.comm = parts.p2p = *newcomm;
    return group_agree(&parts, tag);
}

int impi_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag,
                           MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(comm);
    struct members m = {0};
    int rc;

    if (!c && impi_group_ours(group))
        return be_raise(comm, MPI_ERR_GROUP);
    if (!c)
        return ASSISTED(impi_real.Comm_create_group(comm, group, tag, newcomm));
    if (c->inter)
        return be_raise(comm, MPI_ERR_COMM);
    rc = subset(c, group, &m);
    *newcomm = MPI_COMM_NULL;
    if (rc == MPI_SUCCESS && members_find(&m, impi_be.rank) >= 0)
        rc = create_group(c, &m, tag, newcomm);
    free(m.world);
    return be_raise(comm, rc);
}

/* ---- comm inter -------------------------------------------------------- */

/* Intercommunicators. Inside, one is a communicator over both groups
 * (comm.h); its native parts are one of the own group's members in this
 * client, which is the program's handle, and one of both groups' members, for
 * messages. */

/* ---- MPI_Comm_split, MPI_Comm_create ---- */

/* The new members of one of c's groups, its first rank and size given. */
static int pick_half(const struct impi_comm *c, const struct place *all,
                     int first, int size, int color, int *world)
{
    struct place *p = malloc((size_t)size * sizeof(*p));
    int n = 0;

    if (!p)
        return -1;
    for (int i = 0; i < size; i++) {
        if (all[first + i].color == color)
            p[n++] = all[first + i];
    }
    qsort(p, (size_t)n, sizeof(*p), by_place);
    for (int i = 0; i < n; i++)
        world[i] = c->world[p[i].rank];
    free(p);
    return n;
}

/* world[]: both new groups, the one of c's lower group first. */
static int split_parts(struct impi_comm *c, const struct place *own,
                       const int *world, int low, int size, uint64_t cid,
                       MPI_Comm *newcomm)
{
    struct comm_parts parts = {
        .cid = cid, .world = world, .size = size, .low = low};
    bool none =
        own->color == MPI_UNDEFINED || low == 0 || low == size || size == 0;
    int color = none ? MPI_UNDEFINED : own->color;
    int rc =
        ASSISTED(impi_real.Comm_split(c->comm, color, own->key, &parts.comm));

    if (rc == MPI_SUCCESS)
        rc = ASSISTED(impi_real.Comm_split(
            c->p2p, color, none ? 0 : comm_place(world, size, impi_be.rank),
            &parts.p2p));
    *newcomm = MPI_COMM_NULL;
    if (rc != MPI_SUCCESS || none)
        return rc;
    return comm_span(&parts, newcomm);
}

static int inter_split(struct impi_comm *c, const struct place *own,
                       struct place *all, uint64_t cid, MPI_Comm *newcomm)
{
    int *world = malloc((size_t)c->size * sizeof(int)), rc;
    int first = c->first + c->peer, low, high = -1;

    if (!world)
        return MPI_ERR_NO_MEM;
    low = pick_half(c, all, 0, first, own->color, world);
    if (low >= 0)
        high =
            pick_half(c, all, first, c->size - first, own->color, world + low);
    rc = high < 0 ? MPI_ERR_NO_MEM
                  : split_parts(c, own, world, low, low + high, cid, newcomm);
    free(world);
    return rc;
}

/* ---- MPI_Intercomm_create ---- */

/* What the leaders tell each other: proposal and number of processes, then the
 * processes' world ranks.  A process of another world has no such rank (its
 * group says 0 processes): such groups meet by a port, as if by
 * MPI_Comm_accept and MPI_Comm_connect, whose name the leaders tell each
 * other. */
struct side {
    uint64_t head[2];
    int *world;
};

/* What a leader tells its group in the place of a proposal where it tells of no
 * processes. */
enum { MEETS_CONNECTS, MEETS_ACCEPTS, MEETS_NOBODY };

struct making {
    MPI_Comm local;
    int leader; /* in local */
    int rank;   /* own rank there */
    MPI_Comm peer;
    int remote; /* the other leader's rank in peer */
    int tag;
    struct side own, other;
    char port[IMPI_PORT_NAME_SIZE]; /* the leader's, where there is one */
};

/* Others know a process of another world by another number. */
static bool is_at_home(const struct members *m)
{
    for (int i = 0; i < m->n; i++) {
        if (m->world[i] < 0 || (uint32_t)m->world[i] >= impi_be.home)
            return false;
    }
    return true;
}

static bool leads_abroad(const struct making *m)
{
    const struct impi_comm *c = impi_span_find(m->peer);

    return c && m->remote >= 0 && m->remote < c->peers &&
           (uint32_t)c->world[c->peer + m->remote] >= impi_be.home;
}

/* Ranks of the local communicator, and the highest proposal of them. */
static int own_side(struct making *m)
{
    struct impi_comm *c = impi_span_find(m->local);
    uint64_t own = cid_propose();
    struct members all = {0};
    MPI_Group group;
    int rc = c && c->inter ? MPI_ERR_COMM : impi_Comm_group(m->local, &group);

    if (rc == MPI_SUCCESS) {
        rc = members_of(group, &all);
        group_drop(group);
    }
    if (rc != MPI_SUCCESS)
        return be_raise(m->local, rc);
    m->own.world = all.world;
    m->own.head[1] = is_at_home(&all) ? (uint64_t)all.n : 0;
    m->rank = members_find(&all, impi_be.rank);
    return impi_Reduce(&own, &m->own.head[0], 1, MPI_UINT64_T, MPI_MAX,
                       m->leader, m->local);
}

static int swap_heads(struct making *m)
{
    return impi_Sendrecv(m->own.head, 2, MPI_UINT64_T, m->remote, m->tag,
                         m->other.head, 2, MPI_UINT64_T, m->remote, m->tag,
                         m->peer, MPI_STATUS_IGNORE);
}

static int swap_worlds(struct making *m)
{
    return impi_Sendrecv(m->own.world, (int)m->own.head[1], MPI_INT, m->remote,
                         m->tag, m->other.world, (int)m->other.head[1], MPI_INT,
                         m->remote, m->tag, m->peer, MPI_STATUS_IGNORE);
}

static int swap_by_peer(void *arg, const void *out, void *in, size_t len)
{
    const struct making *m = arg;
    int rc =
        impi_Sendrecv(out, (int)len, MPI_BYTE, m->remote, m->tag, in, (int)len,
                      MPI_BYTE, m->remote, m->tag, m->peer, MPI_STATUS_IGNORE);

    return rc == MPI_SUCCESS ? 0 : -1;
}

/* The leader: heads, and whether numbers of the own world do.  Where not, who
 * of the two accepts, in the place of a proposal, and no processes. */
static int swap_leaders(struct making *m)
{
    bool abroad = leads_abroad(m), acceptor = false;
    int rc = swap_heads(m);

    if (rc != MPI_SUCCESS)
        return rc;
    if (!abroad && m->own.head[1] > 0 && m->other.head[1] > 0) {
        if (m->other.head[0] < m->own.head[0])
            m->other.head[0] = m->own.head[0];
        return rc;
    }
    if (port_agree(swap_by_peer, m, m->port, &acceptor) < 0)
        return failed_note_why(m->peer, MPI_ERR_OTHER,
                               "the leaders agree on no port");
    m->other.head[0] = acceptor ? MEETS_ACCEPTS : MEETS_CONNECTS;
    m->other.head[1] = 0;
    return rc;
}

/* The leader has no other group to tell its own of. */
static int leader_failed(const struct making *m)
{
    return failed_note_why(m->local, MPI_ERR_OTHER,
                           "the leader of this group could not talk to the "
                           "other one");
}

/* What the leader has heard in n elements, or that it failed (own): then the
 * others have an error as well. */
static int tell_group(const struct making *m, void *heard, int n,
                      MPI_Datatype type, int own)
{
    int rc = impi_Bcast(heard, n, type, m->leader, m->local);

    return own != MPI_SUCCESS ? own : rc;
}

static int other_worlds(struct making *m, bool leads)
{
    int rc = leads ? swap_worlds(m) : MPI_SUCCESS;

    if (rc != MPI_SUCCESS)
        m->other.world[0] = -1;
    rc = tell_group(m, m->other.world, (int)m->other.head[1], MPI_INT, rc);
    if (rc == MPI_SUCCESS && m->other.world[0] < 0)
        rc = leader_failed(m);
    return rc;
}

/* The other group, and the highest proposal of both; or that they meet by a
 * port. */
static int other_side(struct making *m)
{
    bool leads = m->rank == m->leader;
    int rc = leads ? swap_leaders(m) : MPI_SUCCESS;

    if (rc != MPI_SUCCESS) {
        m->other.head[0] = MEETS_NOBODY;
        m->other.head[1] = 0;
    }
    rc = tell_group(m, m->other.head, 2, MPI_UINT64_T, rc);
    if (rc != MPI_SUCCESS)
        return rc;
    if (m->other.head[1] == 0)
        return m->other.head[0] == MEETS_NOBODY ? leader_failed(m)
                                                : MPI_SUCCESS;
    if (m->other.head[1] > impi_be.home)
        return be_raise(m->local, MPI_ERR_INTERN);
    m->other.world = malloc((size_t)m->other.head[1] * sizeof(int));
    if (!m->other.world)
        return be_raise(m->local, MPI_ERR_NO_MEM);
    return other_worlds(m, leads);
}

/* world[]: both groups, the one whose first process is lower in front. */
static void join_sides(const struct making *m, struct comm_parts *parts,
                       int *world)
{
    bool first = m->own.world[0] < m->other.world[0];
    const struct side *a = first ? &m->own : &m->other;
    const struct side *b = first ? &m->other : &m->own;

    memcpy(world, a->world, (size_t)a->head[1] * sizeof(int));
    memcpy(world + a->head[1], b->world, (size_t)b->head[1] * sizeof(int));
    parts->world = world;
    parts->low = (int)a->head[1];
    parts->size = (int)(a->head[1] + b->head[1]);
}

static int world_is_sound(const struct comm_parts *p)
{
    for (int i = 0; i < p->size; i++) {
        if (p->world[i] < 0 || (uint32_t)p->world[i] >= impi_be.home)
            return 0;
    }
    return 1;
}

static int make_parts(struct making *m, struct comm_parts *parts)
{
    struct impi_comm *c = impi_span_find(m->local);
    MPI_Comm local = c ? c->comm : m->local;
    int tag = (int)(parts->cid / 2 % 16381) + 1;
    MPI_Group native;
    int rc = ASSISTED(impi_real.Comm_split(local, 0, 0, &parts->comm));

    if (rc == MPI_SUCCESS)
        rc = group_native_part(parts->world, parts->size, &native);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = ASSISTED(
        impi_real.Comm_create_group(MPI_COMM_WORLD, native, tag, &parts->p2p));
    group_drop(native);
    return rc;
}

static int intercomm(struct making *m, int *world, MPI_Comm *newcomm)
{
    struct comm_parts parts = {0};
    int rc;

    if (!world)
        return MPI_ERR_NO_MEM;
    join_sides(m, &parts, world);
    if (!world_is_sound(&parts))
        return MPI_ERR_GROUP;
    rc = cid_take(m->other.head[0], &parts.cid);
    if (rc == MPI_SUCCESS)
        rc = make_parts(m, &parts);
    return rc == MPI_SUCCESS ? comm_span(&parts, newcomm) : rc;
}

static int with_other_side(struct making *m, MPI_Comm *newintercomm)
{
    int rc = own_side(m), *world = NULL;

    if (rc == MPI_SUCCESS)
        rc = other_side(m);
    if (rc == MPI_SUCCESS && m->other.head[1] == 0) {
        rc = port_meet(m->port, m->other.head[0] == MEETS_ACCEPTS, m->leader,
                       m->local, newintercomm);
    } else if (rc == MPI_SUCCESS) {
        world =
            malloc((size_t)(m->own.head[1] + m->other.head[1]) * sizeof(int));
        rc = be_raise(m->local, intercomm(m, world, newintercomm));
    }
    free(world);
    free(m->own.world);
    free(m->other.world);
    return rc;
}

/* Is it for the library to complain of, before anybody waits for another? */
static bool is_no_group(const struct making *m)
{
    int inter = 0, size = 0;

    return m->local == MPI_COMM_NULL ||
           impi_real.Comm_test_inter(m->local, &inter) != MPI_SUCCESS ||
           inter || impi_real.Comm_size(m->local, &size) != MPI_SUCCESS ||
           m->leader < 0 || m->leader >= size;
}

/* In a world of one client only the leader may know that there are others: it
 * says so, and the rest of its group get to know them.  *library: nobody has to
 * do with another world. */
static int ask_leader(struct making *m, bool *library)
{
    int abroad = impi_be.p2p && impi_span_find(m->peer), rc;
    struct errbuf err = {""};

    *library = false;
    if (impi_span_find(m->local))
        return MPI_SUCCESS;
    *library = true;
    if (is_no_group(m))
        return MPI_SUCCESS;
    rc = impi_Bcast(&abroad, 1, MPI_INT, m->leader, m->local);
    *library = rc != MPI_SUCCESS || !abroad;
    if (!*library && world_open(&err) < 0 && !impi_be.p2p)
        be_die(1, "SF-E403: cannot meet another world: %s", err.text);
    return rc;
}

int impi_Intercomm_create(MPI_Comm local_comm, int local_leader,
                          MPI_Comm peer_comm, int remote_leader, int tag,
                          MPI_Comm *newintercomm)
{
    struct making m = {.local = local_comm,
                       .leader = local_leader,
                       .peer = peer_comm,
                       .remote = remote_leader,
                       .tag = tag};
    bool library = false;
    int rc = impi_be.spanning ? MPI_SUCCESS : ask_leader(&m, &library);

    if (rc != MPI_SUCCESS)
        return rc;
    if (library)
        return ASSISTED(impi_real.Intercomm_create(local_comm, local_leader,
                                                   peer_comm, remote_leader,
                                                   tag, newintercomm));
    return with_other_side(&m, newintercomm);
}

/* ---- two worlds -------------------------------------------------------- */

int comm_members(MPI_Comm comm, int *world, int n)
{
    struct members all = {0};
    MPI_Group group;
    int rc = impi_Comm_group(comm, &group);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = members_of(group, &all);
    group_drop(group);
    if (rc == MPI_SUCCESS && all.n == n)
        memcpy(world, all.world, (size_t)n * sizeof(int));
    free(all.world);
    return rc;
}

int comm_couple(MPI_Comm local, const int *world, int low, int size,
                uint64_t cid, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(local);
    MPI_Comm native = c ? c->comm : local;
    struct comm_parts parts = {
        .world = world, .low = low, .size = size, .cid = cid};
    int rc = ASSISTED(impi_real.Comm_split(native, 0, 0, &parts.comm));

    if (rc == MPI_SUCCESS)
        rc = ASSISTED(impi_real.Comm_split(native, 0, 0, &parts.p2p));
    return rc == MPI_SUCCESS ? comm_span(&parts, newcomm) : rc;
}

/* ---- comm idup --------------------------------------------------------- */

/* MPI_Comm_idup of a spanning communicator: native duplicates and the
 * agreement on a context id as one collective call. */

struct idup {
    struct comm_parts parts;
    MPI_Comm comm; /* the handle of the old one */
    uint64_t own, max;
    MPI_Comm *newcomm;
    MPI_Info info; /* of the program's handle, where it has one */
    bool with_info;
};

/* Where several are called one after the other, one at a time: Open MPI mixes
 * up those on one communicator if their order is not the same everywhere. */
static int idup_native(struct coll *x)
{
    struct idup *d = x->arg;
    int rc =
        impi_real.Comm_idup(x->c->hidden, &d->parts.hidden, coll_native(x));

    if (rc == MPI_SUCCESS)
        rc = d->with_info
                 ? impi_real.Comm_idup_with_info(d->comm, d->info,
                                                 &d->parts.comm, coll_native(x))
                 : impi_real.Comm_idup(d->comm, &d->parts.comm, coll_native(x));
    if (rc == MPI_SUCCESS && x->c->inter)
        rc = impi_real.Comm_idup(x->c->p2p, &d->parts.p2p, coll_native(x));
    return rc;
}

static int idup_finish(struct coll *x, int rc)
{
    struct idup *d = x->arg;
    struct impi_comm *n = NULL;

    if (d->info != MPI_INFO_NULL)
        impi_real.Info_free(&d->info);
    if (!x->c->inter)
        d->parts.p2p = d->parts.comm;
    if (rc == MPI_SUCCESS)
        rc = cid_take(d->max, &d->parts.cid);
    if (rc == MPI_SUCCESS) {
        impi_real.Comm_set_errhandler(d->parts.hidden, MPI_ERRORS_RETURN);
        n = comm_add(&d->parts);
        rc = n ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    if (n && x->c->topo)
        n->topo = topo_copy(x->c->topo);
    *d->newcomm = d->parts.comm;
    return rc;
}

static int make_idup(struct coll *x, struct idup *d, MPI_Comm *newcomm)
{
    struct impi_comm *c = x->c;
    int rc;

    coll_keep(x, d);
    d->own = cid_propose_own();
    d->newcomm = newcomm;
    d->parts.world = c->world;
    d->parts.size = c->size;
    d->parts.low = c->inter ? c->first + c->peer : 0;
    x->arg = d;
    x->local = idup_native;
    x->finish = idup_finish;
    d->comm = c->comm;
    rc = coll_make_allreduce(x, &d->own, &d->max, 1, MPI_UINT64_T, MPI_MAX);
    if (rc == MPI_SUCCESS)
        rc = coll_made(impi_schedule_add_other(&x->steps));
    return rc;
}

static int start_idup(struct impi_comm *c, bool with_info, MPI_Info info,
                      MPI_Comm *newcomm, MPI_Request *request)
{
    struct coll *x = coll_new(c);
    struct idup *d = calloc(1, sizeof(*d));
    int rc = MPI_ERR_NO_MEM;

    if (d) {
        d->with_info = with_info;
        d->info = MPI_INFO_NULL;
        rc = info == MPI_INFO_NULL ? MPI_SUCCESS
                                   : impi_real.Info_dup(info, &d->info);
    }
    if (rc == MPI_SUCCESS)
        rc = make_idup(x, d, newcomm);
    else
        free(d);
    return coll_run(x, rc, request);
}

int impi_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    struct impi_comm *c = impi_span_find(comm);

    return c ? start_idup(c, false, MPI_INFO_NULL, newcomm, request)
             : impi_real.Comm_idup(comm, newcomm, request);
}

int impi_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm,
                             MPI_Request *request)
{
    struct impi_comm *c = impi_span_find(comm);

    return c ? start_idup(c, true, info, newcomm, request)
             : impi_real.Comm_idup_with_info(comm, info, newcomm, request);
}

/* ---- comm merge -------------------------------------------------------- */

/* MPI_Intercomm_merge: a context id and who goes in front, then one group. */

static int merge_parts(struct impi_comm *c, bool turned, uint64_t cid,
                       int *world, MPI_Comm *newcomm)
{
    int low = c->first + c->peer, high = c->size - low;
    struct comm_parts parts = {.cid = cid, .world = world, .size = c->size};
    size_t one = sizeof(int);
    int rc;

    memcpy(world + (turned ? high : 0), c->world, (size_t)low * one);
    memcpy(world + (turned ? 0 : low), c->world + low, (size_t)high * one);
    rc = ASSISTED(impi_real.Comm_split(
        c->p2p, 0, comm_place(world, c->size, impi_be.rank), newcomm));
    if (rc != MPI_SUCCESS)
        return rc;
    parts.comm = parts.p2p = *newcomm;
    return comm_span(&parts, newcomm);
}

/* both[]: what `high` the two groups have given, the lower one's first. */
static int merge_order(struct impi_comm *c, int high, int *both)
{
    int own[2] = {0, 0};

    own[c->first > 0] = high != 0;
    return coll_allreduce(c, own, both, 2, MPI_INT, MPI_MAX);
}

/* The same in the standard's messages. */
static int strict_order(struct impi_comm *c, int high, uint64_t *cid, int *both)
{
    uint64_t max = cid_propose();
    int upper = c->first > 0;
    int rc = criss_merge(c, &max, high, &both[!upper]);

    both[upper] = high != 0;
    return rc == MPI_SUCCESS ? be_raise(c->comm, cid_take(max, cid)) : rc;
}

static int merge_agree(struct impi_comm *c, int high, uint64_t *cid,
                       bool *turned)
{
    int both[2] = {0, 0}, rc;

    if (comm_strict()) {
        rc = strict_order(c, high, cid, both);
    } else {
        rc = cid_agree(c, cid);
        if (rc == MPI_SUCCESS)
            rc = merge_order(c, high, both);
    }
    *turned = both[0] > both[1];
    return rc;
}

int impi_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newcomm)
{
    struct impi_comm *c = impi_span_find(intercomm);
    uint64_t cid;
    bool turned;
    int rc, *world;

    if (!c)
        return ASSISTED(impi_real.Intercomm_merge(intercomm, high, newcomm));
    if (!c->inter)
        return be_raise(intercomm, MPI_ERR_COMM);
    rc = merge_agree(c, high, &cid, &turned);
    if (rc != MPI_SUCCESS)
        return rc;
    world = malloc((size_t)c->size * sizeof(int));
    rc = world ? merge_parts(c, turned, cid, world, newcomm) : MPI_ERR_NO_MEM;
    free(world);
    return be_raise(intercomm, rc);
}
