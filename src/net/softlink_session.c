/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/be.h"
#include "net/softlink_session.h"

void softlink_session_end(struct softlink_session *s)
{
    fastmac_free(s->out);
    fastmac_free(s->in);
    explicit_bzero(s, sizeof(*s));
}

static struct fastmac *direction(const uint8_t key[MAC_SIZE], const char *who)
{
    const struct mac_part part = {who, strlen(who)};
    uint8_t sub[MAC_SIZE];
    struct fastmac *mac = NULL;

    if (mac_sign(sub, key, MAC_SIZE, &part, 1) == 0)
        mac = fastmac_new(sub);
    explicit_bzero(sub, sizeof(sub));
    return mac;
}

/* Keys of a session between a caller's and a called side's HELLO. */
int softlink_session_derive(struct softlink_session *s, enum softlink_role role,
                            const struct softlink_hello *caller,
                            const struct softlink_hello *called)
{
    uint8_t halves[2 * SOFTLINK_KEY_HALF], sessions[16], key[MAC_SIZE];
    const struct mac_part parts[] = {{"softlink", 8},
                                     {sessions, sizeof(sessions)},
                                     {caller->name, strlen(caller->name)}};
    bool calls = role == SOFTLINK_CALLER;
    int rc;

    memcpy(halves, caller->key, SOFTLINK_KEY_HALF);
    memcpy(halves + SOFTLINK_KEY_HALF, called->key, SOFTLINK_KEY_HALF);
    be_store64(sessions, caller->session);
    be_store64(sessions + 8, called->session);
    rc = mac_sign(key, halves, sizeof(halves), parts, 3);
    if (rc == 0) {
        s->out = direction(key, calls ? "caller" : "called");
        s->in = direction(key, calls ? "called" : "caller");
        s->mine = calls ? caller->session : called->session;
        s->theirs = calls ? called->session : caller->session;
        s->peer = calls ? *called : *caller;
    }
    explicit_bzero(s->peer.key, sizeof(s->peer.key));
    explicit_bzero(halves, sizeof(halves));
    explicit_bzero(key, sizeof(key));
    if (rc == 0 && s->out && s->in)
        return 0;
    softlink_session_end(s);
    errno = ENOMEM;
    return -1;
}

int softlink_session_sign(struct softlink_session *s, enum softlink_type type,
                          uint8_t head[SOFTLINK_HEAD], const void *packet,
                          size_t len)
{
    const struct mac_part parts[] = {{head, SOFTLINK_SIGNED}, {packet, len}};

    softlink_put_id(head, type, s->theirs);
    be_store64(head + SOFTLINK_ID, ++s->sent);
    return fastmac_sign(s->out, head + SOFTLINK_SIGNED, s->sent, parts, 2);
}

enum softlink_verdict softlink_session_check(struct softlink_session *s,
                                             const uint8_t *buf, size_t len)
{
    const struct mac_part parts[] = {
        {buf, SOFTLINK_SIGNED}, {buf + SOFTLINK_HEAD, len - SOFTLINK_HEAD}};
    uint64_t counter = be_load64(buf + SOFTLINK_ID);

    if (!replay_is_new(&s->window, counter))
        return SOFTLINK_OLD;
    if (!fastmac_check(s->in, buf + SOFTLINK_SIGNED, counter, parts, 2))
        return SOFTLINK_FORGED;
    replay_mark(&s->window, counter);
    return SOFTLINK_GENUINE;
}
