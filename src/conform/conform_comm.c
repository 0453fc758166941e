/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators; comm=0 is MPI_COMM_WORLD.
 *
 *   dup comm new | split comm new color key | release comm
 *   order comm rank=R size=N               what this rank is there
 *   same comm other result=ident|congruent|similar|unequal
 */
#include <string.h>

#include "conform.h"

static MPI_Comm *slot(const struct instruction *l, const char *key)
{
    int n = number(l, key, -1);

    if (n < 1 || n >= MAX_COMMS)
        bad_script(l, key);
    return &st.comm[n];
}

static void do_dup(const struct instruction *l)
{
    check_code(l, MPI_Comm_dup(comm_of(l), slot(l, "new")));
}

static void do_split(const struct instruction *l)
{
    int color = number(l, "color", 0);

    check_code(l, MPI_Comm_split(comm_of(l),
                                 color == NULL_PROC ? MPI_UNDEFINED : color,
                                 number(l, "key", 0), slot(l, "new")));
}

static void do_free(const struct instruction *l)
{
    MPI_Comm *c = slot(l, "comm");

    if (*c != MPI_COMM_NULL)
        check_code(l, MPI_Comm_free(c));
}

static void do_order(const struct instruction *l)
{
    MPI_Comm c = comm_of(l);
    int rank = -1, size = -1;

    if (c != MPI_COMM_NULL) {
        MPI_Comm_rank(c, &rank);
        MPI_Comm_size(c, &size);
    }
    if (rank != number(l, "rank", rank) || size != number(l, "size", size))
        fail(l, "rank %d of %d, expected %d of %d", rank, size,
             number(l, "rank", rank), number(l, "size", size));
}

static void do_same(const struct instruction *l)
{
    static const char *const name[] = {"ident", "congruent", "similar",
                                       "unequal"};
    const int value[] = {MPI_IDENT, MPI_CONGRUENT, MPI_SIMILAR, MPI_UNEQUAL};
    int n = number(l, "other", 0), result = -1;
    const char *got = "nothing", *want = word(l, "result", "ident");

    check_code(l, MPI_Comm_compare(comm_of(l), st.comm[n], &result));
    for (int i = 0; i < 4; i++)
        if (value[i] == result)
            got = name[i];
    if (strcmp(got, want) != 0)
        fail(l, "%s, expected %s", got, want);
}

int run_comm(const struct instruction *l)
{
    static const struct {
        const char *op;
        void (*run)(const struct instruction *l);
    } table[] = {{"dup", do_dup},
                 {"split", do_split},
                 {"release", do_free},
                 {"order", do_order},
                 {"same", do_same}};

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].op, l->op) == 0) {
            table[i].run(l);
            return 1;
        }
    return 0;
}
