/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A soft link: a cable of the software fabric between two daemons (hsnd and
 * swfabd, or two swfabd).  Codec and state machine, no I/O: bytes and time
 * in, bytes out.  The formats are in doc/swfab-link.md.
 *
 * One side calls (HELLO), the other answers (WELCOME); each message carries a
 * credential that vouches for its maker's uid and hides half of the session
 * key from everybody else.  Every datagram after that carries a counter and a
 * tag.  The link is up for the side that called when the answer came, for the
 * other when the first tagged datagram did.
 *
 * Over a unix socket the kernel keeps strangers out: there only HELLO and
 * WELCOME are used, and no datagram is tagged.
 *
 * Times are nanoseconds of any steady clock.
 */
#ifndef SF_NET_SOFTLINK_H
#define SF_NET_SOFTLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "net/packet.h"

#define SOFTLINK_VERSION 1
#define SOFTLINK_HEAD 36          /* in front of each packet */
#define SOFTLINK_NAME_MAX 64      /* name of a link, NUL included */
#define SOFTLINK_KEY_HALF 32      /* bytes */
#define SOFTLINK_CONTROL_MAX 4096 /* longest HELLO or WELCOME */
#define SOFTLINK_DATAGRAM_MAX (SOFTLINK_HEAD + NET_PACKET_MAX)

/* A caller repeats its HELLO, and an idle side says that it lives, so often;
 * after so much silence the link is down. */
#define SOFTLINK_HELLO_NS 1000000000ULL
#define SOFTLINK_KEEP_NS 1000000000ULL
#define SOFTLINK_SILENCE_NS 5000000000ULL

/* What the link's ends pass packets by once they are connected. */
enum softlink_carrier {
    SOFTLINK_DATAGRAMS = 1, /* UDP, Ethernet: tagged */
    SOFTLINK_SEQPACKET = 2, /* the unix socket itself, a packet a message */
    SOFTLINK_RING = 3,      /* rings, whose fds come with the WELCOME */
};

/* Who made a credential, as its opener's machine vouches. */
struct softlink_origin {
    uid_t uid;
    bool replayed, expired;
};

/* Credentials and randomness come from outside (MUNGE in the daemons). */
struct softlink_ops {
    /* Make a credential that holds payload and that `reader` alone opens;
     * *cred is malloc()ed text. */
    int (*seal)(void *arg, char **cred, const void *payload, size_t len,
                uid_t reader, struct errbuf *err);
    /* Open one; *payload is malloc()ed. */
    int (*open)(void *arg, void **payload, size_t *len,
                struct softlink_origin *origin, const char *cred,
                struct errbuf *err);
    int (*random)(void *arg, void *buf, size_t len);
    void *arg;
    uid_t service; /* beside root, who may be at the other end */
    uid_t reader;  /* of the two, whom a caller tries first */
};

/* A HELLO that was opened and believed. */
struct softlink_hello {
    char name[SOFTLINK_NAME_MAX]; /* which link the caller means */
    uint64_t address;             /* of the caller's board, 0: a crossbar's */
    enum softlink_carrier carrier;
    uid_t uid;
    uint64_t session; /* by which the caller wants to be called */
    uint8_t key[SOFTLINK_KEY_HALF];
};

enum softlink_type {
    SOFTLINK_HELLO = 1,
    SOFTLINK_WELCOME = 2,
    SOFTLINK_REFUSED = 3,
    SOFTLINK_DATA = 4,
    SOFTLINK_KEEP = 5,
    SOFTLINK_BYE = 6,
};

/* The type of a message and the session (of its receiver; HELLO: of its
 * sender) that it names.  0 when it is no message of this version. */
enum softlink_type softlink_look(const void *buf, size_t len,
                                 uint64_t *session);

/* Open a HELLO.  0, or -1 with errno EBADMSG (malformed), EPERM (not root or
 * the service user, replayed, expired), or as ops->open(). */
int softlink_read_hello(struct softlink_hello *hello,
                        const struct softlink_ops *ops, const void *buf,
                        size_t len, struct errbuf *err);

/* A message that tells a caller why not.  Returns its length. */
size_t softlink_make_refusal(void *buf, size_t size, uint64_t session,
                             const char *why);

/* ---- one end of a link ---- */

struct softlink;

enum softlink_event {
    SOFTLINK_NOTHING,
    SOFTLINK_PACKET,    /* a packet came */
    SOFTLINK_WENT_UP,   /* (a packet may have come with it) */
    SOFTLINK_WENT_DOWN, /* said goodbye or silent for too long */
    SOFTLINK_WAS_REFUSED,
};

struct softlink_counters {
    uint64_t malformed, bad_tag, replayed, foreign /* session not ours */;
};

/* The end that calls for `name`, or the end that is called so.  `slot` is put
 * into the low 16 bits of this end's session numbers, so that the owner of
 * many finds the right one.  ops is copied.  NULL: ENOMEM. */
struct softlink *softlink_new_caller(const char *name, uint64_t address,
                                     enum softlink_carrier carrier,
                                     uint16_t slot,
                                     const struct softlink_ops *ops);
struct softlink *softlink_new_called(uint16_t slot,
                                     const struct softlink_ops *ops);
void softlink_free(struct softlink *link);

bool softlink_is_up(const struct softlink *link);
/* Other end's board address and name of the link; called end: of the HELLO
 * that was answered last. */
const struct softlink_hello *softlink_peer(const struct softlink *link);
const struct softlink_counters *softlink_counters(const struct softlink *link);

/* Called end: answer a HELLO; softlink_output() has the WELCOME.  A session
 * that is up stays so until the caller has shown that it has the new key.  0,
 * or -1 with errno (credential could not be made). */
int softlink_answer(struct softlink *link, uint64_t now,
                    const struct softlink_hello *hello, struct errbuf *err);

/* Called end: take over the answer that another link of the same slot made.
 * So that who may not wait for its credential has it made elsewhere. */
void softlink_take_answer(struct softlink *link, struct softlink *from);

/* Is this a WELCOME that names the session of the last HELLO?  Only then its
 * credential is worth a look by munged: who does not see the HELLO does not
 * guess that number. */
bool softlink_is_answer(const struct softlink *link, const void *buf,
                        size_t len);

/* A datagram came (not a HELLO).  *packet, *packet_len: what it carried,
 * inside buf, or NULL. */
enum softlink_event softlink_input(struct softlink *link, uint64_t now,
                                   const void *buf, size_t len,
                                   const uint8_t **packet, size_t *packet_len,
                                   struct errbuf *err);

/* Time passes: repeats, signs of life, silence.  Only a caller that is not up
 * asks for a credential here; only a WELCOME has one opened above.  Call it at
 * the start and when softlink_next() is reached. */
enum softlink_event softlink_tick(struct softlink *link, uint64_t now,
                                  struct errbuf *err);
uint64_t softlink_next(const struct softlink *link);

/* A message of the link itself that waits to be sent; its length, 0: none. */
size_t softlink_output(struct softlink *link, void *buf, size_t size);

/* The head for a packet that is to be sent now (tagged over both).  0, or -1
 * with errno ENOTCONN (not up), EMSGSIZE. */
int softlink_wrap(struct softlink *link, uint64_t now,
                  uint8_t head[SOFTLINK_HEAD], const void *packet, size_t len);

/* Say goodbye: softlink_output() has it, the link is down. */
void softlink_close(struct softlink *link);

#endif
