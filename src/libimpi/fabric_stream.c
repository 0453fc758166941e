/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of a channel, in order: short pieces travel in frames, long ones
 * stay in the sender's memory until the receiver has read them from there.
 */
#define _GNU_SOURCE
#include "libimpi/fabric_parts.h"

#ifdef WITH_FABRIC
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a piece that are read from the peer's memory. */
struct reading {
    struct work work; /* first */
    TAILQ_ENTRY(reading) link;
    struct fabric_peer *peer; /* NULL if it is gone */
    struct buffer *of;
    uint64_t address;
    uint8_t *to;
    size_t len, at; /* at: bytes that have arrived, if read by parts */
    struct fid_mr *mr;
    bool by_parts;      /* the destination cannot be registered: */
    struct buffer *own; /* each part first goes into one of these */
    bool given;         /* the provider has it */
    void *token;        /* of fabric_borrow(); NULL if it was fabric_stage(): */
    uint8_t *memory;    /* then the bytes are in this memory, */
    size_t used;        /* and so many were passed on */
};

static struct readings orphans = TAILQ_HEAD_INITIALIZER(orphans);

/* ---- out ---- */

/* Find the piece of iov[0..n) that holds byte `skip`, from there on.  False if
 * there is none. */
static bool piece_at(const struct iovec *iov, int n, size_t skip,
                     struct iovec *piece)
{
    int i = 0;

    while (i < n && skip >= iov[i].iov_len)
        skip -= iov[i++].iov_len;
    if (i == n)
        return false;
    piece->iov_base = (uint8_t *)iov[i].iov_base + skip;
    piece->iov_len = iov[i].iov_len - skip;
    return true;
}

static bool is_long(const struct fabric_peer *p, size_t len)
{
    return p->frames.lends_out > 0 && len >= SF_FABRIC_LEND_MIN;
}

/* Copy the bytes of iov[0..n) from *skip on, at most `room`, up to a piece that
 * is better lent.  Advances *skip; returns how many. */
static size_t gather(const struct fabric_peer *p, uint8_t *to, size_t room,
                     const struct iovec *iov, int n, size_t *skip)
{
    size_t at = 0, done = 0;

    for (int i = 0; i < n && done < room; at += iov[i++].iov_len) {
        size_t from, len;

        if (*skip >= at + iov[i].iov_len)
            continue;
        from = *skip - at;
        len = iov[i].iov_len - from;
        if (done > 0 && is_long(p, len))
            break;
        if (len > room - done)
            len = room - done;
        memcpy(to + done, (const uint8_t *)iov[i].iov_base + from, len);
        done += len;
        *skip += len;
    }
    return done;
}

/* Let the peer read this piece from now on; its frame, which already has len
 * bytes, tells it so.  False if the memory cannot be registered; it then goes
 * in frames.
 */
static bool lend(struct fabric_peer *p, struct buffer *b, size_t len,
                 const struct iovec *piece)
{
    struct lent *lent = &p->lent[(p->first_lent + p->nlent) % SF_FABRIC_LENDS];
    struct impi_lend l = {.length = SF_FABRIC_LEND_MAX};

    if (piece->iov_len < l.length)
        l.length = (uint32_t)piece->iov_len;
    if (fabric_register(piece->iov_base, l.length, FI_REMOTE_READ, &lent->mr) <
        0)
        return false;
    if (fabric.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
        l.address = (uintptr_t)piece->iov_base;
    l.key = fi_mr_key(lent->mr);
    lent->len = l.length;
    lent->before = p->behind;
    p->behind = 0;
    p->nlent++;
    fabric.counts.lent_out++;
    fabric.counts.bytes_out += l.length;
    impi_lend_encode(b->data + IMPI_FRAME_SIZE + len, &l);
    fabric_send_frame(p, b, IMPI_FRAME_LEND, len + IMPI_LEND_SIZE);
    return true;
}

/* Lend the piece at *skip, if it is long and that is possible now. */
static bool lend_next(struct fabric_peer *p, struct buffer *b, size_t len,
                      const struct iovec *iov, int n, size_t *skip)
{
    struct iovec piece;

    if (len + IMPI_LEND_SIZE > p->frame - IMPI_FRAME_SIZE ||
        !piece_at(iov, n, *skip, &piece) || !is_long(p, piece.iov_len) ||
        !impi_frames_may_lend(&p->frames) || !lend(p, b, len, &piece))
        return false;
    *skip += p->lent[(p->first_lent + p->nlent - 1) % SF_FABRIC_LENDS].len;
    return true;
}

/* Send one frame with the bytes from *skip on.  False: not now. */
static bool write_next(struct fabric_peer *p, const struct iovec *iov, int n,
                       size_t *skip)
{
    struct iovec piece;
    struct buffer *b;
    size_t len;

    if (!fabric_may_write(p) || !piece_at(iov, n, *skip, &piece))
        return false;
    if (is_long(p, piece.iov_len) && !impi_frames_may_lend(&p->frames))
        return false;
    b = fabric_take_out(p);
    if (!b)
        return false;
    if (lend_next(p, b, 0, iov, n, skip))
        return true;
    len = gather(p, b->data + IMPI_FRAME_SIZE, p->frame - IMPI_FRAME_SIZE, iov,
                 n, skip);
    *(p->nlent > 0 ? &p->behind : &p->ready) += len;
    if (!lend_next(p, b, len, iov, n, skip))
        fabric_send_frame(p, b, IMPI_FRAME_DATA, len);
    return true;
}

/* Bytes that were accepted, but not yet reported to the caller. */
static size_t untold(const struct fabric_peer *p)
{
    size_t sum = p->ready + p->behind;

    for (unsigned i = 0; i < p->nlent; i++) {
        const struct lent *l = &p->lent[(p->first_lent + i) % SF_FABRIC_LENDS];

        sum += l->len + l->before;
    }
    return sum;
}

size_t fabric_write(struct fabric_peer *p, const struct iovec *iov, int n)
{
    size_t skip = untold(p), done;

    fabric_push(p);
    while (write_next(p, iov, n, &skip))
        ;
    done = p->ready;
    p->ready = 0;
    return done;
}

/* The peer says how many pieces it has read. */
static void take_back(struct fabric_peer *p, const struct buffer *b)
{
    int n =
        impi_frames_returned(&p->frames, b->data + IMPI_FRAME_SIZE, &p->error);

    for (; n > 0; n--) {
        struct lent *l = &p->lent[p->first_lent];

        fabric_close_fid(&l->mr->fid);
        p->first_lent = (p->first_lent + 1) % SF_FABRIC_LENDS;
        p->nlent--;
        p->ready += l->len;
        if (p->nlent > 0) {
            p->ready += p->lent[p->first_lent].before;
            p->lent[p->first_lent].before = 0;
        } else {
            p->ready += p->behind;
            p->behind = 0;
        }
    }
}

/* ---- in: pieces that a peer has lent ---- */

static void free_reading(struct readings *list, struct reading *r)
{
    TAILQ_REMOVE(list, r, link);
    fabric_close_fid(r->mr ? &r->mr->fid : NULL);
    free(r->memory);
    free(r);
}

void fabric_return_pieces(struct fabric_peer *p)
{
    struct buffer *b;

    while ((b = TAILQ_FIRST(&p->pieces)) && b->over && b->reads == 0) {
        TAILQ_REMOVE(&p->pieces, b, lent_link);
        fabric_repost(b);
        impi_frames_freed(&p->frames);
        p->returns++;
    }
    if (p->returns == 0 || p->error.text[0] || !(b = fabric_take_out(p)))
        return;
    impi_frames_read(&p->frames, b->data + IMPI_FRAME_SIZE, p->returns);
    p->returns = 0;
    fabric_send_frame(p, b, IMPI_FRAME_READ, IMPI_READ_SIZE);
}

/* All of the piece was requested, and what came into our own memory was read.
 */
static void piece_over(struct fabric_peer *p, struct buffer *b)
{
    TAILQ_REMOVE(&p->in, b, link);
    b->over = true;
    fabric_return_pieces(p);
}

/* Get a buffer for the next part, if the provider cannot read straight to the
 * destination.  False: later. */
static bool take_part(struct fabric_peer *p, struct reading *r)
{
    if (r->by_parts && !r->own)
        r->own = fabric_take_out(p);
    return !r->by_parts || r->own;
}

static size_t part_size(const struct reading *r)
{
    size_t left = r->len - r->at;

    return r->by_parts && left > FRAME ? FRAME : left;
}

void fabric_push_reads(struct fabric_peer *p)
{
    struct reading *r;
    ssize_t rc;

    TAILQ_FOREACH(r, &p->reads, link)
    {
        if (r->given || p->error.text[0])
            continue;
        if (!take_part(p, r))
            return;
        rc = fi_read(fabric.ep, r->own ? r->own->data : r->to, part_size(r),
                     r->own  ? r->own->desc
                     : r->mr ? fi_mr_desc(r->mr)
                             : NULL,
                     p->addr, r->address + r->at, r->of->lend.key,
                     &r->work.context);
        if (rc == -FI_EAGAIN)
            return;
        if (rc < 0) {
            fabric_peer_fail(p, "reading", (int)-rc);
            return;
        }
        r->given = true;
    }
}

bool fabric_lends(const struct fabric_peer *p)
{
    const struct buffer *b = TAILQ_FIRST(&p->in);

    return b && b->lends;
}

size_t fabric_lent(const struct fabric_peer *p)
{
    const struct buffer *b = TAILQ_FIRST(&p->in);

    if (!b || !b->is_lent || p->staged || fabric_error(p))
        return 0;
    return b->len - b->at;
}

/* Read the next len bytes of the first piece to `to`. */
static struct reading *begin_read(struct fabric_peer *p, void *to, size_t len)
{
    struct buffer *b = TAILQ_FIRST(&p->in);
    struct reading *r = calloc(1, sizeof(*r));

    assert(len <= fabric_lent(p));
    if (!r) {
        fabric_peer_fail(p, "reading", FI_ENOMEM);
        return NULL;
    }
    r->work.use = USE_READ;
    r->peer = p;
    r->of = b;
    r->address = b->lend.address + b->at;
    r->to = to;
    r->len = len;
    r->by_parts = fabric_register_own(to, len, FI_READ, &r->mr) < 0;
    b->at += len;
    b->reads++;
    fabric.counts.reads++;
    fabric.counts.bytes_in += len;
    TAILQ_INSERT_TAIL(&p->reads, r, link);
    return r;
}

void fabric_borrow(struct fabric_peer *p, void *to, size_t len, void *token)
{
    struct buffer *b = TAILQ_FIRST(&p->in);
    struct reading *r = begin_read(p, to, len);

    if (!r)
        return;
    r->token = token;
    fabric_push_reads(p);
    if (b->at == b->len)
        piece_over(p, b);
}

void fabric_stage(struct fabric_peer *p)
{
    size_t len = fabric_lent(p);
    uint8_t *memory = malloc(len);

    if (!memory) {
        fabric_peer_fail(p, "reading", FI_ENOMEM);
        return;
    }
    p->staged = begin_read(p, memory, len);
    if (!p->staged) {
        free(memory);
        return;
    }
    p->staged->memory = memory;
    fabric.counts.staged++;
    fabric_push_reads(p);
}

void *fabric_kept(struct fabric_peer *p)
{
    struct reading *r = TAILQ_FIRST(&p->kept);
    void *token;

    if (!r || r == p->staged)
        return NULL;
    token = r->token;
    free_reading(&p->kept, r);
    return token;
}

/* All of it has arrived. */
static void read_over(struct fabric_peer *p, struct reading *r)
{
    TAILQ_REMOVE(&p->reads, r, link);
    TAILQ_INSERT_TAIL(&p->kept, r, link);
    r->of->reads--;
    if (r->token)
        fabric_return_pieces(p);
}

void fabric_read_done(struct work *w, int error)
{
    struct reading *r = (struct reading *)w;
    struct fabric_peer *p = r->peer;
    size_t part = part_size(r);

    if (p && r->own && !error)
        memcpy(r->to + r->at, r->own->data, part);
    if (r->own)
        fabric_give_back_out(r->own);
    r->own = NULL;
    r->given = false;
    r->at += part;
    if (!p)
        free_reading(&orphans, r);
    else if (error)
        fabric_peer_fail(p, "reading", error);
    else if (r->at < r->len)
        fabric_push_reads(p);
    else
        read_over(p, r);
}

/* Reads that the provider has already continue, into our own memory, which is
 * kept for them, or to a destination that is about to vanish with the process.
 */
void fabric_drop_pieces(struct fabric_peer *p)
{
    struct reading *r;
    struct buffer *b;

    while ((r = TAILQ_FIRST(&p->kept)))
        free_reading(&p->kept, r);
    while ((r = TAILQ_FIRST(&p->reads))) {
        TAILQ_REMOVE(&p->reads, r, link);
        TAILQ_INSERT_TAIL(&orphans, r, link);
        r->peer = NULL;
        if (!r->given)
            free_reading(&orphans, r);
    }
    while ((b = TAILQ_FIRST(&p->pieces))) {
        TAILQ_REMOVE(&p->pieces, b, lent_link);
        if (b->over)
            fabric_repost(b);
    }
    for (unsigned i = 0; i < p->nlent; i++)
        fabric_close_fid(
            &p->lent[(p->first_lent + i) % SF_FABRIC_LENDS].mr->fid);
}

void fabric_free_reads(void)
{
    struct reading *r;

    while ((r = TAILQ_FIRST(&orphans)))
        free_reading(&orphans, r);
}

bool fabric_has_told(const struct fabric_peer *p)
{
    return p->ready > 0 ||
           (!TAILQ_EMPTY(&p->kept) && TAILQ_FIRST(&p->kept) != p->staged);
}

/* ---- in: the stream ---- */

/* The next bytes that have arrived. */
static const uint8_t *bytes_here(const struct fabric_peer *p, size_t *len)
{
    const struct buffer *b = TAILQ_FIRST(&p->in);
    const struct reading *r = p->staged;

    *len = 0;
    if (b && !b->is_lent) {
        *len = b->len - b->at;
        return b->data + IMPI_FRAME_SIZE + b->at;
    }
    if (!r || r->at < r->len)
        return NULL;
    *len = r->len - r->used;
    return r->memory + r->used;
}

/* The frame's own bytes were read; the piece is next. */
static void turn_to_piece(struct buffer *b)
{
    b->is_lent = true;
    b->len = b->lend.length;
    b->at = 0;
}

static void use_bytes(struct fabric_peer *p, size_t len)
{
    struct buffer *b = TAILQ_FIRST(&p->in);
    struct reading *r = p->staged;

    if (!b->is_lent) {
        b->at += len;
        if (b->at == b->len && b->lends)
            turn_to_piece(b);
        else if (b->at == b->len)
            fabric_taken(p);
        return;
    }
    r->used += len;
    if (r->used < r->len)
        return;
    p->staged = NULL;
    free_reading(&p->kept, r);
    piece_over(p, b);
}

size_t fabric_ready(const struct fabric_peer *p)
{
    size_t len;

    bytes_here(p, &len);
    return len;
}

size_t fabric_read(struct fabric_peer *p, const struct iovec *iov, int n)
{
    size_t done = 0, at = 0, len;
    const uint8_t *from;
    int i = 0;

    while (i < n && (from = bytes_here(p, &len))) {
        if (len > iov[i].iov_len - at)
            len = iov[i].iov_len - at;
        memcpy((uint8_t *)iov[i].iov_base + at, from, len);
        done += len;
        at += len;
        use_bytes(p, len);
        if (at == iov[i].iov_len) {
            at = 0;
            i++;
        }
    }
    return done;
}

static int take_piece(struct fabric_peer *p, struct buffer *b)
{
    int before = impi_lend_decode(&b->lend, b->data + IMPI_FRAME_SIZE, b->len,
                                  &p->error);

    if (before < 0)
        return -1;
    b->len = (size_t)before;
    b->reads = 0;
    b->over = false;
    if (b->len == 0)
        turn_to_piece(b);
    TAILQ_INSERT_TAIL(&p->pieces, b, lent_link);
    return 0;
}

void fabric_take(struct fabric_peer *p, struct buffer *b,
                 const struct impi_frame *frame)
{
    if (impi_frames_take(&p->frames, frame, &p->error) < 0) {
        fabric_repost(b);
        return;
    }
    fabric.counts.frames_in++;
    fabric.counts.bytes_in += frame->length;
    if (frame->kind != IMPI_FRAME_DATA && frame->kind != IMPI_FRAME_LEND) {
        if (frame->kind == IMPI_FRAME_READ)
            take_back(p, b);
        fabric_repost(b);
        return;
    }
    b->peer = p;
    b->len = frame->length;
    b->at = 0;
    b->lends = frame->kind == IMPI_FRAME_LEND;
    b->is_lent = false;
    if (b->lends && take_piece(p, b) < 0) {
        fabric_repost(b);
        return;
    }
    TAILQ_INSERT_TAIL(&p->in, b, link);
}

#endif
