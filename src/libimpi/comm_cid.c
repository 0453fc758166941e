/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Context ids.  By the standard (IMPI 4.6) the members of the old
 * communicator agree on the highest id that any of them uses, made odd, plus
 * one.  That wants one agreement at a time: two threads of the same two
 * processes could arrive at one number for two communicators.  So whoever may
 * have more than one under way proposes a number that nobody else has, made
 * of its rank and a counter, above all ordinary ones; the highest proposal is
 * then the id itself.
 */
#include "impi/constants.h"
#include "libimpi/coll.h"
#include "libimpi/comm_criss.h"
#include "libimpi/comm_make.h"
#include "libimpi/state.h"

#define OWN_ID (UINT64_C(1) << 62)
#define OWN_RANK_SHIFT 34

uint64_t cid_propose_own(void)
{
    static uint64_t counter;
    uint64_t n = __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED);

    return OWN_ID | (uint64_t)impi_be.rank << OWN_RANK_SHIFT | n << 1;
}

bool comm_strict(void)
{
    return !(impi_be.world.flags & IMPI_WORLD_EXTENDED);
}

uint64_t cid_propose(void)
{
    if (impi_be.multiple && !comm_strict())
        return cid_propose_own();
    return impi_be.max_cid | 1;
}

int cid_take(uint64_t max, uint64_t *cid)
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
int cid_agree(struct impi_comm *c, uint64_t *cid)
{
    uint64_t own = cid_propose(), max;
    int rc = coll_allreduce(c, &own, &max, 1, MPI_UINT64_T, MPI_MAX);

    return rc == MPI_SUCCESS ? be_raise(c->comm, cid_take(max, cid)) : rc;
}

int cid_agree_dup(struct impi_comm *c, uint64_t *cid)
{
    uint64_t max = cid_propose();
    int rc;

    if (!c->inter || !comm_strict())
        return cid_agree(c, cid);
    rc = criss_dup(c, &max);
    return rc == MPI_SUCCESS ? be_raise(c->comm, cid_take(max, cid)) : rc;
}
