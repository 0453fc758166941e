/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of soft links as bytes (doc/swfab-link.md), without state.
 */
#ifndef SF_NET_SOFTLINK_WIRE_H
#define SF_NET_SOFTLINK_WIRE_H

#include "net/softlink.h"

#define SOFTLINK_ID 12     /* magic, version, type, session */
#define SOFTLINK_SIGNED 20 /* what stands in front of the tag */
#define SOFTLINK_WHY_MAX 200

enum softlink_role { SOFTLINK_CALLER = 1, SOFTLINK_CALLED = 2 };

/* What a credential holds. */
struct softlink_pledge {
    enum softlink_role role;
    uint64_t peer; /* session that it answers, 0 in a HELLO */
    struct softlink_hello hello;
};

void softlink_put_id(uint8_t at[SOFTLINK_ID], enum softlink_type type,
                     uint64_t session);

/* Make a HELLO or WELCOME in buf[0..size) that names `session` and that
 * `reader` can open; its length, or 0 with errno. */
size_t softlink_make_pledge(void *buf, size_t size, enum softlink_type type,
                            uint64_t session,
                            const struct softlink_pledge *pledge, uid_t reader,
                            const struct softlink_ops *ops, struct errbuf *err);

/* Open one.  0, or -1 with errno as softlink_read_hello(). */
int softlink_open_pledge(struct softlink_pledge *pledge,
                         enum softlink_role role,
                         const struct softlink_ops *ops, const void *buf,
                         size_t len, struct errbuf *err);

#endif
