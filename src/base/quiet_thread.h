/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread inside somebody else's process: it takes none of its signals.
 */
#ifndef SF_BASE_QUIET_THREAD_H
#define SF_BASE_QUIET_THREAD_H

#include <pthread.h>

/* As pthread_create(): 0, or an errno.  attr may be NULL. */
int quiet_thread_with(pthread_t *thread, const pthread_attr_t *attr,
                      void *(*run)(void *), void *arg);
/* With the usual attributes. */
int quiet_thread(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
