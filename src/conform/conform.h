/* SPDX-License-Identifier: BSD-3-Clause
 *
 * impi-conform's interpreter: a plain MPI program that runs a script of
 * operations and checks every result.  It is compiled with the MPI library
 * under test and rarely changes; new tests are new scripts
 * (doc/impi-conform.md has the language).
 *
 *   conform.c        reading a script, who runs a line
 *   conform_data.c   what messages hold, and whether it arrived
 *   conform_p2p.c    point-to-point operations
 *   conform_wait.c   their requests
 *   conform_coll.c   collectives
 *   conform_comm.c   communicators
 *   conform_win.c    windows
 */
#ifndef SF_CONFORM_H
#define SF_CONFORM_H

#include <mpi.h>

#define MAX_COMMS 16
#define MAX_REQUESTS 64
#define MAX_WORDS 32
#define ANY (-1000) /* "any" as a source or tag */
#define NULL_PROC (-1001)
/* Says to "maybe" whether "cancel" took. */
#define TELL_TAG 32000

/* One line: a name and key=value words. */
struct instruction {
    int number;
    const char *op;
    int nwords;
    const char *key[MAX_WORDS];
    const char *value[MAX_WORDS];
};

/* A kind of data: how to make an array of it and to check one. */
struct kind {
    const char *name;
    MPI_Datatype type;
    int size;   /* bytes from one element to the next in memory */
    int values; /* basic values in one element */
    void (*set)(void *at, int index, long value);
    long (*get)(const void *at, int index);
};

struct pending {
    MPI_Request request;
    int active, is_recv;
    void *buffer;
    const struct kind *kind;
    int line;
    struct instruction expect; /* keys of the line that began it */
    char *text;                /* what its words point into */
};

struct state {
    int rank, size; /* in MPI_COMM_WORLD */
    int failures;
    const char *test; /* name of the running test */
    MPI_Comm comm[MAX_COMMS];
    struct pending pending[MAX_REQUESTS];
};

extern struct state st;

/* conform.c */
void fail(const struct instruction *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A number (or "any", "null"); otherwise: what holds without the word. */
int number(const struct instruction *l, const char *key, int otherwise);
const char *word(const struct instruction *l, const char *key,
                 const char *otherwise);
MPI_Comm comm_of(const struct instruction *l);
/* The script is wrong: nobody can go on. */
void bad_script(const struct instruction *l, const char *what)
    __attribute__((noreturn));
/* MPI gave an error where the line expects none (or another). 0: as due. */
int check_code(const struct instruction *l, int code);

/* conform_data.c */
void data_start(void);
void data_stop(void);
const struct kind *kind_of(const struct instruction *l);
/* count elements, zeroed; never NULL. */
void *data_alloc(const struct kind *k, int count);
void data_fill(const struct kind *k, void *buffer, int count, int seed);
/* Elements 0..count hold what data_fill() puts there. */
void data_check(const struct instruction *l, const struct kind *k,
                const void *buffer, int count, int seed);
long data_value(int seed, int index);

/* conform_p2p.c */
/* The request that a word of the line names. */
struct pending *pending_of(const struct instruction *l, const char *key);
/* seed=any: whatever comes is right, it was counted elsewhere. */
void check_received(const struct instruction *l, const struct kind *k,
                    const void *buffer, const MPI_Status *status);

/* conform_p2p.c, conform_wait.c, conform_coll.c, conform_comm.c, conform_win.c:
 * 1 when the operation is theirs. */
int run_p2p(const struct instruction *l);
int run_wait(const struct instruction *l);
int run_coll(const struct instruction *l);
int run_comm(const struct instruction *l);
int run_win(const struct instruction *l);

#endif
