/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The opening of every channel between our own parts (agent to server,
 * process to process): each side proves that it knows the job's secret and
 * that it is whom it says, before anything else is parsed.  A pure engine:
 * the caller moves the bytes and brings the randomness.
 *
 * On the wire, all integers big-endian, all sizes fixed:
 *
 *   initiator  HELLO  52  magic "SFCO", u16 version 1, u16 role,
 *                         u32 generation, u32 from, u32 to, nonce[32]
 *   acceptor   REPLY  64  nonce[32], mac[32]
 *   initiator  PROOF  32  mac[32]
 *   acceptor   CODE    4  u32, 0 = accepted, else why not
 *
 * mac = HMAC-SHA256(secret, label[8] HELLO REPLY.nonce) with the label
 * "acceptor" or "initiate".  The secret itself is never sent.  A HELLO whose
 * role, generation or to is not the acceptor's gets no REPLY.
 *
 * Use, on either side:
 *
 *   while (!impi_chan_open_done(o)) {
 *       send what impi_chan_open_output() gives, then impi_chan_open_sent();
 *       read at most impi_chan_open_want() bytes, impi_chan_open_input();
 *   }
 *
 * Never read more than wanted: what follows belongs to the next protocol.
 */
#ifndef SF_IMPI_CHAN_OPEN_H
#define SF_IMPI_CHAN_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/mac.h"

#define IMPI_CHAN_SECRET_SIZE 32
#define IMPI_CHAN_NONCE_SIZE 32
#define IMPI_CHAN_HELLO_SIZE (20 + IMPI_CHAN_NONCE_SIZE)
#define IMPI_CHAN_REPLY_SIZE (IMPI_CHAN_NONCE_SIZE + MAC_SIZE)
#define IMPI_CHAN_CODE_SIZE 4

enum impi_chan_role {
    IMPI_CHAN_AGENT_SERVER = 1,
    IMPI_CHAN_PROC_PROC = 2,
    IMPI_CHAN_HOST_HOST = 3,
    IMPI_CHAN_PORT = 4,        /* roots of two worlds: the port's key */
    IMPI_CHAN_COUPLED = 5,     /* processes of two worlds (couple.h) */
    IMPI_CHAN_AGENT_AGENT = 6, /* to its parent in the tree (agent_tree.h) */
    IMPI_CHAN_GROUP = 7        /* processes of one group of a couple */
};

enum impi_chan_code {
    IMPI_CHAN_ACCEPT = 0,
    IMPI_CHAN_REFUSE_ROLE = 1,       /* not a role served here */
    IMPI_CHAN_REFUSE_GENERATION = 2, /* of another MPI program */
    IMPI_CHAN_REFUSE_FROM = 3,       /* no such peer */
    IMPI_CHAN_REFUSE_TO = 4,         /* meant for somebody else */
    IMPI_CHAN_REFUSE_TWICE = 5,      /* that peer is here already */
    IMPI_CHAN_REFUSE_BUSY = 6
};

/* Who talks to whom.  from and to: ranks (role 2), agent index and 0
 * (role 1), two agents (role 6).  generation: 0 where it means nothing (roles
 * 1, 6). */
struct impi_chan_id {
    uint16_t role;
    uint32_t generation;
    uint32_t from;
    uint32_t to;
};

/* Where from, to and generation are those of PROC_PROC, they are for COUPLED
 * the ranks in both groups and the number of the couple, for GROUP likewise in
 * the one; for PORT from is 0 and to the port's number.
 *
 * Acceptor: asked at the HELLO, when nothing is proved yet, and again once
 * the initiator has proved that it knows the secret.  Changes nothing but, at
 * the HELLO, the secret (impi_chan_open_use()).
 * Returns an enum impi_chan_code. */
typedef uint32_t impi_chan_check_f(void *arg, const struct impi_chan_id *id);

struct impi_chan_open {
    struct impi_chan_id id; /* acceptor: valid once done */
    bool initiator;
    bool failed;
    unsigned stage;   /* of input: 0 hello or reply, 1 proof or code, 2 done */
    uint32_t verdict; /* acceptor: what was answered */
    uint8_t secret[IMPI_CHAN_SECRET_SIZE];
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE]; /* our own */
    uint8_t hello[IMPI_CHAN_HELLO_SIZE];
    uint8_t peer_nonce[IMPI_CHAN_NONCE_SIZE]; /* the acceptor's */
    uint8_t in[IMPI_CHAN_REPLY_SIZE];
    size_t in_len;
    uint8_t out[IMPI_CHAN_REPLY_SIZE];
    size_t out_len;
    size_t out_sent;
    impi_chan_check_f *check;
    void *check_arg;
};

/* Begin.  nonce: fresh from mac_random() for each attempt.  secret and nonce
 * are copied.  check may be NULL (any id is taken). */
void impi_chan_open_connect(struct impi_chan_open *o,
                            const struct impi_chan_id *id,
                            const uint8_t secret[IMPI_CHAN_SECRET_SIZE],
                            const uint8_t nonce[IMPI_CHAN_NONCE_SIZE]);
void impi_chan_open_accept(struct impi_chan_open *o,
                           const uint8_t secret[IMPI_CHAN_SECRET_SIZE],
                           const uint8_t nonce[IMPI_CHAN_NONCE_SIZE],
                           impi_chan_check_f *check, void *check_arg);

/* In the check: the caller has another secret. */
void impi_chan_open_use(struct impi_chan_open *o,
                        const uint8_t secret[IMPI_CHAN_SECRET_SIZE]);

/* Bytes that the engine waits for now; 0: none (done, failed). */
size_t impi_chan_open_want(const struct impi_chan_open *o);

/* Take len bytes, len <= impi_chan_open_want().  Returns 0, or -1 with errno
 * (drop the connection, when output is flushed or at once):
 * EPROTO not our protocol, EPROTONOSUPPORT another version of it,
 * EACCES the peer does not know the secret, or we were or have refused. */
int impi_chan_open_input(struct impi_chan_open *o, const void *data, size_t len,
                         struct errbuf *err);

/* Bytes to send now; *data borrows from o. */
size_t impi_chan_open_output(const struct impi_chan_open *o,
                             const uint8_t **data);
void impi_chan_open_sent(struct impi_chan_open *o, size_t n);

/* True when both sides are proved and accepted, though the peer of an acceptor
 * may not know it yet. */
bool impi_chan_open_accepted(const struct impi_chan_open *o);
/* True when, besides, all output is sent. */
bool impi_chan_open_done(const struct impi_chan_open *o);

/* Once accepted, before it is wiped: a key of this connection for another way
 * between the two, in one direction.  Both sides have the same; it is fresh
 * for each connection, and says nothing of the secret. */
uint64_t impi_chan_open_key(const struct impi_chan_open *o, bool to_acceptor);

/* Overwrite what is secret in it. */
void impi_chan_open_wipe(struct impi_chan_open *o);

#endif
