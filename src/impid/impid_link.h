/* SPDX-License-Identifier: BSD-3-Clause
 *
 * impid's connection to impi-server: opens the channel, says JOB, then
 * carries frames.  Rendezvous keys that were put wait here for their answer.
 */
#ifndef SF_IMPID_LINK_H
#define SF_IMPID_LINK_H

#include <stdbool.h>
#include <sys/queue.h>

#include <ev.h>

#include "impi/agent_wire.h"
#include "impi/chan_open.h"
#include "impid/impid_stream.h"

struct impid;

/* All contributions of a key: blobs[0..n), valid in the call. */
typedef void impid_got_f(void *arg, const struct agent_blob *blobs, uint32_t n);

struct impid_link_wait;

enum impid_link_state {
    LINK_IDLE,
    LINK_CONNECTING,
    LINK_OPENING,
    LINK_UP,
    LINK_DOWN
};

struct impid_link {
    struct impid *impid;
    enum impid_link_state state;
    int fd; /* while connecting or opening; -1 between two tries */
    ev_io io;
    ev_timer again;
    unsigned tries;
    ev_tstamp since; /* the first try */
    struct impi_chan_open open;
    struct impid_stream stream;
    struct bytebuf early; /* frames made before the link is up */
    LIST_HEAD(, impid_link_wait) waits;
    char error[256]; /* why it is down */
};

/* Begin to connect, and try again when the connection is closed before the
 * proof was answered: strangers may have taken impi-server's places.  Whether
 * it came about, now or later, is told by impid_link_settled(): link->state is
 * LINK_UP or LINK_DOWN. */
void impid_link_start(struct impid_link *link, struct impid *impid);
void impid_link_send(struct impid_link *link, const struct agent_msg *msg);
/* A whole frame that is encoded already. */
void impid_link_write(struct impid_link *link, const void *frame, size_t len);
/* Contribute to a key; got is called once with everybody's.  set: the agents
 * that contribute in all, AGENT_SET_SIZE() bytes, or NULL for every agent. */
void impid_link_put(struct impid_link *link, const char *key, uint32_t index,
                    uint32_t expected, const uint8_t *set, const void *blob,
                    size_t len, impid_got_f *got, void *arg);
/* The same where only the agent that contributes index 0 gets everybody's. */
void impid_link_gather(struct impid_link *link, const char *key, uint32_t index,
                       uint32_t expected, const uint8_t *set, const void *blob,
                       size_t len, impid_got_f *got, void *arg);
/* Each key that has been contributed to and has no answer yet. */
void impid_link_each_wait(const struct impid_link *link,
                          void (*each)(void *arg, const char *key), void *arg);
/* A key's contributions have come, by whatever way. */
void impid_link_got(struct impid_link *link, const struct agent_got *got);
/* Drop the waits of an owner that goes away. */
void impid_link_forget(struct impid_link *link, const void *arg);
/* Neither up nor down yet. */
static inline bool impid_link_pending(const struct impid_link *link)
{
    return link->state == LINK_CONNECTING || link->state == LINK_OPENING;
}
/* Say BYE, flush, close. */
void impid_link_stop(struct impid_link *link);

#endif
