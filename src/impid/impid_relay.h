/* SPDX-License-Identifier: BSD-3-Clause
 *
 * impid as an IMPI host in the standard's sense: connections with the hosts
 * of other clients, over which it relays the packets of its processes.  Used
 * where another IMPI than ours may be at the other end; under one srun
 * processes talk to each other themselves.
 *
 *   impid_relay.c  one client's relay: start, packets, the end
 *   impid_dance.c  who connects to whom (section 2.3.8)
 *   impid_port.c   one connection that carries packets
 *
 * What waits in memory is bounded by flow control: a sender that keeps to
 * hiwater never fills a queue, so nothing is ever left unread.
 */
#ifndef SF_IMPID_IMPID_RELAY_H
#define SF_IMPID_IMPID_RELAY_H

#include "impi/relay.h"
#include "impid/impid.h"
#include "impid/out_queue.h"

struct impid_port {
    struct impid_relay *relay;
    bool is_host;
    uint32_t index; /* host rank, or number of the process on this host */
    int fd;         /* -1: not (yet, any more) connected */
    ev_io read, write;
    struct bytebuf in;
    struct out_queue out;
};

/* A connection that has not said which host it is. */
struct impid_guest;
struct attempt; /* one that is being made */

struct impid_relay {
    struct impid_client *client;
    struct impi_world world;
    struct impi_relay *engine; /* NULL before the world is joined */
    uint32_t host;             /* own host rank */
    int listener;
    uint16_t port; /* it listens there */
    ev_io accept;
    ev_prepare flush;          /* FINIs that fell due */
    struct attempt **attempts; /* [world.nhosts] */
    struct impid_guest *guests;
    uint32_t nguests;
    struct impid_port *hosts; /* [world.nhosts]; only others' are used */
    struct impid_port *procs; /* [own processes] */
    bool told_hosts, told_procs;
    bool failed;
};

/* impid_relay.c */
/* Listen for other hosts; *port is what is declared. */
int impid_relay_listen(struct impid_client *c, uint16_t *port,
                       struct errbuf *err);
/* The world is joined: connect.  fds gets one socket for each own process,
 * the caller's to pass on and close. */
int impid_relay_start(struct impid_client *c, const void *world, size_t len,
                      int *fds, struct errbuf *err);
/* Something waits to be sent to another host. */
bool impid_relay_active(const struct impid_client *c);
void impid_relay_free(struct impid_client *c);
/* The job must end; the first call counts. */
__attribute__((format(printf, 2, 3))) void
impid_relay_fail(struct impid_relay *r, const char *fmt, ...);
/* A whole packet came; data is header and payload.  -1: the port is closed,
 * do not touch it. */
int impid_relay_packet(struct impid_port *p, const struct impi_packet *pk,
                       const uint8_t *data, size_t len);
/* The other side closed, or errno. */
void impid_relay_gone(struct impid_port *p, int error);

/* impid_dance.c */
int impid_dance_listen(struct impid_relay *r, struct errbuf *err);
int impid_dance_start(struct impid_relay *r, struct errbuf *err);
void impid_dance_stop(struct impid_relay *r);

/* impid_port.c */
void impid_port_init(struct impid_port *p, struct impid_relay *r, bool is_host,
                     uint32_t index);
/* Take over a connected, nonblocking socket. */
void impid_port_open(struct impid_port *p, int fd);
/* Queue one packet and write what goes; before the port is open it waits. */
int impid_port_send(struct impid_port *p, const void *data, size_t len,
                    bool urgent);
void impid_port_close(struct impid_port *p);

#endif
