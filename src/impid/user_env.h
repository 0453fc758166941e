/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the user says in the environment about a launch (doc/impi.md, "Choices
 * of the user"), looked at before anything starts, in srun and in impirun.
 */
#ifndef SF_IMPID_USER_ENV_H
#define SF_IMPID_USER_ENV_H

#include <stddef.h>

#include "base/errbuf.h"

/* What nothing can start with.  0, or -1 with text. */
int user_env_check(struct errbuf *err);

/* What is not understood and therefore ignored, one text (with its code) for
 * each variable: *at is 0 at first.  Returns 1, or 0: there are no more. */
int user_env_ignored(size_t *at, struct errbuf *text);

#endif
