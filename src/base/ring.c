/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings: their memory, and ring_priv.h's steps for everybody.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fstat_old.h"
#include "base/limits.h"
#include "base/ring_priv.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static bool size_is_sane(uint64_t size)
{
    return size >= HEAD_SIZE && size <= SF_RING_SIZE_MAX &&
           (size & (size - 1)) == 0;
}

int ring_create(size_t size, struct errbuf *err)
{
    int fd, saved;

    if (!size_is_sane(size)) {
        errno = EINVAL;
        return errprintf(err, "ring of %zu bytes: not a power of two in range",
                         size);
    }
    fd = memfd_create(RING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && ftruncate(fd, (off_t)(HEAD_SIZE + size)) == 0 &&
        fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    saved = errno;
    errprintf(err, "memory for a ring: %s", strerror(saved));
    if (fd >= 0)
        close(fd);
    errno = saved;
    return -1;
}

/* The size of the ring behind fd; 0 when it is none of ours. */
static uint64_t ring_size(int fd)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) !=
                         (F_SEAL_SHRINK | F_SEAL_GROW))
        return 0;
    if (fstat_old(fd, &st) < 0 || st.st_size <= HEAD_SIZE ||
        !size_is_sane((uint64_t)st.st_size - HEAD_SIZE))
        return 0;
    return (uint64_t)st.st_size - HEAD_SIZE;
}

/* Head and records, and behind them the records once more. */
static uint8_t *ring_map(int fd, uint64_t size)
{
    const int prot = PROT_READ | PROT_WRITE;
    size_t all = HEAD_SIZE + 2 * size;
    uint8_t *at =
        mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    if (mmap(at, HEAD_SIZE + size, prot, MAP_SHARED | MAP_FIXED, fd, 0) ==
            MAP_FAILED ||
        mmap(at + HEAD_SIZE + size, size, prot, MAP_SHARED | MAP_FIXED, fd,
             HEAD_SIZE) == MAP_FAILED) {
        munmap(at, all);
        return NULL;
    }
    return at;
}

int ring_attach(struct ring *r, int fd, enum ring_side side, size_t max,
                struct errbuf *err)
{
    uint64_t size = ring_size(fd);
    uint8_t *at;

    memset(r, 0, sizeof(*r));
    if (!size || max > SF_RING_RECORD_MAX || padded(max, ALIGN) > size / 2) {
        errno = EINVAL;
        return errprintf(err, "this is not a ring for records of %zu bytes",
                         max);
    }
    at = ring_map(fd, size);
    if (!at)
        return errprintf(err, "cannot map a ring: %s", strerror(errno));
    r->shared = (struct ring_shared *)(void *)at;
    r->data = at + HEAD_SIZE;
    r->size = size;
    r->max = max;
    r->side = side;
    r->mapped = true;
    return 0;
}

void ring_attach_thread(struct ring *r, const struct ring *of,
                        enum ring_side side)
{
    *r = (struct ring){.shared = of->shared,
                       .data = of->data,
                       .size = of->size,
                       .max = of->max,
                       .quick = of->quick,
                       .salt = of->salt,
                       .side = side};
}

void ring_quicken(struct ring *r, uint64_t salt)
{
    r->quick = true;
    r->salt = salt | 1; /* fresh memory is all zero */
}

void ring_label(struct ring *r, const uint8_t label[RING_LABEL_SIZE])
{
    memcpy(r->shared->label, label, RING_LABEL_SIZE);
}

void ring_detach(struct ring *r)
{
    if (r->mapped)
        munmap(r->shared, HEAD_SIZE + 2 * r->size);
    memset(r, 0, sizeof(*r));
}

/* ---- records ---- */

bool ring_look_at_peer(struct ring *r, _Atomic uint64_t *index)
{
    uint64_t now = atomic_load_explicit(index, memory_order_acquire);
    uint64_t used = r->side == RING_PRODUCER ? r->own - now : now - r->own;

    if (used > r->size || now % ALIGN || now - r->peer > r->size) {
        r->broken = true;
        return false;
    }
    r->peer = now;
    return true;
}

void *ring_reserve(struct ring *r, size_t len)
{
    return record_reserve(r, len);
}

void ring_commit(struct ring *r, size_t len)
{
    record_commit(r, len, 0);
}

bool ring_must_wake(struct ring *r)
{
    return take_flag(&r->shared->consumer_sleeps);
}

bool ring_must_wake_full(struct ring *r)
{
    return take_flag(&r->shared->producer_sleeps);
}

const void *ring_peek(struct ring *r, size_t *len)
{
    return record_peek(r, len);
}

void ring_skip(struct ring *r)
{
    record_skip(r);
}

void ring_release(struct ring *r)
{
    record_release(r);
}

void ring_consume(struct ring *r)
{
    record_skip(r);
    record_release(r);
}

/* What is there now and began where we were when we last learned of more: the
 * ring never held more than that in between. */
bool ring_was_full(const struct ring *r, struct ring_crowd *c, size_t len)
{
    bool full = false;

    if (r->peer != c->seen) {
        full = r->peer - c->since + record_size(r, len) > r->size;
        c->seen = r->peer;
        c->since = c->last;
    }
    c->last = r->own;
    return full;
}

/* ---- sleeping ---- */

bool ring_sleep(struct ring *r)
{
    if (r->broken)
        return false;
    atomic_exchange_explicit(&r->shared->consumer_sleeps, 1,
                             memory_order_acq_rel);
    if (!has_record(r) && !r->broken)
        return true;
    ring_awake(r);
    return false;
}

bool ring_sleep_full(struct ring *r, size_t len)
{
    if (r->broken)
        return false;
    atomic_exchange_explicit(&r->shared->producer_sleeps, 1,
                             memory_order_acq_rel);
    if (!has_room(r, record_size(r, len)) && !r->broken)
        return true;
    ring_awake(r);
    return false;
}

void ring_awake(struct ring *r)
{
    _Atomic uint32_t *flag = r->side == RING_CONSUMER
                                 ? &r->shared->consumer_sleeps
                                 : &r->shared->producer_sleeps;

    atomic_store_explicit(flag, 0, memory_order_relaxed);
}

void ring_bell(int bell)
{
    const char ring = 0;
    int saved = errno;

    (void)!send(bell, &ring, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    errno = saved;
}

/* 1: one, 0: none, -1: the peer is gone. */
static int take_ring(int bell)
{
    char rings[64];
    ssize_t got = recv(bell, rings, sizeof(rings), MSG_DONTWAIT);

    if (got > 0)
        return 1;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    errno = ECONNRESET;
    return -1;
}

int ring_bell_take(int bell)
{
    return take_ring(bell) < 0 ? -1 : 0;
}

int ring_bell_clear(int bell)
{
    int rc = 1;

    for (int i = 0; i < SF_RING_BELLS && rc > 0; i++)
        rc = take_ring(bell);
    return rc < 0 ? -1 : 0;
}
