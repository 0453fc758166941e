/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/agent_wire.h"

#include <errno.h>
#include <string.h>

enum { MERGED_GATHER = 1, MERGED_LAST = 2 };

/* ---- encoding: one function per payload, found by table ---- */

static void put_job(struct bytebuf *o, const struct agent_msg *m)
{
    bytebuf_add32(o, m->job.agent);
    bytebuf_add32(o, m->job.agents);
    bytebuf_add32(o, m->job.component);
    bytebuf_add_str(o, m->job.node);
}

static void put_put(struct bytebuf *o, const struct agent_msg *m)
{
    bytebuf_add_str(o, m->put.key);
    bytebuf_add32(o, m->put.index);
    bytebuf_add32(o, m->put.expected);
    bytebuf_add32(o, m->put.blob.len);
    bytebuf_add(o, m->put.blob.data, m->put.blob.len);
}

static void put_got(struct bytebuf *o, const struct agent_msg *m)
{
    bytebuf_add_str(o, m->got.key);
    bytebuf_add32(o, m->got.count);
    bytebuf_add(o, m->got.packed.data, m->got.packed.len);
}

static void put_world(struct bytebuf *o, const struct agent_msg *m)
{
    bytebuf_add32(o, m->world.generation);
    bytebuf_add32(o, m->world.nclients);
}

static void put_world_at(struct bytebuf *o, const struct agent_msg *m)
{
    bytebuf_add32(o, m->world_at.generation);
    bytebuf_add16(o, m->world_at.port);
}

static void put_abort(struct bytebuf *o, const struct agent_msg *m)
{
    bytebuf_add32(o, (uint32_t)m->abort.code);
    bytebuf_add32(o, (uint32_t)m->abort.rank);
    bytebuf_add32(o, (uint32_t)m->abort.client);
    bytebuf_add32(o, m->abort.lost);
    bytebuf_add_str(o, m->abort.text);
}

static void put_kill(struct bytebuf *o, const struct agent_msg *m)
{
    bytebuf_add32(o, (uint32_t)m->abort.code);
    bytebuf_add_str(o, m->abort.text);
}

static void put_text(struct bytebuf *o, const struct agent_msg *m)
{
    bytebuf_add_str(o, m->text);
}

static void put_spawn(struct bytebuf *o, const struct agent_msg *m)
{
    bytebuf_add32(o, m->spawn.rank);
    bytebuf_add(o, m->spawn.blob.data, m->spawn.blob.len);
}

static void put_number(struct bytebuf *o, const struct agent_msg *m)
{
    bytebuf_add32(o, m->number);
}

static void put_at(struct bytebuf *o, const struct agent_msg *m)
{
    bytebuf_add32(o, m->at.agent);
    bytebuf_add(o, m->at.addr, sizeof(m->at.addr));
    bytebuf_add16(o, m->at.port);
}

static void put_spread(struct bytebuf *o, const struct agent_msg *m)
{
    bytebuf_add32(o, m->spread.set.len);
    bytebuf_add(o, m->spread.set.data, m->spread.set.len);
    bytebuf_add(o, m->spread.frame.data, m->spread.frame.len);
}

static void put_merged(struct bytebuf *o, const struct agent_msg *m)
{
    const struct agent_merged *g = &m->merged;

    bytebuf_add_str(o, g->key);
    bytebuf_add32(o, g->expected);
    bytebuf_add32(o, (g->gather ? MERGED_GATHER : 0u) |
                         (g->last ? MERGED_LAST : 0u));
    bytebuf_add32(o, g->set.len);
    bytebuf_add(o, g->set.data, g->set.len);
    bytebuf_add32(o, g->count);
    bytebuf_add(o, g->packed.data, g->packed.len);
}

static void put_nothing(struct bytebuf *o, const struct agent_msg *m)
{
}

/* ---- decoding ---- */

static void get_job(struct be_reader *r, struct agent_msg *m)
{
    m->job.agent = be_get32(r);
    m->job.agents = be_get32(r);
    m->job.component = be_get32(r);
    be_get_str(r, m->job.node, sizeof(m->job.node));
}

static void get_put(struct be_reader *r, struct agent_msg *m)
{
    be_get_str(r, m->put.key, sizeof(m->put.key));
    m->put.index = be_get32(r);
    m->put.expected = be_get32(r);
    m->put.blob.len = be_get32(r);
    m->put.blob.data = be_get_bytes(r, m->put.blob.len);
    r->bad |= m->put.blob.len > SF_AGENT_BLOB_MAX;
}

static void get_got(struct be_reader *r, struct agent_msg *m)
{
    struct agent_blob blob;
    struct be_reader walk;
    uint32_t seen = 0;

    be_get_str(r, m->got.key, sizeof(m->got.key));
    m->got.count = be_get32(r);
    m->got.packed.len = (uint32_t)r->left;
    m->got.packed.data = be_get_bytes(r, r->left);
    if (r->bad)
        return;
    agent_blobs_init(&walk, &m->got);
    while (seen < m->got.count && agent_blobs_next(&walk, &blob))
        seen++;
    r->bad |= seen != m->got.count || !be_reader_done(&walk);
}

static void get_world(struct be_reader *r, struct agent_msg *m)
{
    m->world.generation = be_get32(r);
    m->world.nclients = be_get32(r);
}

static void get_world_at(struct be_reader *r, struct agent_msg *m)
{
    m->world_at.generation = be_get32(r);
    m->world_at.port = be_get16(r);
}

static void get_abort(struct be_reader *r, struct agent_msg *m)
{
    m->abort.code = (int32_t)be_get32(r);
    m->abort.rank = (int32_t)be_get32(r);
    m->abort.client = (int32_t)be_get32(r);
    m->abort.lost = be_get32(r);
    be_get_str(r, m->abort.text, sizeof(m->abort.text));
}

static void get_kill(struct be_reader *r, struct agent_msg *m)
{
    m->abort.code = (int32_t)be_get32(r);
    m->abort.rank = m->abort.client = -1;
    m->abort.lost = 0;
    be_get_str(r, m->abort.text, sizeof(m->abort.text));
}

static void get_text(struct be_reader *r, struct agent_msg *m)
{
    be_get_str(r, m->text, sizeof(m->text));
}

static void get_spawn(struct be_reader *r, struct agent_msg *m)
{
    m->spawn.rank = be_get32(r);
    m->spawn.blob.len = (uint32_t)r->left;
    m->spawn.blob.data = be_get_bytes(r, r->left);
}

static void get_number(struct be_reader *r, struct agent_msg *m)
{
    m->number = be_get32(r);
}

static void get_at(struct be_reader *r, struct agent_msg *m)
{
    m->at.agent = be_get32(r);
    be_copy_bytes(r, m->at.addr, sizeof(m->at.addr));
    m->at.port = be_get16(r);
}

static void get_spread(struct be_reader *r, struct agent_msg *m)
{
    m->spread.set.len = be_get32(r);
    r->bad |= m->spread.set.len > SF_AGENTS_MAX / 8;
    m->spread.set.data = be_get_bytes(r, m->spread.set.len);
    m->spread.frame.len = (uint32_t)r->left;
    m->spread.frame.data = be_get_bytes(r, r->left);
}

static void get_merged(struct be_reader *r, struct agent_msg *m)
{
    struct agent_merged *g = &m->merged;
    struct agent_part part;
    struct be_reader walk;
    uint32_t flags, seen = 0;

    be_get_str(r, g->key, sizeof(g->key));
    g->expected = be_get32(r);
    flags = be_get32(r);
    r->bad |= flags > (MERGED_GATHER | MERGED_LAST);
    g->gather = flags & MERGED_GATHER;
    g->last = flags & MERGED_LAST;
    g->set.len = be_get32(r);
    r->bad |= g->set.len > SF_AGENTS_MAX / 8;
    g->set.data = be_get_bytes(r, g->set.len);
    g->count = be_get32(r);
    g->packed.len = (uint32_t)r->left;
    g->packed.data = be_get_bytes(r, r->left);
    if (r->bad)
        return;
    agent_parts_init(&walk, g);
    while (seen < g->count && agent_parts_next(&walk, &part))
        seen++;
    r->bad |= seen != g->count || !be_reader_done(&walk);
}

static void get_nothing(struct be_reader *r, struct agent_msg *m)
{
}

static const struct codec {
    const char *name;
    void (*put)(struct bytebuf *o, const struct agent_msg *m);
    void (*get)(struct be_reader *r, struct agent_msg *m);
} codecs[] = {
    [AGENT_JOB] = {"JOB", put_job, get_job},
    [AGENT_PUT] = {"PUT", put_put, get_put},
    [AGENT_GOT] = {"GOT", put_got, get_got},
    [AGENT_WORLD] = {"WORLD", put_world, get_world},
    [AGENT_WORLD_AT] = {"WORLD_AT", put_world_at, get_world_at},
    [AGENT_ABORT] = {"ABORT", put_abort, get_abort},
    [AGENT_KILL] = {"KILL", put_kill, get_kill},
    [AGENT_NOTE] = {"NOTE", put_text, get_text},
    [AGENT_BYE] = {"BYE", put_nothing, get_nothing},
    [AGENT_ERROR] = {"ERROR", put_text, get_text},
    [AGENT_HOLDS] = {"HOLDS", put_text, get_text},
    [AGENT_GATHER] = {"GATHER", put_put, get_put},
    [AGENT_SPAWN] = {"SPAWN", put_spawn, get_spawn},
    [AGENT_SPAWNED] = {"SPAWNED", put_spawn, get_spawn},
    [AGENT_TREE] = {"TREE", put_number, get_number},
    [AGENT_LISTENS] = {"LISTENS", put_at, get_at},
    [AGENT_PARENT] = {"PARENT", put_at, get_at},
    [AGENT_ATTACHED] = {"ATTACHED", put_nothing, get_nothing},
    [AGENT_LEAVING] = {"LEAVING", put_nothing, get_nothing},
    [AGENT_LEAVE] = {"LEAVE", put_number, get_number},
    [AGENT_SPREAD] = {"SPREAD", put_spread, get_spread},
    [AGENT_MERGED] = {"MERGED", put_merged, get_merged},
};
#define N_CODECS (sizeof(codecs) / sizeof(codecs[0]))

int agent_msg_encode(struct bytebuf *out, const struct agent_msg *msg)
{
    struct bytebuf payload;

    bytebuf_init(&payload, SF_AGENT_FRAME_MAX);
    codecs[msg->type].put(&payload, msg);
    out->bad |= payload.bad;
    bytebuf_add32(out, msg->type);
    bytebuf_add32(out, (uint32_t)bytebuf_len(&payload));
    bytebuf_add(out, bytebuf_data(&payload), bytebuf_len(&payload));
    bytebuf_free(&payload);
    if (!out->bad)
        return 0;
    errno = ENOBUFS;
    return -1;
}

ssize_t agent_msg_decode(struct agent_msg *msg, const void *buf, size_t len,
                         struct errbuf *err)
{
    struct be_reader r;
    uint32_t type, payload;

    if (len < AGENT_HEADER_SIZE)
        return 0;
    be_reader_init(&r, buf, len);
    type = be_get32(&r);
    payload = be_get32(&r);
    errno = EPROTO;
    if (type >= N_CODECS || !codecs[type].get)
        return errprintf(err, "unknown frame type %u", type);
    if (payload > SF_AGENT_FRAME_MAX)
        return errprintf(err, "%s frame of %u bytes", codecs[type].name,
                         payload);
    if (r.left < payload)
        return 0;
    be_reader_init(&r, r.pos, payload);
    msg->type = type;
    codecs[type].get(&r, msg);
    if (!be_reader_done(&r)) {
        errno = EPROTO;
        return errprintf(err, "malformed %s frame", codecs[type].name);
    }
    return (ssize_t)(AGENT_HEADER_SIZE + payload);
}

void agent_blobs_init(struct be_reader *r, const struct agent_got *got)
{
    be_reader_init(r, got->packed.data, got->packed.len);
}

bool agent_blobs_next(struct be_reader *r, struct agent_blob *blob)
{
    if (!r->left)
        return false;
    blob->len = be_get32(r);
    blob->data = be_get_bytes(r, blob->len);
    return !r->bad;
}

void agent_blobs_add(struct bytebuf *packed, const void *data, uint32_t len)
{
    bytebuf_add32(packed, len);
    bytebuf_add(packed, data, len);
}

void agent_parts_init(struct be_reader *r, const struct agent_merged *m)
{
    be_reader_init(r, m->packed.data, m->packed.len);
}

bool agent_parts_next(struct be_reader *r, struct agent_part *part)
{
    if (!r->left)
        return false;
    part->agent = be_get32(r);
    part->index = be_get32(r);
    part->blob.len = be_get32(r);
    r->bad |= part->blob.len > SF_AGENT_BLOB_MAX;
    part->blob.data = be_get_bytes(r, part->blob.len);
    return !r->bad;
}

void agent_parts_add(struct bytebuf *packed, const struct agent_part *part)
{
    bytebuf_add32(packed, part->agent);
    bytebuf_add32(packed, part->index);
    bytebuf_add32(packed, part->blob.len);
    bytebuf_add(packed, part->blob.data, part->blob.len);
}

int agent_spread_begin(struct bytebuf *out, const void *set, size_t set_len,
                       size_t frame_len)
{
    uint64_t payload = 4 + (uint64_t)set_len + frame_len;

    out->bad |= payload > SF_AGENT_FRAME_MAX;
    bytebuf_add32(out, AGENT_SPREAD);
    bytebuf_add32(out, (uint32_t)payload);
    bytebuf_add32(out, (uint32_t)set_len);
    bytebuf_add(out, set, set_len);
    if (!out->bad)
        return 0;
    errno = ENOBUFS;
    return -1;
}
