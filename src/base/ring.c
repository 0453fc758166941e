/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layout: one page of indexes and flags, each in a cache line of its own,
 * then `size` bytes of records.  A record is 16 bytes of head (stamp, length,
 * note) and its bytes, padded to 16.  Indexes only grow; index modulo size is
 * the place.  The records are mapped twice in a row, so none ever wraps.
 *
 * In a quickened ring records are padded to 64, and `tail` is not used: the
 * stamp, a number made of salt and index, is stored last and says that the
 * record is there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/ring.h"

enum { HEAD_SIZE = 4096, ALIGN = 16, ALIGN_QUICK = 64, RECORD_HEAD = 16 };

struct ring_shared {
    _Alignas(64) _Atomic uint64_t tail; /* written by the producer */
    _Alignas(64) _Atomic uint64_t head; /* written by the consumer */
    /* Set by who sleeps, cleared by who wakes it. */
    _Alignas(64) _Atomic uint32_t consumer_sleeps;
    _Alignas(64) _Atomic uint32_t producer_sleeps;
};

_Static_assert(sizeof(struct ring_shared) <= HEAD_SIZE, "one page of indexes");

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static bool size_is_sane(uint64_t size)
{
    return size >= HEAD_SIZE && size <= SF_RING_SIZE_MAX &&
           (size & (size - 1)) == 0;
}

static uint64_t padded(size_t len, uint64_t align)
{
    return (RECORD_HEAD + (uint64_t)len + align - 1) & ~(align - 1);
}

static uint64_t record_size(const struct ring *r, size_t len)
{
    return padded(len, r->quick ? ALIGN_QUICK : ALIGN);
}

struct record_head {
    _Atomic uint64_t stamp; /* of a quickened ring */
    uint32_t len;
    uint32_t note;
};
_Static_assert(sizeof(struct record_head) == RECORD_HEAD, "head of a record");

static struct record_head *head_at(const struct ring *r, uint64_t index)
{
    return (struct record_head *)(void *)(r->data + (index & (r->size - 1)));
}

static uint64_t stamp_of(const struct ring *r, uint64_t index)
{
    return r->salt + index * UINT64_C(0x9e3779b97f4a7c15);
}

int ring_create(size_t size, struct errbuf *err)
{
    int fd, saved;

    if (!size_is_sane(size)) {
        errno = EINVAL;
        return errprintf(err, "ring of %zu bytes: not a power of two in range",
                         size);
    }
    fd = memfd_create("slurm-fabric-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
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
    if (fstat(fd, &st) < 0 || st.st_size <= HEAD_SIZE ||
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
        return errprintf(err, "this is no ring for records of %zu bytes", max);
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

void ring_detach(struct ring *r)
{
    if (r->mapped)
        munmap(r->shared, HEAD_SIZE + 2 * r->size);
    memset(r, 0, sizeof(*r));
}

/* Read the other side's index, once.  False, and broken, when it goes back,
 * does not fit the ring or is not where a record ends. */
static bool look_at_peer(struct ring *r, _Atomic uint64_t *index)
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

static bool has_room(struct ring *r, uint64_t need)
{
    if (r->size - (r->own - r->peer) >= need)
        return true;
    return look_at_peer(r, &r->shared->head) &&
           r->size - (r->own - r->peer) >= need;
}

void *ring_reserve(struct ring *r, size_t len)
{
    if (r->broken || len > r->max) {
        errno = r->broken ? EPROTO : EMSGSIZE;
        return NULL;
    }
    if (!has_room(r, record_size(r, len))) {
        errno = r->broken ? EPROTO : EAGAIN;
        return NULL;
    }
    r->reserved = len;
    return r->data + (r->own & (r->size - 1)) + RECORD_HEAD;
}

void ring_commit_note(struct ring *r, size_t len, uint32_t note)
{
    struct record_head *head = head_at(r, r->own);
    size_t used = len < r->reserved ? len : r->reserved;
    uint64_t stamp = stamp_of(r, r->own);

    head->len = (uint32_t)used;
    head->note = note;
    r->own += record_size(r, used);
    r->reserved = 0;
    if (r->quick)
        atomic_store_explicit(&head->stamp, stamp, memory_order_release);
    else
        atomic_store_explicit(&r->shared->tail, r->own, memory_order_release);
}

void ring_commit(struct ring *r, size_t len)
{
    ring_commit_note(r, len, 0);
}

/* An exchange on both sides: either the sleeper's comes first, and we see the
 * flag, or ours does, and the sleeper sees what we did before. */
bool ring_must_wake(struct ring *r)
{
    return atomic_exchange_explicit(&r->shared->consumer_sleeps, 0,
                                    memory_order_acq_rel) != 0;
}

bool ring_must_wake_full(struct ring *r)
{
    return atomic_exchange_explicit(&r->shared->producer_sleeps, 0,
                                    memory_order_acq_rel) != 0;
}

static bool has_record(struct ring *r)
{
    if (r->quick)
        return atomic_load_explicit(&head_at(r, r->own)->stamp,
                                    memory_order_acquire) ==
               stamp_of(r, r->own);
    if (r->own != r->peer)
        return true;
    return look_at_peer(r, &r->shared->tail) && r->own != r->peer;
}

bool ring_has_news(struct ring *r)
{
    return has_record(r) || r->broken;
}

const void *ring_peek(struct ring *r, size_t *len)
{
    const struct record_head *head = head_at(r, r->own);
    uint32_t said;

    if (r->broken || !has_record(r)) {
        errno = r->broken ? EPROTO : EAGAIN;
        return NULL;
    }
    said = *(const volatile uint32_t *)&head->len;
    if (said > r->max ||
        (!r->quick && record_size(r, said) > r->peer - r->own)) {
        r->broken = true;
        errno = EPROTO;
        return NULL;
    }
    r->next = r->own + record_size(r, said);
    *len = said;
    return head + 1;
}

uint32_t ring_note(const struct ring *r)
{
    return *(const volatile uint32_t *)&head_at(r, r->own)->note;
}

void ring_skip(struct ring *r)
{
    r->own = r->next;
}

void ring_release(struct ring *r)
{
    atomic_store_explicit(&r->shared->head, r->own, memory_order_release);
}

void ring_consume(struct ring *r)
{
    ring_skip(r);
    ring_release(r);
}

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
