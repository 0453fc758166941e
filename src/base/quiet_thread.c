/* SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stddef.h>

#include "base/quiet_thread.h"

int quiet_thread_with(pthread_t *thread, const pthread_attr_t *attr,
                      void *(*run)(void *), void *arg)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(thread, attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

int quiet_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
    return quiet_thread_with(thread, NULL, run, arg);
}
