/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as what the program that opens a device answers, and as what the
 * kernel then says of it.  The first byte: how many descriptors come with the
 * answer, the second how long its text is.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../unit/many_fds.h"
#include "fuzz.h"
#include "nicd/verbs.h"

struct input {
    const uint8_t *data;
    size_t size;
    int events; /* our end */
};

static void told(const char *device, const char *what, void *arg)
{
    (void)device;
    (void)arg;
    if (strlen(what) >= VERBS_EVENT_TEXT)
        abort();
}

/* The answer has come already. */
static int answer(const char *device, void *arg)
{
    struct input *in = arg;
    int answers[2], events[2], fds[4];
    size_t n = in->data[0] % 5, len = in->data[1];

    (void)device;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, answers) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, events) < 0)
        abort();
    if (len > in->size - 2)
        len = in->size - 2;
    for (size_t i = 0; i < 4; i++)
        fds[i] = events[0];
    if (send_many_fds(answers[1], in->data + 2, len, fds, n) < 0)
        abort();
    in->data += 2 + len;
    in->size -= 2 + len;
    if (in->events >= 0)
        close(in->events);
    in->events = events[1];
    close(events[0]);
    close(answers[1]);
    return answers[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sysfs_rdma mlx = {"mlx5_0", "uverbs0"};
    struct input in = {data, size, -1};
    struct verbs_options o = {.open = answer, .event = told, .arg = &in};
    char text[VERBS_EVENT_TEXT];
    struct verbs *v;

    if (size < 2)
        return 0;
    verbs_event_text(text, data, size);
    o.loop = ev_loop_new(EVFLAG_AUTO);
    v = o.loop ? verbs_new(&o) : NULL;
    if (!v)
        abort();
    verbs_devices(v, &mlx, 1);
    ev_run(o.loop, EVRUN_NOWAIT);
    for (int i = 0; i < 3 && in.size > 0; i++) {
        ssize_t n = send(in.events, in.data, in.size, MSG_NOSIGNAL);

        if (n > 0) {
            in.data += n;
            in.size -= (size_t)n;
        }
        ev_run(o.loop, EVRUN_NOWAIT);
        verbs_listen(v);
    }
    verbs_free(v);
    close(in.events);
    ev_loop_destroy(o.loop);
    return 0;
}
