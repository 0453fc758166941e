/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libfabric under the channels.  Only what the library exports by name is
 * looked up; all else goes through its objects.
 */
#define _GNU_SOURCE
#include "libimpi/fabric.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* A kit (impi-backend) is compiled where the site has its MPI library: without
 * the headers there the back end does without. */
#if defined(__has_include) && !defined(SF_NO_FABRIC)
#if __has_include(<rdma/fi_endpoint.h>)
#define WITH_FABRIC 1
#endif
#endif

/* What nothing else is said to try, in this order, where there is hardware. */
#define ORDER "verbs,cxi,efa,opx,psm3"

static char why_not[SF_ERRBUF_SIZE];

#ifdef WITH_FABRIC
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "impi/frames.h"

/* What is asked for: an old one, for the library may be older than the headers.
 */
#define API FI_VERSION(1, 9)
/* Modes of memory that we keep to: our own buffers only are used. */
#define MR_MODE                                                                \
    (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |        \
     FI_MR_ENDPOINT)
#define FRAME SF_FABRIC_FRAME
#define CREDITS SF_FABRIC_CREDITS
#define BUFFERS_IN (CREDITS + IMPI_FRAMES_SPARE) /* for each peer */
#define BUFFERS_OUT 16                           /* likewise, on average */
#define READ_MOST 16                             /* completions at a time */
#define PEERS_FIRST 16
/* Frames of a peer that are ahead of others, by sequence: all may be. */
#define HELD 64
_Static_assert(HELD >= BUFFERS_IN && (HELD & (HELD - 1)) == 0,
               "a place for each, and the sequence may wrap");

/* One frame's memory, and the provider's note of what it does with it. */
struct buffer {
    struct fi_context2 context; /* first: completions name it */
    TAILQ_ENTRY(buffer) link;
    struct fabric_peer *peer; /* on whose behalf, or NULL */
    uint8_t *data;
    void *desc;
    size_t len, at; /* in: of the payload, what was read */
    bool out;
};
TAILQ_HEAD(buffers, buffer);

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
    uint64_t key_out, key_in;
    struct errbuf error;
};

static struct {
    bool tried, open;
    struct fi_info *(*dupinfo)(const struct fi_info *);
    void (*freeinfo)(struct fi_info *);
    int (*getinfo)(uint32_t, const char *, const char *, uint64_t,
                   const struct fi_info *, struct fi_info **);
    int (*make)(struct fi_fabric_attr *, struct fid_fabric **, void *);
    const char *(*strerror)(int);
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
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

/* ---- finding it -------------------------------------------------------- */

static int no(const char *what, int code)
{
    const char *text = fabric.strerror ? fabric.strerror(-code) : "";

    snprintf(why_not, sizeof(why_not), "%s: %s", what, text);
    return -1;
}

static void *symbol(void *library, const char *name)
{
    void *at = dlsym(library, name);

    if (!at)
        snprintf(why_not, sizeof(why_not), "libfabric.so.1 has no %s", name);
    return at;
}

/* The one that the process has, if it has one: its MPI library's.  Else one
 * that nobody else sees. */
static int find_library(void)
{
    void *lib = dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD);

    if (!lib)
        lib = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        snprintf(why_not, sizeof(why_not), "%s", dlerror());
        return -1;
    }
    *(void **)&fabric.dupinfo = symbol(lib, "fi_dupinfo");
    *(void **)&fabric.freeinfo = symbol(lib, "fi_freeinfo");
    *(void **)&fabric.getinfo = symbol(lib, "fi_getinfo");
    *(void **)&fabric.make = symbol(lib, "fi_fabric");
    *(void **)&fabric.strerror = symbol(lib, "fi_strerror");
    return fabric.dupinfo && fabric.freeinfo && fabric.getinfo && fabric.make &&
                   fabric.strerror
               ? 0
               : -1;
}

static struct fi_info *make_hints(const char *provider)
{
    struct fi_info *hints = fabric.dupinfo(NULL);

    if (!hints)
        return NULL;
    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->domain_attr->mr_mode = MR_MODE;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->fabric_attr->prov_name = strdup(provider);
    if (hints->fabric_attr->prov_name)
        return hints;
    fabric.freeinfo(hints);
    return NULL;
}

/* Does it bind to an address of IP?  Then to the one that other clients are
 * told, which the site has chosen. */
static bool takes_ip(const char *provider)
{
    return strncmp(provider, "tcp", 3) == 0 ||
           strncmp(provider, "net", 3) == 0 ||
           strncmp(provider, "sockets", 7) == 0 ||
           strncmp(provider, "verbs", 5) == 0;
}

static bool is_usable(const struct fi_info *info)
{
    return info->ep_attr->max_msg_size >= FRAME && info->tx_attr->size > 0 &&
           info->rx_attr->size >= BUFFERS_IN && info->fabric_attr->prov_name &&
           strlen(info->fabric_attr->prov_name) <= SF_FABRIC_NAME_MAX;
}

/* The first of what the provider offers that serves. */
static int ask(const char *provider, const struct netaddr *own)
{
    struct fi_info *hints = make_hints(provider), *all = NULL, *i;
    char ip[NETADDR_IP_MAX];
    int rc;

    if (!hints)
        return no(provider, -FI_ENOMEM);
    netaddr_print_ip(ip, &own->ip);
    rc = fabric.getinfo(API, takes_ip(provider) ? ip : NULL, NULL,
                        takes_ip(provider) ? FI_SOURCE : 0, hints, &all);
    fabric.freeinfo(hints);
    if (rc < 0)
        return no(provider, rc);
    for (i = all; i && !is_usable(i); i = i->next)
        ;
    if (i)
        fabric.info = fabric.dupinfo(i);
    fabric.freeinfo(all);
    return fabric.info ? 0 : no(provider, -FI_ENODATA);
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

static int register_slab(struct slab *s, bool out)
{
    int rc;

    if (!(fabric.info->domain_attr->mr_mode & FI_MR_LOCAL))
        return 0;
    rc = fi_mr_reg(fabric.domain, s->memory, s->n * FRAME,
                   out ? FI_SEND : FI_RECV, 0, 0, 0, &s->mr, NULL);
    return rc < 0 ? rc : bind_memory(s->mr);
}

static struct slab *make_slab(size_t n, bool out)
{
    struct slab *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->n = n;
    s->all = calloc(n, sizeof(struct buffer));
    if (!s->all || posix_memalign((void **)&s->memory, 4096, n * FRAME) != 0 ||
        register_slab(s, out) < 0) {
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
        b->out = out;
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

    if ((rc = fabric.make(fabric.info->fabric_attr, &fabric.fabric, NULL)) ||
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
    return len > 0 ? 0 : -FI_ENODATA;
}

static void close_fid(struct fid *fid)
{
    if (fid)
        fi_close(fid);
}

static void close_all(void)
{
    struct slab *s;

    close_fid(fabric.ep ? &fabric.ep->fid : NULL);
    while ((s = SLIST_FIRST(&fabric.slabs))) {
        SLIST_REMOVE_HEAD(&fabric.slabs, link);
        free_slab(s);
    }
    close_fid(fabric.cq ? &fabric.cq->fid : NULL);
    close_fid(fabric.av ? &fabric.av->fid : NULL);
    close_fid(fabric.domain ? &fabric.domain->fid : NULL);
    close_fid(fabric.fabric ? &fabric.fabric->fid : NULL);
    if (fabric.info)
        fabric.freeinfo(fabric.info);
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

    if (ask(provider, own) < 0)
        return false;
    rc = open_endpoint();
    if (rc == 0)
        rc = learn_end();
    if (rc == 0)
        return true;
    no(provider, rc);
    close_all();
    return false;
}

/* ---- which ------------------------------------------------------------- */

static bool has_entries(const char *path)
{
    DIR *dir = opendir(path);
    bool any = false;
    struct dirent *e;

    while (dir && !any && (e = readdir(dir)))
        any = e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return any;
}

/* Without such a device no provider of ORDER has anything, and loading the
 * library would cost each program some milliseconds. */
static bool has_hardware(void)
{
    return has_entries("/sys/class/infiniband") ||
           has_entries("/sys/class/cxi");
}

/* The user's word, else the site's, else what hardware there is.  NULL: none
 * is wanted. */
static const char *wanted(void)
{
    const char *order = getenv("IMPI_FABRIC");

    if (!order || !*order)
        order = getenv("IMPI_SITE_FABRIC");
    if (!order || !*order || strcmp(order, "auto") == 0)
        order = has_hardware() ? ORDER : "none";
    return strcmp(order, "none") == 0 ? NULL : order;
}

static bool open_first(const char *order, const struct netaddr *own)
{
    char text[SF_FABRIC_ORDER_MAX], *at = text, *name;

    if (strlen(order) >= sizeof(text)) {
        snprintf(why_not, sizeof(why_not),
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
    order = wanted();
    fabric.open = order && find_library() == 0 && open_first(order, own);
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
                             &b->context);

        if (rc == -FI_EAGAIN)
            return;
        if (rc < 0) {
            errprintf(&fabric.broken, "%s: posting a buffer: %s",
                      fabric.end.name, fabric.strerror((int)-rc));
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
                  fabric.strerror(code));
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
        ssize_t rc =
            fi_send(fabric.ep, b->data, b->len, b->desc, p->addr, &b->context);

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

/* Bytes of iov[0..n) from *skip on, at most room; counts *skip up. */
static size_t gather(uint8_t *to, size_t room, const struct iovec *iov, int n,
                     size_t *skip)
{
    size_t at = 0, done = 0;

    for (int i = 0; i < n && done < room; at += iov[i++].iov_len) {
        size_t from, len;

        if (*skip >= at + iov[i].iov_len)
            continue;
        from = *skip - at;
        len = iov[i].iov_len - from;
        if (len > room - done)
            len = room - done;
        memcpy(to + done, (const uint8_t *)iov[i].iov_base + from, len);
        done += len;
        *skip += len;
    }
    return done;
}

size_t fabric_write(struct fabric_peer *p, const struct iovec *iov, int n)
{
    size_t skip = 0, total = 0;

    for (int i = 0; i < n; i++)
        total += iov[i].iov_len;
    push(p);
    while (skip < total && may_write(p)) {
        struct buffer *b = take_out(p);

        if (!b)
            break;
        send_frame(p, b, IMPI_FRAME_DATA,
                   gather(b->data + IMPI_FRAME_SIZE, p->frame - IMPI_FRAME_SIZE,
                          iov, n, &skip));
    }
    return skip;
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
    return p->sending == 0 && TAILQ_EMPTY(&p->out);
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

    if (!b || b->at > 0)
        return NULL;
    *len = b->len;
    return b->data + IMPI_FRAME_SIZE;
}

size_t fabric_ready(const struct fabric_peer *p)
{
    const struct buffer *b = TAILQ_FIRST(&p->in);

    return b ? b->len - b->at : 0;
}

size_t fabric_read(struct fabric_peer *p, const struct iovec *iov, int n)
{
    size_t done = 0, at = 0;
    struct buffer *b;
    int i = 0;

    while (i < n && (b = TAILQ_FIRST(&p->in))) {
        size_t len = b->len - b->at;

        if (len > iov[i].iov_len - at)
            len = iov[i].iov_len - at;
        memcpy((uint8_t *)iov[i].iov_base + at,
               b->data + IMPI_FRAME_SIZE + b->at, len);
        done += len;
        b->at += len;
        at += len;
        if (at == iov[i].iov_len) {
            at = 0;
            i++;
        }
        if (b->at == b->len)
            fabric_taken(p);
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
    if (frame->kind != IMPI_FRAME_DATA) {
        repost(b);
        return;
    }
    b->peer = p;
    b->len = frame->length;
    b->at = 0;
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
    struct buffer *b = e->op_context;

    if (!b)
        return;
    if (b->out) {
        gone(b);
        return;
    }
    arrive(b, e->len);
}

/* A send's error is its peer's.  A frame too long for a buffer is a stranger's;
 * any other that did not come may be anybody's. */
static void failed(void)
{
    struct fi_cq_err_entry e = {0};
    struct buffer *b;

    if (fi_cq_readerr(fabric.cq, &e, 0) <= 0 || !(b = e.op_context))
        return;
    if (b->out) {
        if (b->peer)
            peer_fail(b->peer, "sending", e.err);
        gone(b);
    } else if (e.err == FI_ETRUNC || e.err == FI_EMSGSIZE) {
        fabric.counts.strangers++;
        repost(b);
    } else {
        errprintf(&fabric.broken, "%s: receiving: %s", fabric.end.name,
                  fabric.strerror(e.err));
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
                      fabric.strerror((int)-n));
        any |= n > 0 || n == -FI_EAVAIL;
    } while (n == READ_MOST || (n == -FI_EAVAIL && !fabric.broken.text[0]));
    if (!TAILQ_EMPTY(&fabric.unposted))
        post_all();
    serve_peers();
    return any;
}

bool fabric_sleep(void)
{
    struct fid *fid = fabric.cq ? &fabric.cq->fid : NULL;

    if (!fabric.open)
        return true;
    for (size_t i = 0; i < fabric.npeers; i++)
        if (fabric.peers[i] && (!TAILQ_EMPTY(&fabric.peers[i]->in) ||
                                fabric_error(fabric.peers[i])))
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

void fabric_drop(struct fabric_peer *p)
{
    struct buffer *b;

    if (!p)
        return;
    while ((b = TAILQ_FIRST(&p->in))) {
        TAILQ_REMOVE(&p->in, b, link);
        repost(b);
    }
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
    if (p->known && p->sending == 0)
        fi_av_remove(fabric.av, &p->addr, 1, 0);
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
        snprintf(why_not, sizeof(why_not),
                 "built without the headers of libfabric");
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
    return why_not;
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
    return why_not[0] ? why_not : NULL;
}
