/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All processes of a schedule at once: messages between two of them are taken
 * in order, by tag.  A vector is a text; the operation puts texts one behind
 * the other.
 */
#ifndef SF_TESTS_SCHEDULE_SIM_H
#define SF_TESTS_SCHEDULE_SIM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "impi/constants.h"
#include "impi/schedule.h"

#define RANKS 10
#define DEEP 8

struct text {
    char s[RANKS + 2];
};

struct wire {
    struct text text[DEEP];
    int32_t tag[DEEP];
    int n;
};

struct process {
    struct impi_schedule s;
    size_t at, end; /* of the row under way */
    bool got[4 * RANKS];
    struct text buf[IMPI_NBUFS], out[2 * RANKS], in[2 * RANKS];
    bool single_out, single_in;
};

extern struct sim {
    struct impi_group g;
    struct process p[RANKS];
    struct wire wire[RANKS][RANKS];
    uint32_t size;
    int messages, cross; /* all; between clients */
} sim;

/* Ranks are dealt to clients in turns; rank r sends the blocks "r0", "r1"..,
 * r as a letter. */
void begin(uint32_t size, uint32_t nclients);
/* Until nothing moves: all are through and nothing is left over.  The schedules
 * and the group are freed. */
void run(void);

/* The n letters from rank `first` on, each once; in that order? */
void is_letters(const char *s, uint32_t first, uint32_t n, bool order);
/* What `from` sends as its block of that number. */
void is_block(const struct text *t, uint32_t from, uint32_t block);

#endif
