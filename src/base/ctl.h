/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Control socket of a daemon: a unix stream socket on which a client writes
 * one JSON object per line, {"verb":"status", ...}, and gets one line for
 * each, in order: {"ok":true, ...} or {"ok":false,"error":"text"}.
 *
 * Who may use a verb is decided for each verb by SO_PEERCRED: read verbs are
 * for all, write verbs for root, the daemon's own user, and members of the
 * control group.  The verb "help" lists the verbs.
 *
 * A client that sends too much, sends no JSON, reads nothing or sits idle
 * loses its connection, and nobody else notices: lengths, numbers and waits
 * are limited by SF_CTL_... in base/limits.h.
 */
#ifndef SF_BASE_CTL_H
#define SF_BASE_CTL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/errbuf.h"

struct ev_loop;
struct ctl_server;
struct ctl_conn;
struct ctl_later;

enum ctl_access { CTL_READ, CTL_WRITE };

struct ctl_peer {
    uid_t uid;
    gid_t gid;
    pid_t pid;
};

/* What a verb works on, all of it borrowed. */
struct ctl_request {
    struct json_object *in;  /* what the client said */
    struct json_object *out; /* to add the answer's members to, "ok" is there */
    const struct ctl_peer *peer;
    void *arg;             /* of the options */
    struct ctl_conn *conn; /* for ctl_later_new() */
};

/* A verb: 0, or -1 with text that the client gets. */
typedef int ctl_verb_f(const struct ctl_request *q, struct errbuf *err);

struct ctl_verb {
    const char *name;
    enum ctl_access access;
    ctl_verb_f *call;
    const char *help; /* one line */
};

struct ctl_options {
    const char *path;             /* of the socket; replaced by rename */
    const char *group;            /* ControlGroup; NULL: root alone */
    const struct ctl_verb *verbs; /* borrowed for the server's life */
    size_t nverbs;
    void *arg; /* for the verbs */
};

/* Listen.  NULL with errno and text (no such group, path unusable ...).  The
 * directory of the path must be there. */
struct ctl_server *ctl_server_new(struct ev_loop *loop,
                                  const struct ctl_options *options,
                                  struct errbuf *err);
/* Closes all connections and removes the socket's name if it still is ours. */
void ctl_server_free(struct ctl_server *server);

/* A verb whose answer takes a while: it calls ctl_later_new() (NULL: no
 * memory), returns 0, and some time after that ctl_later_end() sends what was
 * added to *out, or the error (NULL: none).  The client's next request waits so
 * long; it may be gone meanwhile, which changes nothing for the caller.  A verb
 * that fails calls ctl_later_cancel() first. */
struct ctl_later *ctl_later_new(const struct ctl_request *q,
                                struct json_object **out);
void ctl_later_end(struct ctl_later *later, const char *error);
void ctl_later_cancel(struct ctl_later *later);

/* May this peer use write verbs?  groups[0..n): all of its groups. */
bool ctl_may_write(uid_t uid, uid_t own, gid_t control, bool has_control,
                   const gid_t *groups, size_t n);

/* Client: send `request` (borrowed) and wait for the answer, at most
 * timeout_ms in all.  0: *reply is the answer to put; a {"ok":false} becomes
 * -1 with its text and errno EREMOTEIO (EACCES when the verb was denied).
 * Else -1 with errno and text: ENOENT, ECONNREFUSED (daemon not there),
 * ETIMEDOUT, EMSGSIZE, EBADMSG. */
int ctl_call(const char *path, struct json_object *request,
             struct json_object **reply, int timeout_ms, struct errbuf *err);

/* The same for a verb without arguments. */
int ctl_ask(const char *path, const char *verb, struct json_object **reply,
            int timeout_ms, struct errbuf *err);

/* What one of several daemons said. */
struct ctl_answer {
    const char *path;          /* whom to ask; borrowed */
    struct json_object *reply; /* to put; NULL: an error of ctl_call() */
    int error;
    struct errbuf why;
};
/* Ask n <= SF_CTL_ASK_MAX daemons the same at the same time: at most timeout_ms
 * for all of them together.  Who has not answered by then has ETIMEDOUT, and
 * the others have their answers. */
void ctl_ask_all(struct ctl_answer *asked, size_t n, const char *verb,
                 int timeout_ms);

#endif
