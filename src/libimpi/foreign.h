/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes of other worlds, which this one has met by a port (port.h).  They
 * stand behind those of the own world in its tables, in the order in which they
 * came, and keep their place; each process has numbers of its own for them, so
 * such a number never leaves it.  All of one meeting are a couple.
 *
 * Under the lock, unless said otherwise.
 */
#ifndef LIBIMPI_FOREIGN_H
#define LIBIMPI_FOREIGN_H

#include "impi/couple.h"
#include "libimpi/comm.h"

struct couple {
    uint32_t number; /* the same on both sides */
    uint8_t secret[IMPI_CHAN_SECRET_SIZE];
    bool acceptor; /* we are; its connections win over the others' */
    bool share;    /* channels begin with an offer of shared memory */
    bool children; /* this world has had them started */
    uint32_t own;  /* own rank in the own group, */
    int *group;    /* [ngroup] which is these of the own tables; owned */
    uint32_t ngroup;
    /* Of the connections inside the own group, where its world is one client
     * and has no other secret. */
    uint8_t group_secret[IMPI_CHAN_SECRET_SIZE];
    uint32_t first, n; /* the others, as peers; */
    uint32_t *can;     /* [n] IMPI_SIDE_FILES and so on; owned */
    unsigned comms;    /* communicators with some of them */
    struct couple *next;
};

/* Their place in all tables.  The rest of `like` is given; its group is the
 * couple's from then on.  Ends the job where there is no memory.  NULL: too
 * many, or that number is there. */
struct couple *foreign_add(const struct couple *like,
                           const struct impi_side *side);
/* A world of one client learns of its own processes so: where those of this
 * group are. */
void foreign_know_group(const struct couple *c, const struct impi_side *group);

/* Whose peer that is; NULL: of the own world.  The number of a couple. */
struct couple *foreign_of(uint32_t peer);
struct couple *foreign_find(uint32_t number);
/* One whose own group has that process of the own world, and its rank there. */
struct couple *foreign_beside(uint32_t peer, uint32_t *rank);

/* Do the worlds of all of c's processes that are of other ones do all of this
 * (IMPI_SIDE_FILES and so on)?  With what the own world does, which the others
 * know: so all members come to the same. */
bool foreign_all_can(const struct impi_comm *c, uint32_t what);
/* Does that peer's? */
bool foreign_can(uint32_t peer, uint32_t what);

/* This peer can be reached no more: what waits for it fails, the user is told
 * once for each couple. */
void foreign_lost(uint32_t peer, const char *why);

/* A receive or a probe is going to wait for `source` (its place in
 * c->world, or MPI_ANY_SOURCE): its end shows in a connection only, so one is
 * begun where there is none (to one process for MPI_ANY_SOURCE; the loss of one
 * has the others looked for). false: nobody is left to send. */
bool foreign_await(const struct impi_comm *c, int source);

/* A communicator has come; it goes.  With the last one of a couple the
 * connections to it end, which foreign_part() waits for (without the lock). */
void foreign_hold(struct impi_comm *c);
void foreign_release(struct impi_comm *c);
void foreign_part(void);

/* Children were parted from so lately (SF_IMPI_SPAWN_WAIT) that they may still
 * have their processors. */
bool foreign_children_leave(void);

/* At MPI_Finalize. */
void foreign_end(void);

#endif
