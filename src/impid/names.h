/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Environment variables and paths of an impi step (doc/impi.md).
 */
#ifndef SF_IMPID_NAMES_H
#define SF_IMPID_NAMES_H

/* From srun to slurmstepd, in the step's environment. */
#define ENV_SERVER "SLURM_IMPI_SERVER" /* address:port */
#define ENV_SECRET "SLURM_IMPI_SECRET" /* hexadecimal; not in tasks */
#define ENV_TASKS "SLURM_IMPI_TASKS"   /* impi/taskmap.h; not in tasks */
#define ENV_NODES "SLURM_IMPI_NODES"   /* names of its nodes; not in tasks */
#define ENV_STEP "SLURM_IMPI_STEP"     /* JOB.STEP of the whole launch */
/* Set when agents start with the first MPI call only: address:port of the line
 * on which nodes wait for that (impi/presence.h), "none" for a single node;
 * not in tasks. */
#define ENV_PRESENCE "SLURM_IMPI_PRESENCE"
/* In the place of all these: srun has refused, and said why; so the tasks shall
 * end as they begin, for nothing else lets srun end at once. */
#define ENV_REFUSED "SLURM_IMPI_REFUSED"
/* From the user. */
#define ENV_CLIENTS "SLURM_IMPI_CLIENTS"    /* "node" */
#define ENV_AUTH_KEY "IMPI_AUTH_KEY"        /* 64-bit number */
#define ENV_AUTH_NONE "IMPI_AUTH_NONE"      /* set: anybody may join */
#define ENV_DIRECT "SLURM_IMPI_DIRECT"      /* connections of a process */
#define ENV_REORDER "SLURM_IMPI_REORDER"    /* 1 */
#define ENV_XSIZE "IMPI_COLL_XSIZE"         /* bytes */
#define ENV_MAXLINEAR "IMPI_COLL_MAXLINEAR" /* clients */
#define ENV_IFNAME "IMPI_IFNAME"            /* interface to talk by */
#define ENV_LOG "SLURM_IMPI_LOG"   /* directory: agents and server log there */
#define ENV_JOIN "SLURM_IMPI_JOIN" /* ADDRESS:PORT or [IPV6]:PORT of one */
#define ENV_CLIENT "SLURM_IMPI_CLIENT" /* which of its clients this is */
/* To the tasks. */
#define ENV_AGENT "SLURM_IMPI_AGENT" /* path of impid's socket */
/* In slurmstepd's own process, for switch/elan's job_fini: the descriptor by
 * which mpi/impi is told to end impid. */
#define ENV_IMPID_STOP "SLURM_FABRIC_IMPID_STOP"

#define PATH_IMPID SF_LIBEXECDIR "/impid"
#define PATH_SERVER SF_LIBEXECDIR "/impi-server"
#define PATH_FRONT SF_PKGLIBDIR "/libimpi.so"
#define PATH_PMIX SF_PKGLIBDIR "/impid_pmix.so"
#define CONF_NAME "impi.conf"

#endif
