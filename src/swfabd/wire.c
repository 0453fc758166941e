/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UDP and Ethernet.  What comes names a session, whose low 16 bits are the
 * seat; a HELLO names a host or a cable.  Nothing of a datagram is believed
 * before its tag was checked.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "net/softlink_job.h"
#include "swfabd/greet.h"
#include "swfabd/swfabd.h"

static void swfabd_wire_output(struct swfabd_wire *wire, struct softlink *link,
                               const union swfabd_address *to);
static void swfabd_wire_on_io(struct ev_loop *loop, ev_io *w, int revents);

/* The wire of a seat; NULL when it has none that is open. */
static inline struct swfabd_wire *swfabd_wire_of(struct swfabd_seat *seat)
{
    return seat->wire && seat->wire->fd >= 0 ? seat->wire : NULL;
}

/* The sender as the door identifies it: not by its port, which it can
 * choose. */
static inline uint64_t swfabd_source(bool ether,
                                     const union swfabd_address *from)
{
    const uint8_t *mac = from->ether.sll_addr;

    if (!ether)
        return 1ULL << 32 | from->udp.sin_addr.s_addr;
    return 1ULL << 48 | (uint64_t)mac[0] << 40 | (uint64_t)mac[1] << 32 |
           (uint64_t)mac[2] << 24 | (uint64_t)mac[3] << 16 |
           (uint64_t)mac[4] << 8 | mac[5];
}

/* ---- wire open --------------------------------------------------------- */

/* UDP and Ethernet sockets: opening and closing. */

enum { ETHERTYPE_EXPERIMENT = 0x88b5, SOCKET_BUFFER = 4 * 1024 * 1024 };

static int wire_start(struct swfabd_wire *wire, struct swfabd *d,
                      const char *what, struct errbuf *err)
{
    int size = SOCKET_BUFFER;

    if (wire->fd < 0)
        return errprintf(err, "%s: %s", what, strerror(errno));
    setsockopt(wire->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    setsockopt(wire->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    ev_io_init(&wire->io, swfabd_wire_on_io, wire->fd, EV_READ);
    wire->io.data = wire;
    ev_io_start(d->loop, &wire->io);
    return 0;
}

static int open_udp(struct swfabd *d, struct errbuf *err)
{
    struct part at = {0};
    char text[64];

    snprintf(text, sizeof(text), "udp:%s", d->conf.udp);
    if (!parts_read_address(&at, text))
        return errprintf(err, "Udp=%s: not A.B.C.D:PORT", d->conf.udp);
    d->udp.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (d->udp.fd >= 0 &&
        bind(d->udp.fd, (struct sockaddr *)&at.udp, sizeof(at.udp)) < 0)
        return errprintf(err, "Udp=%s: %s", d->conf.udp, strerror(errno));
    return wire_start(&d->udp, d, "Udp", err);
}

static int open_ether(struct swfabd *d, struct errbuf *err)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETHERTYPE_EXPERIMENT)};

    d->ether.ifindex = (int)if_nametoindex(d->conf.ethernet);
    at.sll_ifindex = d->ether.ifindex;
    if (!at.sll_ifindex)
        return errprintf(err, "Ethernet=%s: %s", d->conf.ethernet,
                         strerror(errno));
    d->ether.fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                         htons(ETHERTYPE_EXPERIMENT));
    if (d->ether.fd >= 0 &&
        bind(d->ether.fd, (struct sockaddr *)&at, sizeof(at)) < 0)
        return errprintf(err, "Ethernet=%s: %s", d->conf.ethernet,
                         strerror(errno));
    return wire_start(&d->ether, d, "Ethernet", err);
}

/* The ends of cables that call. */
static int open_calls(struct swfabd *d, struct errbuf *err)
{
    for (uint32_t i = 0; i < d->nseats; i++) {
        struct swfabd_seat *seat = &d->seats[i];

        if (!seat->calls)
            continue;
        if (!swfabd_wire_of(seat))
            return errprintf(err, "cable to %s needs %s", seat->peer_name,
                             seat->wire->ether ? "Ethernet=" : "Udp=");
        if (seat->wire->ether) {
            seat->address.ether.sll_ifindex = d->ether.ifindex;
            seat->address.ether.sll_protocol = htons(ETHERTYPE_EXPERIMENT);
        }
        seat->link = softlink_new_caller(seat->peer_name, 0, SOFTLINK_DATAGRAMS,
                                         seat->slot, &d->ops);
        if (!seat->link)
            return errprintf(err, "out of memory");
    }
    return 0;
}

/* The door, and the other daemons, whom it knows. */
static int open_door(struct swfabd *d, struct errbuf *err)
{
    uint64_t secret;

    if (d->ops.random(d->ops.arg, &secret, sizeof(secret)) < 0 ||
        door_open(&d->door, d->nseats + d->parts.n, secret, clock_ns()) < 0)
        return errprintf(err, "no memory, or no randomness");
    for (uint32_t i = 0; i < d->parts.n; i++) {
        const struct part *part = &d->parts.part[i];
        union swfabd_address at = {.udp = part->udp};

        if (part->ether)
            memcpy(at.ether.sll_addr, part->mac, 6);
        door_prove(&d->door, swfabd_source(part->ether, &at));
    }
    return 0;
}

int swfabd_wire_open(struct swfabd *d, struct errbuf *err)
{
    d->udp.d = d->ether.d = d;
    d->ether.ether = true;
    if (open_door(d, err) < 0)
        return -1;
    if (d->conf.udp && d->conf.udp[0] && open_udp(d, err) < 0)
        return -1;
    if (d->conf.ethernet && d->conf.ethernet[0] && open_ether(d, err) < 0)
        return -1;
    return open_calls(d, err);
}

static void wire_close(struct swfabd_wire *wire)
{
    if (wire->fd < 0)
        return;
    ev_io_stop(wire->d->loop, &wire->io);
    close(wire->fd);
    wire->fd = -1;
}

void swfabd_wire_goodbye(struct swfabd_seat *seat)
{
    if (!seat->link || seat->lent || !swfabd_wire_of(seat) ||
        !softlink_is_up(seat->link))
        return;
    softlink_close(seat->link);
    swfabd_wire_output(seat->wire, seat->link, &seat->address);
}

void swfabd_wire_close(struct swfabd *d)
{
    for (uint32_t i = 0; i < d->nseats; i++)
        swfabd_wire_goodbye(&d->seats[i]);
    swfabd_wire_flush(d);
    wire_close(&d->udp);
    wire_close(&d->ether);
    door_close(&d->door);
}

/* ---- wire -------------------------------------------------------------- */

/* ---- sending ---- */

static socklen_t address_size(const struct swfabd_wire *wire)
{
    return wire->ether ? sizeof(struct sockaddr_ll)
                       : sizeof(struct sockaddr_in);
}

static void count(struct swfabd_wire *wire, unsigned i, enum swfab_fate fate)
{
    if (wire->out[i].port != NET_NONE)
        swfab_count_up(wire->d->fab, wire->out[i].port, fate);
}

static void flush(struct swfabd_wire *wire)
{
    struct mmsghdr msg[SWFABD_BATCH];
    struct iovec iov[SWFABD_BATCH];
    unsigned done = 0;

    for (unsigned i = 0; i < wire->n; i++) {
        iov[i] = (struct iovec){wire->out[i].bytes, wire->out[i].len};
        msg[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &wire->out[i].to,
                                              .msg_namelen = address_size(wire),
                                              .msg_iov = &iov[i],
                                              .msg_iovlen = 1}};
    }
    while (done < wire->n) {
        int n = sendmmsg(wire->fd, msg + done, wire->n - done, MSG_DONTWAIT);

        for (int i = 0; i < n; i++)
            count(wire, done + (unsigned)i, SWFAB_DELIVERED);
        if (n <= 0) /* full, too long for this wire, nobody there */
            count(wire, done, SWFAB_FULL);
        done += n > 0 ? (unsigned)n : 1;
    }
    wire->n = 0;
}

void swfabd_wire_flush(struct swfabd *d)
{
    if (d->udp.n)
        flush(&d->udp);
    if (d->ether.n)
        flush(&d->ether);
}

/* Room for a message of len bytes; NULL: longer than any. */
static uint8_t *queue(struct swfabd_wire *wire, size_t len,
                      const union swfabd_address *to, uint32_t port)
{
    size_t prefix = wire->ether ? 2 : 0;
    uint8_t *at;

    if (len > SOFTLINK_DATAGRAM_MAX || wire->fd < 0)
        return NULL;
    if (wire->n == SWFABD_BATCH)
        flush(wire);
    wire->out[wire->n].len = prefix + len;
    wire->out[wire->n].to = *to;
    wire->out[wire->n].port = port;
    at = wire->out[wire->n++].bytes;
    if (prefix) {
        at[0] = (uint8_t)(len >> 8);
        at[1] = (uint8_t)len;
    }
    return at + prefix;
}

void swfabd_wire_packet(struct swfabd_seat *seat, const struct swfab_walk *w,
                        const uint8_t *packet)
{
    struct swfab *fab = seat->d->fab;
    size_t size = swfab_walk_size(fab, w);
    uint8_t *at =
        queue(seat->wire, SOFTLINK_HEAD + size, &seat->address, w->port);

    if (!at) {
        swfab_count_up(fab, w->port, SWFAB_BAD_SIZE);
        return;
    }
    swfab_walk_write(fab, w, at + SOFTLINK_HEAD, packet);
    if (softlink_wrap(seat->link, clock_ns(), at, at + SOFTLINK_HEAD, size) <
        0) {
        seat->wire->n--;
        swfab_count_up(fab, w->port, SWFAB_NO_HOST);
    }
}

/* Send what the link itself has to say. */
static void swfabd_wire_output(struct swfabd_wire *wire, struct softlink *link,
                               const union swfabd_address *to)
{
    uint8_t buf[SOFTLINK_CONTROL_MAX];
    size_t len = softlink_output(link, buf, sizeof(buf));
    uint8_t *at = len ? queue(wire, len, to, NET_NONE) : NULL;

    if (at)
        memcpy(at, buf, len);
}

/* ---- receiving ---- */

static void refuse(struct swfabd_wire *wire, uint64_t session,
                   const union swfabd_address *to, const char *why)
{
    uint8_t buf[256], *at;
    size_t len = softlink_make_refusal(buf, sizeof(buf), session, why);

    swfabd_log_refusal(wire->d, why);
    at = queue(wire, len, to, NET_NONE);
    if (at)
        memcpy(at, buf, len);
}

static struct swfabd_seat *admit(struct greeting *g)
{
    if (g->hello.carrier == SOFTLINK_DATAGRAMS)
        return swfabd_seat_for(g->d, &g->hello, &g->err);
    errprintf(&g->err, "only datagrams come this way");
    return NULL;
}

static void answer(struct greeting *g)
{
    struct swfabd_seat *seat = g->seat;

    if (!seat) {
        refuse(g->wire, g->session, &g->from, g->err.text);
    } else if (seat->link) {
        softlink_take_answer(seat->link, g->link);
    } else {
        seat->link = g->link;
        g->link = NULL;
    }
    if (seat)
        swfabd_wire_output(g->wire, seat->link, &g->from);
    swfabd_wire_flush(g->d);
}

static void on_hello(struct swfabd_wire *wire, const uint8_t *buf, size_t len,
                     uint64_t session, const union swfabd_address *from)
{
    struct swfabd *d = wire->d;
    struct errbuf err = {""};
    struct greeting *g;

    if (!door_admits(&d->door, swfabd_source(wire->ether, from), clock_ns()))
        return;
    g = swfabd_greet_new(d, buf, len, &err);
    if (!g)
        return;
    g->admit = admit;
    g->answer = answer;
    g->wire = wire;
    g->from = *from;
    g->session = session;
    swfabd_greet(g, &err); /* else it is dropped: its sender repeats */
}

static void went_up(struct swfabd_seat *seat, struct swfabd_wire *wire,
                    const union swfabd_address *from)
{
    if (seat->carrier)
        swfabd_seat_clear(seat, seat->carrier == SOFTLINK_DATAGRAMS
                                    ? NULL
                                    : "another takes its place");
    seat->carrier = SOFTLINK_DATAGRAMS;
    seat->wire = wire;
    seat->address = *from;
    door_prove(&seat->d->door, swfabd_source(wire->ether, from));
    seat->since_ns = clock_ns();
    log_paced(&seat->d->comings, clock_ns(), log_info, "%s attached over %s",
              swfabd_seat_name(seat), wire->ether ? "Ethernet" : "UDP");
}

static void on_event(struct swfabd_seat *seat, enum softlink_event event,
                     const struct errbuf *err)
{
    if (event == SOFTLINK_WAS_REFUSED)
        log_paced(&seat->d->troubles, clock_ns(), log_warn, "SF-E603 %s: %s",
                  swfabd_seat_name(seat), err->text);
    if (event == SOFTLINK_WENT_DOWN && seat->carrier == SOFTLINK_DATAGRAMS)
        swfabd_seat_clear(seat, "its link is down");
}

/* ---- calling: the credentials of cables to other daemons ---- */

/* The link of a seat is the clerk's meanwhile. */
struct call {
    struct softlink_job ask;
    struct swfabd_seat *seat;
    struct swfabd_wire *wire;
    union swfabd_address from;
};

static void call_done(struct clerk_job *job, bool cancelled)
{
    struct call *call = (struct call *)(void *)job;
    struct swfabd_seat *seat = call->seat;

    seat->lent = false;
    if (!cancelled) {
        if (call->ask.event == SOFTLINK_WENT_UP)
            went_up(seat, call->wire, &call->from);
        on_event(seat, call->ask.event, &call->ask.err);
        if (call->ask.event == SOFTLINK_NOTHING && call->ask.err.text[0])
            log_paced(&seat->d->troubles, clock_ns(), log_warn,
                      "SF-E604 %s: %s", swfabd_seat_name(seat),
                      call->ask.err.text);
        swfabd_wire_output(seat->wire, seat->link, &seat->address);
        swfabd_wire_flush(seat->d);
    }
    free(call);
}

static void call_begin(struct swfabd_seat *seat, struct swfabd_wire *wire,
                       const uint8_t *buf, size_t len,
                       const union swfabd_address *from)
{
    struct call *call = calloc(1, sizeof(*call));

    if (!call)
        return;
    call->seat = seat;
    call->wire = wire;
    call->from = *from;
    seat->lent = softlink_job_make(&call->ask, seat->link, buf, len, call_done);
    if (seat->lent && clerk_give(seat->d->clerk, &call->ask.job) == 0)
        return;
    seat->lent = false;
    free(call);
}

void swfabd_wire_input(struct swfabd_wire *wire, const uint8_t *buf, size_t len,
                       const union swfabd_address *from)
{
    struct swfabd *d = wire->d;
    uint64_t session;
    enum softlink_type type = softlink_look(buf, len, &session);
    struct swfabd_seat *seat;
    enum softlink_event event;
    const uint8_t *packet;
    size_t packet_len;
    struct errbuf err = {""};

    if (type == SOFTLINK_HELLO) {
        on_hello(wire, buf, len, session, from);
        return;
    }
    if (!type || (session & 0xffff) >= d->nseats)
        return;
    seat = &d->seats[session & 0xffff];
    if (!seat->link || seat->lent)
        return;
    if (softlink_is_answer(seat->link, buf, len)) {
        call_begin(seat, wire, buf, len, from);
        return;
    }
    event = softlink_input(seat->link, clock_ns(), buf, len, &packet,
                           &packet_len, &err);
    if (event == SOFTLINK_WENT_UP)
        went_up(seat, wire, from);
    if (event == SOFTLINK_PACKET)
        seat->address = *from;
    on_event(seat, event, &err);
    swfabd_wire_output(wire, seat->link, from);
    if (packet && seat->carrier == SOFTLINK_DATAGRAMS)
        swfabd_forward(seat, packet, packet_len);
}

/* Ethernet pads short frames: the first two bytes are the length. */
static void input_frame(struct swfabd_wire *wire, const uint8_t *buf,
                        size_t len, const union swfabd_address *from)
{
    size_t said = len >= 2 ? (size_t)buf[0] << 8 | buf[1] : 0;

    if (!wire->ether)
        swfabd_wire_input(wire, buf, len, from);
    else if (len >= 2 && said <= len - 2 &&
             from->ether.sll_pkttype != PACKET_OUTGOING)
        swfabd_wire_input(wire, buf + 2, said, from);
}

static void swfabd_wire_on_io(struct ev_loop *loop, ev_io *w, int revents)
{
    static uint8_t buf[SWFABD_BATCH][2 + SOFTLINK_DATAGRAM_MAX + 1];
    struct swfabd_wire *wire = w->data;
    union swfabd_address from[SWFABD_BATCH] = {0};
    struct mmsghdr msg[SWFABD_BATCH];
    struct iovec iov[SWFABD_BATCH];
    int n;

    for (unsigned i = 0; i < SWFABD_BATCH; i++) {
        iov[i] = (struct iovec){buf[i], sizeof(buf[i])};
        msg[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &from[i],
                                              .msg_namelen = sizeof(from[i]),
                                              .msg_iov = &iov[i],
                                              .msg_iovlen = 1}};
    }
    n = recvmmsg(wire->fd, msg, SWFABD_BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < n; i++)
        input_frame(wire, buf[i], msg[i].msg_len, &from[i]);
    swfabd_rings_ring(wire->d);
    swfabd_wire_flush(wire->d);
}

/* ---- time ---- */

void swfabd_wire_tick(struct swfabd *d)
{
    uint64_t now = clock_ns();
    struct errbuf err;

    for (uint32_t i = 0; i < d->nseats; i++) {
        struct swfabd_seat *seat = &d->seats[i];

        if (!seat->link || seat->lent || !swfabd_wire_of(seat) ||
            now < softlink_next(seat->link))
            continue;
        if (seat->calls && !softlink_is_up(seat->link)) {
            call_begin(seat, seat->wire, NULL, 0, &seat->address);
            continue;
        }
        err.text[0] = '\0';
        on_event(seat, softlink_tick(seat->link, now, &err), &err);
        if (err.text[0])
            log_paced(&d->troubles, now, log_warn, "SF-E604 %s: %s",
                      swfabd_seat_name(seat), err.text);
        swfabd_wire_output(seat->wire, seat->link, &seat->address);
    }
    swfabd_wire_flush(d);
}
