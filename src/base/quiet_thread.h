/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread inside somebody else's process: it takes none of its signals.
 */
#ifndef SF_BASE_QUIET_THREAD_H
#define SF_BASE_QUIET_THREAD_H

#include <pthread.h>

/* As pthread_create(): 0, or an errno. */
int quiet_thread(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
