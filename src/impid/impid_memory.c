/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that processes of different containers share.  Between two user
 * namespaces the kernel lets no process open another's descriptors; but we are
 * in the one from which the user has made both, and so may open either's.  We
 * keep nothing: what is asked for is opened, passed, and closed.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd_pass.h"
#include "base/log.h"
#include "base/memory.h"
#include "impid/impid.h"

struct memory_view impid_memory_view(const struct impid_proc *p)
{
    return memory_view_of(p->pid, p->said_pid, p->users);
}

/* Descriptors that nobody takes off a socket count against the user's limit, on
 * which other steps rely, too. */
static bool reads_us(const struct impid_proc *p)
{
    int unread = 0;

    return bytebuf_len(&p->stream.out) == 0 &&
           ioctl(p->stream.fd, SIOCOUTQ, &unread) == 0 &&
           unread <= SF_TASK_UNREAD_MAX;
}

/* Who knows what is in the memory has been told so by who made it. */
static int open_claimed(const struct impid_proc *p, const struct task_claim *c)
{
    int fd = reads_us(p) ? memory_open(c->pid, c->fd, c->kind) : -1;

    if (fd >= 0 && memory_has(fd, c->kind, c->token))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void answer(struct impid_proc *p, int fd)
{
    uint8_t frame[TASK_HEADER_SIZE];
    ssize_t n = task_frame_encode(frame, sizeof(frame), TASK_CLAIMED, NULL, 0);

    if (fd >= 0 &&
        fd_pass_send(p->stream.fd, frame, (size_t)n, &fd, 1, MSG_DONTWAIT) == n)
        return;
    impid_stream_write(&p->stream, frame, (size_t)n);
}

int impid_memory_claim(struct impid_proc *p, const struct task_frame *f)
{
    struct task_claim c;
    int fd;

    if (task_claim_decode(&c, f->payload, f->len) < 0)
        return -1;
    if (p->lost)
        return 0;
    fd = open_claimed(p, &c);
    log_debug("rank %u is %s memory of process %u", p->task->rank,
              fd < 0 ? "refused" : "passed", c.pid);
    answer(p, fd);
    if (fd >= 0)
        close(fd);
    return 0;
}
