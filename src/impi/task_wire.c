/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "impi/task_wire.h"

const char *task_family_name(uint32_t family)
{
    switch (family) {
    case TASK_FAMILY_MPICH:
    case TASK_FAMILY_MPICH_PMIX:
        return "MPICH";
    case TASK_FAMILY_OPENMPI:
        return "Open MPI";
    default:
        return "no MPI";
    }
}

ssize_t task_frame_parse(struct task_frame *frame, const void *buf, size_t len,
                         size_t max)
{
    struct be_reader r;

    be_reader_init(&r, buf, len);
    frame->type = be_get32(&r);
    frame->len = be_get32(&r);
    if (r.bad) {
        errno = EAGAIN;
        return -1;
    }
    if (frame->len > max) {
        errno = EMSGSIZE;
        return -1;
    }
    frame->payload = be_get_bytes(&r, frame->len);
    if (r.bad) {
        errno = EAGAIN;
        return -1;
    }
    return TASK_HEADER_SIZE + (ssize_t)frame->len;
}

/* Start a frame whose length frame_end() fills in. */
static void frame_begin(struct be_writer *w, void *buf, size_t size,
                        uint32_t type)
{
    be_writer_init(w, buf, size);
    be_put32(w, type);
    be_put32(w, 0);
}

static ssize_t frame_end(struct be_writer *w)
{
    if (w->bad) {
        errno = EMSGSIZE;
        return -1;
    }
    be_store32(w->start + 4, (uint32_t)(w->len - TASK_HEADER_SIZE));
    return (ssize_t)w->len;
}

static int payload_end(const struct be_reader *r)
{
    if (be_reader_done(r))
        return 0;
    errno = EPROTO;
    return -1;
}

/* A text may be cut: it is for people. */
static void put_text(struct be_writer *w, const char *text)
{
    char cut[SF_TASK_TEXT_MAX];
    size_t len = strnlen(text, sizeof(cut) - 1);

    memcpy(cut, text, len);
    cut[len] = '\0';
    be_put_str(w, cut);
}

ssize_t task_frame_encode(void *buf, size_t size, uint32_t type,
                          const void *payload, size_t len)
{
    struct be_writer w;

    if (len > UINT32_MAX) {
        errno = EMSGSIZE;
        return -1;
    }
    frame_begin(&w, buf, size, type);
    be_put_bytes(&w, payload, len);
    return frame_end(&w);
}

ssize_t task_hello_encode(void *buf, size_t size, const struct task_hello *h)
{
    struct be_writer w;

    frame_begin(&w, buf, size, TASK_HELLO);
    be_put32(&w, h->version);
    be_put32(&w, h->family);
    be_put32(&w, h->rank);
    be_put32(&w, h->pid);
    be_put32(&w, h->build);
    put_text(&w, h->library);
    put_text(&w, h->dir);
    be_put64(&w, h->memory);
    be_put64(&w, h->users);
    return frame_end(&w);
}

/* Nothing else is believed: it becomes part of paths. */
static bool is_dir(const char *dir)
{
    const size_t n = strlen(TASK_DIR_PREFIX);

    return !*dir || (strncmp(dir, TASK_DIR_PREFIX, n) == 0 && dir[n] &&
                     !dir[n + strspn(dir + n, "0123456789")]);
}

int task_hello_decode(struct task_hello *h, const void *payload, size_t len)
{
    struct be_reader r;

    be_reader_init(&r, payload, len);
    h->version = be_get32(&r);
    h->family = be_get32(&r);
    h->rank = be_get32(&r);
    h->pid = be_get32(&r);
    h->build = be_get32(&r);
    be_get_str(&r, h->library, sizeof(h->library));
    be_get_str(&r, h->dir, sizeof(h->dir));
    h->memory = be_get64(&r);
    h->users = be_get64(&r);
    return payload_end(&r) < 0 || !is_dir(h->dir) ? -1 : 0;
}

/* Up to the strings; these follow as u32 count, then u16 length + bytes. */
#define ENV_FIXED (6 * 4 + 16 + 2 * 2 + 4 + 8 + 4)

size_t task_env_size(const struct task_env *e)
{
    size_t size = TASK_HEADER_SIZE + ENV_FIXED;

    for (uint32_t i = 0; i < e->nenv; i++)
        size += 2 + strlen(e->env[i]);
    return size;
}

ssize_t task_env_encode(void *buf, size_t size, const struct task_env *e)
{
    struct be_writer w;

    frame_begin(&w, buf, size, TASK_ENV);
    be_put32(&w, e->generation);
    be_put32(&w, e->nclients);
    be_put32(&w, e->client);
    be_put32(&w, e->native_rank);
    be_put32(&w, e->native_size);
    be_put32(&w, e->world_size);
    be_put_bytes(&w, e->host_addr, sizeof(e->host_addr));
    be_put16(&w, e->port_lo);
    be_put16(&w, e->port_hi);
    be_put32(&w, e->pid);
    be_put64(&w, e->machine);
    be_put32(&w, e->nenv);
    for (uint32_t i = 0; i < e->nenv; i++)
        be_put_str(&w, e->env[i]);
    return frame_end(&w);
}

/* One "NAME=value"; the copy is the caller's.  NULL: malformed or ENOMEM. */
static char *get_env_string(struct be_reader *r)
{
    char *text = be_dup_str(r);

    if (text && text[0] != '=' && strchr(text, '='))
        return text;
    if (text || r->bad)
        errno = EPROTO;
    free(text);
    return NULL;
}

static int get_env_strings(struct task_env *e, struct be_reader *r)
{
    uint32_t n = be_get32(r);

    if (r->bad || n > SF_TASK_ENV_MAX) {
        errno = EPROTO;
        return -1;
    }
    e->env = calloc((size_t)n + 1, sizeof(*e->env));
    if (!e->env)
        return -1;
    for (; e->nenv < n; e->nenv++) {
        e->env[e->nenv] = get_env_string(r);
        if (!e->env[e->nenv])
            return -1;
    }
    return 0;
}

int task_env_decode(struct task_env *e, const void *payload, size_t len)
{
    struct be_reader r;

    memset(e, 0, sizeof(*e));
    be_reader_init(&r, payload, len);
    e->generation = be_get32(&r);
    e->nclients = be_get32(&r);
    e->client = be_get32(&r);
    e->native_rank = be_get32(&r);
    e->native_size = be_get32(&r);
    e->world_size = be_get32(&r);
    be_copy_bytes(&r, e->host_addr, sizeof(e->host_addr));
    e->port_lo = be_get16(&r);
    e->port_hi = be_get16(&r);
    e->pid = be_get32(&r);
    e->machine = be_get64(&r);
    if (get_env_strings(e, &r) < 0 || payload_end(&r) < 0) {
        task_env_clear(e);
        return -1;
    }
    return 0;
}

void task_env_clear(struct task_env *e)
{
    int saved = errno;

    if (e->env)
        for (uint32_t i = 0; i < e->nenv; i++)
            free(e->env[i]);
    free(e->env);
    memset(e, 0, sizeof(*e));
    errno = saved;
}

ssize_t task_join_encode(void *buf, size_t size, const struct task_join *j)
{
    struct be_writer w;

    frame_begin(&w, buf, size, TASK_JOIN);
    be_put32(&w, j->pid);
    be_put_bytes(&w, j->addr, sizeof(j->addr));
    be_put16(&w, j->port);
    be_put16(&w, j->cpus);
    return frame_end(&w);
}

int task_join_decode(struct task_join *j, const void *payload, size_t len)
{
    struct be_reader r;

    be_reader_init(&r, payload, len);
    j->pid = be_get32(&r);
    be_copy_bytes(&r, j->addr, sizeof(j->addr));
    j->port = be_get16(&r);
    j->cpus = be_get16(&r);
    return payload_end(&r);
}

ssize_t task_abort_encode(void *buf, size_t size, const struct task_abort *a)
{
    struct be_writer w;

    frame_begin(&w, buf, size, TASK_ABORT);
    be_put32(&w, (uint32_t)a->code);
    put_text(&w, a->text);
    return frame_end(&w);
}

int task_abort_decode(struct task_abort *a, const void *payload, size_t len)
{
    struct be_reader r;

    be_reader_init(&r, payload, len);
    a->code = (int32_t)be_get32(&r);
    be_get_str(&r, a->text, sizeof(a->text));
    return payload_end(&r);
}

ssize_t task_error_encode(void *buf, size_t size, const char *text)
{
    struct be_writer w;

    frame_begin(&w, buf, size, TASK_ERROR);
    put_text(&w, text);
    return frame_end(&w);
}

int task_error_decode(struct task_text *t, const void *payload, size_t len)
{
    struct be_reader r;

    be_reader_init(&r, payload, len);
    be_get_str(&r, t->text, sizeof(t->text));
    return payload_end(&r);
}

ssize_t task_register_encode(void *buf, size_t size,
                             const struct task_register *t)
{
    struct be_writer w;

    frame_begin(&w, buf, size, TASK_REGISTER);
    be_put32(&w, t->rank);
    be_put32(&w, t->local);
    return frame_end(&w);
}

int task_register_decode(struct task_register *t, const void *payload,
                         size_t len)
{
    struct be_reader r;

    be_reader_init(&r, payload, len);
    t->rank = be_get32(&r);
    t->local = be_get32(&r);
    return payload_end(&r);
}

ssize_t task_exiting_encode(void *buf, size_t size,
                            const struct task_exiting *x)
{
    struct be_writer w;

    frame_begin(&w, buf, size, TASK_EXITING);
    be_put32(&w, (uint32_t)x->code);
    return frame_end(&w);
}

int task_exiting_decode(struct task_exiting *x, const void *payload, size_t len)
{
    struct be_reader r;

    be_reader_init(&r, payload, len);
    x->code = (int32_t)be_get32(&r);
    return payload_end(&r);
}

ssize_t task_stage_encode(void *buf, size_t size, const struct task_stage *s)
{
    struct be_writer w;

    frame_begin(&w, buf, size, TASK_STAGE);
    be_put32(&w, s->stage);
    return frame_end(&w);
}

int task_stage_decode(struct task_stage *s, const void *payload, size_t len)
{
    struct be_reader r;

    be_reader_init(&r, payload, len);
    s->stage = be_get32(&r);
    return payload_end(&r);
}

ssize_t task_claim_encode(void *buf, size_t size, const struct task_claim *c)
{
    struct be_writer w;

    frame_begin(&w, buf, size, TASK_CLAIM);
    be_put32(&w, c->kind);
    be_put32(&w, c->pid);
    be_put32(&w, c->fd);
    be_put_bytes(&w, c->token, sizeof(c->token));
    return frame_end(&w);
}

int task_claim_decode(struct task_claim *c, const void *payload, size_t len)
{
    struct be_reader r;

    be_reader_init(&r, payload, len);
    c->kind = be_get32(&r);
    c->pid = be_get32(&r);
    c->fd = be_get32(&r);
    be_copy_bytes(&r, c->token, sizeof(c->token));
    if (payload_end(&r) < 0)
        return -1;
    if (c->kind == MEMORY_RING || c->kind == MEMORY_AREA)
        return 0;
    errno = EPROTO;
    return -1;
}

ssize_t task_proof_encode(void *buf, size_t size, uint32_t type,
                          const struct task_proof *p)
{
    struct be_writer w;

    frame_begin(&w, buf, size, type);
    be_put_bytes(&w, p->about, sizeof(p->about));
    be_put_str(&w, p->credential);
    be_put_str(&w, p->text);
    return frame_end(&w);
}

int task_proof_decode(struct task_proof *p, const void *payload, size_t len)
{
    struct be_reader r;

    be_reader_init(&r, payload, len);
    be_copy_bytes(&r, p->about, sizeof(p->about));
    be_get_str(&r, p->credential, sizeof(p->credential));
    be_get_str(&r, p->text, sizeof(p->text));
    return payload_end(&r);
}
