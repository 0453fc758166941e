/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The key-value space of one PMI-1 client: what was put on this node since
 * the last barrier, and everything known so far.
 */
#ifndef SF_PMI_PMI1_KVS_H
#define SF_PMI_PMI1_KVS_H

#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

struct pmi1_pair;

struct pmi1_kvs {
    struct pmi1_pair *pairs; /* uthash */
    uint8_t *fresh;          /* put since the last barrier, encoded */
    size_t fresh_len;
    size_t fresh_size;
    size_t bytes; /* keys and values in all */
};

/* Zeroed is empty. */
void pmi1_kvs_clear(struct pmi1_kvs *kvs);

/* Put locally: known at once, and part of the next blob.  A key put again
 * takes the new value.  Returns 0, or -1 with errno EMSGSIZE or ENOMEM. */
int pmi1_kvs_put(struct pmi1_kvs *kvs, const char *key, const char *value);

/* Set without making it fresh (given by the host). */
int pmi1_kvs_set(struct pmi1_kvs *kvs, const char *key, const char *value);

/* NULL when not there. */
const char *pmi1_kvs_get(const struct pmi1_kvs *kvs, const char *key);

/* Take in a blob of another node (or our own).  Returns 0, or -1 with errno
 * EPROTO, EMSGSIZE, ENOMEM. */
int pmi1_kvs_merge(struct pmi1_kvs *kvs, const void *blob, size_t len);

/* Forget what is fresh (after the barrier took it). */
void pmi1_kvs_taken(struct pmi1_kvs *kvs);

#endif
