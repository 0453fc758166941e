/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words that people write: `srun --network=` and SwitchParameters of
 * slurm.conf.  Both are lists of key=value separated by commas; keys are
 * compared without case, numbers may be hexadecimal (0x...).  A word that
 * does not exist, stands twice or has no good value is an error that names it.
 */
#ifndef SF_ELAN_OPTIONS_H
#define SF_ELAN_OPTIONS_H

#include <stdint.h>

#include "base/errbuf.h"
#include "base/limits.h"

/* SwitchParameters, what the site has.  slurmctld and all nodes must agree
 * on it (they read the same slurm.conf). */
struct elan_site {
    uint32_t base_context; /* base_context=N [0x400] */
    uint32_t top_context;  /* top_context=N, included [0x7fe] */
    uint32_t rails;        /* rails=N, rails of each node [1] */
    uint32_t max_age;      /* max_age=N, seconds that a job info is good for
                              between creation and launch [3600] */
    uint32_t descent;      /* descent=1: programs are held together without
                              cgroups, elan/program_descent.h [0] */
    char elanhosts[SF_ELAN_PATH_MAX]; /* elanhosts=PATH */
};

void elan_site_defaults(struct elan_site *site);
/* Parse into *site, which has the defaults first.  text NULL or empty is
 * fine.  Returns 0, or -1 with EINVAL and text (then *site has the
 * defaults). */
int elan_site_parse(struct elan_site *site, const char *text,
                    struct errbuf *err);

/* --network=, what the step wants. */
struct elan_options {
    uint32_t rails;          /* rails=N: 1 .. those of the site [all] */
    uint32_t extra_contexts; /* contexts=N: more contexts a node than it has
                                processes [0] */
};

int elan_options_parse(struct elan_options *options, const char *text,
                       const struct elan_site *site, struct errbuf *err);

#endif
