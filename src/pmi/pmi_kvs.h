/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The key-value space of one client of PMI-1 or PMI-2: what was put on this
 * node since the last exchange, and everything known so far.
 */
#ifndef SF_PMI_PMI_KVS_H
#define SF_PMI_PMI_KVS_H

#include <stddef.h>
#include <stdint.h>

struct pmi_pair;

/* Zeroed is empty. */
struct pmi_kvs {
    struct pmi_pair *pairs; /* uthash */
    uint8_t *fresh;         /* put since the last exchange, encoded */
    size_t fresh_len;
    size_t fresh_size;
    size_t bytes; /* keys and values in all */
};

void pmi_kvs_clear(struct pmi_kvs *kvs);

/* NULL when not there. */
const char *pmi_kvs_get(const struct pmi_kvs *kvs, const char *key);

/* Set without making it fresh.  Returns 0, or -1 with errno EMSGSIZE (the space
 * is full) or ENOMEM. */
int pmi_kvs_set(struct pmi_kvs *kvs, const char *key, const char *value);

/* Put locally: known at once, and part of the next blob.  A key put again
 * takes the new value.  Returns 0, or -1 with errno EMSGSIZE or ENOMEM. */
int pmi_kvs_put(struct pmi_kvs *kvs, const char *key, const char *value);

/* Forget what is fresh: the exchange took it. */
void pmi_kvs_taken(struct pmi_kvs *kvs);

/* Take in a blob of another node (or our own).  Returns 0, or -1 with errno
 * EPROTO, EMSGSIZE, ENOMEM. */
int pmi_kvs_merge(struct pmi_kvs *kvs, const void *blob, size_t len);

#endif
