/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where configuration and run-time files are: in the directories that
 * configure was told, or in those that SLURM_FABRIC_CONFDIR and
 * SLURM_FABRIC_RUNDIR name in the environment of the process.  So several
 * nodes, or several clusters, can live on one machine without mount namespaces.
 * What is not an absolute path there is not looked at, nor is anything in a
 * program that has more rights than the user who started it.
 */
#ifndef SF_BASE_SITEDIR_H
#define SF_BASE_SITEDIR_H

#include "base/limits.h"

/* Room for a path; what the functions return lives as long as this. */
struct sitedir {
    char path[SF_SITEDIR_PATH_MAX];
};

/* The path of a file there ("": the directory).  One that is too long is "",
 * which no file has. */
const char *sitedir_conf(struct sitedir *p, const char *name);
const char *sitedir_run(struct sitedir *p, const char *name);

/* The same for what this process makes itself, a service's sockets and state:
 * where systemd says that it may (RuntimeDirectory=, StateDirectory=), if
 * nobody else said another place. */
const char *sitedir_own_run(struct sitedir *p, const char *name);
const char *sitedir_own_state(struct sitedir *p, const char *name);

/* For one expression: the path lives to the end of the enclosing block. */
#define SITEDIR_CONF(name) sitedir_conf(&(struct sitedir){""}, name)
#define SITEDIR_RUN(name) sitedir_run(&(struct sitedir){""}, name)
#define SITEDIR_OWN_RUN(name) sitedir_own_run(&(struct sitedir){""}, name)
#define SITEDIR_OWN_STATE(name) sitedir_own_state(&(struct sitedir){""}, name)

#endif
