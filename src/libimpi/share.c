/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared memory of two processes.
 */
#define _GNU_SOURCE
#include "libimpi/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fstat_old.h"
#include "base/limits.h"
#include "base/mac.h"
#include "base/netaddr.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static struct {
    uint32_t pid;
    uint64_t machine;
    share_ask *ask;
} known;

void share_set_up(uint32_t pid, uint64_t machine, share_ask *ask)
{
    known.pid = pid;
    known.machine = machine;
    known.ask = ask;
}

uint32_t share_pid(void)
{
    return known.pid ? known.pid : (uint32_t)getpid();
}

bool share_sees_others(void)
{
    return known.pid == 0;
}

uint64_t share_machine(void)
{
    return known.machine ? known.machine : memory_machine();
}

bool share_is_off(void)
{
    const char *text = getenv("IMPI_SHM");

    return text && strcmp(text, "0") == 0;
}

/* 127.0.0.1 may be talking to 127.0.0.2. */
bool share_is_one_machine(const struct netaddr *own, const struct netaddr *peer)
{
    return IN6_ARE_ADDR_EQUAL(&own->ip, &peer->ip) ||
           netaddr_is_loopback(&peer->ip);
}

static bool same_machine(const struct sockaddr_storage *own,
                         const struct sockaddr_storage *peer)
{
    struct netaddr a = netaddr_from_socket((const void *)own);
    struct netaddr b = netaddr_from_socket((const void *)peer);

    return share_is_one_machine(&a, &b);
}

bool share_is_near(int socket)
{
    struct sockaddr_storage own, peer;
    socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

    memset(&own, 0, sizeof(own));
    memset(&peer, 0, sizeof(peer));
    return getsockname(socket, (struct sockaddr *)&own, &own_len) == 0 &&
           getpeername(socket, (struct sockaddr *)&peer, &peer_len) == 0 &&
           same_machine(&own, &peer);
}

/* ---- both ---- */

static struct share *new_share(void)
{
    struct share *s = calloc(1, sizeof(*s));

    if (s)
        s->fd_out = s->fd_in = -1;
    return s;
}

static void close_fds(struct share *s)
{
    if (s->fd_out >= 0)
        close(s->fd_out);
    if (s->fd_in >= 0)
        close(s->fd_in);
    s->fd_out = s->fd_in = -1;
}

void share_free(struct share *s)
{
    int saved = errno;

    if (!s)
        return;
    close_fds(s);
    ring_detach(&s->stream.out);
    ring_detach(&s->stream.in);
    free(s);
    errno = saved;
}

static int attach(struct share *s)
{
    struct errbuf err;
    uint64_t salt;

    memcpy(&salt, s->token, sizeof(salt));
    return ring_stream_attach(&s->stream, s->fd_out, s->fd_in, salt, &err);
}

/* The token is the first record of each ring. */
static int put_token(struct share *s)
{
    void *at = ring_reserve(&s->stream.out, sizeof(s->token));

    if (!at)
        return -1;
    memcpy(at, s->token, sizeof(s->token));
    ring_commit(&s->stream.out, sizeof(s->token));
    return 0;
}

static bool take_token(struct share *s)
{
    size_t len;
    const void *at = ring_peek(&s->stream.in, &len);

    if (!at || len != sizeof(s->token) || !mac_equal(at, s->token, len))
        return false;
    ring_consume(&s->stream.in);
    return true;
}

/* ---- the maker ---- */

/* Growing a file beyond the limit would end the program. */
static bool may_grow(size_t len)
{
    struct rlimit r;

    return getrlimit(RLIMIT_FSIZE, &r) == 0 &&
           (r.rlim_cur == RLIM_INFINITY || r.rlim_cur >= len);
}

static int make(struct share *s)
{
    struct errbuf err;

    if (mac_random(s->token, sizeof(s->token)) < 0)
        return -1;
    s->fd_out = ring_create(SF_SHARE_RING, &err);
    s->fd_in = ring_create(SF_SHARE_RING, &err);
    if (s->fd_out < 0 || s->fd_in < 0 || attach(s) < 0)
        return -1;
    ring_label(&s->stream.out, s->token);
    ring_label(&s->stream.in, s->token);
    return put_token(s);
}

struct share *share_create(struct impi_chan_offer *offer)
{
    struct share *s = may_grow(2 * SF_SHARE_RING) ? new_share() : NULL;

    if (!s || make(s) < 0) {
        share_free(s);
        return NULL;
    }
    offer->pid = share_pid();
    offer->fd_out = (uint32_t)s->fd_out;
    offer->fd_in = (uint32_t)s->fd_in;
    memcpy(offer->token, s->token, sizeof(offer->token));
    return s;
}

bool share_confirm(struct share *s)
{
    close_fds(s);
    return take_token(s);
}

/* ---- the other one ---- */

/* By ourselves, or by who may. */
static int find(enum memory_kind kind, uint32_t pid, uint32_t fd,
                const uint8_t *token)
{
    int own = memory_open(pid, fd, kind);

    return own < 0 && token && known.ask ? known.ask(kind, pid, fd, token)
                                         : own;
}

static bool as_agreed(const struct share *s)
{
    return s->stream.out.size == SF_SHARE_RING &&
           s->stream.in.size == SF_SHARE_RING;
}

struct share *share_open(const struct impi_chan_offer *offer)
{
    struct share *s = new_share();

    if (!s)
        return NULL;
    memcpy(s->token, offer->token, sizeof(s->token));
    s->fd_in = find(MEMORY_RING, offer->pid, offer->fd_out, s->token);
    s->fd_out = find(MEMORY_RING, offer->pid, offer->fd_in, s->token);
    if (s->fd_in >= 0 && s->fd_out >= 0 && attach(s) == 0 && as_agreed(s) &&
        take_token(s) && put_token(s) == 0) {
        close_fds(s);
        return s;
    }
    share_free(s);
    return NULL;
}

/* ---- areas ---- */

static int map_area(struct share_area *a, size_t len)
{
    void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);

    if (at == MAP_FAILED)
        return -1;
    a->at = at;
    a->len = len;
    return 0;
}

int share_area_make(struct share_area *a, size_t len)
{
    *a = SHARE_NO_AREA;
    if (!may_grow(len)) {
        errno = EFBIG;
        return -1;
    }
    a->fd = memfd_create(MEMORY_AREA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (a->fd >= 0 && ftruncate(a->fd, (off_t)len) == 0 &&
        fcntl(a->fd, F_ADD_SEALS, SEALS) == 0 && map_area(a, len) == 0)
        return 0;
    share_area_free(a);
    return -1;
}

static bool is_area(int fd, size_t len)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & SEALS) == SEALS && fstat_old(fd, &st) == 0 &&
           (uint64_t)st.st_size == len;
}

int share_area_open(struct share_area *a, uint32_t pid, uint32_t fd, size_t len,
                    const uint8_t *token)
{
    *a = SHARE_NO_AREA;
    if (pid == 0)
        return -1;
    a->fd = find(MEMORY_AREA, pid, fd, token);
    if (a->fd >= 0 && is_area(a->fd, len) && map_area(a, len) == 0) {
        share_area_close(a);
        return 0;
    }
    share_area_free(a);
    return -1;
}

void share_area_close(struct share_area *a)
{
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
}

void share_area_free(struct share_area *a)
{
    int saved = errno;

    share_area_close(a);
    if (a->at)
        munmap(a->at, a->len);
    *a = SHARE_NO_AREA;
    errno = saved;
}

/* Of what /proc/PID/stat says behind the name, the first word is the state, and
 * the 18th how many threads there are: the first of them is a zombie as soon as
 * it has ended, however many others go on. */
static bool has_ended(const char *words)
{
    char state = words[strspn(words, " ")];

    for (int i = 1; i < 18; i++) {
        words += strspn(words, " ");
        words += strcspn(words, " ");
    }
    return state == 'X' || (state == 'Z' && strtol(words, NULL, 10) <= 1);
}

bool share_is_gone(uint32_t pid)
{
    char path[64], text[512], *end;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    end = strrchr(text, ')');
    return n <= 0 || (end && has_ended(end + 1));
}
