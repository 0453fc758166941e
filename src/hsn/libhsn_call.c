/* SPDX-License-Identifier: BSD-3-Clause
 * libhsn: questions to hsnd, routes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/local.h"
#include "hsn/libhsn_priv.h"

#define PATIENCE 5 /* seconds */

int hsn_call_fd(struct hsn *h)
{
    if (h->call < 0)
        h->call = local_connect(h->path, SOCK_SEQPACKET, PATIENCE);
    return h->call;
}

/* The descriptors of a message; what is too many or none is closed. */
static void take_fds(struct msghdr *m, int fds[2])
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    int got[2] = {-1, -1};

    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(got, CMSG_DATA(c),
               c->cmsg_len >= CMSG_LEN(sizeof(got)) ? sizeof(got)
                                                    : sizeof(int));
    for (int i = 0; i < 2; i++)
        if (fds)
            fds[i] = got[i];
        else if (got[i] >= 0)
            close(got[i]);
}

static ssize_t exchange(struct hsn *h, int fd, size_t len, int fds[2])
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec iov = {h->buf, sizeof(h->buf)};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    ssize_t n = send(fd, h->buf, len, MSG_NOSIGNAL);

    if (n < 0)
        return -1;
    do
        n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        take_fds(&m, fds);
    if (n == 0)
        errno = ECONNRESET;
    return n > 0 ? n : -1;
}

int hsn_call(struct hsn *h, int fd, const struct be_writer *w,
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
