/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier and Bcast on spanning communicators, blocking and not: the steps
 * that impi/schedule.h prescribes.
 */
#include "libimpi/coll.h"

#include "libimpi/comm_make.h"
#include "libimpi/buffer.h"

struct impi_coll_rules coll_rules(void)
{
    int32_t n = impi_be.world.coll_maxlinear;

    return (struct impi_coll_rules){.maxlinear = n > 0 ? (uint32_t)n : 0,
                                    .exchange = !comm_strict()};
}

struct impi_sides coll_sides(const struct impi_comm *c)
{
    return (struct impi_sides){.first = (uint32_t)c->first,
                               .size = (uint32_t)c->local,
                               .peer = (uint32_t)c->peer,
                               .npeers = (uint32_t)c->peers};
}

int coll_role(const struct impi_comm *c, int root, enum impi_role *role,
              uint32_t *rank)
{
    *rank = 0;
    *role = IMPI_ROLE_IDLE;
    if (c->inter && (root == MPI_ROOT || root == MPI_PROC_NULL)) {
        *role = root == MPI_ROOT ? IMPI_ROLE_ROOT : IMPI_ROLE_IDLE;
        return MPI_SUCCESS;
    }
    if (root < 0 || root >= c->peers)
        return MPI_ERR_ROOT;
    *rank = (uint32_t)(root + c->peer);
    *role = !c->inter && root == c->rank ? IMPI_ROLE_ROOT : IMPI_ROLE_OTHER;
    return MPI_SUCCESS;
}

/* ---- Barrier ---- */

static int make_barrier(struct coll *x)
{
    struct impi_coll_rules r = coll_rules();

    return coll_made(impi_schedule_barrier(&x->steps, x->c->units, &r,
                                           (uint32_t)x->c->rank));
}

int coll_barrier(struct impi_comm *c)
{
    struct coll *x = coll_new(c);

    return coll_run(x, make_barrier(x), NULL);
}

int impi_Barrier(MPI_Comm comm)
{
    struct impi_comm *c = impi_span_find(comm);

    return c ? coll_barrier(c) : ASSISTED(impi_real.Barrier(comm));
}

int impi_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    struct impi_comm *c = impi_span_find(comm);
    struct coll *x;

    if (!c)
        return impi_real.Ibarrier(comm, request);
    x = coll_new(c);
    return coll_run(x, make_barrier(x), request);
}

/* ---- Bcast ---- */

/* Those of ours: what others do is theirs. */
static uint32_t by_master(const struct impi_comm *c)
{
    uint32_t bits = 0;

    if (!impi_be.tolerated.bcast_master || c->inter)
        return 0;
    for (uint32_t n = 0; n < c->units->nmasters; n++) {
        uint32_t rank = impi_group_master_rank(c->units, n);
        uint32_t client = impi_be.client_of[c->world[rank]];

        if (impi_be.world.own_clients >> client & 1)
            bits |= UINT32_C(1) << n;
    }
    return bits;
}

static int make_bcast(struct coll *x, void *buf, int count, MPI_Datatype type,
                      uint32_t root)
{
    struct impi_coll_rules r = coll_rules();

    r.by_master = by_master(x->c);

    coll_use(x, IMPI_BUF_DATA, buf);
    x->count = count;
    x->type = type;
    return coll_made(impi_schedule_bcast(&x->steps, x->c->units, &r,
                                         (uint32_t)x->c->rank, root));
}

int coll_bcast(struct impi_comm *c, void *buf, int count, MPI_Datatype type,
               int root)
{
    struct coll *x = coll_new(c);

    return coll_run(x, make_bcast(x, buf, count, type, (uint32_t)root), NULL);
}

static int user_bcast(struct impi_comm *c, void *buf, int count,
                      MPI_Datatype type, int root, MPI_Request *request)
{
    struct coll *x = coll_new(c);
    struct impi_sides sides = coll_sides(c);
    enum impi_role role;
    uint32_t rank;
    int rc = coll_role(c, root, &role, &rank);

    if (rc == MPI_SUCCESS && count < 0)
        rc = MPI_ERR_COUNT;
    if (rc == MPI_SUCCESS && type == MPI_DATATYPE_NULL)
        rc = MPI_ERR_TYPE;
    if (rc == MPI_SUCCESS)
        rc = buffer_check(buf, count, type);
    if (rc == MPI_SUCCESS)
        rc = make_bcast(x, buf, count, type, c->inter ? 0 : rank);
    if (rc == MPI_SUCCESS && c->inter)
        rc = coll_made(impi_schedule_inter_bcast(
            &x->steps, c->units, (uint32_t)c->rank, &sides, role, rank));
    return coll_run(x, rc, request);
}

COLL_BOTH(Bcast, Ibcast,
          LIST(void *buffer, int count, MPI_Datatype datatype, int root),
          LIST(buffer, count, datatype, root),
          user_bcast(c, buffer, count, datatype, root, request))
