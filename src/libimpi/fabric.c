/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libfabric under the channels: choosing a provider, its one endpoint, the
 * peers on it, and its completions.
 */
#define _GNU_SOURCE
#include "libimpi/fabric_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct errbuf why_not;

#ifdef WITH_FABRIC
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#define BUFFERS_IN (CREDITS + IMPI_FRAMES_SPARE) /* for each peer */
#define BUFFERS_OUT 16                           /* likewise, on average */
#define READ_MOST 16                             /* completions at a time */
#define PEERS_FIRST 16
_Static_assert(HELD >= BUFFERS_IN && (HELD & (HELD - 1)) == 0,
               "a place for each, and the sequence may wrap");

/* ---- opening ---- */

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
    end->lends = fabric_can_read() ? SF_FABRIC_LENDS : 0;
    return len > 0 ? 0 : -FI_ENODATA;
}

static void close_all(void)
{
    fabric_close_fid(fabric.ep ? &fabric.ep->fid : NULL);
    fabric_free_moves();
    fabric_free_buffers();
    fabric_free_reads();
    fabric_close_fid(fabric.cq ? &fabric.cq->fid : NULL);
    fabric_close_fid(fabric.av ? &fabric.av->fid : NULL);
    fabric_close_fid(fabric.domain ? &fabric.domain->fid : NULL);
    fabric_close_fid(fabric.fabric ? &fabric.fabric->fid : NULL);
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
    order = libfabric_wanted();
    fabric.open = order && libfabric_find(&fabric.lib, &why_not) == 0 &&
                  open_first(order, own);
    if (fabric.open) /* whatever others of the list, or of our worlds, lacked */
        why_not.text[0] = '\0';
    return fabric.open;
}

const char *fabric_name(void)
{
    return fabric.open ? fabric.end.name : NULL;
}

const char *fabric_library(bool *had)
{
    *had = fabric.lib.had;
    return fabric.lib.path;
}

void fabric_refuse(const char *why)
{
    if (libfabric_wanted())
        errprintf(&why_not, "%s", why);
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

/* ---- one channel ---- */

/* Provide receive buffers for everything that may be on its way to us. */
static int provide_in(size_t peers)
{
    size_t want = peers * BUFFERS_IN;

    if (fabric.nin >= want)
        return 0;
    if (fabric_add_buffers(want - fabric.nin, false, &fabric.unposted) < 0)
        return -1;
    fabric.nin = want;
    fabric_post_all();
    return 0;
}

static int provide_out(void)
{
    if (fabric_add_buffers(BUFFERS_OUT, true, &fabric.free_out) < 0)
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

bool fabric_met(const struct fabric_peer *p)
{
    return p->frames.met && TAILQ_EMPTY(&p->out);
}

bool fabric_is_flushed(const struct fabric_peer *p)
{
    return p->sending == 0 && TAILQ_EMPTY(&p->out) && p->nlent == 0 &&
           TAILQ_EMPTY(&p->pieces) && p->returns == 0;
}

/* ---- what arrives ---- */

/* Until we know the peer's address it may only send its hello. */
static void keep_early(struct fabric_peer *p, struct buffer *b, size_t size)
{
    if (p->early) {
        errprintf(&p->error, "sends frames before it has an answer");
        fabric_repost(b);
        return;
    }
    p->early = b;
    p->early_size = size;
}

/* Take the frames that had to wait for the last one. */
static void take_held(struct fabric_peer *p)
{
    struct impi_frame frame;
    struct buffer **at;

    while (*(at = &p->held[p->frames.sequence_in % HELD]) &&
           !p->error.text[0]) {
        struct buffer *b = *at;

        *at = NULL;
        impi_frame_decode(&frame, b->data, b->len);
        fabric_take(p, b, &frame);
    }
}

static void hold(struct fabric_peer *p, struct buffer *b, size_t size,
                 uint32_t sequence)
{
    struct buffer **at = &p->held[sequence % HELD];

    if (*at) {
        errprintf(&p->error, "sends a frame twice");
        fabric_repost(b);
        return;
    }
    b->len = size;
    *at = b;
}

/* A frame has arrived.  A sender that does not know the key is not our peer,
 * whatever it claims. */
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
        fabric_repost(b);
        return;
    }
    if (!p->known) {
        keep_early(p, b, size);
        return;
    }
    if (!p->error.text[0])
        next = impi_frames_is_next(&p->frames, &frame, &p->error);
    if (next < 0) {
        fabric_repost(b);
    } else if (next == 0) {
        hold(p, b, size, frame.sequence);
    } else {
        fabric_take(p, b, &frame);
        take_held(p);
    }
}

int fabric_meet(struct fabric_peer *p, const struct impi_fabric_end *own,
                const struct impi_fabric_end *peer)
{
    struct buffer *early = p->early;

    if (fi_av_insert(fabric.av, peer->addr, 1, &p->addr, 0, NULL) != 1)
        return fabric_peer_fail(p, "an address", FI_EADDRNOTAVAIL);
    p->known = true;
    p->frame = peer->frame < FRAME ? peer->frame : FRAME;
    impi_frames_init(&p->frames, own, peer, p->key_out, p->key_in);
    p->early = NULL;
    if (early)
        arrive(early, p->early_size);
    if (!fabric_send_bare(p, IMPI_FRAME_HELLO))
        return fabric_peer_fail(p, "the first frame", FI_ENOMEM);
    return p->error.text[0] ? -1 : 0;
}

/* ---- completions ---- */

static void gone(struct buffer *b)
{
    if (b->peer)
        b->peer->sending--;
    fabric_give_back_out(b);
}

static void completed(const struct fi_cq_msg_entry *e)
{
    struct work *w = e->op_context;

    if (!w)
        return;
    if (w->use == USE_OUT)
        gone((struct buffer *)w);
    else if (w->use == USE_READ)
        fabric_read_done(w, 0);
    else if (w->use == USE_MOVE)
        fabric_move_done(w, 0);
    else
        arrive((struct buffer *)w, e->len);
}

/* An error of a send, a read or a move concerns its peer.  A frame too long for
 * a buffer came from a stranger; any other failed receive may concern any peer.
 */
static void failed(void)
{
    struct fi_cq_err_entry e = {0};
    struct buffer *b;
    struct work *w;

    if (fi_cq_readerr(fabric.cq, &e, 0) <= 0 || !(w = e.op_context))
        return;
    b = (struct buffer *)w;
    if (w->use == USE_READ) {
        fabric_read_done(w, e.err);
    } else if (w->use == USE_MOVE) {
        fabric_move_done(w, e.err);
    } else if (w->use == USE_OUT) {
        if (b->peer)
            fabric_peer_fail(b->peer, "sending", e.err);
        gone(b);
    } else if (e.err == FI_ETRUNC || e.err == FI_EMSGSIZE) {
        fabric.counts.strangers++;
        fabric_repost(b);
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
            fabric_push(p);
        fabric_push_reads(p);
        fabric_push_moves(p);
        fabric_return_pieces(p);
        fabric_pay_back(p);
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
        fabric_post_all();
    serve_peers();
    return any;
}

/* There is something for the caller to do. */
static bool peer_has_news(const struct fabric_peer *p)
{
    return fabric_ready(p) > 0 || fabric_lent(p) > 0 || fabric_has_told(p) ||
           fabric_error(p);
}

bool fabric_has_news(void)
{
    if (fabric_any_moved())
        return true;
    for (size_t i = 0; i < fabric.npeers; i++)
        if (fabric.peers[i] && peer_has_news(fabric.peers[i]))
            return true;
    return false;
}

bool fabric_sleep(void)
{
    struct fid *fid = fabric.cq ? &fabric.cq->fid : NULL;

    if (!fabric.open)
        return true;
    if (fabric_has_news())
        return false;
    return fabric.fd < 0 || fi_trywait(fabric.fabric, &fid, 1) == 0;
}

int fabric_fd(void)
{
    return fabric.fd;
}

void fabric_drop(struct fabric_peer *p)
{
    struct buffer *b;

    if (!p)
        return;
    fabric_drop_pieces(p);
    fabric_drop_moves(p);
    while ((b = TAILQ_FIRST(&p->in))) {
        TAILQ_REMOVE(&p->in, b, link);
        fabric_repost(b);
    }
    while ((b = TAILQ_FIRST(&p->out))) {
        TAILQ_REMOVE(&p->out, b, link);
        fabric_give_back_out(b);
    }
    for (size_t i = 0; i < HELD; i++)
        if (p->held[i])
            fabric_repost(p->held[i]);
    if (p->early)
        fabric_repost(p->early);
    fabric_disown_buffers(p);
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

void fabric_refuse(const char *why)
{
}

/* Without a start nobody calls these. */
const char *fabric_name(void)
{
    return NULL;
}
const char *fabric_library(bool *had)
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
bool fabric_has_news(void)
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
