/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of one end.  It has at most two sessions: the one that is up, and
 * on the called side one that was offered and not yet used by the caller.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/softlink_session.h"

struct softlink {
    enum softlink_role role;
    struct softlink_ops ops;
    uint16_t slot;
    struct softlink_hello me; /* caller: as in its HELLO */
    struct softlink_session up, offered;
    bool asked; /* caller: a HELLO is out */
    uint64_t next_hello, last_heard, last_sent;
    size_t out_len;
    uint8_t out[SOFTLINK_CONTROL_MAX];
    struct softlink_counters counters;
};

static struct softlink *link_new(enum softlink_role role, uint16_t slot,
                                 const struct softlink_ops *ops)
{
    struct softlink *link = calloc(1, sizeof(*link));

    if (!link)
        return NULL;
    link->role = role;
    link->slot = slot;
    link->ops = *ops;
    return link;
}

struct softlink *softlink_new_caller(const char *name, uint64_t address,
                                     enum softlink_carrier carrier,
                                     uint16_t slot,
                                     const struct softlink_ops *ops)
{
    struct softlink *link = link_new(SOFTLINK_CALLER, slot, ops);

    if (!link)
        return NULL;
    strncpy(link->me.name, name, sizeof(link->me.name) - 1);
    link->me.address = address;
    link->me.carrier = carrier;
    return link;
}

struct softlink *softlink_new_called(uint16_t slot,
                                     const struct softlink_ops *ops)
{
    return link_new(SOFTLINK_CALLED, slot, ops);
}

void softlink_free(struct softlink *link)
{
    if (!link)
        return;
    softlink_session_end(&link->up);
    softlink_session_end(&link->offered);
    explicit_bzero(link, sizeof(*link));
    free(link);
}

bool softlink_is_up(const struct softlink *link)
{
    return link->up.mine != 0;
}

const struct softlink_hello *softlink_peer(const struct softlink *link)
{
    return link->up.mine ? &link->up.peer : &link->offered.peer;
}

const struct softlink_counters *softlink_counters(const struct softlink *link)
{
    return &link->counters;
}

/* A session number of our own and half of a key. */
static int draw(struct softlink *link, uint64_t *session,
                uint8_t key[SOFTLINK_KEY_HALF])
{
    uint64_t number;

    if (link->ops.random(link->ops.arg, &number, sizeof(number)) < 0 ||
        link->ops.random(link->ops.arg, key, SOFTLINK_KEY_HALF) < 0)
        return -1;
    *session = (number | 1) << 16 | link->slot; /* never 0 */
    return 0;
}

/* ---- sending ---- */

int softlink_wrap(struct softlink *link, uint64_t now,
                  uint8_t head[SOFTLINK_HEAD], const void *packet, size_t len)
{
    if (!link->up.mine || len > NET_PACKET_MAX) {
        errno = link->up.mine ? EMSGSIZE : ENOTCONN;
        return -1;
    }
    link->last_sent = now;
    return softlink_session_sign(&link->up, SOFTLINK_DATA, head, packet, len);
}

static void queue_signed(struct softlink *link, uint64_t now,
                         enum softlink_type type)
{
    link->last_sent = now;
    if (softlink_session_sign(&link->up, type, link->out, NULL, 0) == 0)
        link->out_len = SOFTLINK_HEAD;
}

size_t softlink_output(struct softlink *link, void *buf, size_t size)
{
    size_t len = link->out_len;

    link->out_len = 0;
    if (len > size)
        return 0;
    memcpy(buf, link->out, len);
    return len;
}

void softlink_close(struct softlink *link)
{
    link->out_len = 0;
    if (link->up.mine)
        queue_signed(link, link->last_sent, SOFTLINK_BYE);
    softlink_session_end(&link->up);
    softlink_session_end(&link->offered);
    link->asked = false;
}

/* ---- opening ---- */

static void call(struct softlink *link, uint64_t now, struct errbuf *err)
{
    struct softlink_pledge pledge = {.role = SOFTLINK_CALLER};

    link->next_hello = now + SOFTLINK_HELLO_NS;
    if (draw(link, &link->me.session, link->me.key) < 0) {
        errprintf(err, "no randomness for a link");
        return;
    }
    pledge.hello = link->me;
    link->out_len = softlink_make_pledge(
        link->out, sizeof(link->out), SOFTLINK_HELLO, link->me.session, &pledge,
        link->ops.reader, &link->ops, err);
    /* The peer runs as root or as the service user; until it answers we cannot
     * know which, so try them in turn. */
    link->ops.reader = link->ops.reader ? 0 : link->ops.service;
    link->asked = link->out_len > 0;
    explicit_bzero(&pledge, sizeof(pledge));
}

int softlink_answer(struct softlink *link, uint64_t now,
                    const struct softlink_hello *hello, struct errbuf *err)
{
    struct softlink_pledge pledge = {
        .role = SOFTLINK_CALLED, .peer = hello->session, .hello = *hello};
    int rc;

    softlink_session_end(&link->offered);
    pledge.hello.address = 0;
    rc = draw(link, &pledge.hello.session, pledge.hello.key);
    if (rc == 0)
        rc = softlink_session_derive(&link->offered, SOFTLINK_CALLED, hello,
                                     &pledge.hello);
    if (rc == 0) {
        link->out_len = softlink_make_pledge(
            link->out, sizeof(link->out), SOFTLINK_WELCOME, hello->session,
            &pledge, hello->uid, &link->ops, err);
        rc = link->out_len ? 0 : -1;
    }
    explicit_bzero(&pledge, sizeof(pledge));
    return rc;
}

void softlink_take_answer(struct softlink *link, struct softlink *from)
{
    softlink_session_end(&link->offered);
    link->offered = from->offered;
    memset(&from->offered, 0, sizeof(from->offered));
    memcpy(link->out, from->out, from->out_len);
    link->out_len = from->out_len;
    from->out_len = 0;
}

bool softlink_is_answer(const struct softlink *link, const void *buf,
                        size_t len)
{
    uint64_t session;

    return softlink_look(buf, len, &session) == SOFTLINK_WELCOME &&
           link->asked && session == link->me.session;
}

static enum softlink_event on_welcome(struct softlink *link, uint64_t now,
                                      const void *buf, size_t len,
                                      struct errbuf *err)
{
    struct softlink_pledge pledge = {0};
    enum softlink_event event = SOFTLINK_NOTHING;
    struct softlink_session fresh = {0};

    if (softlink_open_pledge(&pledge, SOFTLINK_CALLED, &link->ops, buf, len,
                             err) < 0 ||
        pledge.peer != link->me.session ||
        strcmp(pledge.hello.name, link->me.name) != 0 ||
        pledge.hello.carrier != link->me.carrier) {
        link->counters.malformed++;
    } else if (softlink_session_derive(&fresh, SOFTLINK_CALLER, &link->me,
                                       &pledge.hello) == 0) {
        softlink_session_end(&link->up);
        link->up = fresh;
        link->asked = false;
        link->last_heard = now;
        explicit_bzero(link->me.key, sizeof(link->me.key));
        if (link->me.carrier == SOFTLINK_DATAGRAMS)
            queue_signed(link, now, SOFTLINK_KEEP);
        event = SOFTLINK_WENT_UP;
    }
    explicit_bzero(&pledge, sizeof(pledge));
    return event;
}

static enum softlink_event on_refused(const void *buf, size_t len,
                                      struct errbuf *err)
{
    size_t n = len - SOFTLINK_ID;

    n = n < SOFTLINK_WHY_MAX ? n : SOFTLINK_WHY_MAX;
    errprintf(err, "refused: %.*s", (int)n, (const char *)buf + SOFTLINK_ID);
    return SOFTLINK_WAS_REFUSED;
}

/* ---- tagged messages ---- */

/* Is this new, and made by somebody who has the key? */
static bool is_genuine(struct softlink *link, struct softlink_session *s,
                       const uint8_t *buf, size_t len)
{
    switch (softlink_session_check(s, buf, len)) {
    case SOFTLINK_OLD:
        link->counters.replayed++;
        return false;
    case SOFTLINK_FORGED:
        link->counters.bad_tag++;
        return false;
    case SOFTLINK_GENUINE:
        break;
    }
    return true;
}

/* The caller uses the offered session: it is the one now. */
static void accept_offer(struct softlink *link)
{
    softlink_session_end(&link->up);
    link->up = link->offered;
    memset(&link->offered, 0, sizeof(link->offered));
}

static struct softlink_session *session_of(struct softlink *link,
                                           uint64_t number)
{
    if (number && number == link->up.mine)
        return &link->up;
    if (number && number == link->offered.mine)
        return &link->offered;
    return NULL;
}

static enum softlink_event go_down(struct softlink *link, uint64_t now)
{
    softlink_session_end(&link->up);
    link->next_hello = now;
    link->out_len = 0;
    return SOFTLINK_WENT_DOWN;
}

static enum softlink_event on_tagged(struct softlink *link, uint64_t now,
                                     enum softlink_type type, uint64_t number,
                                     const uint8_t *buf, size_t len,
                                     const uint8_t **packet, size_t *packet_len)
{
    struct softlink_session *s = session_of(link, number);
    bool offered = s == &link->offered;

    if (!s || len < SOFTLINK_HEAD || len > SOFTLINK_DATAGRAM_MAX) {
        if (s)
            link->counters.malformed++;
        else
            link->counters.foreign++;
        return SOFTLINK_NOTHING;
    }
    if (!is_genuine(link, s, buf, len))
        return SOFTLINK_NOTHING;
    link->last_heard = now;
    if (type == SOFTLINK_BYE) {
        if (offered)
            softlink_session_end(s);
        return offered ? SOFTLINK_NOTHING : go_down(link, now);
    }
    if (offered)
        accept_offer(link);
    if (type == SOFTLINK_DATA) {
        *packet = buf + SOFTLINK_HEAD;
        *packet_len = len - SOFTLINK_HEAD;
    }
    if (offered)
        return SOFTLINK_WENT_UP;
    return *packet ? SOFTLINK_PACKET : SOFTLINK_NOTHING;
}

enum softlink_event softlink_input(struct softlink *link, uint64_t now,
                                   const void *buf, size_t len,
                                   const uint8_t **packet, size_t *packet_len,
                                   struct errbuf *err)
{
    uint64_t number;
    enum softlink_type type = softlink_look(buf, len, &number);

    *packet = NULL;
    *packet_len = 0;
    switch (type) {
    case SOFTLINK_DATA:
    case SOFTLINK_KEEP:
    case SOFTLINK_BYE:
        return on_tagged(link, now, type, number, buf, len, packet, packet_len);
    case SOFTLINK_WELCOME:
        if (link->asked && number == link->me.session)
            return on_welcome(link, now, buf, len, err);
        link->counters.foreign++;
        return SOFTLINK_NOTHING;
    case SOFTLINK_REFUSED:
        if (link->asked && number == link->me.session)
            return on_refused(buf, len, err);
        link->counters.foreign++;
        return SOFTLINK_NOTHING;
    case SOFTLINK_HELLO:
    default:
        link->counters.malformed++;
        return SOFTLINK_NOTHING;
    }
}

enum softlink_event softlink_tick(struct softlink *link, uint64_t now,
                                  struct errbuf *err)
{
    enum softlink_event event = SOFTLINK_NOTHING;

    if (link->up.mine && now >= link->last_heard + SOFTLINK_SILENCE_NS)
        event = go_down(link, now);
    if (link->up.mine) {
        if (now >= link->last_sent + SOFTLINK_KEEP_NS && !link->out_len)
            queue_signed(link, now, SOFTLINK_KEEP);
    } else if (event == SOFTLINK_NOTHING && link->role == SOFTLINK_CALLER &&
               now >= link->next_hello) {
        call(link, now, err); /* asks munged: never while it was up */
    }
    return event;
}

uint64_t softlink_next(const struct softlink *link)
{
    uint64_t silent = link->last_heard + SOFTLINK_SILENCE_NS;
    uint64_t keep = link->last_sent + SOFTLINK_KEEP_NS;

    if (link->up.mine)
        return keep < silent ? keep : silent;
    return link->role == SOFTLINK_CALLER ? link->next_hello : UINT64_MAX;
}
