/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations on communicators that span clients (IMPI chapter 4)
 * as lists of steps for one process.  Local steps are done by the client's
 * own library; global ones are exactly those that the standard writes, no
 * other message goes between clients.  All messages travel in the collective
 * context of the communicator, ranks are ranks in it.
 *
 * The caller executes the steps in order, each complete before the next
 * begins (a send: its buffer may be reused), but for those marked `more`: the
 * next one begins at once, and all of such a row are complete before what
 * follows it begins.
 */
#ifndef SF_IMPI_SCHEDULE_H
#define SF_IMPI_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "impi/groups.h"

enum impi_step_kind {
    /* A message to or from `rank`, with `tag`, of or into `buf`.  `local`: that
     * process is of the own client (use the native library). */
    IMPI_STEP_SEND,
    IMPI_STEP_RECV,
    /* acc = buf op acc: MPI_Reduce_local(buf, acc). */
    IMPI_STEP_COMBINE,
    /* acc = acc op buf, which is spoilt. */
    IMPI_STEP_COMBINE_UNDER,
    /* into = buf op into. */
    IMPI_STEP_COMBINE_INTO,
    /* acc = own. */
    IMPI_STEP_COPY,
    /* The blocks of buf, own or acc, in the order of the parts (below): into
     * acc.  Of acc by way of tmp, which is spoilt. */
    IMPI_STEP_ORDER,
    /* Among the processes of the own client, all of which have this step.
     * FANIN: `rank` goes on when all have come.  FANOUT: the others go on when
     * `rank` has come.  REDUCE: own of all, into acc of `rank`.  BCAST: buf of
     * `rank` to buf of all. */
    IMPI_STEP_LOCAL_FANIN,
    IMPI_STEP_LOCAL_FANOUT,
    IMPI_STEP_LOCAL_REDUCE,
    IMPI_STEP_LOCAL_BCAST,
    /* What the caller has to do among them. */
    IMPI_STEP_LOCAL_OTHER
};

enum impi_step_buf {
    IMPI_BUF_NONE, /* empty message */
    IMPI_BUF_DATA, /* the buffer of a broadcast */
    IMPI_BUF_OWN,  /* this process's contribution to a reduction */
    IMPI_BUF_ACC,  /* partial result; the result in the end */
    IMPI_BUF_TMP,  /* a partial result received */
    IMPI_BUF_OUT,  /* block `block` of what this process hands out */
    IMPI_BUF_IN,   /* block `block` of what it gets */
    IMPI_BUF_LOW   /* of a scan: all that lies below the run of ranks */
};
#define IMPI_NBUFS 8

struct impi_step {
    uint8_t kind; /* enum impi_step_kind */
    uint8_t buf;  /* enum impi_step_buf */
    uint8_t into; /* likewise */
    bool local;
    bool more; /* the next step does not wait for this one */
    int32_t tag;
    uint32_t rank;
    uint32_t block;
    /* Not 0: so many parts of the vector from `part` on, not all of it. */
    uint32_t part, nparts;
};

/* The parts that steps move. */
struct impi_parts {
    uint32_t n; /* 0: there are none */
    /* NULL: they are about as long as each other.  Of a Reduce_scatter or an
     * Allgather part i is the blocks of ranks[first[i]] to ranks[first[i + 1] -
     * 1]. */
    const uint32_t *first, *ranks;
    uint32_t *made; /* memory of these, where it is the schedule's */
};

struct impi_schedule {
    struct impi_step *steps;
    size_t count;
    size_t size;
    struct impi_parts parts;
};

/* Vectors of so many bytes on the wire are long, and no piece of a Bcast is
 * longer than that: whoever has few_rounds, few_bytes knows the same numbers.
 */
#define IMPI_COLL_LONG (256 * 1024)
#define IMPI_COLL_PIECE (1024 * 1024 * 1024)

struct impi_coll_rules {
    uint32_t maxlinear; /* negotiated COLL_MAXLINEAR */
    /* Linear for fewer than maxlinear masters, not up to so many: the
     * standard says both, real implementations do the latter. */
    bool linear_below;
    /* No process is foreign: Allreduce by exchanges between the masters, where
     * they are 2, 4, 8 ..., in half the time of the standard's Reduce and
     * Bcast. */
    bool exchange;
    /* All have agreed on schedules of as few rounds between clients as are
     * known, in place of the standard's and of what older releases do: of
     * Barrier, Scan, Exscan, Reduce, Allreduce and Reduce_scatter. */
    bool few_rounds;
    /* All have agreed that no process sends more of a vector than it must,
     * either. */
    bool few_bytes;
    /* The vectors are long: what takes more rounds for fewer bytes is better.
     */
    bool is_long;
    /* Into so many pieces a long Bcast is cut, of which each goes by parts; 0
     * is 1. */
    uint32_t pieces;
    /* Bits of master numbers: all Bcasts from these clients are sent by the
     * master, which gets them from the root first.  Bcasts from two roots
     * then come in their order to a peer that matches by arrival. */
    uint32_t by_master;
};

/* Each replaces the steps in *s (zeroed or from an earlier call) by those of
 * process `rank`.  Return 0, or -1 with errno ENOMEM. */
int impi_schedule_barrier(struct impi_schedule *s, const struct impi_group *g,
                          const struct impi_coll_rules *rules, uint32_t rank);
/* buf is IMPI_BUF_DATA.  By parts, which are of bytes on the wire, an
 * IMPI_STEP_LOCAL_OTHER stands before and behind their steps: between the two
 * the data have this form. */
int impi_schedule_bcast(struct impi_schedule *s, const struct impi_group *g,
                        const struct impi_coll_rules *rules, uint32_t rank,
                        uint32_t root);
/* The result is in the root's acc.  An operation that does not commute is
 * folded strictly in rank order. */
int impi_schedule_reduce(struct impi_schedule *s, const struct impi_group *g,
                         const struct impi_coll_rules *rules, uint32_t rank,
                         uint32_t root, bool commutes);
/* The result is in everybody's acc, bit for bit the same. */
int impi_schedule_allreduce(struct impi_schedule *s, const struct impi_group *g,
                            const struct impi_coll_rules *rules, uint32_t rank,
                            bool commutes);

/* Units (elements, bytes) before each part, and of all: parts->n + 1 numbers.
 * lens: of the ranks' blocks, where parts are of blocks; else `all` is cut. */
void impi_parts_cut(const struct impi_parts *parts, const int *lens,
                    int64_t all, int64_t *cuts);
/* Units before the block of each of n ranks, by rank and in the order of the
 * parts; both are the same where there are none of blocks. */
void impi_parts_places(const struct impi_parts *parts, const int *lens,
                       uint32_t n, int *by_rank, int *places);

/* ---- blocks: each straight from the process that has it to the one that
 * wants it, all at once.  `self`: with the own block, which otherwise is in
 * place already. ---- */

/* From everybody's only OUT to the root's IN blocks.  tag: that of the
 * operation, which has others for its v form. */
int impi_schedule_gather(struct impi_schedule *s, const struct impi_group *g,
                         uint32_t rank, uint32_t root, bool self, int32_t tag);
/* From the masters' only OUT to IN blocks, by master number, of rank 0. */
int impi_schedule_gather_masters(struct impi_schedule *s,
                                 const struct impi_group *g, uint32_t rank);
/* From the root's OUT blocks to everybody's only IN. */
int impi_schedule_scatter(struct impi_schedule *s, const struct impi_group *g,
                          uint32_t rank, uint32_t root, bool self, int32_t tag);
/* Everybody's block to all, by clients: parts of data, which are the clients'
 * blocks, go from master to master.  The first step, an IMPI_STEP_LOCAL_OTHER,
 * brings those of a client to its master; the last one all of it back. */
int impi_schedule_allgather(struct impi_schedule *s, const struct impi_group *g,
                            uint32_t rank, int32_t tag);
/* From everybody's OUT blocks (or its only one) to everybody's IN blocks. */
int impi_schedule_alltoall(struct impi_schedule *s, const struct impi_group *g,
                           uint32_t rank, bool self, int32_t tag);

/* Blocks that go by way of others, in rounds: the one for the process at
 * distance d goes on by 2^k in round k for each bit k of d.  OUT and IN block k
 * are all that goes and comes in round k; before it, and after the last one, is
 * an IMPI_STEP_LOCAL_OTHER. */
int impi_schedule_rounds(struct impi_schedule *s, const struct impi_group *g,
                         uint32_t rank, int32_t tag);
/* The process at distance d of n, so many ranks ahead.  Where n is a power of
 * two, the one whose rank differs in d's bits: with neighbours most messages
 * stay near.  And the process at whose distance d this one is. */
uint32_t impi_rounds_ahead(uint32_t n, uint32_t rank, uint32_t d);
uint32_t impi_rounds_behind(uint32_t n, uint32_t rank, uint32_t d);

/* The short form of both: between clients all blocks of a client, or of a
 * subtree of clients, go in one message.  Clients are vertices, counted from
 * the root's (0); vertex v's bundle holds the blocks of `span` of them from
 * its own on, by vertex and then by rank, and is block g->size + v.  Blocks of
 * single processes are numbered by rank; the root's own is the caller's to
 * copy.  up: Gather (OUT is sent, IN comes), else Scatter. */
int impi_schedule_packed(struct impi_schedule *s, const struct impi_group *g,
                         const struct impi_coll_rules *rules, uint32_t rank,
                         uint32_t root, bool up);
uint32_t impi_packed_vertex(const struct impi_group *g, uint32_t root,
                            uint32_t rank);
/* Master number of vertex v. */
uint32_t impi_packed_client(const struct impi_group *g, uint32_t root,
                            uint32_t v);
uint32_t impi_packed_span(const struct impi_group *g,
                          const struct impi_coll_rules *rules, uint32_t v);

/* A message of a neighbourhood: block `block` to or from `rank`. */
struct impi_neighbour {
    uint32_t rank;
    uint32_t block;
    int32_t tag; /* tells messages between the same two apart */
};
int impi_schedule_neighbours(struct impi_schedule *s,
                             const struct impi_group *g, uint32_t rank,
                             const struct impi_neighbour *from, size_t nfrom,
                             const struct impi_neighbour *to, size_t nto);

/* ---- from rank to rank, or by doubling ---- */

/* acc = own folded with all lower ranks' own.  With `copy`, acc is own's copy
 * first; else the caller has put it there. */
int impi_schedule_scan(struct impi_schedule *s, const struct impi_group *g,
                       const struct impi_coll_rules *rules, uint32_t rank,
                       bool copy);
/* data = all lower ranks' own folded, rank 0's stays; acc: a copy of own. */
int impi_schedule_exscan(struct impi_schedule *s, const struct impi_group *g,
                         const struct impi_coll_rules *rules, uint32_t rank);
/* Reduce to rank 0, or to one of each client or run of ranks, whose OUT blocks
 * are its acc's; everybody's only IN. */
int impi_schedule_reduce_scatter(struct impi_schedule *s,
                                 const struct impi_group *g,
                                 const struct impi_coll_rules *rules,
                                 uint32_t rank, bool commutes);

/* ---- between the two groups of an intercommunicator ----
 * Both are numbered as one: [first, first + size) is the own group, [peer,
 * peer + npeers) the other one. */
struct impi_sides {
    uint32_t first, size;
    uint32_t peer, npeers;
};
enum impi_role {
    IMPI_ROLE_ROOT, /* MPI_ROOT */
    IMPI_ROLE_IDLE, /* in its group, MPI_PROC_NULL */
    IMPI_ROLE_OTHER /* in the group that does not have the root */
};
int impi_schedule_inter_bcast(struct impi_schedule *s,
                              const struct impi_group *g, uint32_t rank,
                              const struct impi_sides *sides,
                              enum impi_role role, uint32_t root);
int impi_schedule_inter_reduce(struct impi_schedule *s,
                               const struct impi_group *g, uint32_t rank,
                               const struct impi_sides *sides,
                               enum impi_role role, uint32_t root,
                               bool commutes);
/* tmp = the other group's own, folded. */
int impi_schedule_inter_allreduce(struct impi_schedule *s,
                                  const struct impi_group *g, uint32_t rank,
                                  const struct impi_sides *sides,
                                  bool commutes);
/* The same, at the leader only, whose OUT blocks lie in tmp; only IN. */
int impi_schedule_inter_reduce_scatter(struct impi_schedule *s,
                                       const struct impi_group *g,
                                       uint32_t rank,
                                       const struct impi_sides *sides,
                                       bool commutes);
int impi_schedule_inter_gather(struct impi_schedule *s,
                               const struct impi_group *g, uint32_t rank,
                               const struct impi_sides *sides,
                               enum impi_role role, uint32_t root);
int impi_schedule_inter_scatter(struct impi_schedule *s,
                                const struct impi_group *g, uint32_t rank,
                                const struct impi_sides *sides,
                                enum impi_role role, uint32_t root);
int impi_schedule_inter_alltoall(struct impi_schedule *s,
                                 const struct impi_group *g, uint32_t rank,
                                 const struct impi_sides *sides);

/* One IMPI_STEP_LOCAL_OTHER in front. */
int impi_schedule_add_other(struct impi_schedule *s);
/* One behind what is there: 0, or -1 with errno ENOMEM. */
int impi_schedule_then_other(struct impi_schedule *s);
void impi_schedule_free(struct impi_schedule *s);

/* True when a collective goes linear. */
bool impi_coll_is_linear(const struct impi_group *g,
                         const struct impi_coll_rules *rules);

#endif
