/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All processes of a schedule at once, up to thousands: what their buffers
 * hold, of vectors in parts each of them, and the rounds between clients.  A
 * process sends one message to another client in a round and takes one; within
 * a client nothing takes time.
 */
#ifndef SF_TESTS_SCHEDULE_WORLD_H
#define SF_TESTS_SCHEDULE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/constants.h"
#include "impi/schedule.h"

#define WORLD_MAX 4096
#define WORLD_SLOTS 8 /* steps within a client */

/* Those of ranks [low, low + n) folded, or of any n where order is no matter;
 * mark: how they were put together.  n = 0: nothing. */
struct value {
    uint32_t low, n;
    uint64_t mark;
};

/* A buffer that is looked at by parts: from part `from` on, up to the next. */
struct stretch {
    uint32_t from;
    struct value value;
};
struct stretches {
    uint32_t n, end; /* end: of the last one */
    struct stretch s[];
};

struct mail {
    uint32_t from;
    int32_t tag;
    bool taken;
    uint32_t round; /* it is there after this one */
    struct value value;
    struct stretches *parts; /* or these */
};

struct member {
    struct impi_schedule s;
    struct value buf[IMPI_NBUFS];
    size_t at, nmail, mail_size;
    struct mail *mail;
    uint32_t round;
    uint32_t slot; /* steps within the client */
    bool sent;     /* what the row at `at` sends */
    uint64_t messages, blocks;
    double vectors, taken;
    struct stretches *part[IMPI_NBUFS]; /* NULL: `buf` is all of it */
    bool ordered;                       /* acc is, or needs not be */
};

extern struct world {
    struct impi_group g;
    struct impi_coll_rules rules;
    struct member p[WORLD_MAX];
    uint32_t root;
    bool any_order; /* of what is folded */
} world;

struct counted {
    uint32_t rounds;   /* of the last one to end */
    uint64_t messages; /* between clients, in all */
    uint64_t busiest, blocks;
    /* That the busiest process sends to other clients, or takes; and all. */
    double vectors, taken, sum;
};

/* client[r] of each of `size` ranks.  Free with world_end(). */
void world_begin(const uint32_t *client, uint32_t size);
void world_end(void);
/* Each rank has its own in OWN, and in `too`, and nothing else. */
void world_fill(enum impi_step_buf too);
/* Until nothing moves: all are through and nothing is left over.  The
 * schedules are freed, the buffers stay. */
struct counted world_run(void);

/* Is it all of [low, low + n), in order unless any_order? */
void value_is(const struct value *v, uint32_t low, uint32_t n);

#define ALL(call)                                                              \
    for (uint32_t r = 0; r < world.g.size; r++)                                \
    assert_int_equal(call, 0)

#endif
