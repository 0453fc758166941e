/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One session of a soft link: its keys, its counters, its tags.
 */
#ifndef SF_NET_SOFTLINK_SESSION_H
#define SF_NET_SOFTLINK_SESSION_H

#include "base/fastmac.h"
#include "base/replay.h"
#include "net/softlink_wire.h"

struct softlink_session {
    uint64_t mine, theirs; /* 0: no session */
    struct fastmac *out, *in;
    uint64_t sent;
    struct replay window;
    struct softlink_hello peer;
};

/* Make a session between a caller's and a called side's HELLO, for the side
 * that is `role`.  0, or -1 with errno ENOMEM and no session. */
int softlink_session_derive(struct softlink_session *s, enum softlink_role role,
                            const struct softlink_hello *caller,
                            const struct softlink_hello *called);
void softlink_session_end(struct softlink_session *s);

/* Fill head for the next message of a type. */
int softlink_session_sign(struct softlink_session *s, enum softlink_type type,
                          uint8_t head[SOFTLINK_HEAD], const void *packet,
                          size_t len);

enum softlink_verdict { SOFTLINK_GENUINE, SOFTLINK_OLD, SOFTLINK_FORGED };

/* Judge a message of at least SOFTLINK_HEAD bytes; a genuine one counts as
 * seen. */
enum softlink_verdict softlink_session_check(struct softlink_session *s,
                                             const uint8_t *buf, size_t len);

#endif
