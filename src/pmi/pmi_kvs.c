/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmi/pmi_kvs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/limits.h"

/* An entry that cannot be stored is our ENOMEM, not an exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct pmi_pair {
    UT_hash_handle hh;
    char *value;
    char key[]; /* hashed */
};

/* Zeroed is empty. */
void pmi_kvs_clear(struct pmi_kvs *kvs)
{
    struct pmi_pair *pair, *next;

    HASH_ITER(hh, kvs->pairs, pair, next)
    {
        HASH_DEL(kvs->pairs, pair);
        free(pair->value);
        free(pair);
    }
    free(kvs->fresh);
    memset(kvs, 0, sizeof(*kvs));
}

static struct pmi_pair *find(const struct pmi_kvs *kvs, const char *key)
{
    struct pmi_pair *pair;

    HASH_FIND_STR(kvs->pairs, key, pair);
    return pair;
}

/* NULL when not there. */
const char *pmi_kvs_get(const struct pmi_kvs *kvs, const char *key)
{
    const struct pmi_pair *pair = find(kvs, key);

    return pair ? pair->value : NULL;
}

static int replace(struct pmi_kvs *kvs, struct pmi_pair *pair,
                   const char *value)
{
    char *copy = strdup(value);

    if (!copy)
        return -1;
    kvs->bytes += strlen(value) - strlen(pair->value);
    free(pair->value);
    pair->value = copy;
    return 0;
}

static int add(struct pmi_kvs *kvs, const char *key, const char *value)
{
    size_t klen = strlen(key);
    struct pmi_pair *pair = calloc(1, sizeof(*pair) + klen + 1);
    char *copy = strdup(value);

    if (pair && copy) {
        memcpy(pair->key, key, klen + 1);
        pair->value = copy;
        HASH_ADD_STR(kvs->pairs, key, pair);
        if (pair->hh.tbl) {
            kvs->bytes += klen + strlen(value);
            return 0;
        }
    }
    free(copy);
    free(pair);
    errno = ENOMEM;
    return -1;
}

/* Set without making it fresh (given by the host). */
int pmi_kvs_set(struct pmi_kvs *kvs, const char *key, const char *value)
{
    struct pmi_pair *pair = find(kvs, key);

    if (kvs->bytes + strlen(key) + strlen(value) > SF_PMI_KVS_MAX) {
        errno = EMSGSIZE;
        return -1;
    }
    return pair ? replace(kvs, pair, value) : add(kvs, key, value);
}

static int fresh_reserve(struct pmi_kvs *kvs, size_t more)
{
    size_t size = kvs->fresh_size ? kvs->fresh_size : 4096;
    uint8_t *grown;

    while (size < kvs->fresh_len + more)
        size *= 2;
    if (size == kvs->fresh_size)
        return 0;
    grown = realloc(kvs->fresh, size);
    if (!grown)
        return -1;
    kvs->fresh = grown;
    kvs->fresh_size = size;
    return 0;
}

/* Put locally: known at once, and part of the next blob.  A key put again
 * takes the new value.  Returns 0, or -1 with errno EMSGSIZE or ENOMEM. */
int pmi_kvs_put(struct pmi_kvs *kvs, const char *key, const char *value)
{
    size_t need = 4 + strlen(key) + strlen(value);
    struct be_writer w;

    if (fresh_reserve(kvs, need) < 0 || pmi_kvs_set(kvs, key, value) < 0)
        return -1;
    be_writer_init(&w, kvs->fresh + kvs->fresh_len, need);
    be_put_str(&w, key);
    be_put_str(&w, value);
    kvs->fresh_len += w.len;
    return 0;
}

/* Forget what is fresh (after the barrier took it). */
void pmi_kvs_taken(struct pmi_kvs *kvs)
{
    kvs->fresh_len = 0;
}

/* Take in a blob of another node (or our own).  Returns 0, or -1 with errno
 * EPROTO, EMSGSIZE, ENOMEM. */
int pmi_kvs_merge(struct pmi_kvs *kvs, const void *blob, size_t len)
{
    char key[SF_PMI_KEY_MAX + 1], value[SF_PMI_VALUE_MAX + 1];
    struct be_reader r;

    be_reader_init(&r, blob, len);
    while (r.left > 0) {
        be_get_str(&r, key, sizeof(key));
        be_get_str(&r, value, sizeof(value));
        if (r.bad) {
            errno = EPROTO;
            return -1;
        }
        if (pmi_kvs_set(kvs, key, value) < 0)
            return -1;
    }
    return 0;
}
