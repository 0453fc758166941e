/* SPDX-License-Identifier: BSD-3-Clause
 *
 * impid as an IMPI host in the standard's sense: connections with the hosts
 * of other clients, over which it relays the packets of its processes.  Used
 * where another IMPI than ours may be at the other end; under one srun
 * processes talk to each other themselves.
 *
 *   impid_relay.c  one client's relay: start, packets, the end
 *   impid_dance.c  who connects to whom (section 2.3.8)
 *   impid_opening.c  where all are ours: the proof of the job's secret
 *   impid_port.c   one connection that carries packets
 *
 * What waits in memory for a process is bounded by flow control (hiwater
 * packets for each pair); what waits for a host of ours by not reading the own
 * processes for a while.
 */
#ifndef SF_IMPID_IMPID_RELAY_H
#define SF_IMPID_IMPID_RELAY_H

#include "impi/chan_open.h"
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

/* Own processes are not read while more than this waits for one host, until
 * all is below the second mark.  Hosts are always read: so what waits goes
 * out, whoever floods whom. */
#define RELAY_PAUSE (4u * 1024 * 1024)
#define RELAY_RESUME (1u * 1024 * 1024)

struct impid_relay {
    struct impid_client *client;
    bool proved; /* all hosts are ours: they prove the job's secret */
    bool paused; /* own processes are not read */
    struct impi_world world;
    struct impi_relay *engine; /* NULL before the world is joined */
    uint32_t host;             /* own host rank */
    int listener;
    int spare;     /* base/accept.h */
    uint16_t port; /* it listens there */
    ev_io accept;
    ev_prepare flush;          /* FINIs that fell due */
    struct attempt **attempts; /* [world.nhosts] */
    struct impid_guest *guests;
    uint32_t nguests, guests_max;
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
 * the caller's to pass on and close.  Returns 0; 1 the world does without,
 * the relay is gone; or -1. */
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
/* The queue of a host has changed. */
void impid_relay_balance(struct impid_port *p);

/* impid_dance.c */
int impid_dance_listen(struct impid_relay *r, struct errbuf *err);
int impid_dance_start(struct impid_relay *r, struct errbuf *err);
void impid_dance_stop(struct impid_relay *r);

/* impid_opening.c */
/* Send and receive for the opening of a channel.  Returns 1 it is done, 0 not
 * yet, -1 it failed (text). */
int impid_opening_run(int fd, struct impi_chan_open *o, struct errbuf *err);

/* impid_port.c */
void impid_port_init(struct impid_port *p, struct impid_relay *r, bool is_host,
                     uint32_t index);
/* Take over a connected, nonblocking socket. */
void impid_port_open(struct impid_port *p, int fd);
/* Queue one packet and write what goes; before the port is open it waits. */
int impid_port_send(struct impid_port *p, const void *data, size_t len,
                    bool urgent);
/* Read what comes, or not for a while. */
void impid_port_pause(struct impid_port *p, bool pause);
void impid_port_close(struct impid_port *p);

#endif
