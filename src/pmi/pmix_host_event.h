/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside impid_pmix.so: the way from libpmix's thread to the owner's, and
 * the server module whose callbacks take it.
 */
#ifndef SF_PMI_PMIX_HOST_EVENT_H
#define SF_PMI_PMIX_HOST_EVENT_H

#include <pmix_server.h>

#include "pmi/pmix_host.h"

extern pmix_server_module_t pmix_event_module;

/* Before the server starts, and after it has stopped. */
void pmix_event_start(const struct pmix_host_ops *ops, void *arg);
void pmix_event_stop(void);

void pmix_event_dispatch(void);
void pmix_event_fence_done(struct pmix_host_fence *fence, const void *blob,
                           size_t len, bool ok);

#endif
