/* SPDX-License-Identifier: BSD-3-Clause
 * libhsn: pages that are shared with hsnd (hsn/page_pool.h).
 *
 * Pages that are free here lie on a stack: what was given back last is sent
 * first.  When many have come together, hsnd gets them back.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hsn/libhsn_priv.h"
#include "hsn/page_pool.h"

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

void hsn_mapped_free(struct hsn *h)
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

static void let_go(struct hsn *h, uint32_t page)
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

const void *hsn_page_arrived(struct hsn *h, uint32_t page, size_t data_len)
{
    struct hsn_mapped *m = h->mapped;

    if (!m || page > m->npages || data_len > m->shape.page_size ||
        m->state[page - 1] != AWAY)
        return NULL;
    m->state[page - 1] = ARRIVED;
    h->page = page;
    return at(m, page - 1);
}

void hsn_page_let_go(struct hsn *h)
{
    uint32_t page = h->page;

    h->page = 0;
    if (page)
        let_go(h, page - 1);
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
    let_go(h, (uint32_t)n);
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

bool hsn_page_sleep(struct hsn *h)
{
    struct hsn_mapped *m = h->mapped;

    if (!m || m->nfree)
        return false;
    atomic_store(&m->grants->asleep, 1);
    harvest(m);
    return m->nfree == 0;
}

void hsn_page_awake(struct hsn *h)
{
    if (h->mapped)
        atomic_store_explicit(&h->mapped->grants->asleep, 0,
                              memory_order_relaxed);
}
