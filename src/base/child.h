/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs that are started beside the one that starts them.
 */
#ifndef SF_BASE_CHILD_H
#define SF_BASE_CHILD_H

#include <spawn.h>
#include <sys/types.h>

/* Start path in a session of its own, so that Ctrl-C is not for it, with no
 * signal blocked or ignored.  No page of the starter is copied.  Returns 0 or
 * an errno. */
int child_spawn(pid_t *pid, const char *path,
                const posix_spawn_file_actions_t *files, char *const *argv,
                char *const *env);

#endif
