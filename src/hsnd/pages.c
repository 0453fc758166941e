/* SPDX-License-Identifier: BSD-3-Clause
 * Pages that endpoints share with us (hsn/page_pool.h): whose each one is.
 *
 * Endpoints of one program share a pool, others have one of their own.  What a
 * process writes there is data and nothing else: the owner of a page stands
 * here, in our own memory, and so does how many grants an endpoint has had.  An
 * endpoint that ends leaves its pages to the pool.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hsn/page_pool.h"
#include "hsnd/hsnd.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define NOBODY UINT16_MAX

struct page_pool {
    struct hsn_pool_shape shape;
    struct page_pool **home; /* of its program; NULL: of one endpoint, or the
                              * program is over */
    int fd;
    unsigned users;
    uint8_t *memory, *pages;
    struct port *slice[SF_HSN_POOL_SLICES_MAX];
    uint16_t *owner; /* slice, or NOBODY */
    uint32_t *free;
    uint32_t nfree, fresh; /* from fresh on pages were never used */
};

static void pool_free(struct page_pool *pool)
{
    if (pool->home)
        *pool->home = NULL;
    if (pool->memory)
        munmap(pool->memory, hsn_pool_size(&pool->shape));
    if (pool->fd >= 0)
        close(pool->fd);
    free(pool->owner);
    free(pool->free);
    free(pool);
}

static int pool_map(struct page_pool *pool)
{
    size_t size = hsn_pool_size(&pool->shape);
    void *at;

    pool->fd =
        memfd_create("slurm-fabric-pages", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (pool->fd < 0 || ftruncate(pool->fd, (off_t)size) < 0 ||
        fcntl(pool->fd, F_ADD_SEALS, SEALS) < 0)
        return -1;
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, pool->fd, 0);
    if (at == MAP_FAILED)
        return -1;
    pool->memory = at;
    pool->pages = pool->memory + hsn_pool_pages_at(&pool->shape);
    return 0;
}

/* NULL with errno. */
static struct page_pool *pool_new(uint32_t nslices, uint32_t page_size)
{
    struct page_pool *pool = calloc(1, sizeof(*pool));
    size_t n;
    int e;

    if (!pool)
        return NULL;
    pool->fd = -1;
    pool->shape = (struct hsn_pool_shape){nslices, page_size};
    n = hsn_pool_npages(&pool->shape);
    pool->owner = calloc(n, sizeof(*pool->owner));
    pool->free = calloc(n, sizeof(*pool->free));
    if (pool->owner && pool->free && pool_map(pool) == 0)
        return pool;
    e = errno;
    pool_free(pool);
    errno = e;
    return NULL;
}

/* As many endpoints as the program may have processes here. */
static struct page_pool *pool_of_program(struct client_program *p,
                                         uint32_t page_size)
{
    const struct elan_capability *cap = &p->known->cap;
    uint32_t n = (uint32_t)(cap->HighContext - cap->LowContext) + 1;

    if (!p->pool) {
        p->pool = pool_new(
            n < SF_HSN_POOL_SLICES_MAX ? n : SF_HSN_POOL_SLICES_MAX, page_size);
        if (p->pool)
            p->pool->home = &p->pool;
    }
    return p->pool;
}

void pages_program_ends(struct client_program *p)
{
    if (p->pool)
        p->pool->home = NULL;
}

/* A page for the endpoint; false: it has enough, or there is none. */
static bool take(struct port *p, uint32_t *page)
{
    struct page_pool *pool = p->pool;

    if (p->npages >= HSN_PAGES_MOST)
        return false;
    if (pool->nfree)
        *page = pool->free[--pool->nfree];
    else if (pool->fresh < hsn_pool_npages(&pool->shape))
        *page = pool->fresh++;
    else
        return false;
    pool->owner[*page] = p->slice;
    p->npages++;
    return true;
}

static void give_back(struct port *p, uint32_t page)
{
    struct page_pool *pool = p->pool;

    pool->owner[page] = NOBODY;
    pool->free[pool->nfree++] = page;
    p->npages--;
}

static bool owns(const struct port *p, uint32_t page)
{
    return page < p->pool->fresh && p->pool->owner[page] == p->slice;
}

static void grant(struct port *p, uint32_t page)
{
    struct hsn_grants *g = (struct hsn_grants *)p->pool->memory + p->slice;

    g->page[p->granted % HSN_GRANTS] = page;
    atomic_store(&g->tail, ++p->granted);
    if (atomic_load(&g->asleep) && p->bell >= 0) {
        atomic_store(&g->asleep, 0);
        ring_bell(p->bell);
    }
}

static uint8_t *at(const struct page_pool *pool, uint32_t page)
{
    return pool->pages + (size_t)page * pool->shape.page_size;
}

/* Is it the very process that has the endpoint?  As long as that lives, its
 * number is nobody else's. */
static bool is_its_process(const struct conn *c, const struct port *p)
{
    struct pollfd life = {.fd = p->pidfd, .events = POLLIN};
    struct ucred cred;
    socklen_t len = sizeof(cred);

    return getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
           cred.pid > 0 && cred.pid == p->pid && cred.uid == p->uid &&
           poll(&life, 1, 0) == 0;
}

static bool user_has_room(const struct hsnd *d, uid_t uid)
{
    unsigned n = 0;

    for (const struct port *p = d->ports; p; p = p->next)
        n += p->pool && p->uid == uid;
    return uid == 0 || n < SF_HSN_POOL_USER_MAX;
}

/* A place in the pool for the endpoint; an errno, or 0. */
static int enter(struct port *p)
{
    uint32_t size = (uint32_t)p->d->conf.page_size, page;
    struct page_pool *pool =
        p->program ? pool_of_program(p->program, size) : pool_new(1, size);
    unsigned i = 0;

    if (!pool)
        return errno;
    while (i < pool->shape.nslices && pool->slice[i])
        i++;
    if (i == pool->shape.nslices)
        return ENOSPC;
    pool->slice[i] = p;
    pool->users++;
    p->pool = pool;
    p->slice = (uint16_t)i;
    p->granted = 0;
    atomic_store(&((struct hsn_grants *)pool->memory + i)->tail, 0);
    for (unsigned n = 0; n < HSN_PAGES_GRANTED && take(p, &page); n++)
        grant(p, page);
    return 0;
}

static struct port *named(struct hsnd *d, const struct hsn_request *r)
{
    if (r->a == HSN_PAGES_OF_MODULE && r->b <= UINT16_MAX)
        return d->dgram[r->b];
    if (r->a == HSN_PAGES_OF_CONTEXT && r->b < ELAN_MAX_CONTEXTS)
        return d->contexts.user[r->b];
    return NULL;
}

int hsnd_pages(struct conn *c, struct hsn_request *r, struct answer *a)
{
    struct port *p = named(c->d, r);
    int error, fd;

    if (!p || !is_its_process(c, p))
        return EPERM;
    if (p->pool)
        return EBUSY;
    if (!user_has_room(c->d, p->uid))
        return ENOSPC;
    error = enter(p);
    if (error)
        return error;
    fd = fcntl(p->pool->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        error = errno;
        pages_leave(p);
        return error;
    }
    a->fds[0] = fd;
    be_put32(&a->w, p->slice);
    be_put32(&a->w, p->pool->shape.nslices);
    be_put32(&a->w, p->pool->shape.page_size);
    return 0;
}

void pages_leave(struct port *p)
{
    struct page_pool *pool = p->pool;

    if (!pool)
        return;
    for (uint32_t i = 0; i < pool->fresh && p->npages; i++)
        if (pool->owner[i] == p->slice)
            give_back(p, i);
    pool->slice[p->slice] = NULL;
    p->pool = NULL;
    if (--pool->users == 0)
        pool_free(pool);
}

const uint8_t *pages_sent(struct port *p, const struct hsn_record *r)
{
    if (!p->pool || !owns(p, r->page - 1) ||
        r->data_len > p->pool->shape.page_size)
        return NULL;
    p->sending = r->page;
    p->passed = false;
    return at(p->pool, r->page - 1);
}

void pages_done(struct port *p)
{
    uint32_t page = p->sending - 1;

    if (!p->sending)
        return;
    p->sending = 0;
    /* Whose page went to another process has one less, so there is one. */
    if (!p->passed || take(p, &page))
        grant(p, page);
}

bool pages_freed(struct port *p, const uint8_t *numbers, size_t len)
{
    uint32_t page;

    if (!p->pool || len % sizeof(page))
        return false;
    for (size_t i = 0; i < len; i += sizeof(page)) {
        memcpy(&page, numbers + i, sizeof(page));
        if (!owns(p, page))
            return false;
        give_back(p, page);
    }
    return true;
}

/* Pass on data that lies in a page of the same pool, sent by another endpoint.
 * 0: it does not lie in such a page, or must be copied. */
static uint32_t pass(struct port *p, const struct iovec *data, size_t ndata)
{
    struct page_pool *pool = p->pool;
    uintptr_t first = (uintptr_t)pool->pages, here;
    uint32_t page;
    struct port *from;

    if (ndata != 1)
        return 0;
    here = (uintptr_t)data->iov_base;
    page = (uint32_t)((here - first) / pool->shape.page_size);
    if (here < first || (here - first) / pool->shape.page_size >= pool->fresh)
        return 0;
    if (at(pool, page) != data->iov_base || pool->owner[page] == NOBODY)
        return 0;
    from = pool->slice[pool->owner[page]];
    if (!from || from->sending != page + 1 || from->passed ||
        p->npages - (from == p) >= HSN_PAGES_MOST)
        return 0;
    from->passed = true;
    from->npages--;
    p->npages++;
    pool->owner[page] = p->slice;
    p->d->counts.page_passed += data->iov_len;
    return page + 1;
}

static uint8_t *append(uint8_t *to, const struct iovec *part)
{
    if (part->iov_len)
        memcpy(to, part->iov_base, part->iov_len);
    return to + part->iov_len;
}

bool pages_wanted(const struct port *p, size_t data_len)
{
    return p->pool && data_len >= HSN_PAGES_LEAST &&
           data_len <= p->pool->shape.page_size;
}

uint32_t pages_deliver(struct port *p, const struct iovec *data, size_t ndata)
{
    uint32_t page = pass(p, data, ndata);
    uint8_t *to;

    if (page)
        return page;
    if (!take(p, &page))
        return 0;
    to = at(p->pool, page);
    for (size_t i = 0; i < ndata; i++) {
        to = append(to, &data[i]);
        p->d->counts.page_copied += data[i].iov_len;
    }
    return page + 1;
}
