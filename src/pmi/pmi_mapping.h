/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMI_process_mapping of a client: which of its ranks share a node.
 */
#ifndef SF_PMI_PMI_MAPPING_H
#define SF_PMI_PMI_MAPPING_H

#include <stdint.h>

/* node[i] is the node of rank i, any numbering.  Returns an allocated
 * "(vector,(node,nodes,tasks),...)" with nodes numbered by first use, or NULL
 * with errno ENOMEM. */
char *pmi_mapping(const uint32_t *node, uint32_t size);

#endif
