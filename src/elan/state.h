/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the partition manager wants to remember across a restart of
 * slurmctld, as a small text.  Live programs are not in it: they come back
 * with the steps that Slurm recovers.
 *
 *     Version=1
 *     NextProgram=4711
 *     NextContext=1040     (0: not known, begin anywhere)
 */
#ifndef SF_ELAN_STATE_H
#define SF_ELAN_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

#define ELAN_STATE_SIZE_MAX 256

struct elan_state {
    uint32_t next_prognum; /* 1 .. INT32_MAX */
    uint32_t next_context; /* 0: not known */
};

/* Write the text with its NUL; it always fits. */
void elan_state_print(char buf[ELAN_STATE_SIZE_MAX],
                      const struct elan_state *state);

/* Parse; `name` stands for the file in messages.  Returns 0, or -1 with errno
 * and the text of the first error: EINVAL malformed or a key is missing,
 * EPROTONOSUPPORT another version. */
int elan_state_parse(struct elan_state *state, const char *name,
                     const char *text, struct errbuf *err);

#endif
