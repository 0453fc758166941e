/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections to the processes of other clients: rounds over all of them, and
 * their end.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libimpi/net_priv.h"

/* ---- rounds ---- */

static short link_events(const struct link *l)
{
    switch (l->state) {
    case LINK_CONNECTING:
        return POLLOUT;
    case LINK_OPENING:
    case LINK_SHARING:
        return POLLIN;
    case LINK_OPEN:
        return l->blocked && !l->share ? POLLIN | POLLOUT : POLLIN;
    default:
        return 0;
    }
}

/* Fill net.fds: listener, guests, links.  Returns how many. */
static nfds_t fill_fds(void)
{
    nfds_t n = 0;

    net.fds[n++] = (struct pollfd){.fd = net_listener(), .events = POLLIN};
    for (size_t i = 0; i < net.nguests; i++)
        net.fds[n++] =
            (struct pollfd){.fd = net.guest[i]->fd, .events = POLLIN};
    for (size_t i = 0; i < net.nlinks; i++)
        net.fds[n++] = (struct pollfd){.fd = net.links[i]->fd,
                                       .events = link_events(net.links[i])};
    return n;
}

static bool has_output(const struct link *l)
{
    return l->state == LINK_OPEN && impi_channel_tx_ready(l->channel);
}

/* Only those that the kernel names within ms, or that have news, or are being
 * opened: the kernel is not asked whether these may write. */
static bool drive_ready(int ms)
{
    size_t first = 1 + net.nguests, nlinks = net.nlinks;
    bool moved = false;

    if (poll(net.fds, fill_fds(), ms) < 0)
        return false;
    for (size_t i = 0; i < nlinks; i++) {
        struct link *l = net.links[i];

        if (l->state != LINK_OPEN || l->share || net.fds[first + i].revents ||
            has_output(l))
            moved |= link_drive(l);
    }
    return moved;
}

/* All links, or those only that want no system call. */
static inline bool drive_links(bool sockets)
{
    bool moved = false;

    if (sockets && net.nlinks - net.nshared > TRY_EACH_MAX)
        return drive_ready(0);
    for (size_t i = 0; i < net.nlinks; i++) {
        struct link *l = net.links[i];

        if (sockets || l->share || has_output(l))
            moved |= link_drive(l);
    }
    return moved;
}

unsigned net_rounds(void)
{
    return __atomic_load_n(&net.round, __ATOMIC_RELAXED);
}

/* For what not every round has time. */
static bool look_around(void)
{
    net_watch();
    return net_look_for_guests();
}

bool net_progress(void)
{
    unsigned round = net.round;
    bool shared = net.nshared > 0, moved;
    bool sockets = !shared || net_opening() || round % SOCKETS_EVERY == 0;

    __atomic_store_n(&net.round, round + 1, __ATOMIC_RELAXED);
    if (net.asleep || (shared && round % LOOK_EVERY_SHARED == 0))
        net_share_awake();
    moved = drive_links(sockets);
    if (net_opening() || round % (shared ? LOOK_EVERY_SHARED : LOOK_EVERY) == 0)
        moved |= look_around();
    return moved;
}

static bool write_ready(void)
{
    bool moved = false;

    for (size_t i = 0; i < net.nlinks; i++) {
        if (has_output(net.links[i]))
            moved |= link_pump_out(net.links[i]);
    }
    return moved;
}

bool net_progress_awaited(void)
{
    bool moved = false;

    __atomic_store_n(&net.round, net.round + 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < net.nlinks; i++) {
        struct link *l = net.links[i];

        if (l->state == LINK_OPEN && impi_channel_awaited(l->channel))
            moved |= link_drive(l);
    }
    return moved;
}

static bool guests_ready(void)
{
    for (size_t i = 0; i <= net.nguests; i++) {
        if (net.fds[i].revents)
            return true;
    }
    return false;
}

bool net_write_or_wait(int ms)
{
    bool moved;

    __atomic_store_n(&net.round, net.round + 1, __ATOMIC_RELAXED);
    if (write_ready())
        return true;
    if (!net_sleep())
        ms = 0;
    moved = drive_ready(ms);
    if (net.asleep)
        net_share_awake();
    net_watch();
    return (guests_ready() && net_look_for_guests()) || moved;
}

bool net_progress_whole(void)
{
    bool moved;

    if (net.nshared > 0)
        net_share_awake();
    moved = drive_links(true);
    return moved | look_around();
}

bool net_is_quick(void)
{
    return net.nshared > 0 && net.nshared == net.nlinks;
}

void net_look(void)
{
    for (unsigned i = 0; i < LOOKS && !net_share_has_news(); i++)
        ;
}

bool net_sleep(void)
{
    return net_share_sleep();
}

unsigned net_fds(struct pollfd *fds, unsigned max)
{
    nfds_t n = fill_fds();

    n = n < max ? n : max;
    memcpy(fds, net.fds, n * sizeof(fds[0]));
    return (unsigned)n;
}

void net_wait(int ms)
{
    nfds_t n = fill_fds();
    struct pollfd *fds = net.fds;

    if (!net_sleep())
        return;
    /* With threads the list may change meanwhile: wait on a copy, shortly. */
    if (impi_be.threads) {
        struct pollfd copy[32];

        n = n < 32 ? n : 32;
        memcpy(copy, fds, n * sizeof(copy[0]));
        be_unlock();
        poll(copy, n, 1);
        be_lock();
        return;
    }
    poll(fds, n, ms);
}

/* ---- the end ---- */

static bool all_closed(void)
{
    for (size_t i = 0; i < net.nlinks; i++) {
        if (net.links[i]->state == LINK_OPEN)
            return false;
    }
    return true;
}

static void free_all(void)
{
    for (size_t i = 0; i < net.nlinks; i++) {
        link_close_fd(net.links[i]);
        free(net.links[i]);
    }
    for (size_t i = 0; i < net.nguests; i++) {
        link_close_fd(net.guest[i]);
        free(net.guest[i]);
    }
    if (net.listener >= 0)
        close(net.listener);
    free(net.by_peer);
    free(net.links);
    free(net.fds);
    free(net.guest);
    memset(&net, 0, sizeof(net));
    net.listener = -1;
}

void net_finish(void)
{
    for (size_t i = 0; i < net.nlinks; i++) {
        if (net.links[i]->state == LINK_OPEN)
            impi_channel_fini(net.links[i]->channel);
    }
    net.finishing = true;
    while (!all_closed()) {
        if (!net_progress())
            net_wait(10);
    }
    free_all();
}

void net_forget(void)
{
    for (size_t i = 0; i < net.nlinks; i++)
        link_close_fd(net.links[i]);
    for (size_t i = 0; i < net.nguests; i++)
        link_close_fd(net.guest[i]);
    if (net.listener >= 0)
        close(net.listener);
    net.listener = -1;
    net.nlinks = net.nguests = 0;
}
