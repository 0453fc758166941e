/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Comm_spawn and MPI_Comm_spawn_multiple (doc/impi-processes.md): what a
 * process asks for, by way of its agent, of the server beside srun; and the
 * command and environment of the srun that the server starts for it.  No I/O.
 *
 * On the wire, big-endian, a str is a 16-bit length and that many bytes:
 *
 *   u32 format (1), u32 number, str port, str cwd, u32 commands, and of each
 *   u32 maxprocs, u32 flags (1: overlap, 2: wait), str host, str wdir,
 *   str path, u32 arguments, str argument *
 */
#ifndef SF_IMPI_SPAWN_H
#define SF_IMPI_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytebuf.h"
#include "base/errbuf.h"
#include "base/limits.h"

/* In the environment of the children: the name of the port that they connect
 * to in MPI_Init. */
#define IMPI_SPAWN_PARENT "SLURM_IMPI_PARENT"

struct impi_spawn_command {
    uint32_t maxprocs;
    bool overlap; /* may share processors with other steps */
    bool wait;    /* for processors, SF_IMPI_SPAWN_WAIT */
    char *host;   /* info keys of MPI; "": not given */
    char *wdir;
    char *path;
    uint32_t argc; /* at least 1: the command itself */
    char **argv;
};

struct impi_spawn {
    uint32_t number; /* which spawn of this process */
    char *port;      /* of the parent */
    char *cwd;       /* of the parent; "": not known */
    uint32_t ncommands;
    struct impi_spawn_command *commands;
};

/* Append it; out->bad when it is too long. */
void impi_spawn_encode(struct bytebuf *out, const struct impi_spawn *s);
/* 0; or -1 with errno EPROTO (text) or ENOMEM, *s is then empty.  Free it with
 * impi_spawn_free(). */
int impi_spawn_decode(struct impi_spawn *s, const void *data, size_t len,
                      struct errbuf *err);
void impi_spawn_free(struct impi_spawn *s);

/* The answer: what became of it, when its srun has ended. */
void impi_spawned_encode(struct bytebuf *out, uint32_t number, const char *why);
int impi_spawned_decode(uint32_t *number, char *why, size_t size,
                        const void *data, size_t len);

/* Arguments of srun for a step of this job, and NULL; impi_strings_free().
 * NULL with text: an argument that srun would take for its own, or no memory.
 */
char **impi_spawn_argv(const struct impi_spawn *s, uint32_t job,
                       struct errbuf *err);
/* Its environment, made of that of the parent's srun.  NULL: no memory. */
char **impi_spawn_env(const struct impi_spawn *s, char *const *env);
void impi_strings_free(char **strings);

/* The largest number from 1 to `most` of the info key `soft`: a list of a, a:b
 * (from a to b) and a:b:c (each c-th), as MPI has them.  0: there is none; -1
 * with text: it is no such list. */
int impi_spawn_soft(const char *soft, uint32_t most, struct errbuf *err);

/* srun says so where the job has no room for a step. */
bool impi_spawn_no_room(const char *why);

/* How many processes a job has processors for, by SLURM_JOB_CPUS_PER_NODE
 * ("4(x3),2") and SLURM_CPUS_PER_TASK, which may be NULL.  0: not known. */
int impi_spawn_room(const char *cpus_per_node, const char *cpus_per_task);

#endif
