/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/rendezvous.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Adding to a table must not end the program when memory is short. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct part {
    uint32_t index;
    uint32_t agent;
    uint32_t len;
    uint8_t *data;
};

struct gathering {
    char key[SF_AGENT_KEY_MAX];
    uint32_t expected;
    bool gather;      /* for index 0 only */
    uint32_t n, room; /* parts there, and allocated */
    struct part *parts;
    uint8_t *here; /* bit per index */
    uint64_t bytes;
    UT_hash_handle hh;
};

struct rendezvous {
    struct gathering *keys;
    uint64_t bytes; /* of all of them */
};

struct rendezvous *rendezvous_create(void)
{
    return calloc(1, sizeof(struct rendezvous));
}

static void gathering_free(struct rendezvous *r, struct gathering *g)
{
    HASH_DEL(r->keys, g);
    r->bytes -= g->bytes;
    for (uint32_t i = 0; i < g->n; i++)
        free(g->parts[i].data);
    free(g->parts);
    free(g->here);
    free(g);
}

void rendezvous_destroy(struct rendezvous *r)
{
    struct gathering *g, *next;

    if (!r)
        return;
    HASH_ITER(hh, r->keys, g, next) gathering_free(r, g);
    free(r);
}

uint32_t rendezvous_open(const struct rendezvous *r)
{
    return HASH_COUNT(r->keys);
}

static int check(const struct rendezvous *r, const struct gathering *g,
                 const struct agent_put *put, bool gather, struct errbuf *err)
{
    errno = EPROTO;
    if (put->expected < 1 || put->expected > SF_RENDEZVOUS_PARTS_MAX)
        return errprintf(err, "key \"%s\": %u contributions expected", put->key,
                         put->expected);
    if (put->index >= put->expected)
        return errprintf(err, "key \"%s\": index %u of %u", put->key,
                         put->index, put->expected);
    if (put->blob.len > SF_AGENT_BLOB_MAX ||
        r->bytes + put->blob.len > SF_RENDEZVOUS_BYTES_MAX)
        return errprintf(err, "key \"%s\": too many bytes wait", put->key);
    if (!g && rendezvous_open(r) >= SF_AGENT_KEYS_OPEN_MAX)
        return errprintf(err, "key \"%s\": more than %d keys wait", put->key,
                         SF_AGENT_KEYS_OPEN_MAX);
    if (!g)
        return 0;
    if (g->expected != put->expected)
        return errprintf(err, "key \"%s\": %u contributions expected, not %u",
                         put->key, g->expected, put->expected);
    if (g->gather != gather)
        return errprintf(err, "key \"%s\": gathered by some only", put->key);
    if (g->here[put->index / 8] >> put->index % 8 & 1)
        return errprintf(err, "key \"%s\": index %u twice", put->key,
                         put->index);
    /* the frame that will carry it all, with its lengths, in a SPREAD */
    if (g->bytes + put->blob.len + 4ull * g->expected + SF_AGENT_KEY_MAX +
            SF_AGENTS_MAX / 8 + 64 >
        SF_AGENT_FRAME_MAX)
        return errprintf(err, "key \"%s\": more than one frame can carry",
                         put->key);
    return 0;
}

static struct gathering *gathering_new(struct rendezvous *r,
                                       const struct agent_put *put, bool gather)
{
    struct gathering *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->here = calloc((put->expected + 7) / 8, 1);
    if (!g->here) {
        free(g);
        return NULL;
    }
    strcpy(g->key, put->key);
    g->expected = put->expected;
    g->gather = gather;
    HASH_ADD_STR(r->keys, key, g);
    if (g->hh.tbl)
        return g;
    free(g->here);
    free(g);
    return NULL;
}

static int add_part(struct rendezvous *r, struct gathering *g, uint32_t agent,
                    const struct agent_put *put)
{
    struct part *p;

    if (g->n == g->room) {
        uint32_t room = g->room ? g->room * 2 : 4;

        p = reallocarray(g->parts, room, sizeof(*p));
        if (!p)
            return -1;
        g->parts = p;
        g->room = room;
    }
    p = &g->parts[g->n];
    *p = (struct part){put->index, agent, put->blob.len, NULL};
    p->data = malloc(put->blob.len ? put->blob.len : 1);
    if (!p->data)
        return -1;
    if (put->blob.len)
        memcpy(p->data, put->blob.data, put->blob.len);
    g->n++;
    g->here[put->index / 8] |= (uint8_t)(1u << put->index % 8);
    g->bytes += put->blob.len;
    r->bytes += put->blob.len;
    return 0;
}

/* ---- completion ---- */

static int by_index(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static int list_agents(const struct gathering *g,
                       struct rendezvous_result *result)
{
    uint32_t n = 0, wanted = g->gather ? 1 : g->n; /* they are sorted */

    result->agents = calloc(g->n, sizeof(*result->agents));
    if (!result->agents)
        return -1;
    for (uint32_t i = 0; i < wanted; i++)
        result->agents[i] = g->parts[i].agent;
    qsort(result->agents, wanted, sizeof(*result->agents), by_value);
    for (uint32_t i = 0; i < wanted; i++)
        if (i == 0 || result->agents[i] != result->agents[n - 1])
            result->agents[n++] = result->agents[i];
    result->nagents = n;
    return 0;
}

static int make_frame(const struct gathering *g, struct bytebuf *frame)
{
    struct agent_msg m = {.type = AGENT_GOT};
    struct bytebuf packed;
    int rc = -1;

    bytebuf_init(&packed, SF_AGENT_FRAME_MAX);
    bytebuf_init(frame, SF_AGENT_FRAME_MAX + AGENT_HEADER_SIZE);
    for (uint32_t i = 0; i < g->n; i++)
        agent_blobs_add(&packed, g->parts[i].data, g->parts[i].len);
    if (!packed.bad) {
        strcpy(m.got.key, g->key);
        m.got.count = g->n;
        m.got.packed.data = bytebuf_data(&packed);
        m.got.packed.len = (uint32_t)bytebuf_len(&packed);
        rc = agent_msg_encode(frame, &m);
    }
    bytebuf_free(&packed);
    return rc;
}

static int complete(struct rendezvous *r, struct gathering *g,
                    struct rendezvous_result *result, struct errbuf *err)
{
    qsort(g->parts, g->n, sizeof(*g->parts), by_index);
    memset(result, 0, sizeof(*result));
    if (list_agents(g, result) == 0 && make_frame(g, &result->frame) == 0) {
        gathering_free(r, g);
        return 1;
    }
    rendezvous_result_free(result);
    errno = ENOMEM;
    return errprintf(err, "key \"%s\": out of memory", g->key);
}

void rendezvous_result_free(struct rendezvous_result *result)
{
    bytebuf_free(&result->frame);
    free(result->agents);
    result->agents = NULL;
    result->nagents = 0;
}

int rendezvous_put(struct rendezvous *r, uint32_t agent,
                   const struct agent_put *put, bool gather,
                   struct rendezvous_result *result, struct errbuf *err)
{
    struct gathering *g;

    HASH_FIND_STR(r->keys, put->key, g);
    if (check(r, g, put, gather, err) < 0)
        return -1;
    if (!g)
        g = gathering_new(r, put, gather);
    if (!g || add_part(r, g, agent, put) < 0) {
        errno = ENOMEM;
        return errprintf(err, "key \"%s\": out of memory", put->key);
    }
    return g->n == g->expected ? complete(r, g, result, err) : 0;
}
