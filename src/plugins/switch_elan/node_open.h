/* SPDX-License-Identifier: BSD-3-Clause
 *
 * On a node: opens the sealed part of a job info and believes it only after
 * every check (elan/payload.h) passed.
 */
#ifndef SF_SWITCH_ELAN_NODE_OPEN_H
#define SF_SWITCH_ELAN_NODE_OPEN_H

#include "base/errbuf.h"
#include "elan/payload.h"
#include "slurmabi/stepd.h"

/* 0 and *payload (elan_payload_free() it), or -1 with text naming the failed
 * check. */
int node_open(struct elan_payload *payload, const struct slurmabi_stepd *step,
              struct errbuf *err);

#endif
