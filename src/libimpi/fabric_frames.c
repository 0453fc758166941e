/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames on the fabric's one endpoint: memory that is registered, the buffers
 * made of it, and frames out and in.
 */
#define _GNU_SOURCE
#include "libimpi/fabric_parts.h"

#ifdef WITH_FABRIC
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "base/mac.h"

#include <stdlib.h>
#include <string.h>

#define KEYS_TRIED 4 /* for memory to lend, where we choose them */

struct fabric fabric = {.fd = -1};

/* ---- memory ---- */

static int bind_memory(struct fid_mr *mr)
{
    int rc = 0;

    if (fabric.info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        rc = fi_mr_bind(mr, &fabric.ep->fid, 0);
        if (rc == 0)
            rc = fi_mr_enable(mr);
    }
    return rc;
}

/* A system call for many of them: each long message needs one. */
static uint64_t random_number(void)
{
    static uint64_t numbers[32];
    static size_t left;

    if (left == 0) {
        mac_random(numbers, sizeof(numbers));
        left = sizeof(numbers) / sizeof(numbers[0]);
    }
    return numbers[--left];
}

/* A key that nobody can guess, where we choose it. */
static uint64_t fresh_key(void)
{
    const struct fi_domain_attr *attr = fabric.info->domain_attr;
    uint64_t key;

    if (attr->mr_mode & FI_MR_PROV_KEY)
        return 0;
    key = random_number();
    return attr->mr_key_size < sizeof(key)
               ? key & ((1ull << 8 * attr->mr_key_size) - 1)
               : key;
}

int fabric_register(void *memory, size_t len, uint64_t access,
                    struct fid_mr **mr)
{
    int rc = -FI_ENOKEY;

    *mr = NULL;
    for (int i = 0; i < KEYS_TRIED && rc == -FI_ENOKEY; i++)
        rc = fi_mr_reg(fabric.domain, memory, len, access, 0, fresh_key(), 0,
                       mr, NULL);
    if (rc == 0)
        rc = bind_memory(*mr);
    if (rc < 0 && *mr)
        fi_close(&(*mr)->fid);
    if (rc < 0)
        *mr = NULL;
    return rc;
}

int fabric_register_own(void *memory, size_t len, uint64_t access,
                        struct fid_mr **mr)
{
    *mr = NULL;
    return fabric.info->domain_attr->mr_mode & FI_MR_LOCAL
               ? fabric_register(memory, len, access, mr)
               : 0;
}

/* ---- buffers ---- */

/* Buffers that were made together. */
struct slab {
    SLIST_ENTRY(slab) link;
    struct fid_mr *mr;
    uint8_t *memory;
    struct buffer *all;
    size_t n;
};

static SLIST_HEAD(, slab) slabs;

static void free_slab(struct slab *s)
{
    if (s->mr)
        fi_close(&s->mr->fid);
    free(s->memory);
    free(s->all);
    free(s);
}

static struct slab *make_slab(size_t n, bool out)
{
    struct slab *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->n = n;
    s->all = calloc(n, sizeof(struct buffer));
    if (!s->all || posix_memalign((void **)&s->memory, 4096, n * FRAME) != 0 ||
        fabric_register_own(s->memory, n * FRAME,
                            !out                ? FI_RECV
                            : fabric_can_read() ? FI_SEND | FI_READ
                                                : FI_SEND,
                            &s->mr) < 0) {
        free_slab(s);
        return NULL;
    }
    return s;
}

int fabric_add_buffers(size_t n, bool out, struct buffers *list)
{
    struct slab *s = make_slab(n, out);

    if (!s)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct buffer *b = &s->all[i];

        b->data = s->memory + i * FRAME;
        b->desc = s->mr ? fi_mr_desc(s->mr) : NULL;
        b->work.use = out ? USE_OUT : USE_IN;
        TAILQ_INSERT_TAIL(list, b, link);
    }
    SLIST_INSERT_HEAD(&slabs, s, link);
    return 0;
}

void fabric_free_buffers(void)
{
    struct slab *s;

    while ((s = SLIST_FIRST(&slabs))) {
        SLIST_REMOVE_HEAD(&slabs, link);
        free_slab(s);
    }
}

void fabric_disown_buffers(const struct fabric_peer *p)
{
    struct slab *s;

    SLIST_FOREACH(s, &slabs, link)
    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].peer == p)
            s->all[i].peer = NULL;
}

int fabric_peer_fail(struct fabric_peer *p, const char *what, int code)
{
    if (!p->error.text[0])
        errprintf(&p->error, "%s: %s: %s", fabric.end.name, what,
                  fabric.lib.strerror(code));
    return -1;
}

const char *fabric_error(const struct fabric_peer *p)
{
    if (p->error.text[0])
        return p->error.text;
    return fabric.broken.text[0] ? fabric.broken.text : NULL;
}

/* ---- out ---- */

void fabric_push(struct fabric_peer *p)
{
    struct buffer *b;

    while ((b = TAILQ_FIRST(&p->out)) && !p->error.text[0]) {
        ssize_t rc = fi_send(fabric.ep, b->data, b->len, b->desc, p->addr,
                             &b->work.context);

        if (rc == -FI_EAGAIN)
            return;
        if (rc < 0) {
            fabric_peer_fail(p, "sending", (int)-rc);
            return;
        }
        TAILQ_REMOVE(&p->out, b, link);
        p->sending++;
        fabric.counts.frames_out++;
        fabric.counts.bytes_out += b->len - IMPI_FRAME_SIZE;
    }
}

struct buffer *fabric_take_out(struct fabric_peer *p)
{
    bool has = p->sending > 0 || !TAILQ_EMPTY(&p->out);
    struct buffer *b = TAILQ_FIRST(&fabric.free_out);

    if (!b || (has && fabric.nfree_out <= fabric.nlive))
        return NULL;
    TAILQ_REMOVE(&fabric.free_out, b, link);
    fabric.nfree_out--;
    b->peer = p;
    return b;
}

void fabric_give_back_out(struct buffer *b)
{
    b->peer = NULL;
    TAILQ_INSERT_HEAD(&fabric.free_out, b, link);
    fabric.nfree_out++;
}

void fabric_send_frame(struct fabric_peer *p, struct buffer *b,
                       enum impi_frame_kind kind, size_t len)
{
    impi_frames_put(&p->frames, b->data, kind, len);
    b->len = IMPI_FRAME_SIZE + len;
    TAILQ_INSERT_TAIL(&p->out, b, link);
    fabric_push(p);
}

bool fabric_send_bare(struct fabric_peer *p, enum impi_frame_kind kind)
{
    struct buffer *b = fabric_take_out(p);

    if (b)
        fabric_send_frame(p, b, kind, 0);
    return b;
}

bool fabric_may_write(const struct fabric_peer *p)
{
    return TAILQ_EMPTY(&p->out) && p->frames.may_send > 0 && !fabric_error(p);
}

size_t fabric_put(struct fabric_peer *p, const void *head, size_t head_len,
                  const void *data, size_t len)
{
    struct buffer *b;

    if (IMPI_FRAME_SIZE + head_len + len > p->frame || !fabric_may_write(p) ||
        !(b = fabric_take_out(p)))
        return 0;
    memcpy(b->data + IMPI_FRAME_SIZE, head, head_len);
    if (len > 0)
        memcpy(b->data + IMPI_FRAME_SIZE + head_len, data, len);
    fabric_send_frame(p, b, IMPI_FRAME_DATA, head_len + len);
    return head_len + len;
}

/* ---- in ---- */

void fabric_post_all(void)
{
    struct buffer *b;

    while ((b = TAILQ_FIRST(&fabric.unposted))) {
        ssize_t rc = fi_recv(fabric.ep, b->data, FRAME, b->desc, FI_ADDR_UNSPEC,
                             &b->work.context);

        if (rc == -FI_EAGAIN)
            return;
        if (rc < 0) {
            errprintf(&fabric.broken, "%s: posting a buffer: %s",
                      fabric.end.name, fabric.lib.strerror((int)-rc));
            return;
        }
        TAILQ_REMOVE(&fabric.unposted, b, link);
    }
}

void fabric_repost(struct buffer *b)
{
    b->peer = NULL;
    TAILQ_INSERT_TAIL(&fabric.unposted, b, link);
    fabric_post_all();
}

void fabric_pay_back(struct fabric_peer *p)
{
    if (impi_frames_owes(&p->frames) && !p->error.text[0])
        fabric_send_bare(p, IMPI_FRAME_CREDITS);
}

void fabric_taken(struct fabric_peer *p)
{
    struct buffer *b = TAILQ_FIRST(&p->in);

    TAILQ_REMOVE(&p->in, b, link);
    fabric_repost(b);
    impi_frames_freed(&p->frames);
    fabric_pay_back(p);
}

const uint8_t *fabric_look(const struct fabric_peer *p, size_t *len)
{
    const struct buffer *b = TAILQ_FIRST(&p->in);

    if (!b || b->at > 0 || b->lends)
        return NULL;
    *len = b->len;
    return b->data + IMPI_FRAME_SIZE;
}

#endif
