/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How two worlds meet (MPI-3.1 chapter 10): the name of a port, and what the
 * two roots tell each other once each has proved to know the port's key
 * (chan_open.h, role PORT).  doc/impi-processes.md.  A pure engine.
 *
 * A port's name:  impi1/ADDRESS:PORT/NUMBER/KEY
 *
 *   ADDRESS:PORT  where the root listens; IPv6 in brackets
 *   NUMBER        8 hexadecimal digits: which port of that process
 *   KEY           64 of them: who knows it may connect
 *
 * Frames between the roots: u32 type, u32 length, payload; big-endian.
 *
 *   acceptor   SIDE    its own group (impi_side_encode)
 *   connector  SIDE    likewise
 *   connector  PROOF   a MUNGE credential of its user about the couple
 *                      (impi_couple_about); empty where its site needs none
 *   acceptor   PROOF   likewise: it has chosen this caller
 *   either     REFUSE  text, in place of its SIDE or PROOF
 *   both       GO      nothing: all processes of the own group take calls
 */
#ifndef SF_IMPI_COUPLE_H
#define SF_IMPI_COUPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "impi/chan_open.h"
#include "impi/world.h"

#define IMPI_PORT_NAME_SIZE 160 /* NUL included; both libraries have 256 */

struct impi_port {
    uint8_t addr[IMPI_HOSTID_SIZE];
    uint16_t port;
    uint32_t number;
    uint8_t key[IMPI_CHAN_SECRET_SIZE];
};

void impi_port_print(char name[IMPI_PORT_NAME_SIZE], const struct impi_port *p);
/* 0, or -1 EINVAL and what is wrong with the name (without its key). */
int impi_port_parse(struct impi_port *p, const char *name, struct errbuf *err);

enum impi_couple_frame {
    IMPI_COUPLE_SIDE = 1,
    IMPI_COUPLE_REFUSE = 2,
    IMPI_COUPLE_GO = 3,
    IMPI_COUPLE_PROOF = 4
};
#define IMPI_COUPLE_HEADER_SIZE 8
#define IMPI_COUPLE_ABOUT_SIZE MAC_SIZE
/* Header of a frame; returns the length of its payload, or -1 EPROTO: no such
 * type, longer than it may be. */
void impi_couple_header_put(uint8_t out[IMPI_COUPLE_HEADER_SIZE], uint32_t type,
                            uint32_t len);
ssize_t impi_couple_header_get(uint32_t *type,
                               const uint8_t in[IMPI_COUPLE_HEADER_SIZE]);

/* One process, as the others reach it. */
struct impi_side_proc {
    uint8_t addr[IMPI_HOSTID_SIZE];   /* where it listens */
    uint16_t port;                    /* 0: it cannot */
    uint8_t hostid[IMPI_HOSTID_SIZE]; /* with pid the IMPI_Proc of packets */
    uint64_t pid;
    uint32_t client; /* in its own world */
    uint32_t can;    /* IMPI_SIDE_FILES and so on: what its world does together
                        with others; all of a group need not be alike */
};
#define IMPI_SIDE_FILES 1u
#define IMPI_SIDE_WINDOWS 2u
#define IMPI_SIDE_PROC_SIZE (2 * IMPI_HOSTID_SIZE + 2 + 8 + 4 + 4)

/* One group: what both worlds must have alike, and its processes by rank. */
struct impi_side {
    uint32_t number; /* of the couple; the acceptor's counts */
    uint64_t cid;    /* of the intercommunicator; likewise */
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE];
    uint32_t maxdatalen, ackmark, hiwater;
    int32_t coll_xsize, coll_maxlinear;
    bool share; /* begins channels with an offer of shared memory */
    uint8_t repr[IMPI_REPR_SIZE];
    uint32_t nprocs;
    struct impi_side_proc *procs; /* owned: impi_side_free() */
};

/* One process of the table. */
void impi_side_proc_encode(uint8_t out[IMPI_SIDE_PROC_SIZE],
                           const struct impi_side_proc *p);
/* s->procs from nprocs encoded ones.  0, or -1 with errno EPROTO (client
 * numbers that there cannot be), ENOMEM (text). */
int impi_side_put_procs(struct impi_side *s, const uint8_t *all,
                        struct errbuf *err);
/* Whole, into *buf (free() it).  0, or -1 ENOMEM. */
int impi_side_encode(const struct impi_side *s, uint8_t **buf, size_t *len);
/* Exactly len bytes.  0, or -1 with errno EPROTO (text) or ENOMEM; *s is then
 * empty. */
int impi_side_decode(struct impi_side *s, const void *buf, size_t len,
                     struct errbuf *err);
void impi_side_free(struct impi_side *s);
/* The first process that cannot listen, or -1.  Both sides look at both groups
 * when each has proved itself, and do not meet if there is one. */
int impi_side_deaf(const struct impi_side *s);

/* Can the two talk?  0, or -1 and what differs. */
int impi_side_fits(const struct impi_side *own, const struct impi_side *other,
                   struct errbuf *err);

/* The secret of the couple's channels.  0, or -1 ENOMEM. */
int impi_couple_secret(uint8_t secret[IMPI_CHAN_SECRET_SIZE],
                       const struct impi_port *port,
                       const struct impi_side *acceptor,
                       const struct impi_side *connector);

/* What a credential is bound to: only a process that knows the couple's secret
 * can compute it, and the two sides have different ones.  0, or -1 ENOMEM. */
int impi_couple_about(uint8_t about[IMPI_COUPLE_ABOUT_SIZE],
                      const uint8_t secret[IMPI_CHAN_SECRET_SIZE],
                      bool acceptor);

#endif
