/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "elan/capability.h"
#include "elan/program_wire.h"

#define REQUEST_MAGIC 0x50524731 /* "PRG1" */
#define REPLY_MAGIC 0x50524741   /* "PRGA" */

enum program_right program_verb_right(uint32_t verb)
{
    static const enum program_right rights[PROGRAM_VERBS] = {
        [PROGRAM_NCAPS] = PROGRAM_MEMBER,  [PROGRAM_GETCAP] = PROGRAM_MEMBER,
        [PROGRAM_SETCAP] = PROGRAM_MEMBER, [PROGRAM_PRGID] = PROGRAM_OWNER,
        [PROGRAM_INFO] = PROGRAM_OWNER,    [PROGRAM_STATS] = PROGRAM_OWNER,
        [PROGRAM_SIGNAL] = PROGRAM_OWNER,  [PROGRAM_SUSPEND] = PROGRAM_OWNER,
        [PROGRAM_RESUME] = PROGRAM_OWNER,  [PROGRAM_ADDCAP] = PROGRAM_ROOT,
        [PROGRAM_DESTROY] = PROGRAM_ROOT,
    };

    return verb < PROGRAM_VERBS ? rights[verb] : PROGRAM_ROOT;
}

uint32_t program_request_verb(const void *buf, size_t len)
{
    return len < 8 ? PROGRAM_VERBS : be_load32((const uint8_t *)buf + 4);
}

size_t program_request_put(void *buf, const struct program_request *r)
{
    struct be_writer w;

    be_writer_init(&w, buf, PROGRAM_REQUEST_MAX);
    be_put32(&w, REQUEST_MAGIC);
    be_put32(&w, r->verb);
    be_put32(&w, (uint32_t)r->a);
    be_put32(&w, (uint32_t)r->b);
    if (r->verb == PROGRAM_ADDCAP)
        elan_capability_put(&w, r->cap);
    return w.bad ? 0 : w.len;
}

int program_request_get(struct program_request *req, const void *buf,
                        size_t len)
{
    struct be_reader r;
    uint32_t magic;

    be_reader_init(&r, buf, len);
    magic = be_get32(&r);
    req->verb = be_get32(&r);
    req->a = (int32_t)be_get32(&r);
    req->b = (int32_t)be_get32(&r);
    if (r.bad || magic != REQUEST_MAGIC || req->verb >= PROGRAM_VERBS)
        return -1;
    if (req->verb == PROGRAM_ADDCAP &&
        elan_capability_get(&r, req->cap, NULL) < 0)
        return -1;
    return be_reader_done(&r) ? 0 : -1;
}

void program_reply_begin(struct be_writer *w, void *buf, size_t size, int error)
{
    be_writer_init(w, buf, size);
    be_put32(w, REPLY_MAGIC);
    be_put32(w, (uint32_t)error);
}

int program_reply_open(struct be_reader *r, const void *buf, size_t len)
{
    uint32_t magic, error;

    be_reader_init(r, buf, len);
    magic = be_get32(r);
    error = be_get32(r);
    if (r->bad || magic != REPLY_MAGIC || error > 4095)
        return EPROTO;
    return (int)error;
}

void program_stats_put(struct be_writer *w, const struct program_stats *s)
{
    be_put64(w, s->user_us);
    be_put64(w, s->system_us);
    be_put64(w, s->memory_peak);
    be_put64(w, s->process_peak);
    be_put32(w, s->now);
    be_put32(w, s->most);
    be_put32(w, s->seen);
    be_put32(w, s->exact);
}

void program_stats_get(struct be_reader *r, struct program_stats *s)
{
    s->user_us = be_get64(r);
    s->system_us = be_get64(r);
    s->memory_peak = be_get64(r);
    s->process_peak = be_get64(r);
    s->now = be_get32(r);
    s->most = be_get32(r);
    s->seen = be_get32(r);
    s->exact = be_get32(r);
}
