/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libfabric under the channels: one endpoint, its buffers, frames and pieces of
 * memory in both directions.
 */
#define _GNU_SOURCE
#include "libimpi/fabric.h"
#include "libimpi/libfabric.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

static struct errbuf why_not;

#ifdef WITH_FABRIC
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "base/mac.h"
#include "impi/frames.h"

#define FRAME SF_FABRIC_FRAME
#define CREDITS SF_FABRIC_CREDITS
#define BUFFERS_IN (CREDITS + IMPI_FRAMES_SPARE) /* for each peer */
#define BUFFERS_OUT 16                           /* likewise, on average */
#define READ_MOST 16                             /* completions at a time */
#define PEERS_FIRST 16
#define KEYS_TRIED 4 /* for memory to lend, where we choose them */
/* Frames of a peer that are ahead of others, by sequence: all may be. */
#define HELD 64
_Static_assert(HELD >= BUFFERS_IN && (HELD & (HELD - 1)) == 0,
               "a place for each, and the sequence may wrap");

enum use { USE_IN, USE_OUT, USE_READ, USE_MOVE };

/* What the provider does something with: a frame's memory, a read, or a move.
 */
struct work {
    struct fi_context2 context; /* first: completions name it */
    enum use use;
};

/* One frame's memory. */
struct buffer {
    struct work work; /* first */
    TAILQ_ENTRY(buffer) link;
    struct fabric_peer *peer; /* on whose behalf, or NULL */
    uint8_t *data;
    void *desc;
    size_t len, at; /* in: of the payload (or the piece lent), what was read */
    /* In, a frame that stands for a piece of the peer's memory: */
    bool lends;   /* its own bytes come before that: */
    bool is_lent; /* they are read */
    struct impi_lend lend;
    unsigned reads; /* of it, under way */
    bool over;      /* no more of them */
    TAILQ_ENTRY(buffer) lent_link;
};
TAILQ_HEAD(buffers, buffer);

/* Bytes of a piece that are read from the peer's memory. */
struct reading {
    struct work work; /* first */
    TAILQ_ENTRY(reading) link;
    struct fabric_peer *peer; /* NULL: it is gone */
    struct buffer *of;
    uint64_t address;
    uint8_t *to;
    size_t len, at; /* at: of them that are here, by parts only */
    struct fid_mr *mr;
    bool by_parts;      /* the place cannot be registered: */
    struct buffer *own; /* each part comes into one of these first */
    bool given;         /* the provider has it */
    void *token;        /* of who has promised the place; NULL: nobody, it is */
    uint8_t *memory;    /* ours, and of it */
    size_t used;        /* so much was read on */
};
TAILQ_HEAD(readings, reading);

/* Bytes between our memory and that of a peer's window. */
struct moving {
    struct work work; /* first */
    TAILQ_ENTRY(moving) link;
    struct fabric_peer *peer; /* NULL: it is gone */
    bool put, given;
    uint64_t address, key;
    uint8_t *own;
    size_t len, at; /* at: of them that are moved */
    struct fid_mr *mr;
    void *token;
};
TAILQ_HEAD(movings, moving);

/* Memory of a window of ours. */
struct fabric_memory {
    SLIST_ENTRY(fabric_memory) link;
    struct fid_mr *mr;
};

/* Memory that a peer reads. */
struct lent {
    struct fid_mr *mr;
    size_t len;
    size_t before; /* bytes in frames since the piece before */
};

/* Buffers that were made together. */
struct slab {
    SLIST_ENTRY(slab) link;
    struct fid_mr *mr;
    uint8_t *memory;
    struct buffer *all;
    size_t n;
};

struct fabric_peer {
    uint32_t number; /* index in fabric.peers */
    struct impi_frames frames;
    fi_addr_t addr;
    bool known;           /* its end is */
    struct buffer *early; /* a frame that came before, */
    size_t early_size;
    struct buffer *held[HELD];
    struct buffers in;  /* frames to read */
    struct buffers out; /* frames that the provider does not take yet */
    unsigned sending;   /* that it has taken */
    uint32_t frame;     /* longest one to it */
    /* Out: pieces that it has not read, from the oldest on; bytes of the stream
     * in frames behind them; bytes before them that nobody was told of. */
    struct lent lent[SF_FABRIC_LENDS];
    unsigned first_lent, nlent;
    size_t behind, ready;
    /* In: pieces that it lent, reads of them that are under way, and those to
     * promised places that are done. */
    struct buffers pieces;
    struct readings reads, kept;
    struct reading *staged; /* of the first piece, into our own memory */
    uint32_t returns;       /* pieces to return */
    struct movings moves;
    uint64_t key_out, key_in;
    struct errbuf error;
};

static struct {
    bool tried, open;
    struct libfabric lib;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct readings orphans; /* reads of peers that are gone */
    bool delivers;           /* and says when bytes are in a peer's memory */
    struct movings moved, lost_moves; /* over; of peers that are gone */
    SLIST_HEAD(, fabric_memory) exposed;
    int fd;
    struct impi_fabric_end end; /* its number aside */
    SLIST_HEAD(, slab) slabs;
    struct buffers free_out;
    struct buffers unposted; /* to be given to the provider again */
    size_t nfree_out, nin;   /* nin: all of those to receive */
    struct fabric_peer **peers;
    size_t npeers, peers_room;
    size_t nlive;
    struct errbuf broken;
    struct fabric_counts counts;
} fabric = {.fd = -1};

static bool can_read(void)
{
    return fabric.info->caps & FI_RMA;
}

/* ---- memory ------------------------------------------------------------ */

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

static void free_slab(struct slab *s)
{
    if (s->mr)
        fi_close(&s->mr->fid);
    free(s->memory);
    free(s->all);
    free(s);
}

/* A key that nobody can guess, where we choose it. */
static uint64_t fresh_key(void)
{
    const struct fi_domain_attr *attr = fabric.info->domain_attr;
    uint64_t key = 0;

    if (attr->mr_mode & FI_MR_PROV_KEY)
        return 0;
    mac_random(&key, sizeof(key));
    return attr->mr_key_size < sizeof(key)
               ? key & ((1ull << 8 * attr->mr_key_size) - 1)
               : key;
}

static int register_memory(void *memory, size_t len, uint64_t access,
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

/* The same, where the provider wants it for our own use of memory. */
static int register_own(void *memory, size_t len, uint64_t access,
                        struct fid_mr **mr)
{
    *mr = NULL;
    return fabric.info->domain_attr->mr_mode & FI_MR_LOCAL
               ? register_memory(memory, len, access, mr)
               : 0;
}

static struct slab *make_slab(size_t n, bool out)
{
    struct slab *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->n = n;
    s->all = calloc(n, sizeof(struct buffer));
    if (!s->all || posix_memalign((void **)&s->memory, 4096, n * FRAME) != 0 ||
        register_own(s->memory, n * FRAME,
                     !out         ? FI_RECV
                     : can_read() ? FI_SEND | FI_READ
                                  : FI_SEND,
                     &s->mr) < 0) {
        free_slab(s);
        return NULL;
    }
    return s;
}

/* n more buffers into a list.  0, or -1: no memory, or none of the provider. */
static int add_buffers(size_t n, bool out, struct buffers *list)
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
    SLIST_INSERT_HEAD(&fabric.slabs, s, link);
    return 0;
}

/* ---- opening ----------------------------------------------------------- */

static int open_queue(void)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_MSG,
                              .wait_obj = FI_WAIT_FD,
                              .size = fabric.info->tx_attr->size +
                                      fabric.info->rx_attr->size};
    int rc = fi_cq_open(fabric.domain, &attr, &fabric.cq, NULL);

    if (rc == 0 && fi_control(&fabric.cq->fid, FI_GETWAIT, &fabric.fd) == 0)
        return 0;
    fabric.fd = -1;
    if (rc == 0)
        fi_close(&fabric.cq->fid);
    fabric.cq = NULL;
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(fabric.domain, &attr, &fabric.cq, NULL);
}

static int open_endpoint(void)
{
    struct fi_av_attr av = {.type = FI_AV_UNSPEC};
    int rc;

    if ((rc =
             fabric.lib.make(fabric.info->fabric_attr, &fabric.fabric, NULL)) ||
        (rc = fi_domain(fabric.fabric, fabric.info, &fabric.domain, NULL)) ||
        (rc = fi_av_open(fabric.domain, &av, &fabric.av, NULL)) ||
        (rc = open_queue()) ||
        (rc = fi_endpoint(fabric.domain, fabric.info, &fabric.ep, NULL)) ||
        (rc = fi_ep_bind(fabric.ep, &fabric.av->fid, 0)) ||
        (rc = fi_ep_bind(fabric.ep, &fabric.cq->fid, FI_TRANSMIT | FI_RECV)) ||
        (rc = fi_enable(fabric.ep)))
        return rc;
    return 0;
}

static int learn_end(void)
{
    struct impi_fabric_end *end = &fabric.end;
    size_t len = sizeof(end->addr);
    int rc = fi_getname(&fabric.ep->fid, end->addr, &len);

    if (rc < 0)
        return rc;
    end->addr_len = (uint32_t)len;
    strcpy(end->name, fabric.info->fabric_attr->prov_name);
    end->protocol = fabric.info->ep_attr->protocol;
    end->version = fabric.info->ep_attr->protocol_version;
    end->addr_format = fabric.info->addr_format;
    end->frame = FRAME;
    end->credits = CREDITS;
    end->lends = can_read() ? SF_FABRIC_LENDS : 0;
    return len > 0 ? 0 : -FI_ENODATA;
}

static void close_fid(struct fid *fid)
{
    if (fid)
        fi_close(fid);
}

static void free_reading(struct readings *list, struct reading *r)
{
    TAILQ_REMOVE(list, r, link);
    close_fid(r->mr ? &r->mr->fid : NULL);
    free(r->memory);
    free(r);
}

static void free_move(struct movings *list, struct moving *m)
{
    TAILQ_REMOVE(list, m, link);
    close_fid(m->mr ? &m->mr->fid : NULL);
    free(m);
}

static void close_all(void)
{
    struct fabric_memory *e;
    struct reading *r;
    struct moving *m;
    struct slab *s;

    close_fid(fabric.ep ? &fabric.ep->fid : NULL);
    while ((e = SLIST_FIRST(&fabric.exposed)))
        fabric_hide(e);
    while ((m = TAILQ_FIRST(&fabric.moved)))
        free_move(&fabric.moved, m);
    while ((m = TAILQ_FIRST(&fabric.lost_moves)))
        free_move(&fabric.lost_moves, m);
    while ((s = SLIST_FIRST(&fabric.slabs))) {
        SLIST_REMOVE_HEAD(&fabric.slabs, link);
        free_slab(s);
    }
    while ((r = TAILQ_FIRST(&fabric.orphans)))
        free_reading(&fabric.orphans, r);
    close_fid(fabric.cq ? &fabric.cq->fid : NULL);
    close_fid(fabric.av ? &fabric.av->fid : NULL);
    close_fid(fabric.domain ? &fabric.domain->fid : NULL);
    close_fid(fabric.fabric ? &fabric.fabric->fid : NULL);
    if (fabric.info)
        fabric.lib.freeinfo(fabric.info);
    fabric.ep = NULL;
    fabric.cq = NULL;
    fabric.av = NULL;
    fabric.domain = NULL;
    fabric.fabric = NULL;
    fabric.info = NULL;
    fabric.fd = -1;
    TAILQ_INIT(&fabric.free_out);
    TAILQ_INIT(&fabric.unposted);
    fabric.nfree_out = fabric.nin = 0;
}

static bool open_provider(const char *provider, const struct netaddr *own)
{
    int rc;

    fabric.info =
        libfabric_ask(&fabric.lib, provider, own, FRAME, BUFFERS_IN, &why_not);
    if (!fabric.info)
        return false;
    rc = open_endpoint();
    if (rc == 0)
        rc = learn_end();
    if (rc == 0) {
        fabric.delivers = libfabric_delivers(&fabric.lib, provider, own);
        return true;
    }
    errprintf(&why_not, "%s: %s", provider, fabric.lib.strerror(-rc));
    close_all();
    return false;
}

/* ---- which ------------------------------------------------------------- */

static bool open_first(const char *order, const struct netaddr *own)
{
    char text[SF_FABRIC_ORDER_MAX], *at = text, *name;

    if (strlen(order) >= sizeof(text)) {
        errprintf(&why_not,
                  "the list of providers is longer than %zu characters",
                  sizeof(text) - 1);
        return false;
    }
    strcpy(text, order);
    while ((name = strsep(&at, ",")))
        if (*name && open_provider(name, own))
            return true;
    return false;
}

bool fabric_start(const struct netaddr *own)
{
    const char *order;

    if (fabric.tried)
        return fabric.open;
    fabric.tried = true;
    TAILQ_INIT(&fabric.free_out);
    TAILQ_INIT(&fabric.unposted);
    TAILQ_INIT(&fabric.orphans);
    TAILQ_INIT(&fabric.moved);
    TAILQ_INIT(&fabric.lost_moves);
    order = libfabric_wanted();
    fabric.open = order && libfabric_find(&fabric.lib, &why_not) == 0 &&
                  open_first(order, own);
    return fabric.open;
}

const char *fabric_name(void)
{
    return fabric.open ? fabric.end.name : NULL;
}

void fabric_stop(void)
{
    for (size_t i = 0; i < fabric.npeers; i++)
        free(fabric.peers[i]);
    free(fabric.peers);
    close_all();
    memset(&fabric, 0, sizeof(fabric));
    fabric.fd = -1;
}

void fabric_forget(void)
{
    fabric.open = false;
    fabric.tried = true;
    fabric.fd = -1;
}

/* ---- one channel ------------------------------------------------------- */

static void post_all(void)
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

/* Buffers to receive for all that may be on the way to us. */
static int provide_in(size_t peers)
{
    size_t want = peers * BUFFERS_IN;

    if (fabric.nin >= want)
        return 0;
    if (add_buffers(want - fabric.nin, false, &fabric.unposted) < 0)
        return -1;
    fabric.nin = want;
    post_all();
    return 0;
}

static int provide_out(void)
{
    if (add_buffers(BUFFERS_OUT, true, &fabric.free_out) < 0)
        return -1;
    fabric.nfree_out += BUFFERS_OUT;
    return 0;
}

static int seat(struct fabric_peer *p)
{
    for (size_t i = 0; i < fabric.npeers; i++) {
        if (!fabric.peers[i]) {
            fabric.peers[i] = p;
            p->number = (uint32_t)i;
            return 0;
        }
    }
    if (fabric.npeers == fabric.peers_room) {
        size_t room = fabric.peers_room ? 2 * fabric.peers_room : PEERS_FIRST;
        void *more = realloc(fabric.peers, room * sizeof(fabric.peers[0]));

        if (!more)
            return -1;
        fabric.peers = more;
        fabric.peers_room = room;
    }
    p->number = (uint32_t)fabric.npeers;
    fabric.peers[fabric.npeers++] = p;
    return 0;
}

struct fabric_peer *fabric_reserve(struct impi_fabric_end *own,
                                   uint64_t key_out, uint64_t key_in)
{
    struct fabric_peer *p;

    if (!fabric.open || fabric.broken.text[0])
        return NULL;
    p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    TAILQ_INIT(&p->in);
    TAILQ_INIT(&p->out);
    TAILQ_INIT(&p->pieces);
    TAILQ_INIT(&p->reads);
    TAILQ_INIT(&p->kept);
    TAILQ_INIT(&p->moves);
    p->key_out = key_out;
    p->key_in = key_in;
    if (provide_in(fabric.nlive + 1) < 0 || provide_out() < 0 || seat(p) < 0) {
        free(p);
        return NULL;
    }
    fabric.nlive++;
    *own = fabric.end;
    own->number = p->number;
    return p;
}

static int peer_fail(struct fabric_peer *p, const char *what, int code)
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

/* Give the provider what it has not taken yet, in order. */
static void push(struct fabric_peer *p)
{
    struct buffer *b;

    while ((b = TAILQ_FIRST(&p->out)) && !p->error.text[0]) {
        ssize_t rc = fi_send(fabric.ep, b->data, b->len, b->desc, p->addr,
                             &b->work.context);

        if (rc == -FI_EAGAIN)
            return;
        if (rc < 0) {
            peer_fail(p, "sending", (int)-rc);
            return;
        }
        TAILQ_REMOVE(&p->out, b, link);
        p->sending++;
        fabric.counts.frames_out++;
        fabric.counts.bytes_out += b->len - IMPI_FRAME_SIZE;
    }
}

/* Who has one already leaves one to everybody else, so that a peer that takes
 * nothing holds up no other. */
static struct buffer *take_out(struct fabric_peer *p)
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

static void give_back_out(struct buffer *b)
{
    b->peer = NULL;
    TAILQ_INSERT_HEAD(&fabric.free_out, b, link);
    fabric.nfree_out++;
}

static void send_frame(struct fabric_peer *p, struct buffer *b,
                       enum impi_frame_kind kind, size_t len)
{
    impi_frames_put(&p->frames, b->data, kind, len);
    b->len = IMPI_FRAME_SIZE + len;
    TAILQ_INSERT_TAIL(&p->out, b, link);
    push(p);
}

/* What goes without data. */
static bool send_bare(struct fabric_peer *p, enum impi_frame_kind kind)
{
    struct buffer *b = take_out(p);

    if (b)
        send_frame(p, b, kind, 0);
    return b;
}

bool fabric_met(const struct fabric_peer *p)
{
    return p->frames.met && TAILQ_EMPTY(&p->out);
}

static bool may_write(const struct fabric_peer *p)
{
    return TAILQ_EMPTY(&p->out) && p->frames.may_send > 0 && !fabric_error(p);
}

/* The piece of iov[0..n) that holds byte `skip`, from there on; false: none. */
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

/* Bytes of iov[0..n) from *skip on, at most room, up to a piece that is better
 * lent; counts *skip up. */
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

/* The peer may read it from now on; behind so many bytes in the same frame.
 * False: memory that cannot be had for that, which goes in frames. */
static bool lend(struct fabric_peer *p, struct buffer *b, size_t len,
                 const struct iovec *piece)
{
    struct lent *lent = &p->lent[(p->first_lent + p->nlent) % SF_FABRIC_LENDS];
    struct impi_lend l = {.length = SF_FABRIC_LEND_MAX};

    if (piece->iov_len < l.length)
        l.length = (uint32_t)piece->iov_len;
    if (register_memory(piece->iov_base, l.length, FI_REMOTE_READ, &lent->mr) <
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
    send_frame(p, b, IMPI_FRAME_LEND, len + IMPI_LEND_SIZE);
    return true;
}

/* Lend what is at *skip, if that is better and can be done now. */
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

/* From the byte *skip on, one frame.  False: not now. */
static bool write_next(struct fabric_peer *p, const struct iovec *iov, int n,
                       size_t *skip)
{
    struct iovec piece;
    struct buffer *b;
    size_t len;

    if (!may_write(p) || !piece_at(iov, n, *skip, &piece))
        return false;
    if (is_long(p, piece.iov_len) && !impi_frames_may_lend(&p->frames))
        return false;
    b = take_out(p);
    if (!b)
        return false;
    if (lend_next(p, b, 0, iov, n, skip))
        return true;
    len = gather(p, b->data + IMPI_FRAME_SIZE, p->frame - IMPI_FRAME_SIZE, iov,
                 n, skip);
    *(p->nlent > 0 ? &p->behind : &p->ready) += len;
    if (!lend_next(p, b, len, iov, n, skip))
        send_frame(p, b, IMPI_FRAME_DATA, len);
    return true;
}

/* Bytes of which the caller was not told, from the first one on. */
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

    push(p);
    while (write_next(p, iov, n, &skip))
        ;
    done = p->ready;
    p->ready = 0;
    return done;
}

/* The peer has read so many pieces. */
static void take_back(struct fabric_peer *p, const struct buffer *b)
{
    int n =
        impi_frames_returned(&p->frames, b->data + IMPI_FRAME_SIZE, &p->error);

    for (; n > 0; n--) {
        struct lent *l = &p->lent[p->first_lent];

        close_fid(&l->mr->fid);
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

size_t fabric_put(struct fabric_peer *p, const void *head, size_t head_len,
                  const void *data, size_t len)
{
    struct buffer *b;

    if (IMPI_FRAME_SIZE + head_len + len > p->frame || !may_write(p) ||
        !(b = take_out(p)))
        return 0;
    memcpy(b->data + IMPI_FRAME_SIZE, head, head_len);
    if (len > 0)
        memcpy(b->data + IMPI_FRAME_SIZE + head_len, data, len);
    send_frame(p, b, IMPI_FRAME_DATA, head_len + len);
    return head_len + len;
}

bool fabric_is_flushed(const struct fabric_peer *p)
{
    return p->sending == 0 && TAILQ_EMPTY(&p->out) && p->nlent == 0 &&
           TAILQ_EMPTY(&p->pieces) && p->returns == 0;
}

/* ---- in ---- */

static void repost(struct buffer *b)
{
    b->peer = NULL;
    TAILQ_INSERT_TAIL(&fabric.unposted, b, link);
    post_all();
}

static void pay_back(struct fabric_peer *p)
{
    if (impi_frames_owes(&p->frames) && !p->error.text[0])
        send_bare(p, IMPI_FRAME_CREDITS);
}

void fabric_taken(struct fabric_peer *p)
{
    struct buffer *b = TAILQ_FIRST(&p->in);

    TAILQ_REMOVE(&p->in, b, link);
    repost(b);
    impi_frames_freed(&p->frames);
    pay_back(p);
}

const uint8_t *fabric_look(const struct fabric_peer *p, size_t *len)
{
    const struct buffer *b = TAILQ_FIRST(&p->in);

    if (!b || b->at > 0 || b->lends)
        return NULL;
    *len = b->len;
    return b->data + IMPI_FRAME_SIZE;
}

bool fabric_lends(const struct fabric_peer *p)
{
    const struct buffer *b = TAILQ_FIRST(&p->in);

    return b && b->lends;
}

/* ---- pieces that a peer has lent ---- */

/* Say that the oldest pieces are read, once they are. */
static void return_pieces(struct fabric_peer *p)
{
    struct buffer *b;

    while ((b = TAILQ_FIRST(&p->pieces)) && b->over && b->reads == 0) {
        TAILQ_REMOVE(&p->pieces, b, lent_link);
        repost(b);
        impi_frames_freed(&p->frames);
        p->returns++;
    }
    if (p->returns == 0 || p->error.text[0] || !(b = take_out(p)))
        return;
    impi_frames_read(&p->frames, b->data + IMPI_FRAME_SIZE, p->returns);
    p->returns = 0;
    send_frame(p, b, IMPI_FRAME_READ, IMPI_READ_SIZE);
}

/* All of it is asked for, and what came into our own memory is read. */
static void piece_over(struct fabric_peer *p, struct buffer *b)
{
    TAILQ_REMOVE(&p->in, b, link);
    b->over = true;
    return_pieces(p);
}

/* The part of it that is next, where the provider cannot read to the place. */
static bool take_part(struct fabric_peer *p, struct reading *r)
{
    if (r->by_parts && !r->own)
        r->own = take_out(p);
    return !r->by_parts || r->own;
}

static size_t part_size(const struct reading *r)
{
    size_t left = r->len - r->at;

    return r->by_parts && left > FRAME ? FRAME : left;
}

/* Give the provider the reads that it has not taken yet. */
static void push_reads(struct fabric_peer *p)
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
            peer_fail(p, "reading", (int)-rc);
            return;
        }
        r->given = true;
    }
}

size_t fabric_lent(const struct fabric_peer *p)
{
    const struct buffer *b = TAILQ_FIRST(&p->in);

    if (!b || !b->is_lent || p->staged || fabric_error(p))
        return 0;
    return b->len - b->at;
}

/* Read the next len bytes of the first piece to there. */
static struct reading *begin_read(struct fabric_peer *p, void *to, size_t len)
{
    struct buffer *b = TAILQ_FIRST(&p->in);
    struct reading *r = calloc(1, sizeof(*r));

    assert(len <= fabric_lent(p));
    if (!r) {
        peer_fail(p, "reading", FI_ENOMEM);
        return NULL;
    }
    r->work.use = USE_READ;
    r->peer = p;
    r->of = b;
    r->address = b->lend.address + b->at;
    r->to = to;
    r->len = len;
    r->by_parts = register_own(to, len, FI_READ, &r->mr) < 0;
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
    push_reads(p);
    if (b->at == b->len)
        piece_over(p, b);
}

void fabric_stage(struct fabric_peer *p)
{
    size_t len = fabric_lent(p);
    uint8_t *memory = malloc(len);

    if (!memory) {
        peer_fail(p, "reading", FI_ENOMEM);
        return;
    }
    p->staged = begin_read(p, memory, len);
    if (!p->staged) {
        free(memory);
        return;
    }
    p->staged->memory = memory;
    fabric.counts.staged++;
    push_reads(p);
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

/* All of it is here. */
static void read_over(struct fabric_peer *p, struct reading *r)
{
    TAILQ_REMOVE(&p->reads, r, link);
    TAILQ_INSERT_TAIL(&p->kept, r, link);
    r->of->reads--;
    if (r->token)
        return_pieces(p);
}

/* The provider has done with it. */
static void read_done(struct reading *r, int error)
{
    struct fabric_peer *p = r->peer;
    size_t part = part_size(r);

    if (p && r->own && !error)
        memcpy(r->to + r->at, r->own->data, part);
    if (r->own)
        give_back_out(r->own);
    r->own = NULL;
    r->given = false;
    r->at += part;
    if (!p)
        free_reading(&fabric.orphans, r);
    else if (error)
        peer_fail(p, "reading", error);
    else if (r->at < r->len)
        push_reads(p);
    else
        read_over(p, r);
}

/* ---- memory of windows ---- */

struct fabric_memory *fabric_expose(void *memory, size_t len, uint64_t *address,
                                    uint64_t *key)
{
    struct fabric_memory *m;

    if (!fabric.open || fabric.broken.text[0] || !can_read() || len == 0)
        return NULL;
    m = malloc(sizeof(*m));
    if (!m)
        return NULL;
    if (register_memory(memory, len, FI_REMOTE_READ | FI_REMOTE_WRITE, &m->mr) <
        0) {
        free(m);
        return NULL;
    }
    *address = fabric.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR
                   ? (uintptr_t)memory
                   : 0;
    *key = fi_mr_key(m->mr);
    SLIST_INSERT_HEAD(&fabric.exposed, m, link);
    return m;
}

void fabric_hide(struct fabric_memory *m)
{
    if (!m)
        return;
    SLIST_REMOVE(&fabric.exposed, m, fabric_memory, link);
    fi_close(&m->mr->fid);
    free(m);
}

bool fabric_may_move(const struct fabric_peer *p, bool put)
{
    return p->known && p->frames.lends_out > 0 && p->frames.lends_in > 0 &&
           (!put || fabric.delivers) && !fabric_error(p);
}

static size_t move_size(const struct moving *m)
{
    size_t left = m->len - m->at;

    return left < SF_FABRIC_LEND_MAX ? left : SF_FABRIC_LEND_MAX;
}

/* It is over when the bytes are in the peer's memory, not before. */
static ssize_t give_put(const struct fabric_peer *p, struct moving *m,
                        void *desc)
{
    struct iovec from = {m->own + m->at, move_size(m)};
    struct fi_rma_iov to = {m->address + m->at, from.iov_len, m->key};
    struct fi_msg_rma msg = {.msg_iov = &from,
                             .desc = &desc,
                             .iov_count = 1,
                             .addr = p->addr,
                             .rma_iov = &to,
                             .rma_iov_count = 1,
                             .context = &m->work.context};

    return fi_writemsg(fabric.ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

static ssize_t give_move(const struct fabric_peer *p, struct moving *m)
{
    void *desc = m->mr ? fi_mr_desc(m->mr) : NULL;

    if (m->put)
        return give_put(p, m, desc);
    return fi_read(fabric.ep, m->own + m->at, move_size(m), desc, p->addr,
                   m->address + m->at, m->key, &m->work.context);
}

/* Give the provider the moves that it has not taken yet. */
static void push_moves(struct fabric_peer *p)
{
    struct moving *m;
    ssize_t rc;

    TAILQ_FOREACH(m, &p->moves, link)
    {
        if (m->given || p->error.text[0])
            continue;
        rc = give_move(p, m);
        if (rc == -FI_EAGAIN)
            return;
        if (rc < 0) {
            peer_fail(p, m->put ? "putting" : "getting", (int)-rc);
            return;
        }
        m->given = true;
    }
}

bool fabric_move(struct fabric_peer *p, uint64_t address, uint64_t key,
                 void *own, size_t len, bool put, void *token)
{
    struct moving *m = calloc(1, sizeof(*m));

    if (!m || register_own(own, len, put ? FI_WRITE : FI_READ, &m->mr) < 0) {
        free(m);
        return false;
    }
    m->work.use = USE_MOVE;
    m->peer = p;
    m->put = put;
    m->address = address;
    m->key = key;
    m->own = own;
    m->len = len;
    m->token = token;
    TAILQ_INSERT_TAIL(&p->moves, m, link);
    (*(put ? &fabric.counts.puts : &fabric.counts.gets))++;
    push_moves(p);
    return true;
}

void *fabric_moved(void)
{
    struct moving *m = TAILQ_FIRST(&fabric.moved);
    void *token;

    if (!m)
        return NULL;
    token = m->token;
    free_move(&fabric.moved, m);
    return token;
}

/* The provider has done with it. */
static void move_done(struct moving *m, int error)
{
    struct fabric_peer *p = m->peer;

    m->given = false;
    if (!p) {
        free_move(&fabric.lost_moves, m);
        return;
    }
    if (error) {
        peer_fail(p, m->put ? "putting" : "getting", error);
        return;
    }
    m->at += move_size(m);
    if (m->at < m->len) {
        push_moves(p);
        return;
    }
    TAILQ_REMOVE(&p->moves, m, link);
    TAILQ_INSERT_TAIL(&fabric.moved, m, link);
}

/* ---- the stream ---- */

/* The next bytes of it that are here. */
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

/* Its own bytes are read, and the piece is next. */
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

/* Before we know where the peer is it says no more than its hello. */
static void keep_early(struct fabric_peer *p, struct buffer *b, size_t size)
{
    if (p->early) {
        errprintf(&p->error, "sends frames before it has an answer");
        repost(b);
        return;
    }
    p->early = b;
    p->early_size = size;
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

/* The next frame of its peer. */
static void take(struct fabric_peer *p, struct buffer *b,
                 const struct impi_frame *frame)
{
    if (impi_frames_take(&p->frames, frame, &p->error) < 0) {
        repost(b);
        return;
    }
    fabric.counts.frames_in++;
    fabric.counts.bytes_in += frame->length;
    if (frame->kind != IMPI_FRAME_DATA && frame->kind != IMPI_FRAME_LEND) {
        if (frame->kind == IMPI_FRAME_READ)
            take_back(p, b);
        repost(b);
        return;
    }
    b->peer = p;
    b->len = frame->length;
    b->at = 0;
    b->lends = frame->kind == IMPI_FRAME_LEND;
    b->is_lent = false;
    if (b->lends && take_piece(p, b) < 0) {
        repost(b);
        return;
    }
    TAILQ_INSERT_TAIL(&p->in, b, link);
}

/* Those that have waited for the one that came last. */
static void take_held(struct fabric_peer *p)
{
    struct impi_frame frame;
    struct buffer **at;

    while (*(at = &p->held[p->frames.sequence_in % HELD]) &&
           !p->error.text[0]) {
        struct buffer *b = *at;

        *at = NULL;
        impi_frame_decode(&frame, b->data, b->len);
        take(p, b, &frame);
    }
}

static void hold(struct fabric_peer *p, struct buffer *b, size_t size,
                 uint32_t sequence)
{
    struct buffer **at = &p->held[sequence % HELD];

    if (*at) {
        errprintf(&p->error, "sends a frame twice");
        repost(b);
        return;
    }
    b->len = size;
    *at = b;
}

/* A frame has come.  Who does not know the key is not our peer, whatever it
 * says. */
static void arrive(struct buffer *b, size_t size)
{
    struct impi_frame frame;
    struct fabric_peer *p = NULL;
    int next = -1;

    if (impi_frame_decode(&frame, b->data, size) &&
        frame.number < fabric.npeers)
        p = fabric.peers[frame.number];
    if (!p || frame.key != p->key_in) {
        fabric.counts.strangers++;
        repost(b);
        return;
    }
    if (!p->known) {
        keep_early(p, b, size);
        return;
    }
    if (!p->error.text[0])
        next = impi_frames_is_next(&p->frames, &frame, &p->error);
    if (next < 0) {
        repost(b);
    } else if (next == 0) {
        hold(p, b, size, frame.sequence);
    } else {
        take(p, b, &frame);
        take_held(p);
    }
}

int fabric_meet(struct fabric_peer *p, const struct impi_fabric_end *own,
                const struct impi_fabric_end *peer)
{
    struct buffer *early = p->early;

    if (fi_av_insert(fabric.av, peer->addr, 1, &p->addr, 0, NULL) != 1)
        return peer_fail(p, "an address", FI_EADDRNOTAVAIL);
    p->known = true;
    p->frame = peer->frame < FRAME ? peer->frame : FRAME;
    impi_frames_init(&p->frames, own, peer, p->key_out, p->key_in);
    p->early = NULL;
    if (early)
        arrive(early, p->early_size);
    if (!send_bare(p, IMPI_FRAME_HELLO))
        return peer_fail(p, "the first frame", FI_ENOMEM);
    return p->error.text[0] ? -1 : 0;
}

/* ---- completions ---- */

static void gone(struct buffer *b)
{
    if (b->peer)
        b->peer->sending--;
    give_back_out(b);
}

static void completed(const struct fi_cq_msg_entry *e)
{
    struct work *w = e->op_context;

    if (!w)
        return;
    if (w->use == USE_OUT)
        gone((struct buffer *)w);
    else if (w->use == USE_READ)
        read_done((struct reading *)w, 0);
    else if (w->use == USE_MOVE)
        move_done((struct moving *)w, 0);
    else
        arrive((struct buffer *)w, e->len);
}

/* An error of a send, a read or a move is its peer's.  A frame too long for a
 * buffer is a stranger's; any other that did not come may be anybody's. */
static void failed(void)
{
    struct fi_cq_err_entry e = {0};
    struct buffer *b;
    struct work *w;

    if (fi_cq_readerr(fabric.cq, &e, 0) <= 0 || !(w = e.op_context))
        return;
    b = (struct buffer *)w;
    if (w->use == USE_READ) {
        read_done((struct reading *)w, e.err);
    } else if (w->use == USE_MOVE) {
        move_done((struct moving *)w, e.err);
    } else if (w->use == USE_OUT) {
        if (b->peer)
            peer_fail(b->peer, "sending", e.err);
        gone(b);
    } else if (e.err == FI_ETRUNC || e.err == FI_EMSGSIZE) {
        fabric.counts.strangers++;
        repost(b);
    } else {
        errprintf(&fabric.broken, "%s: receiving: %s", fabric.end.name,
                  fabric.lib.strerror(e.err));
    }
}

static void serve_peers(void)
{
    for (size_t i = 0; i < fabric.npeers; i++) {
        struct fabric_peer *p = fabric.peers[i];

        if (!p || !p->known)
            continue;
        if (!TAILQ_EMPTY(&p->out))
            push(p);
        push_reads(p);
        push_moves(p);
        return_pieces(p);
        pay_back(p);
    }
}

bool fabric_poll(void)
{
    struct fi_cq_msg_entry e[READ_MOST];
    bool any = false;
    ssize_t n;

    if (!fabric.open)
        return false;
    do {
        n = fi_cq_read(fabric.cq, e, READ_MOST);
        for (ssize_t i = 0; i < n; i++)
            completed(&e[i]);
        if (n == -FI_EAVAIL)
            failed();
        else if (n < 0 && n != -FI_EAGAIN && n != -FI_EINTR)
            errprintf(&fabric.broken, "%s: %s", fabric.end.name,
                      fabric.lib.strerror((int)-n));
        any |= n > 0 || n == -FI_EAVAIL;
    } while (n == READ_MOST || (n == -FI_EAVAIL && !fabric.broken.text[0]));
    if (!TAILQ_EMPTY(&fabric.unposted))
        post_all();
    serve_peers();
    return any;
}

/* There is something for the caller to do. */
static bool has_news(const struct fabric_peer *p)
{
    return fabric_ready(p) > 0 || fabric_lent(p) > 0 || p->ready > 0 ||
           (!TAILQ_EMPTY(&p->kept) && TAILQ_FIRST(&p->kept) != p->staged) ||
           fabric_error(p);
}

bool fabric_sleep(void)
{
    struct fid *fid = fabric.cq ? &fabric.cq->fid : NULL;

    if (!fabric.open)
        return true;
    if (!TAILQ_EMPTY(&fabric.moved))
        return false;
    for (size_t i = 0; i < fabric.npeers; i++)
        if (fabric.peers[i] && has_news(fabric.peers[i]))
            return false;
    return fabric.fd < 0 || fi_trywait(fabric.fabric, &fid, 1) == 0;
}

int fabric_fd(void)
{
    return fabric.fd;
}

/* ---- its end ---- */

/* What is on the way on its behalf comes back later, for nobody. */
static void forget_buffers(const struct fabric_peer *p)
{
    struct slab *s;

    SLIST_FOREACH(s, &fabric.slabs, link)
    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].peer == p)
            s->all[i].peer = NULL;
}

/* Those that the provider has go on to our memory, which is kept for them, or
 * to a place that is about to be lost with the process. */
static void drop_reads(struct fabric_peer *p)
{
    struct reading *r;
    struct buffer *b;

    while ((r = TAILQ_FIRST(&p->kept)))
        free_reading(&p->kept, r);
    while ((r = TAILQ_FIRST(&p->reads))) {
        TAILQ_REMOVE(&p->reads, r, link);
        TAILQ_INSERT_TAIL(&fabric.orphans, r, link);
        r->peer = NULL;
        if (!r->given)
            free_reading(&fabric.orphans, r);
    }
    while ((b = TAILQ_FIRST(&p->pieces))) {
        TAILQ_REMOVE(&p->pieces, b, lent_link);
        if (b->over)
            repost(b);
    }
}

/* Likewise those of windows. */
static void drop_moves(struct fabric_peer *p)
{
    struct moving *m;

    while ((m = TAILQ_FIRST(&p->moves))) {
        TAILQ_REMOVE(&p->moves, m, link);
        TAILQ_INSERT_TAIL(&fabric.lost_moves, m, link);
        m->peer = NULL;
        if (!m->given)
            free_move(&fabric.lost_moves, m);
    }
}

void fabric_drop(struct fabric_peer *p)
{
    struct buffer *b;

    if (!p)
        return;
    drop_reads(p);
    drop_moves(p);
    while ((b = TAILQ_FIRST(&p->in))) {
        TAILQ_REMOVE(&p->in, b, link);
        repost(b);
    }
    for (unsigned i = 0; i < p->nlent; i++)
        close_fid(&p->lent[(p->first_lent + i) % SF_FABRIC_LENDS].mr->fid);
    while ((b = TAILQ_FIRST(&p->out))) {
        TAILQ_REMOVE(&p->out, b, link);
        give_back_out(b);
    }
    for (size_t i = 0; i < HELD; i++)
        if (p->held[i])
            repost(p->held[i]);
    if (p->early)
        repost(p->early);
    forget_buffers(p);
    fabric.peers[p->number] = NULL;
    fabric.nlive--;
    free(p);
}

void fabric_count(struct fabric_counts *out)
{
    *out = fabric.counts;
}

#else /* WITH_FABRIC */

bool fabric_start(const struct netaddr *own)
{
    const char *order = getenv("IMPI_FABRIC");

    if (order && strcmp(order, "none") != 0)
        errprintf(&why_not, "built without the headers of libfabric");
    return false;
}

/* Without a start nobody calls these. */
const char *fabric_name(void)
{
    return NULL;
}
void fabric_stop(void)
{
}
void fabric_forget(void)
{
}
struct fabric_peer *fabric_reserve(struct impi_fabric_end *own,
                                   uint64_t key_out, uint64_t key_in)
{
    return NULL;
}
int fabric_meet(struct fabric_peer *p, const struct impi_fabric_end *own,
                const struct impi_fabric_end *peer)
{
    return -1;
}
bool fabric_met(const struct fabric_peer *p)
{
    return false;
}
void fabric_drop(struct fabric_peer *p)
{
}
const char *fabric_error(const struct fabric_peer *p)
{
    return why_not.text;
}
size_t fabric_write(struct fabric_peer *p, const struct iovec *iov, int n)
{
    return 0;
}
size_t fabric_put(struct fabric_peer *p, const void *head, size_t head_len,
                  const void *data, size_t len)
{
    return 0;
}
bool fabric_is_flushed(const struct fabric_peer *p)
{
    return true;
}
size_t fabric_read(struct fabric_peer *p, const struct iovec *iov, int n)
{
    return 0;
}
size_t fabric_ready(const struct fabric_peer *p)
{
    return 0;
}
const uint8_t *fabric_look(const struct fabric_peer *p, size_t *len)
{
    return NULL;
}
void fabric_taken(struct fabric_peer *p)
{
}
bool fabric_lends(const struct fabric_peer *p)
{
    return false;
}
size_t fabric_lent(const struct fabric_peer *p)
{
    return 0;
}
void fabric_borrow(struct fabric_peer *p, void *to, size_t len, void *token)
{
}
void fabric_stage(struct fabric_peer *p)
{
}
void *fabric_kept(struct fabric_peer *p)
{
    return NULL;
}
struct fabric_memory *fabric_expose(void *memory, size_t len, uint64_t *address,
                                    uint64_t *key)
{
    return NULL;
}
void fabric_hide(struct fabric_memory *m)
{
}
bool fabric_may_move(const struct fabric_peer *p, bool put)
{
    return false;
}
bool fabric_move(struct fabric_peer *p, uint64_t address, uint64_t key,
                 void *own, size_t len, bool put, void *token)
{
    return false;
}
void *fabric_moved(void)
{
    return NULL;
}
bool fabric_poll(void)
{
    return false;
}
bool fabric_sleep(void)
{
    return true;
}
int fabric_fd(void)
{
    return -1;
}
void fabric_count(struct fabric_counts *out)
{
    memset(out, 0, sizeof(*out));
}

#endif /* WITH_FABRIC */

const char *fabric_why_not(void)
{
    return why_not.text[0] ? why_not.text : NULL;
}
