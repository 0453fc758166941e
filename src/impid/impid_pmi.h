/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the two kinds of native process management in impid share.
 */
#ifndef SF_IMPID_PMI_H
#define SF_IMPID_PMI_H

#include "impid/impid.h"

/* The node (as host number of the client) of each native rank; free() it.
 * NULL with errno ENOMEM. */
uint32_t *impid_pmi_rank_hosts(const struct impid_client *c);

/* A list for n variables; add one; impid_pmi_free_env() frees all.  NULL and
 * negative: no memory. */
char **impid_pmi_env_alloc(size_t n);
int impid_pmi_env_add(char **env, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* mkdir DIR/name; false with text when it is not there after that. */
bool impid_pmi_subdir(char *path, size_t size, const struct impid *a,
                      const char *name, struct errbuf *err);

/* impid_pmi1.c: MPICH */
int impid_pmi1_start(struct impid_client *c, struct errbuf *err);
char **impid_pmi1_env(struct impid_proc *p, int *pass_fd, struct errbuf *err);

/* impid_pmix.c: Open MPI */
int impid_pmix_start(struct impid_client *c, struct errbuf *err);
char **impid_pmix_env(struct impid_proc *p, struct errbuf *err);

#endif
