/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of one peer come in the order in which it sent them, so an answer
 * to the last of them (FLUSHED) confirms them all, and an UNLOCK stands behind
 * the operations of its epoch.  What the network moves is confirmed by itself
 * (impi_rma_moved()), and UNLOCK and COMPLETE wait for it.
 *
 * A lock is put off until there is something to do under it (ops.early): it
 * goes with the first operation, and the target keeps what comes from an origin
 * that waits for its turn.  A short operation is held until the next call, for
 * the unlock may go with it.
 */
#include "impi/rma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/limits.h"
#include "impi/slots.h"

/* Behind the kinds of operations. */
enum message_kind {
    MSG_RESULT = 6, /* of an operation: id; its data */
    MSG_REFUSED,    /* id or 0, disp; op: enum impi_rma_error */
    MSG_TYPE,       /* type: its number; data: the type */
    MSG_FLUSH,      /* id: a running number */
    MSG_FLUSHED,    /* id: the same */
    MSG_LOCK,       /* op: enum impi_rma_lock; with leave, id: as of UNLOCK */
    MSG_GRANTED,    /* of a LOCK that stays */
    MSG_UNLOCK,     /* id: as of FLUSH; answered by FLUSHED */
    MSG_POST,       /* */
    MSG_COMPLETE,   /* */
    MSG_TURN,       /* a waiting process may have got its lock */
    MSG_EXPOSE,     /* */
    MSG_EXPOSED,    /* op: 1 yes, 0 no; id: key, disp: address, count: bytes */
    MSG_KINDS
};

#define VERSION 1

/* The header, in the order of the wire. */
struct head {
    uint8_t version, kind;
    uint8_t lock;  /* of operations, enum impi_rma_lock: under it, */
    uint8_t leave; /* and 1: which goes back then */
    uint16_t op;
    uint16_t elem;
    uint16_t type; /* number of a type of the sender, 0: bytes in a row */
    uint64_t win, id;
    int64_t disp;
    uint64_t count, len; /* of the type; bytes that it moves */
    bool placed;         /* not of the wire: the data are where they belong */
};

/* How far a lock that this process wants has come. */
enum stage {
    PUT_OFF,   /* nobody has been told */
    REQUESTED, /* by LOCK: GRANTED is to come */
    CARRIED,   /* by an operation: an answer to it will tell */
    IN
};

/* An operation of ours that waits for the next call. */
struct held {
    struct head h;
    size_t len;
    uint8_t data[];
};

/* A message of an origin that waits for its turn. */
struct kept {
    struct kept *next;
    struct head h;
    struct impi_typemap *type; /* a copy, for it may change; or NULL */
    size_t len;
    uint8_t data[];
};

/* May the network read and write its memory? */
enum exposure { NOT_ASKED, ASKED, EXPOSED, NOT_EXPOSED };

/* What this process knows about another member of a window. */
struct peer {
    /* It as our target. */
    uint32_t open;  /* operations without answer */
    bool unflushed; /* operations behind the last FLUSH, without answer */
    bool many;      /* more than one, between the last two flushes */
    uint32_t since; /* the last flush: operations that want one */
    struct impi_rma_op first; /* the first of them, answered by itself */
    uint8_t lock;             /* enum impi_rma_lock, as asked for */
    uint8_t stage;            /* enum stage */
    bool hold;                /* its first operation may be held, */
    struct held *held;        /* and is */
    uint64_t early;           /* what it may have to keep, in bytes */
    uint64_t before;          /* the last flush before it was CARRIED */
    uint32_t grants;          /* GRANTED that are to come */
    bool leaving;             /* it goes back when all is confirmed */
    uint32_t number;          /* of impi_rma_words_ask() */
    uint64_t flushes;         /* number of the last FLUSH */
    uint64_t needed;          /* of the last one that confirms operations */
    uint64_t flushed;         /* and of the last FLUSHED */
    uint32_t posts;
    /* It as an origin of operations on our memory. */
    uint8_t holds;                 /* enum impi_rma_lock */
    uint8_t waits;                 /* likewise, in the queue */
    uint32_t turn;                 /* then: its number, */
    bool silent;                   /* no GRANTED is wanted, */
    struct kept *kept, **kept_end; /* and what is to be done then: */
    uint64_t kept_bytes;
    bool kept_all; /* it ends with an unlock */
    uint32_t completes;
    /* Its memory, where that is mapped. */
    struct impi_rma_words *words;
    uint8_t *base;
    uint64_t size;
    bool far; /* its memory can be copied, at: */
    uint64_t address;
    /* Or read and written by the network. */
    uint8_t exposure; /* enum exposure */
    struct impi_rma_place place;
    uint32_t moves;      /* under way, of those open */
    bool unlock_waits;   /* UNLOCK, for them */
    bool complete_waits; /* COMPLETE, likewise */
};

/* One that is under way. */
struct move {
    struct impi_rma_win *win;
    uint32_t target;
    struct impi_rma_op *op; /* NULL: it ends with a flush */
};

/* Of the own memory; those of a window in the order of their addresses. */
struct piece {
    uint8_t *base;
    uint64_t size;
};

struct impi_rma_win {
    struct impi_rma *rma;
    struct impi_rma_win *next;
    uint64_t id;
    uint32_t n, own;
    uint32_t *world;
    uint32_t *member; /* [nprocs] rank here of each world rank, or n */
    struct peer *peers;
    /* The own memory. */
    bool dynamic;
    bool asks_first; /* impi_rma_win_ask_first() */
    struct piece *pieces;
    size_t npieces;
    struct impi_rma_words *words, *private_words;
    /* Those who wait for its lock by messages, in their order. */
    uint32_t *queue; /* [n], round */
    uint32_t queue_head, queue_len;
    bool refused;
    struct impi_rma_refusal refusal;
};

/* Types of ours that peers have, by number - 1. */
struct own_type {
    struct impi_typemap *type;
    uint8_t *sent; /* a bit per world rank */
};

struct impi_rma {
    const struct impi_rma_ops *ops;
    void *arg;
    uint32_t rank, nprocs;
    struct impi_slots slots;
    struct impi_rma_win *wins;
    struct own_type own[SF_IMPI_RMA_TYPES_MAX];
    unsigned next_own;
    struct impi_typemap ***types; /* [nprocs] of peers, made at need */
    bool *lost;                   /* [nprocs] */
};

/* ---- header ---- */

static void head_encode(const struct head *h, uint8_t out[IMPI_RMA_HEAD])
{
    memset(out, 0, IMPI_RMA_HEAD);
    out[0] = h->version;
    out[1] = h->kind;
    out[2] = h->lock;
    out[3] = h->leave;
    be_store32(out + 4, (uint32_t)h->op << 16 | h->elem);
    be_store32(out + 8, h->type);
    be_store64(out + 16, h->win);
    be_store64(out + 24, h->id);
    be_store64(out + 32, (uint64_t)h->disp);
    be_store64(out + 40, h->count);
    be_store64(out + 48, h->len);
}

static void head_decode(struct head *h, const uint8_t *in)
{
    uint32_t op = be_load32(in + 4);

    h->version = in[0];
    h->placed = false;
    h->kind = in[1];
    h->lock = in[2];
    h->leave = in[3];
    h->op = (uint16_t)(op >> 16);
    h->elem = (uint16_t)op;
    h->type = (uint16_t)be_load32(in + 8);
    h->win = be_load64(in + 16);
    h->id = be_load64(in + 24);
    h->disp = (int64_t)be_load64(in + 32);
    h->count = be_load64(in + 40);
    h->len = be_load64(in + 48);
}

static int handle(struct impi_rma *rma, uint32_t peer, const struct head *h,
                  const uint8_t *data, size_t len, struct errbuf *err);

/* To another process, or at once to this one. */
static void tell(struct impi_rma *rma, uint32_t peer, struct head *h,
                 const void *data, size_t len, bool lasts)
{
    uint8_t out[IMPI_RMA_HEAD];

    h->version = VERSION;
    if (peer == rma->rank) {
        handle(rma, peer, h, data, len, NULL);
        return;
    }
    head_encode(h, out);
    rma->ops->send(rma->arg, peer, out, data, len, lasts);
}

/* A message of the window without data. */
static void tell_member(struct impi_rma_win *win, uint32_t member, uint8_t kind,
                        uint16_t op, uint64_t id)
{
    struct head h = {.kind = kind, .op = op, .win = win->id, .id = id};

    tell(win->rma, win->world[member], &h, NULL, 0, false);
}

/* ---- life ---- */

struct impi_rma *impi_rma_create(uint32_t rank, uint32_t nprocs,
                                 const struct impi_rma_ops *ops, void *arg)
{
    struct impi_rma *rma = calloc(1, sizeof(*rma));

    if (!rma)
        return NULL;
    rma->ops = ops;
    rma->arg = arg;
    rma->rank = rank;
    rma->nprocs = nprocs;
    rma->types = calloc(nprocs, sizeof(*rma->types));
    rma->lost = calloc(nprocs, sizeof(*rma->lost));
    if (rma->types && rma->lost)
        return rma;
    free(rma->types);
    free(rma->lost);
    free(rma);
    return NULL;
}

/* Room for what is new, which is zero.  -1: no memory. */
static int longer(void **p, size_t old, size_t size)
{
    uint8_t *more = realloc(*p, size);

    if (!more)
        return -1;
    memset(more + old, 0, size - old);
    *p = more;
    return 0;
}

static size_t bits_of(uint32_t nprocs)
{
    return nprocs / 8 + 1;
}

static int grow_win(struct impi_rma_win *win, uint32_t nprocs)
{
    uint32_t *member = realloc(win->member, nprocs * sizeof(*member));

    if (!member)
        return -1;
    win->member = member;
    for (uint32_t i = win->rma->nprocs; i < nprocs; i++)
        member[i] = win->n;
    return 0;
}

/* Where it fails some tables are longer than need be. */
int impi_rma_grow(struct impi_rma *rma, uint32_t nprocs)
{
    uint32_t old = rma->nprocs;

    if (longer((void **)&rma->types, old * sizeof(*rma->types),
               nprocs * sizeof(*rma->types)) < 0 ||
        longer((void **)&rma->lost, old * sizeof(*rma->lost),
               nprocs * sizeof(*rma->lost)) < 0)
        return -1;
    for (unsigned i = 0; i < SF_IMPI_RMA_TYPES_MAX; i++)
        if (rma->own[i].type && longer((void **)&rma->own[i].sent, bits_of(old),
                                       bits_of(nprocs)) < 0)
            return -1;
    for (struct impi_rma_win *win = rma->wins; win; win = win->next)
        if (grow_win(win, nprocs) < 0)
            return -1;
    rma->nprocs = nprocs;
    return 0;
}

static void types_free(struct impi_typemap **types)
{
    for (unsigned i = 0; types && i < SF_IMPI_RMA_TYPES_MAX; i++)
        free(types[i]);
    free(types);
}

void impi_rma_destroy(struct impi_rma *rma)
{
    if (!rma)
        return;
    while (rma->wins)
        impi_rma_win_free(rma->wins);
    for (unsigned i = 0; i < SF_IMPI_RMA_TYPES_MAX; i++) {
        free(rma->own[i].type);
        free(rma->own[i].sent);
    }
    for (uint32_t i = 0; i < rma->nprocs; i++)
        types_free(rma->types[i]);
    free(rma->types);
    free(rma->lost);
    impi_slots_free(&rma->slots);
    free(rma);
}

static struct impi_rma_win *find_win(const struct impi_rma *rma, uint64_t id)
{
    struct impi_rma_win *win = rma->wins;

    while (win && win->id != id)
        win = win->next;
    return win;
}

static void kept_free(struct kept *k)
{
    free(k->type);
    free(k);
}

static struct kept *take_kept(struct peer *p)
{
    struct kept *k = p->kept;

    if (k)
        p->kept = k->next;
    return k;
}

static void drop_kept(struct peer *p)
{
    struct kept *k;

    while ((k = take_kept(p)))
        kept_free(k);
}

static void win_destroy(struct impi_rma_win *win)
{
    for (uint32_t i = 0; win->peers && i < win->n; i++) {
        drop_kept(&win->peers[i]);
        free(win->peers[i].held);
    }
    free(win->world);
    free(win->member);
    free(win->peers);
    free(win->pieces);
    free(win->private_words);
    free(win->queue);
    free(win);
}

struct impi_rma_win *impi_rma_win_create(struct impi_rma *rma, uint64_t id,
                                         const uint32_t *world, uint32_t n,
                                         uint32_t own)
{
    struct impi_rma_win *win;

    if (find_win(rma, id)) {
        errno = EEXIST;
        return NULL;
    }
    win = calloc(1, sizeof(*win));
    if (!win)
        return NULL;
    win->rma = rma;
    win->id = id;
    win->n = n;
    win->own = own;
    win->world = malloc(n * sizeof(*win->world));
    win->member = malloc(rma->nprocs * sizeof(*win->member));
    win->peers = calloc(n, sizeof(*win->peers));
    win->queue = malloc(n * sizeof(*win->queue));
    win->words = win->private_words = calloc(1, impi_rma_words_size(n));
    if (!win->world || !win->member || !win->peers || !win->queue ||
        !win->words) {
        win_destroy(win);
        errno = ENOMEM;
        return NULL;
    }
    for (uint32_t i = 0; i < rma->nprocs; i++)
        win->member[i] = n;
    for (uint32_t i = 0; i < n; i++) {
        win->world[i] = world[i];
        win->member[world[i]] = i;
    }
    win->next = rma->wins;
    rma->wins = win;
    return win;
}

void impi_rma_win_free(struct impi_rma_win *win)
{
    struct impi_rma_win **p = &win->rma->wins;

    while (*p != win)
        p = &(*p)->next;
    *p = win->next;
    win_destroy(win);
}

bool impi_rma_win_refused(struct impi_rma_win *win,
                          struct impi_rma_refusal *refusal)
{
    bool refused = win->refused;

    *refusal = win->refusal;
    win->refused = false;
    return refused;
}

/* ---- own memory ---- */

void impi_rma_win_ask_first(struct impi_rma_win *win)
{
    win->asks_first = true;
}

void impi_rma_win_dynamic(struct impi_rma_win *win)
{
    win->dynamic = true;
}

static bool overlap(const struct piece *p, uintptr_t base, uint64_t size)
{
    uintptr_t own = (uintptr_t)p->base;

    return base < own + p->size && own < base + size;
}

int impi_rma_win_attach(struct impi_rma_win *win, void *base, uint64_t size)
{
    struct piece *more;
    size_t at = 0;

    for (size_t i = 0; i < win->npieces; i++) {
        if (overlap(&win->pieces[i], (uintptr_t)base, size)) {
            errno = EEXIST;
            return -1;
        }
        if ((uintptr_t)win->pieces[i].base < (uintptr_t)base)
            at = i + 1;
    }
    more = realloc(win->pieces, (win->npieces + 1) * sizeof(*more));
    if (!more)
        return -1;
    win->pieces = more;
    memmove(more + at + 1, more + at, (win->npieces - at) * sizeof(*more));
    more[at] = (struct piece){base, size};
    win->npieces++;
    return 0;
}

int impi_rma_win_memory(struct impi_rma_win *win, void *base, uint64_t size)
{
    return impi_rma_win_attach(win, base, size);
}

int impi_rma_win_detach(struct impi_rma_win *win, const void *base)
{
    for (size_t i = 0; i < win->npieces; i++) {
        struct piece *p = &win->pieces[i];

        if (p->base != base)
            continue;
        win->npieces--;
        memmove(p, p + 1, (win->npieces - i) * sizeof(*p));
        return 0;
    }
    errno = ENOENT;
    return -1;
}

/* Is all of it inside of the piece?  *at: where disp is. */
static bool in_piece(const struct piece *p, const struct impi_typemap *type,
                     const struct head *h, int64_t disp, uint8_t **at)
{
    if (type ? !impi_typemap_fits(type, h->count, disp, p->size)
             : disp < 0 || (uint64_t)disp > p->size ||
                   h->len > p->size - (uint64_t)disp)
        return false;
    *at = p->base + disp;
    return true;
}

/* The piece at *i and those that follow it without a gap, as one; *i: the one
 * behind them. */
static struct piece take_neighbours(const struct impi_rma_win *win, size_t *i)
{
    struct piece all = win->pieces[(*i)++];

    while (*i < win->npieces && win->pieces[*i].base == all.base + all.size)
        all.size += win->pieces[(*i)++].size;
    return all;
}

static bool in_memory(const struct impi_rma_win *win,
                      const struct impi_typemap *type, const struct head *h,
                      uint8_t **at)
{
    size_t i = 0;

    *at = NULL;
    if (h->len == 0)
        return true;
    while (i < win->npieces) {
        struct piece p = take_neighbours(win, &i);
        int64_t disp = h->disp;

        if (win->dynamic &&
            __builtin_sub_overflow(disp, (int64_t)(intptr_t)p.base, &disp))
            continue;
        if (in_piece(&p, type, h, disp, at))
            return true;
    }
    return false;
}

void impi_rma_win_words(struct impi_rma_win *win, struct impi_rma_words *words)
{
    win->words = words;
}

void impi_rma_win_reach(struct impi_rma_win *win, uint32_t target,
                        struct impi_rma_words *words, void *base, uint64_t size)
{
    struct peer *p = &win->peers[target];

    p->words = words;
    p->base = base;
    p->size = size;
}

void impi_rma_win_reach_far(struct impi_rma_win *win, uint32_t target,
                            uint64_t address, uint64_t size)
{
    struct peer *p = &win->peers[target];

    p->far = true;
    p->address = address;
    p->size = size;
}

void *impi_rma_win_memory_of(const struct impi_rma_win *win, uint32_t target,
                             uint64_t *size)
{
    *size = win->peers[target].size;
    return win->peers[target].base;
}

struct impi_rma_words *impi_rma_win_reached(const struct impi_rma_win *win,
                                            uint32_t target)
{
    return win->peers[target].words;
}

/* ---- the target's side of operations ---- */

static int broke(struct errbuf *err, const char *what)
{
    errprintf(err, "%s", what);
    errno = EPROTO;
    return -1;
}

/* The type that a message names; *type NULL: bytes in a row. */
static int find_type(struct impi_rma *rma, uint32_t peer, const struct head *h,
                     const struct impi_typemap **type, struct errbuf *err)
{
    uint64_t size;

    *type = NULL;
    if (h->len > SF_IMPI_RMA_DATA_MAX)
        return broke(err, "an operation is too long");
    if (h->type == 0)
        return 0;
    if (peer == rma->rank)
        *type = rma->own[h->type - 1].type;
    else if (h->type <= SF_IMPI_RMA_TYPES_MAX && rma->types[peer])
        *type = rma->types[peer][h->type - 1];
    if (!*type)
        return broke(err, "an operation names a datatype that was not sent");
    if (__builtin_mul_overflow(h->count, (*type)->size, &size) ||
        size != h->len)
        return broke(err, "an operation is not as long as its datatype");
    return 0;
}

static void load(const struct impi_typemap *type, const struct head *h,
                 const uint8_t *at, uint8_t *out)
{
    if (h->len == 0)
        return;
    if (type)
        impi_typemap_gather(type, h->count, at, out);
    else if (h->len == sizeof(uint64_t))
        memcpy(out, at, sizeof(uint64_t)); /* the compiler's own */
    else
        memmove(out, at, h->len); /* a window of its own perhaps */
}

static void store(const struct impi_typemap *type, const struct head *h,
                  uint8_t *at, const uint8_t *in)
{
    if (h->len == 0 || h->placed)
        return;
    if (type)
        impi_typemap_scatter(type, h->count, at, in);
    else
        memmove(at, in, h->len);
}

/* Of one element, as most are, without a division. */
static size_t elems_of(const struct head *h)
{
    size_t size = impi_rma_elem_size(h->elem);

    return h->len == size ? 1 : h->len / size;
}

static int accumulate(const struct impi_typemap *type, const struct head *h,
                      uint8_t *at, const uint8_t *in)
{
    size_t n = elems_of(h);
    uint8_t *packed;

    if (h->op == IMPI_RMA_NO_OP || n == 0)
        return 0;
    if (!type) {
        impi_rma_op_apply(h->op, h->elem, at, in, n);
        return 0;
    }
    packed = malloc(h->len);
    if (!packed)
        return -1;
    load(type, h, at, packed);
    impi_rma_op_apply(h->op, h->elem, packed, in, n);
    store(type, h, at, packed);
    free(packed);
    return 0;
}

static int swap_if_equal(const struct head *h, uint8_t *at, const uint8_t *in)
{
    if (h->len > 0 && memcmp(at, in + h->len, h->len) == 0)
        memcpy(at, in, h->len);
    return 0;
}

static void refuse(struct impi_rma *rma, uint32_t peer, const struct head *h,
                   uint16_t error)
{
    struct head answer = {.kind = MSG_REFUSED,
                          .op = error,
                          .win = h->win,
                          .id = h->id,
                          .disp = h->disp};

    tell(rma, peer, &answer, NULL, 0, false);
}

/* Nothing is changed; the origin hears of it. */
static void no_memory(struct impi_rma *rma, uint32_t peer, const struct head *h)
{
    refuse(rma, peer, h, IMPI_RMA_ERR_NO_MEM);
}

static void answer(struct impi_rma *rma, uint32_t peer, const struct head *h,
                   const void *data, size_t len)
{
    struct head answer = {.kind = MSG_RESULT, .win = h->win, .id = h->id};

    tell(rma, peer, &answer, data, len, false);
}

/* Bytes of data that come with the operation. */
static uint64_t data_of(const struct head *h)
{
    switch (h->kind) {
    case IMPI_RMA_GET:
        return 0;
    case IMPI_RMA_GACC:
        return h->op == IMPI_RMA_NO_OP ? 0 : h->len;
    case IMPI_RMA_CAS:
        return 2 * h->len;
    default:
        return h->len;
    }
}

static bool op_is_good(const struct head *h)
{
    size_t size = impi_rma_elem_size(h->elem);

    switch (h->kind) {
    case IMPI_RMA_ACC:
    case IMPI_RMA_GACC:
        return impi_rma_op_fits(h->op, h->elem) &&
               (h->len == size || h->len % size == 0);
    case IMPI_RMA_CAS:
        return size > 0 && h->len == size && h->type == 0;
    default:
        return true;
    }
}

static bool has_result(uint8_t kind)
{
    return kind == IMPI_RMA_GET || kind == IMPI_RMA_GACC ||
           kind == IMPI_RMA_CAS;
}

/* Must nobody else change elements meanwhile? */
static bool is_atomic(uint8_t kind)
{
    return kind != IMPI_RMA_PUT && kind != IMPI_RMA_GET;
}

/* Be the only one who changes elements of the target's memory. */
static void begin_change(const struct impi_rma_win *win, uint32_t target,
                         struct impi_rma_words *words)
{
    const struct impi_rma *rma = win->rma;
    uint32_t who;

    for (unsigned i = 0; !impi_rma_words_begin(words, win->own, &who); i++)
        if (rma->ops->pause)
            rma->ops->pause(rma->arg, win, target, who, i);
}

/* What it does to the memory. */
static int change(const struct impi_typemap *type, const struct head *h,
                  uint8_t *at, const uint8_t *data)
{
    switch (h->kind) {
    case IMPI_RMA_PUT:
        store(type, h, at, data);
        return 0;
    case IMPI_RMA_ACC:
    case IMPI_RMA_GACC:
        return accumulate(type, h, at, data);
    case IMPI_RMA_CAS:
        return swap_if_equal(h, at, data);
    default:
        return 0;
    }
}

static void do_op(struct impi_rma_win *win, uint32_t peer, const struct head *h,
                  const struct impi_typemap *type, const uint8_t *data)
{
    uint8_t *at, *old = NULL;
    int rc;

    if (!op_is_good(h)) {
        refuse(win->rma, peer, h, IMPI_RMA_ERR_OP);
        return;
    }
    if (!in_memory(win, type, h, &at)) {
        refuse(win->rma, peer, h, IMPI_RMA_ERR_RANGE);
        return;
    }
    /* Not as data that last: an unlock or a complete may follow at once, and
     * who comes next changes what was got. */
    if (h->kind == IMPI_RMA_GET && !type) {
        if (h->id)
            answer(win->rma, peer, h, at, h->len);
        return;
    }
    if (has_result(h->kind)) {
        old = malloc(h->len + 1);
        if (!old) {
            no_memory(win->rma, peer, h);
            return;
        }
    }
    if (is_atomic(h->kind))
        begin_change(win, win->own, win->words);
    if (old)
        load(type, h, at, old);
    rc = change(type, h, at, data);
    if (is_atomic(h->kind))
        impi_rma_words_end(win->words);
    if (rc < 0)
        no_memory(win->rma, peer, h);
    else if (h->id)
        answer(win->rma, peer, h, old, old ? h->len : 0);
    free(old);
}

static int take_type(struct impi_rma *rma, uint32_t peer, const struct head *h,
                     const uint8_t *data, size_t len, struct errbuf *err)
{
    struct impi_typemap *type, **slot;

    if (h->type < 1 || h->type > SF_IMPI_RMA_TYPES_MAX)
        return broke(err, "a datatype has an invalid number");
    if (!rma->types[peer])
        rma->types[peer] = calloc(SF_IMPI_RMA_TYPES_MAX, sizeof(type));
    type = rma->types[peer] ? impi_typemap_decode(data, len, err) : NULL;
    if (!type)
        return -1;
    slot = &rma->types[peer][h->type - 1];
    free(*slot);
    *slot = type;
    return 0;
}

/* ---- the own lock ---- */

static void give_back(struct impi_rma_win *win, uint32_t origin)
{
    struct peer *p = &win->peers[origin];

    impi_rma_words_leave(win->words, p->holds, origin);
    p->holds = IMPI_RMA_UNLOCKED;
}

/* What came before its turn did. */
static void do_kept(struct impi_rma_win *win, uint32_t origin)
{
    struct peer *p = &win->peers[origin];
    struct kept *k;

    while ((k = take_kept(p))) {
        if (k->h.kind == MSG_FLUSH || k->h.kind == MSG_UNLOCK)
            tell_member(win, origin, MSG_FLUSHED, 0, k->h.id);
        else
            do_op(win, win->world[origin], &k->h, k->type, k->data);
        if (k->h.kind == MSG_UNLOCK || k->h.leave)
            give_back(win, origin);
        kept_free(k);
    }
    p->kept_bytes = 0;
    p->kept_all = false;
}

/* Its turn has come, and it is in: let it know. */
static bool grant(struct impi_rma_win *win, uint32_t origin)
{
    struct peer *p = &win->peers[origin];
    bool next; /* we look at the next one ourselves */

    if (!impi_rma_words_enter(win->words, p->turn, p->waits, &next))
        return false;
    p->holds = p->waits;
    p->waits = IMPI_RMA_UNLOCKED;
    win->queue_head = (win->queue_head + 1) % win->n;
    win->queue_len--;
    if (impi_rma_is_lost(win, origin)) {
        give_back(win, origin);
        return true;
    }
    if (!p->silent)
        tell_member(win, origin, MSG_GRANTED, 0, 0);
    do_kept(win, origin);
    return true;
}

/* Those at the head of the queue whose turn has come.  Who leaves tells us only
 * when we have said that we wait for it; then look once more. */
static void grant_next(struct impi_rma_win *win)
{
    bool waits = false;

    while (win->queue_len > 0) {
        if (grant(win, win->queue[win->queue_head]))
            continue;
        if (waits)
            return;
        waits = true;
        impi_rma_words_await(win->words, true);
    }
    impi_rma_words_await(win->words, false);
}

/* silent: the origin does not wait for the lock by itself. */
static int join_queue(struct impi_rma_win *win, uint32_t origin, uint16_t mode,
                      bool silent, struct errbuf *err)
{
    struct peer *p = &win->peers[origin];

    if (mode != IMPI_RMA_SHARED && mode != IMPI_RMA_EXCLUSIVE)
        return broke(err, "a lock is neither shared nor exclusive");
    if (p->holds || p->waits)
        return broke(err, "a lock is asked for twice");
    p->waits = (uint8_t)mode;
    p->silent = silent;
    p->turn = impi_rma_words_ask(win->words, p->waits, origin);
    win->queue[(win->queue_head + win->queue_len++) % win->n] = origin;
    return 0;
}

static int unlock_by(struct impi_rma_win *win, uint32_t origin, uint64_t id,
                     struct errbuf *err)
{
    if (!win->peers[origin].holds)
        return broke(err, "a lock is given back that is not held");
    give_back(win, origin);
    tell_member(win, origin, MSG_FLUSHED, 0, id);
    grant_next(win);
    return 0;
}

/* ---- what comes before its lock is granted ---- */

static struct impi_typemap *copy_type(const struct impi_typemap *type)
{
    size_t bytes = sizeof(*type) + type->nruns * sizeof(type->runs[0]);
    struct impi_typemap *copy = malloc(bytes);

    return copy ? memcpy(copy, type, bytes) : NULL;
}

/* What an origin may have to count for a message besides. */
static uint64_t size_kept(const struct impi_typemap *type, size_t len)
{
    return IMPI_RMA_HEAD + len + (type ? impi_typemap_wire(type) : 0);
}

/* No more than its origin may send, and what ends it. */
static int check_kept(const struct peer *p, uint64_t size, struct errbuf *err)
{
    if (p->kept_all)
        return broke(err, "an operation stands behind the unlock");
    if (size > SF_IMPI_RMA_EARLY_MAX + IMPI_RMA_HEAD - p->kept_bytes)
        return broke(err, "too much comes before its lock");
    return 0;
}

/* It has been looked at, and is done when its turn has come. */
static int keep(struct peer *p, const struct head *h,
                const struct impi_typemap *type, const uint8_t *data,
                size_t len, struct errbuf *err)
{
    uint64_t size = size_kept(type, len);
    struct kept *k;

    if (check_kept(p, size, err) < 0)
        return -1;
    k = malloc(sizeof(*k) + len);
    if (!k)
        return -1;
    k->next = NULL;
    k->h = *h;
    k->h.placed = false;
    k->len = len;
    k->type = type ? copy_type(type) : NULL;
    if (type && !k->type) {
        free(k);
        return -1;
    }
    if (len > 0)
        memcpy(k->data, data, len);
    if (!p->kept)
        p->kept_end = &p->kept;
    *p->kept_end = k;
    p->kept_end = &k->next;
    p->kept_bytes += size;
    p->kept_all = h->kind == MSG_UNLOCK || h->leave;
    return 0;
}

static int take_flush(struct impi_rma_win *win, uint32_t origin,
                      const struct head *h, struct errbuf *err)
{
    struct peer *p = &win->peers[origin];

    if (p->waits)
        return keep(p, h, NULL, NULL, 0, err);
    tell_member(win, origin, MSG_FLUSHED, 0, h->id);
    return 0;
}

static int take_unlock(struct impi_rma_win *win, uint32_t origin,
                       const struct head *h, struct errbuf *err)
{
    struct peer *p = &win->peers[origin];

    if (p->waits)
        return keep(p, h, NULL, NULL, 0, err);
    return unlock_by(win, origin, h->id, err);
}

static int take_lock(struct impi_rma_win *win, uint32_t origin,
                     const struct head *h, struct errbuf *err)
{
    struct head unlock = {.kind = MSG_UNLOCK, .id = h->id};

    if (join_queue(win, origin, h->op, h->leave, err) < 0 ||
        (h->leave &&
         keep(&win->peers[origin], &unlock, NULL, NULL, 0, err) < 0))
        return -1;
    grant_next(win);
    return 0;
}

static int take_op(struct impi_rma_win *win, uint32_t origin,
                   const struct head *h, const uint8_t *data, size_t len,
                   struct errbuf *err)
{
    struct peer *p = &win->peers[origin];
    uint32_t peer = win->world[origin];
    const struct impi_typemap *type;

    if (find_type(win->rma, peer, h, &type, err) < 0)
        return -1;
    if (len != data_of(h))
        return broke(err, "an operation has not the data that it tells of");
    if (h->lock && join_queue(win, origin, h->lock, true, err) < 0)
        return -1;
    if (h->lock)
        grant_next(win);
    if (p->waits)
        return keep(p, h, type, data, len, err);
    do_op(win, peer, h, type, data);
    if (h->leave) {
        give_back(win, origin);
        grant_next(win);
    }
    return 0;
}

/* ---- answers ---- */

/* The operation of ours that an answer of the peer is for. */
static struct impi_rma_op *find_op(const struct impi_rma_win *win,
                                   uint32_t member, uint64_t id)
{
    struct impi_rma_op *op = impi_slots_find(&win->rma->slots, id);

    return op && op->win == win && op->target == member ? op : NULL;
}

/* Who answers an operation has let it in. */
static void came_in(struct peer *p)
{
    if (p->stage == CARRIED)
        p->stage = IN;
}

static void end_op(struct impi_rma_op *op, uint32_t error)
{
    impi_slots_remove(&op->win->rma->slots, op->id);
    op->win->peers[op->target].open--;
    came_in(&op->win->peers[op->target]);
    op->error = error;
    op->done = true;
}

static int take_result(struct impi_rma_win *win, uint32_t member,
                       const struct head *h, const uint8_t *data, size_t len,
                       struct errbuf *err)
{
    struct impi_rma_op *op = find_op(win, member, h->id);

    if (!op || len != op->len || op->placed != h->placed)
        return broke(err, "an answer fits no operation");
    if (len > 0 && !h->placed)
        memmove(op->result, data, len); /* of its own window perhaps */
    end_op(op, IMPI_RMA_OK);
    return 0;
}

static void note_refusal(struct impi_rma_win *win, uint32_t target,
                         uint32_t error, int64_t disp)
{
    if (!win->refused)
        win->refusal = (struct impi_rma_refusal){target, error, (uint64_t)disp};
    win->refused = true;
}

static int take_refusal(struct impi_rma_win *win, uint32_t member,
                        const struct head *h, struct errbuf *err)
{
    struct impi_rma_op *op = h->id ? find_op(win, member, h->id) : NULL;

    if ((h->id && !op) || (op && op->placed) || h->op == IMPI_RMA_OK ||
        h->op > IMPI_RMA_ERR_NO_MEM)
        return broke(err, "a refusal fits no operation");
    if (op)
        end_op(op, h->op);
    note_refusal(win, member, h->op, h->disp);
    return 0;
}

static int take_flushed(struct peer *p, uint64_t id, struct errbuf *err)
{
    if (id != p->flushed + 1 || id > p->flushes)
        return broke(err, "a flush is confirmed that was not asked for");
    p->flushed = id;
    if (id > p->before)
        came_in(p);
    return 0;
}

static int take_grant(struct peer *p, struct errbuf *err)
{
    if (p->grants == 0)
        return broke(err, "a lock is granted that was not asked for");
    p->grants--;
    if (p->stage == REQUESTED && p->grants == 0)
        p->stage = IN;
    return 0;
}

/* A member wants to know how the network reaches the own memory. */
static void take_expose(struct impi_rma_win *win, uint32_t member)
{
    const struct impi_rma *rma = win->rma;
    struct impi_rma_place own = {0};
    bool yes = rma->ops->expose && rma->ops->expose(rma->arg, win, &own);
    struct head h = {.kind = MSG_EXPOSED,
                     .op = yes,
                     .win = win->id,
                     .id = own.key,
                     .disp = (int64_t)own.address,
                     .count = own.size};

    tell(win->rma, win->world[member], &h, NULL, 0, false);
}

static int take_exposed(struct peer *p, const struct head *h,
                        struct errbuf *err)
{
    if (p->exposure != ASKED || h->op > 1)
        return broke(err, "memory is told of that was not asked for");
    p->exposure = h->op ? EXPOSED : NOT_EXPOSED;
    p->place = (struct impi_rma_place){(uint64_t)h->disp, h->count, h->id};
    return 0;
}

/* ---- the end of a peer ---- */

bool impi_rma_is_lost(const struct impi_rma_win *win, uint32_t member)
{
    return win->rma->lost[win->world[member]];
}

static void end_ops_with(struct impi_rma *rma, uint32_t peer)
{
    struct impi_rma_op *op;
    uint32_t i = 0;

    while ((op = impi_slots_next(&rma->slots, &i)))
        if (op->win->world[op->target] == peer)
            end_op(op, IMPI_RMA_ERR_LOST);
}

/* As if it had answered all, and had nothing of ours. */
static void lose_member(struct impi_rma_win *win, uint32_t member)
{
    struct peer *p = &win->peers[member];

    if (p->open > 0 || p->held || p->unflushed || p->flushed != p->flushes)
        note_refusal(win, member, IMPI_RMA_ERR_LOST, 0);
    free(p->held);
    p->held = NULL;
    drop_kept(p);
    p->unflushed = false;
    p->since = 0;
    p->needed = p->flushed = p->flushes;
    if (p->exposure == ASKED)
        p->exposure = NOT_EXPOSED;
    if (p->holds)
        give_back(win, member);
    grant_next(win);
}

void impi_rma_lose(struct impi_rma *rma, uint32_t peer)
{
    if (rma->lost[peer])
        return;
    rma->lost[peer] = true;
    for (struct impi_rma_win *win = rma->wins; win; win = win->next)
        if (win->member[peer] < win->n)
            lose_member(win, win->member[peer]);
    end_ops_with(rma, peer);
}

/* An operation on it ends as it begins. */
static void start_lost(struct impi_rma_win *win,
                       const struct impi_rma_args *args, struct impi_rma_op *op)
{
    if (op)
        *op = (struct impi_rma_op){.done = true,
                                   .error = IMPI_RMA_ERR_LOST,
                                   .user = op->user,
                                   .win = win,
                                   .target = args->target};
    note_refusal(win, args->target, IMPI_RMA_ERR_LOST, args->disp);
}

/* ---- messages ---- */

static int handle_in(struct impi_rma_win *win, uint32_t member,
                     const struct head *h, const uint8_t *data, size_t len,
                     struct errbuf *err)
{
    struct peer *p = &win->peers[member];

    switch (h->kind) {
    case MSG_RESULT:
        return take_result(win, member, h, data, len, err);
    case MSG_REFUSED:
        return take_refusal(win, member, h, err);
    case MSG_FLUSH:
        return take_flush(win, member, h, err);
    case MSG_FLUSHED:
        return take_flushed(p, h->id, err);
    case MSG_LOCK:
        return take_lock(win, member, h, err);
    case MSG_GRANTED:
        return take_grant(p, err);
    case MSG_UNLOCK:
        return take_unlock(win, member, h, err);
    case MSG_POST:
        p->posts++;
        return 0;
    case MSG_COMPLETE:
        p->completes++;
        return 0;
    case MSG_TURN:
        grant_next(win);
        return 0;
    case MSG_EXPOSE:
        take_expose(win, member);
        return 0;
    case MSG_EXPOSED:
        return take_exposed(p, h, err);
    default:
        return take_op(win, member, h, data, len, err);
    }
}

/* Is what it says of a lock what such a message may say? */
static bool lock_is_good(const struct impi_rma *rma, const struct head *h)
{
    if (!h->lock && !h->leave)
        return true;
    if (!rma->ops->early || h->leave > 1)
        return false;
    return h->kind == MSG_LOCK
               ? !h->lock
               : h->kind < MSG_RESULT && h->lock && (!h->leave || h->id);
}

static int handle(struct impi_rma *rma, uint32_t peer, const struct head *h,
                  const uint8_t *data, size_t len, struct errbuf *err)
{
    struct impi_rma_win *win;

    if (h->version != VERSION || h->kind == 0 || h->kind >= MSG_KINDS ||
        !lock_is_good(rma, h))
        return broke(err, "a message of one-sided communication is malformed");
    if (h->kind == MSG_TYPE)
        return take_type(rma, peer, h, data, len, err);
    win = find_win(rma, h->win);
    if (!win || win->member[peer] == win->n)
        return broke(err, "a message is for a window that it has no part in");
    return handle_in(win, win->member[peer], h, data, len, err);
}

int impi_rma_input(struct impi_rma *rma, uint32_t peer, const void *msg,
                   size_t len, struct errbuf *err)
{
    struct head h;

    if (len < IMPI_RMA_HEAD || peer >= rma->nprocs || peer == rma->rank)
        return broke(err, "a message of one-sided communication is cut short");
    head_decode(&h, msg);
    return handle(rma, peer, &h, (const uint8_t *)msg + IMPI_RMA_HEAD,
                  len - IMPI_RMA_HEAD, err);
}

int impi_rma_input_placed(struct impi_rma *rma, uint32_t peer,
                          const uint8_t head[IMPI_RMA_HEAD], const void *data,
                          size_t len, struct errbuf *err)
{
    struct head h;

    head_decode(&h, head);
    h.placed = true;
    return handle(rma, peer, &h, data, len, err);
}

/* Of a put whose turn it is, to memory that stays as long as the window. */
static void *place_put(const struct impi_rma_win *win, uint32_t origin,
                       const struct head *h, size_t len)
{
    uint8_t *at;

    if (win->dynamic || h->type || h->lock || win->peers[origin].waits ||
        h->len != len || !in_memory(win, NULL, h, &at))
        return NULL;
    return at;
}

static void *place_result(const struct impi_rma_win *win, uint32_t target,
                          const struct head *h, size_t len)
{
    struct impi_rma_op *op = find_op(win, target, h->id);

    if (!op || op->placed || op->len != len)
        return NULL;
    op->placed = true;
    return op->result;
}

void *impi_rma_place(struct impi_rma *rma, uint32_t peer,
                     const uint8_t head[IMPI_RMA_HEAD], size_t len)
{
    const struct impi_rma_win *win;
    struct head h;

    if (len < SF_IMPI_RMA_PLACE_MIN || peer >= rma->nprocs || peer == rma->rank)
        return NULL;
    head_decode(&h, head);
    win = h.version == VERSION ? find_win(rma, h.win) : NULL;
    if (!win || win->member[peer] == win->n)
        return NULL;
    if (h.kind == IMPI_RMA_PUT)
        return place_put(win, win->member[peer], &h, len);
    return h.kind == MSG_RESULT ? place_result(win, win->member[peer], &h, len)
                                : NULL;
}

/* ---- the origin's side ---- */

static bool same_type(const struct impi_typemap *a,
                      const struct impi_typemap *b)
{
    return a->extent == b->extent && a->nruns == b->nruns &&
           memcmp(a->runs, b->runs, a->nruns * sizeof(a->runs[0])) == 0;
}

/* Its place among the own types; the oldest gives way.  -1: no memory. */
static int place_type(struct impi_rma *rma, const struct impi_typemap *type)
{
    struct own_type *o;

    for (int i = 0; i < SF_IMPI_RMA_TYPES_MAX && rma->own[i].type; i++)
        if (same_type(rma->own[i].type, type))
            return i;
    o = &rma->own[rma->next_own];
    free(o->type);
    free(o->sent);
    o->sent = calloc(bits_of(rma->nprocs), 1);
    o->type = o->sent ? copy_type(type) : NULL;
    if (!o->type) {
        free(o->sent);
        o->sent = NULL;
        return -1;
    }
    rma->next_own = (rma->next_own + 1) % SF_IMPI_RMA_TYPES_MAX;
    return (int)(o - rma->own);
}

/* The number of a type that the peer knows by then; -1 ENOMEM. */
static int introduce(struct impi_rma *rma, uint32_t peer,
                     const struct impi_typemap *type)
{
    int i = place_type(rma, type);
    struct head h = {.kind = MSG_TYPE, .type = (uint16_t)(i + 1)};
    uint8_t *wire, bit = (uint8_t)(1u << peer % 8);
    size_t len = impi_typemap_wire(type);

    if (i < 0)
        return -1;
    if (peer == rma->rank || rma->own[i].sent[peer / 8] & bit)
        return i + 1;
    wire = malloc(len);
    if (!wire)
        return -1;
    impi_typemap_encode(type, wire);
    tell(rma, peer, &h, wire, len, false);
    free(wire);
    rma->own[i].sent[peer / 8] |= bit;
    return i + 1;
}

static int open_op(struct impi_rma_win *win, uint32_t target, void *result,
                   uint64_t len, struct impi_rma_op *op)
{
    *op = (struct impi_rma_op){.user = op->user,
                               .win = win,
                               .target = target,
                               .result = result,
                               .len = len};
    op->id = impi_slots_add(&win->rma->slots, op);
    if (!op->id)
        return -1;
    win->peers[target].open++;
    return 0;
}

/* ---- memory of others that is mapped here ---- */

/* Moves bytes between the origin's memory and the target's. */
static int move(struct impi_rma_win *win, const struct impi_rma_args *args,
                const struct head *h, uint8_t *at)
{
    const struct impi_typemap *type = args->type;
    struct impi_rma_words *words = win->peers[args->target].words;
    int rc;

    if (h->kind == IMPI_RMA_PUT) {
        store(type, h, at, args->data);
        return 0;
    }
    if (h->kind == IMPI_RMA_GET) {
        load(type, h, at, args->result);
        return 0;
    }
    begin_change(win, args->target, words);
    if (has_result(h->kind))
        load(type, h, at, args->result);
    rc = change(type, h, at, args->data);
    impi_rma_words_end(words);
    return rc;
}

static uint32_t do_mapped(struct impi_rma_win *win,
                          const struct impi_rma_args *args,
                          const struct head *h)
{
    const struct peer *p = &win->peers[args->target];
    struct piece all = {p->base, p->size};
    uint8_t *at = NULL;

    if (!op_is_good(h))
        return IMPI_RMA_ERR_OP;
    if (h->len > 0 && !in_piece(&all, args->type, h, h->disp, &at))
        return IMPI_RMA_ERR_RANGE;
    return move(win, args, h, at) < 0 ? IMPI_RMA_ERR_NO_MEM : IMPI_RMA_OK;
}

bool impi_rma_at_once(struct impi_rma_win *win,
                      const struct impi_rma_args *args)
{
    const struct peer *p = &win->peers[args->target];
    const uint64_t disp = (uint64_t)args->disp;
    uint8_t *at = p->base + disp;
    struct head h;

    if (!p->base || args->type || args->len > p->size ||
        disp > p->size - args->len)
        return false;
    if (args->kind == IMPI_RMA_PUT) {
        memmove(at, args->data, args->len);
        return true;
    }
    if (args->kind == IMPI_RMA_GET) {
        memmove(args->result, at, args->len);
        return true;
    }
    h = (struct head){.kind = (uint8_t)args->kind,
                      .op = (uint16_t)args->op,
                      .elem = (uint16_t)args->elem,
                      .len = args->len};
    return op_is_good(&h) && move(win, args, &h, at) == 0;
}

static void start_mapped(struct impi_rma_win *win,
                         const struct impi_rma_args *args, const struct head *h,
                         struct impi_rma_op *op)
{
    uint32_t error = do_mapped(win, args, h);

    if (error != IMPI_RMA_OK)
        note_refusal(win, args->target, error, args->disp);
    if (op) {
        op->win = win;
        op->target = args->target;
        op->error = error;
        op->done = true;
    }
}

/* ---- memory of others that can be copied ---- */

/* False: by a message, which also finds out what is wrong. */
static bool start_far(struct impi_rma_win *win,
                      const struct impi_rma_args *args, struct impi_rma_op *op)
{
    const struct peer *p = &win->peers[args->target];
    bool write = args->kind == IMPI_RMA_PUT;
    const struct impi_rma *rma = win->rma;
    uint64_t disp = (uint64_t)args->disp;
    void *own = write ? (void *)(uintptr_t)args->data : args->result;

    if (!p->far || args->type || (!write && args->kind != IMPI_RMA_GET) ||
        args->len > p->size || disp > p->size - args->len)
        return false;
    if (args->len > 0 &&
        rma->ops->copy(rma->arg, win, args->target, p->address + disp, own,
                       args->len, write) < 0)
        return false;
    if (op)
        *op = (struct impi_rma_op){
            .done = true, .user = op->user, .win = win, .target = args->target};
    return true;
}

/* ---- memory of others that the network reads and writes ---- */

/* Its memory is there to be moved; asked for the first time, it will be. */
static bool is_exposed(struct impi_rma_win *win, uint32_t target)
{
    struct peer *p = &win->peers[target];

    if (p->exposure == NOT_ASKED) {
        p->exposure = ASKED;
        tell_member(win, target, MSG_EXPOSE, 0, 0);
    }
    return p->exposure == EXPOSED;
}

/* A put or get of bytes in a row. */
static bool is_plain(const struct impi_rma_args *args)
{
    return !args->type && args->len > 0 && !is_atomic((uint8_t)args->kind);
}

/* And neither end needs a copy. */
static bool is_plain_move(const struct impi_rma_args *args)
{
    return is_plain(args) && (args->kind == IMPI_RMA_GET || args->lasts);
}

static bool begin_move(const struct impi_rma_win *win, struct move *m,
                       const struct impi_rma_args *args)
{
    const struct peer *p = &win->peers[args->target];
    const struct impi_rma *rma = win->rma;
    bool write = args->kind == IMPI_RMA_PUT;
    struct impi_rma_place there = p->place;
    void *own = write ? (void *)(uintptr_t)args->data : args->result;

    there.address += (uint64_t)args->disp;
    there.size = args->len;
    return rma->ops->move(rma->arg, win->world[args->target], &there, own,
                          args->len, write, m);
}

/* False: by a message, which also finds out what is wrong. */
static bool start_move(struct impi_rma_win *win,
                       const struct impi_rma_args *args, struct impi_rma_op *op)
{
    struct peer *p = &win->peers[args->target];
    const struct impi_rma *rma = win->rma;
    uint64_t disp = (uint64_t)args->disp;
    struct move *m;

    if (!rma->ops->may_move || !is_plain_move(args) ||
        !rma->ops->may_move(rma->arg, win->world[args->target], args->len,
                            args->kind == IMPI_RMA_PUT) ||
        !is_exposed(win, args->target) || args->len > p->place.size ||
        disp > p->place.size - args->len)
        return false;
    m = malloc(sizeof(*m));
    if (!m)
        return false;
    *m = (struct move){win, args->target, op};
    if (!begin_move(win, m, args)) {
        free(m);
        return false;
    }
    p->moves++;
    p->open++;
    if (op)
        *op = (struct impi_rma_op){
            .user = op->user, .win = win, .target = args->target};
    return true;
}

/* ---- operations under a lock that is put off ---- */

static bool is_in(const struct peer *p)
{
    return !p->lock || p->stage == IN;
}

/* What the target may have to keep for it, and for a FLUSH behind it. */
static uint64_t early_size(const struct impi_rma_args *args,
                           const struct head *h)
{
    return size_kept(args->type, data_of(h)) + IMPI_RMA_HEAD;
}

static struct head head_of(const struct impi_rma_win *win,
                           const struct impi_rma_args *args)
{
    return (struct head){.kind = (uint8_t)args->kind,
                         .op = (uint16_t)args->op,
                         .elem = (uint16_t)args->elem,
                         .win = win->id,
                         .disp = args->disp,
                         .count = args->count,
                         .len = args->len};
}

bool impi_rma_needs_lock(const struct impi_rma_win *win,
                         const struct impi_rma_args *args)
{
    const struct peer *p = &win->peers[args->target];
    const struct impi_rma *rma = win->rma;
    struct head h = head_of(win, args);

    if (is_in(p) || p->base)
        return false;
    if (p->far || (rma->ops->may_move && is_plain(args) &&
                   rma->ops->may_move(rma->arg, win->world[args->target],
                                      args->len, args->kind == IMPI_RMA_PUT)))
        return true;
    return p->early + early_size(args, &h) > SF_IMPI_RMA_EARLY_MAX;
}

/* The lock goes with this operation. */
static void carry(struct peer *p, struct head *h)
{
    h->lock = p->lock;
    p->stage = CARRIED;
    p->before = p->flushes;
}

/* A handle for an operation that needs none: `first` of the target, if it is
 * free. */
static struct impi_rma_op *spare(struct peer *p)
{
    return p->first.id && !p->first.done ? NULL : &p->first;
}

/* What is held goes out; the last before a flush gets an answer.  True: and the
 * lock goes back with it. */
static bool let_go(struct impi_rma_win *win, uint32_t target, bool last,
                   bool leave)
{
    struct peer *p = &win->peers[target];
    struct held *m = p->held;
    struct impi_rma_op *handle = m->h.id || !last ? NULL : spare(p);
    bool left;

    p->held = NULL;
    if (handle && open_op(win, target, NULL, 0, handle) == 0)
        m->h.id = handle->id;
    if (!m->h.id)
        p->unflushed = true;
    left = leave && m->h.id;
    carry(p, &m->h);
    m->h.leave = left;
    tell(win->rma, win->world[target], &m->h, m->data, m->len, false);
    free(m);
    return left;
}

/* False: it goes out at once. */
static bool hold(struct impi_rma_win *win, const struct impi_rma_args *args,
                 const struct head *h)
{
    struct peer *p = &win->peers[args->target];
    size_t len = data_of(h);
    struct held *m;

    if (!p->lock || p->stage != PUT_OFF || !p->hold || args->type ||
        args->len > SF_IMPI_RMA_HELD_MAX)
        return false;
    m = malloc(sizeof(*m) + len);
    if (!m)
        return false;
    m->h = *h;
    m->len = len;
    if (len > 0)
        memcpy(m->data, args->data, len);
    p->held = m;
    return true;
}

/* An operation without a handle: where there was one alone before each flush it
 * is answered by itself, and no FLUSH follows.  The handle for that, if any. */
static struct impi_rma_op *alone(struct peer *p)
{
    return p->since == 1 && !p->many ? spare(p) : NULL;
}

/* By a message, which may also ask for the lock. */
static int send_op(struct impi_rma_win *win, const struct impi_rma_args *args,
                   struct head *h, struct impi_rma_op *op)
{
    struct peer *p = &win->peers[args->target];
    struct impi_rma_op *handle = op;
    uint64_t len = has_result(h->kind) ? args->len : 0;

    p->early += early_size(args, h);
    if (!op)
        p->since++;
    if (op && open_op(win, args->target, args->result, len, op) < 0)
        return -1;
    if (op)
        h->id = op->id;
    if (p->held)
        let_go(win, args->target, false, false);
    if (!args->now && hold(win, args, h))
        return 0;
    if (!op)
        handle = alone(p);
    if (handle != op && open_op(win, args->target, NULL, 0, handle) == 0)
        h->id = handle->id;
    if (!h->id)
        p->unflushed = true;
    if (p->lock && p->stage == PUT_OFF)
        carry(p, h);
    tell(win->rma, win->world[args->target], h, args->data, data_of(h),
         args->lasts);
    return 0;
}

int impi_rma_start(struct impi_rma_win *win, const struct impi_rma_args *args,
                   struct impi_rma_op *op)
{
    const struct peer *p = &win->peers[args->target];
    struct head h = head_of(win, args);
    int type;

    if (impi_rma_is_lost(win, args->target)) {
        start_lost(win, args, op);
        return 0;
    }
    if (p->base) {
        start_mapped(win, args, &h, op);
        return 0;
    }
    if (is_in(p) && (start_far(win, args, op) || start_move(win, args, op)))
        return 0;
    type = args->type
               ? introduce(win->rma, win->world[args->target], args->type)
               : 0;
    if (type < 0)
        return -1;
    h.type = (uint16_t)type;
    return send_op(win, args, &h, op);
}

/* ---- what the origin waits for ---- */

/* The target's engine may be the next one. */
static void tell_turn(struct impi_rma_win *win, uint32_t target, bool next)
{
    if (next)
        tell_member(win, target, MSG_TURN, 0, 0);
}

/* The number of a FLUSH or UNLOCK for all that was started. */
static uint64_t next_flush(struct peer *p)
{
    p->flushes++;
    if (p->unflushed)
        p->needed = p->flushes;
    p->unflushed = false;
    return p->flushes;
}

static void end_since(struct peer *p)
{
    if (p->since > 0)
        p->many = p->since > 1;
    p->since = 0;
}

/* By a message of its own, which is answered. */
static void ask(struct impi_rma_win *win, uint32_t target)
{
    struct peer *p = &win->peers[target];

    p->stage = REQUESTED;
    p->grants++;
    tell_member(win, target, MSG_LOCK, p->lock, 0);
}

void impi_rma_flush(struct impi_rma_win *win, uint32_t target)
{
    struct peer *p = &win->peers[target];

    end_since(p);
    if (p->held)
        let_go(win, target, true, false);
    else if (p->lock && p->stage == PUT_OFF)
        ask(win, target);
    if (p->unflushed)
        tell_member(win, target, MSG_FLUSH, 0, next_flush(p));
}

static void leave(struct impi_rma_win *win, uint32_t target)
{
    struct peer *p = &win->peers[target];
    enum impi_rma_lock mode = p->lock;

    p->leaving = false;
    p->lock = IMPI_RMA_UNLOCKED;
    tell_turn(win, target, impi_rma_words_leave(p->words, mode, win->own));
}

bool impi_rma_is_flushed(struct impi_rma_win *win, uint32_t target)
{
    struct peer *p = &win->peers[target];

    if (p->open > 0 || p->flushed < p->needed)
        return false;
    if (p->leaving)
        leave(win, target);
    return true;
}

bool impi_rma_is_quiet(const struct impi_rma_win *win)
{
    for (uint32_t i = 0; i < win->n; i++) {
        const struct peer *p = &win->peers[i];

        if (p->flushed != p->flushes || p->exposure == ASKED)
            return false;
    }
    return true;
}

bool impi_rma_lock(struct impi_rma_win *win, uint32_t target,
                   enum impi_rma_lock mode, bool brief)
{
    struct peer *p = &win->peers[target];

    p->lock = (uint8_t)mode;
    p->stage = PUT_OFF;
    p->hold = brief;
    p->early = 0;
    if (p->words) {
        p->stage = REQUESTED;
        p->number = impi_rma_words_ask(p->words, mode, win->own);
        return true;
    }
    if (win->rma->ops->early && !win->asks_first && target != win->own)
        return false;
    ask(win, target);
    return true;
}

bool impi_rma_is_locked(struct impi_rma_win *win, uint32_t target)
{
    struct peer *p = &win->peers[target];
    bool next;

    if (p->stage != IN && p->words) {
        if (impi_rma_words_enter(p->words, p->number, p->lock, &next))
            p->stage = IN;
        tell_turn(win, target, next);
    }
    return p->stage == IN || impi_rma_is_lost(win, target);
}

/* Nothing has been done under it; it may be a meeting of processes. */
static void pass_through(struct impi_rma_win *win, uint32_t target,
                         uint8_t mode)
{
    struct peer *p = &win->peers[target];
    struct head h = {.kind = MSG_LOCK, .op = mode, .win = win->id, .leave = 1};

    p->unflushed = true;
    h.id = next_flush(p);
    tell(win->rma, win->world[target], &h, NULL, 0, false);
}

static void send_unlock(struct impi_rma_win *win, uint32_t target)
{
    tell_member(win, target, MSG_UNLOCK, 0, next_flush(&win->peers[target]));
}

/* By messages an UNLOCK stands behind all operations, and nobody waits for its
 * answer if each has its own; the words are left when those that went by
 * messages are confirmed. */
void impi_rma_unlock(struct impi_rma_win *win, uint32_t target)
{
    struct peer *p = &win->peers[target];
    bool left = false;
    uint8_t mode = p->lock;

    if (p->words) {
        p->leaving = true;
        impi_rma_flush(win, target);
        return;
    }
    end_since(p);
    if (impi_rma_is_lost(win, target)) {
        p->lock = IMPI_RMA_UNLOCKED;
        return;
    }
    if (p->held)
        left = let_go(win, target, true, true);
    p->lock = IMPI_RMA_UNLOCKED;
    if (left)
        return;
    if (p->stage == PUT_OFF)
        pass_through(win, target, mode);
    else if (p->moves > 0)
        p->unlock_waits = true;
    else
        send_unlock(win, target);
}

void impi_rma_post(struct impi_rma_win *win, uint32_t origin)
{
    tell_member(win, origin, MSG_POST, 0, 0);
}

bool impi_rma_take_post(struct impi_rma_win *win, uint32_t target)
{
    struct peer *p = &win->peers[target];

    if (p->posts == 0)
        return impi_rma_is_lost(win, target);
    p->posts--;
    return true;
}

void impi_rma_complete(struct impi_rma_win *win, uint32_t target)
{
    if (win->peers[target].moves > 0)
        win->peers[target].complete_waits = true;
    else
        tell_member(win, target, MSG_COMPLETE, 0, 0);
}

/* What the network moves no message follows: those that end an epoch come when
 * all of it is there. */
static void end_moves(struct impi_rma_win *win, uint32_t target)
{
    struct peer *p = &win->peers[target];

    if (p->unlock_waits)
        send_unlock(win, target);
    if (p->complete_waits)
        tell_member(win, target, MSG_COMPLETE, 0, 0);
    p->unlock_waits = p->complete_waits = false;
}

void impi_rma_moved(void *token)
{
    struct move *m = token;
    struct peer *p = &m->win->peers[m->target];

    if (m->op)
        m->op->done = true;
    p->open--;
    p->moves--;
    if (p->moves == 0)
        end_moves(m->win, m->target);
    free(m);
}

bool impi_rma_completed(const struct impi_rma_win *win, uint32_t origin)
{
    return win->peers[origin].completes > 0 || impi_rma_is_lost(win, origin);
}

void impi_rma_take_complete(struct impi_rma_win *win, uint32_t origin)
{
    if (win->peers[origin].completes > 0)
        win->peers[origin].completes--;
}
