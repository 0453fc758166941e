/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs that are made of parts, of which the arguments may name some.
 */
#ifndef TESTS_MPI_PARTS_H
#define TESTS_MPI_PARTS_H

#include "check.h"

struct part {
    const char *name;
    void (*run)(void);
};

/* SOME_BY_MESSAGES: processes of odd rank share no memory of windows, so that
 * the others' is changed both ways at once. */
static inline void apart(void)
{
    if (getenv("SOME_BY_MESSAGES") && rank % 2)
        setenv("SLURM_IMPI_WINDOWS", "messages", 1);
}

/* All of them but those whose name begins with "our", or those that the
 * arguments name; a barrier behind each.  "our": a library alone gets it wrong.
 */
static inline void run_parts(int argc, char **argv, const struct part *parts,
                             size_t n)
{
    int found = 0;

    apart();
    for (size_t i = 0; i < n; i++) {
        int wanted = argc < 2 && strncmp(parts[i].name, "our", 3) != 0;

        for (int a = 1; a < argc; a++)
            wanted |= strcmp(argv[a], parts[i].name) == 0;
        if (!wanted)
            continue;
        found++;
        if (rank == 0 && getenv("PARTS_SHOWN"))
            fprintf(stderr, "%s\n", parts[i].name);
        parts[i].run();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(found >= (argc < 2 ? 1 : argc - 1));
}

#endif
