/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded behind the front (BARE_FRONT=libimpi.so:shaky.so): the sockets
 * between clients work as badly as a network may.  Reads and writes are short,
 * a byte at a time for a while, or refused (EAGAIN, EINTR); some wait a little
 * first.  All by SHAKY_SEED, else nothing is done.  SHAKY_LATE, milliseconds:
 * rank 0 cannot send its answers to connections before that time is over.
 *
 * Only calls of libimpi are meant: those with MSG_DONTWAIT.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define IOV_MAX_HERE 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t state;
static unsigned mood, left; /* how bad, for how many calls yet */

static int is_on(void)
{
    static int on = -1;
    const char *seed, *rank;

    if (on >= 0)
        return on;
    seed = getenv("SHAKY_SEED");
    rank = getenv("SLURM_PROCID");
    on = seed != NULL;
    state = (seed ? strtoull(seed, NULL, 10) : 0) * 1000003 +
            (rank ? strtoull(rank, NULL, 10) : 0) + 88172645463325252ULL;
    return on;
}

static uint64_t draw(uint64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % n;
}

static void wait_a_little(void)
{
    struct timespec t = {.tv_nsec = (long)draw(200000)};

    nanosleep(&t, NULL);
}

/* How many bytes this call may move; 0: none, errno says why. */
static size_t allowance(void)
{
    size_t n;

    pthread_mutex_lock(&lock);
    if (left == 0) {
        mood = (unsigned)draw(5);
        left = 1 + (unsigned)draw(40);
    }
    left--;
    if (draw(50) == 0)
        wait_a_little();
    switch (mood) {
    case 0:
        n = SIZE_MAX;
        break;
    case 1:
        n = 1 + draw(100000);
        break;
    case 2:
        n = 1 + draw(100);
        break;
    case 3:
        n = 1;
        break;
    default:
        n = draw(3) == 0 ? 1 + draw(5000) : 0;
        break;
    }
    errno = draw(4) == 0 ? EINTR : EAGAIN;
    pthread_mutex_unlock(&lock);
    return n;
}

/* The last word of an opening (impi/chan_open.h), of rank 0. */
static int is_late(const struct msghdr *msg)
{
    static struct timespec first;
    const char *late = getenv("SHAKY_LATE"), *rank = getenv("SLURM_PROCID");
    struct timespec now;

    if (!late || !rank || strcmp(rank, "0") != 0 || msg->msg_iovlen != 1 ||
        msg->msg_iov[0].iov_len != 4)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (first.tv_sec == 0)
        first = now;
    errno = EAGAIN;
    return (now.tv_sec - first.tv_sec) * 1000 +
               (now.tv_nsec - first.tv_nsec) / 1000000 <
           atol(late);
}

/* At most n bytes of the first entries, in out. */
static size_t cut(struct iovec *out, const struct msghdr *msg, size_t n)
{
    size_t used = 0;

    for (; used < msg->msg_iovlen && used < IOV_MAX_HERE && n > 0; used++) {
        out[used] = msg->msg_iov[used];
        if (out[used].iov_len > n)
            out[used].iov_len = n;
        n -= out[used].iov_len;
    }
    return used;
}

typedef ssize_t msg_f(int, struct msghdr *, int);

static ssize_t move(const char *name, int fd, const struct msghdr *msg,
                    int flags)
{
    msg_f *real;
    struct msghdr part = *msg;
    struct iovec iov[IOV_MAX_HERE];
    size_t n;

    *(void **)&real = dlsym(RTLD_NEXT, name);
    if (name[0] == 's' && (flags & MSG_DONTWAIT) && is_late(msg))
        return -1;
    if (!is_on() || !(flags & MSG_DONTWAIT))
        return real(fd, &part, flags);
    n = allowance();
    if (n == 0)
        return -1;
    part.msg_iovlen = cut(iov, msg, n);
    part.msg_iov = iov;
    return real(fd, &part, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    return move("sendmsg", fd, msg, flags);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    msg_f *real;

    if (is_on() && (flags & MSG_DONTWAIT))
        return move("recvmsg", fd, msg, flags);
    *(void **)&real = dlsym(RTLD_NEXT, "recvmsg");
    return real(fd, msg, flags);
}

ssize_t send(int fd, const void *buf, size_t len, int flags)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    return sendmsg(fd, &msg, flags);
}

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
    struct iovec iov = {.iov_base = buf, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    return recvmsg(fd, &msg, flags);
}
