/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libhsn: questions to hsnd, pages, messages, handles and endpoints.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd_pass.h"
#include "base/local.h"
#include "base/sitedir.h"
#include "elan/capability.h"
#include "hsn/libhsn_priv.h"
#include "hsn/page_pool.h"
#include "hsn/port_record.h"

/* ---- libhsn call ------------------------------------------------------- */

/* libhsn: questions to hsnd, routes. */

#define PATIENCE 5 /* seconds */

static uint8_t *at(const struct hsn_mapped *m, uint32_t page);
static int hsn_send_record(struct hsn *h, const struct hsn_record *head,
                           const void *data, const void *header);
static int hsn_send_message(struct hsn *h, const struct hsn_message *m,
                            uint32_t page);
static int hsn_ring_failed(struct hsn *h);

/* The connection for questions, made when it is not there. */
static int hsn_call_fd(struct hsn *h)
{
    if (h->call < 0)
        h->call = local_connect(h->path, SOCK_SEQPACKET, PATIENCE);
    return h->call;
}

/* Send h->buf[0..len) and wait for the answer; fds as hsn_call() has them. */
static ssize_t exchange(struct hsn *h, int fd, size_t len, int fds[2])
{
    ssize_t n = send(fd, h->buf, len, MSG_NOSIGNAL);

    if (n < 0)
        return -1;
    do
        n = fd_pass_receive(fd, h->buf, sizeof(h->buf), fds, fds ? 2 : 0, NULL,
                            0);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        errno = ECONNRESET;
    return n > 0 ? n : -1;
}

/* Say h->buf[0..w->len) to hsnd; fds (may be NULL) are the two that came with
 * the answer, or -1.  0 with *answer at what follows; -1 with errno. */
static int hsn_call(struct hsn *h, int fd, const struct be_writer *w,
                    struct be_reader *answer, int fds[2])
{
    ssize_t n = -1;
    int error = EMSGSIZE;

    if (!w->bad) {
        n = exchange(h, fd, w->len, fds);
        error = n >= 0            ? hsn_answer_open(answer, h->buf, (size_t)n)
                : errno == EAGAIN ? ETIMEDOUT
                : errno == EPIPE  ? ECONNRESET
                                  : errno;
    }
    if (error == 0)
        return 0;
    if (n < 0 && fd == h->call) { /* the next question asks anew */
        close(h->call);
        h->call = -1;
    }
    errno = error;
    return -1;
}

/* A question on the connection for questions. */
static int ask(struct hsn *h, const struct be_writer *w,
               struct be_reader *answer)
{
    int fd = hsn_call_fd(h);

    return fd < 0 ? -1 : hsn_call(h, fd, w, answer, NULL);
}

int hsn_board(struct hsn *h, struct hsn_board_info *info)
{
    struct be_writer w;
    struct be_reader answer;

    hsn_request_begin(&w, h->buf, sizeof(h->buf), HSN_BOARD, 0, 0);
    if (ask(h, &w, &answer) < 0)
        return -1;
    if (hsn_board_get(&answer, info) == 0)
        return 0;
    errno = EPROTO;
    return -1;
}

int hsn_peer_routes(struct hsn *h, uint64_t address, struct hsn_peer *peer)
{
    struct be_writer w;
    struct be_reader answer;

    hsn_request_begin(&w, h->buf, sizeof(h->buf), HSN_PEER, 0, 0);
    be_put64(&w, address);
    if (ask(h, &w, &answer) < 0)
        return -1;
    if (hsn_peer_get(&answer, peer) == 0)
        return 0;
    errno = EPROTO;
    return -1;
}

static int send_peers(struct hsn *h, const struct hsn_peer *peers, size_t n)
{
    struct be_writer w;
    struct be_reader answer;
    size_t i = 0;

    while (i < n) {
        hsn_request_begin(&w, h->buf, sizeof(h->buf), HSN_ROUTES_ADD, 0, 0);
        for (; i < n && w.size - w.len >= HSN_PEER_SIZE_MAX; i++) {
            if (peers[i].nroutes > HSN_ROUTES_MAX) {
                errno = EINVAL;
                return -1;
            }
            hsn_peer_put(&w, &peers[i]);
        }
        if (ask(h, &w, &answer) < 0)
            return -1;
    }
    return 0;
}

/* Begin is said; what is to be loaded, and the end. */
static int load(struct hsn *h, const struct be_writer *begin,
                const struct hsn_peer *peers, size_t n)
{
    struct be_writer w;
    struct be_reader answer;

    if (n > HSN_PEERS_MAX) {
        errno = E2BIG;
        return -1;
    }
    if (ask(h, begin, &answer) < 0 || send_peers(h, peers, n) < 0)
        return -1;
    hsn_request_begin(&w, h->buf, sizeof(h->buf), HSN_ROUTES_END, 0, 0);
    return ask(h, &w, &answer);
}

int hsn_load_routes(struct hsn *h, uint32_t map_version, uint32_t host_type,
                    bool configured, const struct hsn_peer *peers, size_t n)
{
    struct be_writer w;

    hsn_request_begin(&w, h->buf, sizeof(h->buf), HSN_ROUTES_BEGIN, map_version,
                      host_type);
    be_put8(&w, configured);
    return load(h, &w, peers, n);
}

int hsn_change_routes(struct hsn *h, uint32_t from, uint32_t map_version,
                      uint32_t host_type, bool configured,
                      const struct hsn_peer *peers, size_t n)
{
    struct be_writer w;

    hsn_request_begin(&w, h->buf, sizeof(h->buf), HSN_ROUTES_CHANGE,
                      map_version, host_type);
    be_put8(&w, configured);
    be_put32(&w, from);
    return load(h, &w, peers, n);
}

/* ---- libhsn page ------------------------------------------------------- */

/* libhsn: pages that are shared with hsnd (hsn/page_pool.h). Pages that are
 * free here lie on a stack: what was given back last is sent first. When many
 * have come together, hsnd gets them back. */

#define GIVE_BACK 64 /* pages at a time */

enum { AWAY, FREE, ARRIVED, OURS }; /* with hsnd or others; ... the caller's */

struct hsn_mapped {
    struct hsn_pool_shape shape;
    uint8_t *memory, *pages;
    struct hsn_grants *grants;
    uint32_t head, npages;
    uint8_t *state;
    unsigned nfree;
    uint32_t free[HSN_PAGES_MOST];
};

static void hsn_mapped_free(struct hsn *h)
{
    struct hsn_mapped *m = h->mapped;

    if (!m)
        return;
    if (m->memory)
        munmap(m->memory, hsn_pool_size(&m->shape));
    free(m->state);
    free(m);
    h->mapped = NULL;
}

/* Map it so that its pages are aligned to their own size. */
static void *map_aligned(int fd, size_t size, size_t to)
{
    uint8_t *room = mmap(NULL, size + to, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t before;
    void *at;

    if (room == MAP_FAILED)
        return MAP_FAILED;
    before = (to - (uintptr_t)room % to) % to;
    at = mmap(room + before, size, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_FIXED, fd, 0);
    if (at == MAP_FAILED)
        before = size + to;
    if (before)
        munmap(room, before);
    if (before < to)
        munmap(room + before + size, to - before);
    return at;
}

static int map(struct hsn *h, int fd, uint32_t slice,
               const struct hsn_pool_shape *shape)
{
    struct hsn_mapped *m = calloc(1, sizeof(*m));
    size_t size = hsn_pool_size(shape);
    struct stat st;
    void *at;

    if (!m || fstat(fd, &st) < 0 || (uint64_t)st.st_size != size) {
        free(m);
        return hsn_fail(m ? EPROTO : ENOMEM);
    }
    h->mapped = m;
    m->shape = *shape;
    m->npages = hsn_pool_npages(shape);
    m->state = calloc(m->npages, 1);
    at = map_aligned(fd, size, shape->page_size);
    if (!m->state || at == MAP_FAILED) {
        hsn_mapped_free(h);
        return hsn_fail(ENOMEM);
    }
    m->memory = at;
    m->pages = m->memory + hsn_pool_pages_at(shape);
    m->grants = (struct hsn_grants *)at + slice;
    return 0;
}

int hsn_pages_open(struct hsn *h)
{
    struct be_writer w;
    struct be_reader answer;
    struct hsn_pool_shape shape;
    int fds[2] = {-1, -1}, rc = -1, fd;
    uint32_t slice;

    if (h->kind != HSN_KIND_DGRAM && h->kind != HSN_KIND_ELAN)
        return hsn_fail(EOPNOTSUPP);
    if (h->mapped)
        return hsn_fail(EBUSY);
    hsn_request_begin(&w, h->buf, sizeof(h->buf), HSN_PAGES,
                      h->kind == HSN_KIND_ELAN ? HSN_PAGES_OF_CONTEXT
                                               : HSN_PAGES_OF_MODULE,
                      h->number);
    fd = hsn_call_fd(h);
    if (fd < 0)
        return -1;
    if (hsn_call(h, fd, &w, &answer, fds) < 0)
        return errno == EPROTO ? hsn_fail(EOPNOTSUPP) : -1;
    slice = be_get32(&answer);
    shape.nslices = be_get32(&answer);
    shape.page_size = be_get32(&answer);
    if (answer.bad || slice >= shape.nslices || fds[0] < 0 ||
        shape.nslices > SF_HSN_POOL_SLICES_MAX ||
        (shape.page_size != 4096 && shape.page_size != 8192))
        errno = EPROTO;
    else
        rc = map(h, fds[0], slice, &shape);
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return rc;
}

size_t hsn_page_size(const struct hsn *h)
{
    return h->mapped ? h->mapped->shape.page_size : 0;
}

static uint8_t *at(const struct hsn_mapped *m, uint32_t page)
{
    return m->pages + (size_t)page * m->shape.page_size;
}

/* The number of a page that is the caller's; -1 with errno. */
static int64_t number_of(const struct hsn *h, const void *page)
{
    const struct hsn_mapped *m = h->mapped;
    uintptr_t first, p = (uintptr_t)page, n;

    if (!m)
        return hsn_fail(EOPNOTSUPP);
    first = (uintptr_t)m->pages;
    n = (p - first) / m->shape.page_size;
    if (p < first || n >= m->npages || at(m, (uint32_t)n) != page ||
        m->state[n] != OURS)
        return hsn_fail(EINVAL);
    return (int64_t)n;
}

static void push(struct hsn_mapped *m, uint32_t page)
{
    if (m->nfree == HSN_PAGES_MOST)
        return; /* more than hsnd gives: somebody wrote into the grants */
    m->state[page] = FREE;
    m->free[m->nfree++] = page;
}

/* The pages that hsnd has granted meanwhile. */
static void harvest(struct hsn_mapped *m)
{
    uint32_t tail =
        atomic_load_explicit(&m->grants->tail, memory_order_acquire);

    for (unsigned n = 0; m->head != tail && n < HSN_GRANTS; n++, m->head++) {
        uint32_t page = m->grants->page[m->head % HSN_GRANTS];

        if (page < m->npages && m->state[page] == AWAY)
            push(m, page);
    }
    m->head = tail;
}

/* The pages that have been free here for longest go back.  False: there is no
 * room to say so. */
static bool give_back(struct hsn *h)
{
    struct hsn_mapped *m = h->mapped;
    const struct hsn_record r = {.type = HSN_RECORD_FREE,
                                 .data_len = GIVE_BACK * sizeof(uint32_t)};

    if (h->gone || hsn_send_record(h, &r, m->free, NULL) < 0)
        return false;
    for (unsigned i = 0; i < GIVE_BACK; i++)
        m->state[m->free[i]] = AWAY;
    m->nfree -= GIVE_BACK;
    memmove(m->free, m->free + GIVE_BACK, m->nfree * sizeof(m->free[0]));
    return true;
}

static void let_go_page(struct hsn *h, uint32_t page)
{
    push(h->mapped, page);
    harvest(h->mapped); /* what was granted is free here, too */
    while (h->mapped->nfree >= HSN_PAGES_GRANTED + GIVE_BACK && give_back(h))
        ;
}

void *hsn_page_get(struct hsn *h)
{
    struct hsn_mapped *m = h->mapped;
    uint32_t page;

    if (!m || h->gone) {
        errno = m ? ECONNRESET : EOPNOTSUPP;
        return NULL;
    }
    if (!m->nfree)
        harvest(m);
    if (!m->nfree) {
        errno = EAGAIN;
        return NULL;
    }
    page = m->free[--m->nfree];
    m->state[page] = OURS;
    return at(m, page);
}

int hsn_send_page(struct hsn *h, const struct hsn_message *m)
{
    int64_t page = number_of(h, m->data);

    if (page < 0)
        return -1;
    if (m->data_len > hsn_page_size(h))
        return hsn_fail(EMSGSIZE);
    if (hsn_send_message(h, m, (uint32_t)page + 1) < 0)
        return -1;
    h->mapped->state[page] = AWAY;
    return 0;
}

/* The data of a message that came in a page; NULL: not a valid page. */
static const void *hsn_page_arrived(struct hsn *h, uint32_t page,
                                    size_t data_len)
{
    struct hsn_mapped *m = h->mapped;

    if (!m || page > m->npages || data_len > m->shape.page_size ||
        m->state[page - 1] != AWAY)
        return NULL;
    m->state[page - 1] = ARRIVED;
    h->page = page;
    return at(m, page - 1);
}

/* The message of h->page is not looked at any more. */
static void hsn_page_let_go(struct hsn *h)
{
    uint32_t page = h->page;

    h->page = 0;
    if (page)
        let_go_page(h, page - 1);
}

void *hsn_page_keep(struct hsn *h)
{
    uint32_t page = h->page;

    if (!page) {
        errno = ENOENT;
        return NULL;
    }
    h->page = 0;
    h->mapped->state[page - 1] = OURS;
    return at(h->mapped, page - 1);
}

int hsn_page_free(struct hsn *h, void *page)
{
    int64_t n = number_of(h, page);

    if (n < 0)
        return -1;
    let_go_page(h, (uint32_t)n);
    return 0;
}

void *hsn_page_place(struct hsn *h, void *cache, unsigned half, void *page,
                     size_t len)
{
    if (number_of(h, page) < 0 || (cache && number_of(h, cache) < 0))
        return NULL;
    if (half > 1 || cache == page || len > HSN_FRAGMENT ||
        hsn_page_size(h) < 2 * HSN_FRAGMENT) {
        errno = EINVAL;
        return NULL;
    }
    if (!cache && half == 0)
        return page;
    if (!cache && !(cache = hsn_page_get(h)))
        return NULL;
    memcpy((uint8_t *)cache + half * HSN_FRAGMENT, page, len);
    hsn_page_free(h, page);
    return cache;
}

/* About to sleep because no page is left: false, there is one by now, or pages
 * are not what is waited for. */
static bool hsn_page_sleep(struct hsn *h)
{
    struct hsn_mapped *m = h->mapped;

    if (!m || m->nfree)
        return false;
    atomic_store(&m->grants->asleep, 1);
    harvest(m);
    return m->nfree == 0;
}

static void hsn_page_awake(struct hsn *h)
{
    if (h->mapped)
        atomic_store_explicit(&h->mapped->grants->asleep, 0,
                              memory_order_relaxed);
}

/* ---- libhsn recv ------------------------------------------------------- */

/* libhsn: messages out of the ring from hsnd, and waiting for them. */

/* A spinning receiver looks this seldom whether hsnd still lives. */
#define EMPTY_LOOKS 4096

/* The last message is not looked at any more. */
static void let_go(struct hsn *h)
{
    if (!h->holding)
        return;
    hsn_page_let_go(h);
    ring_consume(&h->from);
    h->holding = false;
    if (ring_must_wake_full(&h->from))
        ring_bell(h->bell);
}

static void disarm(struct hsn *h)
{
    if (!h->armed)
        return;
    h->armed = false;
    ring_awake(&h->from);
    if (ring_bell_clear(h->bell) < 0)
        h->gone = true;
}

/* Nothing is there: ask for a wake-up if that is wanted, now and then look
 * whether hsnd lives. */
static bool nothing_there(struct hsn *h, bool arm)
{
    if (!arm && ++h->empty % EMPTY_LOOKS == 0 && ring_bell_clear(h->bell) < 0)
        h->gone = true;
    if (!arm || !ring_sleep(&h->from))
        return !arm;
    h->armed = true;
    return true;
}

/* The next record, held; NULL with errno. */
static const struct hsn_record *next(struct hsn *h, bool arm)
{
    const struct hsn_record *r;
    size_t len;

    let_go(h);
    disarm(h);
    for (;;) {
        r = ring_peek(&h->from, &len);
        if (r || errno != EAGAIN)
            break;
        if (h->gone)
            return hsn_fail(ECONNRESET), NULL;
        if (nothing_there(h, arm))
            return hsn_fail(EAGAIN), NULL;
    }
    if (!r)
        return hsn_ring_failed(h), NULL;
    h->empty = 0;
    h->holding = true;
    if (len >= sizeof(*r) && hsn_record_valid(r, len))
        return r;
    h->gone = true;
    return hsn_fail(ECONNRESET), NULL;
}

static int receive(struct hsn *h, struct hsn_message *m, bool arm)
{
    const struct hsn_record *r;
    const void *data;

    if (h->bell < 0 || h->kind == HSN_KIND_RAW)
        return hsn_fail(EOPNOTSUPP);
    r = next(h, arm);
    if (!r)
        return -1;
    data = r->page ? hsn_page_arrived(h, r->page, r->data_len)
                   : (const void *)(r + 1);
    if (!data) {
        h->gone = true;
        return hsn_fail(ECONNRESET);
    }
    *m = (struct hsn_message){.board = r->board,
                              .node = r->node,
                              .context = r->context,
                              .module = r->module,
                              .data = data,
                              .data_len = r->data_len,
                              .header = (const uint8_t *)(r + 1) +
                                        hsn_record_inline(r),
                              .header_len = r->header_len};
    return 0;
}

int hsn_recv(struct hsn *h, struct hsn_message *m)
{
    return receive(h, m, true);
}

int hsn_try_recv(struct hsn *h, struct hsn_message *m)
{
    return receive(h, m, false);
}

int hsn_raw_recv(struct hsn *h, struct hsn_raw *p)
{
    const struct hsn_record *r;

    if (h->kind != HSN_KIND_RAW)
        return hsn_fail(EOPNOTSUPP);
    r = next(h, true);
    if (!r)
        return -1;
    *p = (struct hsn_raw){.type = r->type,
                          .subtype = r->subtype,
                          .payload = r + 1,
                          .len = r->data_len};
    return 0;
}

/* The longest that a recv() on the bell lasts; one call only when it
 * changes. */
static void limit_recv(struct hsn *h, int timeout_ms)
{
    struct timeval t = {.tv_sec = timeout_ms / 1000,
                        .tv_usec = timeout_ms % 1000 * 1000};

    if (h->limit_ms == timeout_ms)
        return;
    h->limit_ms = timeout_ms;
    if (timeout_ms < 0)
        t = (struct timeval){0}; /* for ever */
    setsockopt(h->bell, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

/* Sleep until the bell rings.  1, 0 when time is over, -1 with errno. */
static int sleep_at_bell(struct hsn *h, int timeout_ms)
{
    char rings[64];
    ssize_t n;

    limit_recv(h, timeout_ms);
    n = recv(h->bell, rings, sizeof(rings), timeout_ms ? 0 : MSG_DONTWAIT);
    if (n > 0)
        return 1;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EAGAIN ? 0 : -1;
    h->gone = true;
    return 1; /* what is still in the ring comes first */
}

static bool has_one(struct hsn *h)
{
    size_t len;

    if (ring_peek(&h->from, &len))
        return true;
    if (errno != EAGAIN)
        h->gone = true;
    return false;
}

static bool look_for_one(struct hsn *h)
{
    for (;;) {
        uint64_t now = clock_ns();

        if (has_one(h)) {
            look_found(&h->look, now);
            return true;
        }
        if (!look_idle(&h->look, now))
            return false;
        look_rest();
    }
}

int hsn_wait(struct hsn *h, int timeout_ms)
{
    int n = 1, e = 0;

    if (h->bell < 0)
        return hsn_fail(EOPNOTSUPP);
    let_go(h);
    disarm(h);
    if (timeout_ms && look_for_one(h))
        return 1;
    while (!has_one(h)) {
        if (h->gone)
            return hsn_fail(ECONNRESET);
        if (n <= 0)
            return n < 0 ? hsn_fail(e) : 0;
        if (ring_sleep(&h->from))
            n = sleep_at_bell(h, timeout_ms);
        e = errno; /* the look at the ring has one of its own */
        ring_awake(&h->from);
    }
    look_found(&h->look, clock_ns());
    return 1;
}

/* ---- libhsn send ------------------------------------------------------- */

/* libhsn: messages into the ring to hsnd. */

/* What keeps the handle from sending or receiving such messages. */
static int usable(const struct hsn *h, bool raw)
{
    if (h->bell < 0 || raw != (h->kind == HSN_KIND_RAW))
        return hsn_fail(EOPNOTSUPP);
    return h->gone ? hsn_fail(ECONNRESET) : 0;
}

static void commit(struct hsn *h, size_t len)
{
    ring_commit(&h->to, len);
    if (ring_must_wake(&h->to))
        ring_bell(h->bell);
}

static uint8_t *append(uint8_t *at, const void *src, size_t len)
{
    if (len)
        memcpy(at, src, len);
    return at + len;
}

/* A record with that head, data (unless it is in a page) and header. */
static int hsn_send_record(struct hsn *h, const struct hsn_record *head,
                           const void *data, const void *header)
{
    size_t here = hsn_record_inline(head);
    struct hsn_record *r =
        ring_reserve(&h->to, sizeof(*r) + here + head->header_len);
    uint8_t *at;

    if (!r)
        return hsn_ring_failed(h);
    *r = *head;
    at = append((uint8_t *)(r + 1), data, here);
    append(at, header, head->header_len);
    commit(h, sizeof(*r) + here + head->header_len);
    return 0;
}

/* As hsn_send(); page n: the data is in page n - 1. */
static int hsn_send_message(struct hsn *h, const struct hsn_message *m,
                            uint32_t page)
{
    size_t most =
        h->kind == HSN_KIND_ELAN ? HSN_ELAN_HEADER_MAX : HSN_HEADER_MAX;
    struct hsn_record r = {.board = m->board,
                           .node = m->node,
                           .context = m->context,
                           .module = m->module,
                           .data_len = (uint16_t)m->data_len,
                           .header_len = (uint16_t)m->header_len,
                           .page = page};

    if (usable(h, false) < 0)
        return -1;
    if (m->data_len > HSN_DATA_MAX || m->header_len > most)
        return hsn_fail(EMSGSIZE);
    return hsn_send_record(h, &r, m->data, m->header);
}

int hsn_send(struct hsn *h, const struct hsn_message *m)
{
    return hsn_send_message(h, m, 0);
}

int hsn_raw_send(struct hsn *h, const struct hsn_raw *p)
{
    struct hsn_record *r;

    if (usable(h, true) < 0)
        return -1;
    if (p->len > HSN_MTU || p->route_len > HSN_ROUTE_MAX)
        return hsn_fail(EMSGSIZE);
    for (size_t i = 0; i < p->route_len; i++)
        if ((p->route[i] & 0xc0) != 0x80)
            return hsn_fail(EINVAL);
    r = ring_reserve(&h->to, sizeof(*r) + p->route_len + p->len);
    if (!r)
        return hsn_ring_failed(h);
    *r = (struct hsn_record){.subtype = p->subtype,
                             .data_len = (uint16_t)p->len,
                             .route_len = (uint16_t)p->route_len};
    append(append((uint8_t *)(r + 1), p->route, p->route_len), p->payload,
           p->len);
    commit(h, sizeof(*r) + p->route_len + p->len);
    return 0;
}

int hsn_wait_send(struct hsn *h, int timeout_ms)
{
    struct pollfd p = {.fd = h->bell, .events = POLLIN};
    int n = 1;

    if (h->bell < 0)
        return hsn_fail(EOPNOTSUPP);
    if (hsn_page_sleep(h) || ring_sleep_full(&h->to, HSN_RECORD_MAX)) {
        n = poll(&p, 1, timeout_ms);
        if (n > 0 && ring_bell_clear(h->bell) < 0)
            h->gone = true;
    }
    ring_awake(&h->to);
    hsn_page_awake(h);
    if (h->gone)
        return hsn_fail(ECONNRESET);
    return n;
}

static int default_path(char *path, size_t size)
{
    const char *own = getenv("HSN_SOCKET");
    const char *program = getenv("SLURM_FABRIC_PROGRAM");
    const char *slash = program ? strrchr(program, '/') : NULL;

    if (own)
        return snprintf(path, size, "%s", own);
    if (slash) {
        int n = snprintf(path, size, "%.*s/hsnd-0", (int)(slash - program),
                         program);

        if (n > 0 && (size_t)n < size && access(path, F_OK) == 0)
            return n;
    }
    return snprintf(path, size, "%s", SITEDIR_RUN("hsnd-0"));
}

struct hsn *hsn_open(const char *path)
{
    struct hsn *h = calloc(1, sizeof(*h));
    int n;

    if (!h)
        return NULL;
    h->bell = h->call = -1;
    h->look.most = LOOK_MOST_NS;
    n = path ? snprintf(h->path, sizeof(h->path), "%s", path)
             : default_path(h->path, sizeof(h->path));
    if (n > 0 && (size_t)n < sizeof(h->path) && hsn_call_fd(h) >= 0)
        return h;
    if ((size_t)n >= sizeof(h->path))
        errno = ENAMETOOLONG;
    hsn_close(h);
    return NULL;
}

void hsn_close(struct hsn *h)
{
    int e = errno;

    if (!h)
        return;
    hsn_mapped_free(h);
    ring_detach(&h->to);
    ring_detach(&h->from);
    if (h->bell >= 0)
        close(h->bell);
    if (h->call >= 0)
        close(h->call);
    free(h);
    errno = e;
}

/* Map both rings; the descriptors are closed. */
static int map_rings(struct hsn *h, int fds[2])
{
    int rc = -1;

    if (fds[0] >= 0 && fds[1] >= 0 &&
        ring_attach(&h->to, fds[0], RING_PRODUCER, HSN_RECORD_MAX, NULL) == 0 &&
        ring_attach(&h->from, fds[1], RING_CONSUMER, HSN_RECORD_MAX, NULL) == 0)
        rc = 0;
    else
        errno = EPROTO;
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return rc;
}

/* Say the request in h->buf; the connection becomes the endpoint's. */
static struct hsn *open_endpoint(struct hsn *h, enum hsn_kind kind,
                                 const struct be_writer *w)
{
    struct be_reader answer;
    int fds[2] = {-1, -1};

    if (hsn_call(h, h->call, w, &answer, fds) < 0 || map_rings(h, fds) < 0) {
        hsn_close(h);
        return NULL;
    }
    h->kind = kind;
    h->bell = h->call;
    h->limit_ms = -2; /* not known */
    h->call = -1;
    return h;
}

static struct hsn *open_simple(const char *path, enum hsn_kind kind,
                               enum hsn_verb verb, uint32_t number)
{
    struct hsn *h = hsn_open(path);
    struct be_writer w;

    if (!h)
        return NULL;
    h->number = number;
    hsn_request_begin(&w, h->buf, sizeof(h->buf), verb, number, 0);
    return open_endpoint(h, kind, &w);
}

struct hsn *hsn_raw_open(const char *path, uint16_t type)
{
    return open_simple(path, HSN_KIND_RAW, HSN_OPEN_RAW, type);
}

struct hsn *hsn_dgram_open(const char *path, uint16_t module)
{
    return open_simple(path, HSN_KIND_DGRAM, HSN_OPEN_DGRAM, module);
}

struct hsn *hsn_attach(const char *path, const ELAN_CAPABILITY *cap,
                       int context)
{
    struct hsn *h = hsn_open(path);
    struct be_writer w;
    size_t len;

    if (!h)
        return NULL;
    h->number = (uint32_t)(context >= 0 ? context : cap->MyContext);
    hsn_request_begin(&w, h->buf, sizeof(h->buf), HSN_OPEN_ELAN, h->number, 0);
    elan_capability_put(&w, cap);
    len = w.len;
    h = open_endpoint(h, HSN_KIND_ELAN, &w);
    if (h)
        explicit_bzero(h->buf, len);
    return h;
}

int elan3_attach(struct hsn **ctx, const ELAN_CAPABILITY *cap)
{
    *ctx = hsn_attach(NULL, cap, -1);
    return *ctx ? 0 : -1;
}

int hsn_fd(const struct hsn *h)
{
    return h->bell;
}

/* The rings after an error: broken is as good as gone.  -1, with errno. */
static int hsn_ring_failed(struct hsn *h)
{
    if (errno == EPROTO)
        h->gone = true;
    if (h->gone)
        errno = ECONNRESET;
    return -1;
}
