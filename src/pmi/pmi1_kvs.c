/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/limits.h"
#include "pmi/pmi1_kvs.h"

/* An entry that cannot be stored is our ENOMEM, not an exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct pmi1_pair {
    UT_hash_handle hh;
    char *value;
    char key[]; /* hashed */
};

void pmi1_kvs_clear(struct pmi1_kvs *kvs)
{
    struct pmi1_pair *pair, *next;

    HASH_ITER(hh, kvs->pairs, pair, next)
    {
        HASH_DEL(kvs->pairs, pair);
        free(pair->value);
        free(pair);
    }
    free(kvs->fresh);
    memset(kvs, 0, sizeof(*kvs));
}

static struct pmi1_pair *find(const struct pmi1_kvs *kvs, const char *key)
{
    struct pmi1_pair *pair;

    HASH_FIND_STR(kvs->pairs, key, pair);
    return pair;
}

const char *pmi1_kvs_get(const struct pmi1_kvs *kvs, const char *key)
{
    const struct pmi1_pair *pair = find(kvs, key);

    return pair ? pair->value : NULL;
}

static int replace(struct pmi1_kvs *kvs, struct pmi1_pair *pair,
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

static int add(struct pmi1_kvs *kvs, const char *key, const char *value)
{
    size_t klen = strlen(key);
    struct pmi1_pair *pair = calloc(1, sizeof(*pair) + klen + 1);
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

int pmi1_kvs_set(struct pmi1_kvs *kvs, const char *key, const char *value)
{
    struct pmi1_pair *pair = find(kvs, key);

    if (kvs->bytes + strlen(key) + strlen(value) > SF_PMI1_KVS_MAX) {
        errno = EMSGSIZE;
        return -1;
    }
    return pair ? replace(kvs, pair, value) : add(kvs, key, value);
}

static int fresh_reserve(struct pmi1_kvs *kvs, size_t more)
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

int pmi1_kvs_put(struct pmi1_kvs *kvs, const char *key, const char *value)
{
    size_t need = 4 + strlen(key) + strlen(value);
    struct be_writer w;

    if (fresh_reserve(kvs, need) < 0 || pmi1_kvs_set(kvs, key, value) < 0)
        return -1;
    be_writer_init(&w, kvs->fresh + kvs->fresh_len, need);
    be_put_str(&w, key);
    be_put_str(&w, value);
    kvs->fresh_len += w.len;
    return 0;
}

void pmi1_kvs_taken(struct pmi1_kvs *kvs)
{
    kvs->fresh_len = 0;
}

int pmi1_kvs_merge(struct pmi1_kvs *kvs, const void *blob, size_t len)
{
    char key[SF_PMI1_KEY_MAX + 1], value[SF_PMI1_VALUE_MAX + 1];
    struct be_reader r;

    be_reader_init(&r, blob, len);
    while (r.left > 0) {
        be_get_str(&r, key, sizeof(key));
        be_get_str(&r, value, sizeof(value));
        if (r.bad) {
            errno = EPROTO;
            return -1;
        }
        if (pmi1_kvs_set(kvs, key, value) < 0)
            return -1;
    }
    return 0;
}
