/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "elan/capability.h"
#include "elan/program_serve.h"

struct call {
    struct program_held *held;
    const struct program_peer *peer;
    struct program_request request;
};

/* Each verb: returns an errno, or 0 and has put its answer. */
typedef int verb_f(struct call *c, struct be_writer *reply);

static int do_ncaps(struct call *c, struct be_writer *reply)
{
    be_put32(reply, (uint32_t)c->held->program.ncaps);
    return 0;
}

static int do_getcap(struct call *c, struct be_writer *reply)
{
    struct elan_capability cap;
    int error = program_get_cap(&c->held->program, c->peer->chain,
                                c->peer->nchain, c->request.a, &cap);

    if (error == 0)
        elan_capability_put(reply, &cap);
    explicit_bzero(&cap, sizeof(cap));
    return error;
}

static bool in_chain(const struct program_peer *peer,
                     const struct program_process *p)
{
    for (size_t i = 0; i < peer->nchain; i++)
        if (peer->chain[i].pid == p->pid && peer->chain[i].start == p->start)
            return true;
    return false;
}

/* A context is free again when the process that took it has ended.  A child
 * may repeat what its parent did: it has that context anyway. */
static int do_setcap(struct call *c, struct be_writer *reply)
{
    struct program_process holder;
    struct program *p = &c->held->program;
    int error = program_set_cap(p, &c->peer->chain[0], c->request.a,
                                c->request.b, &holder);

    (void)reply;
    program_account_note(&c->held->account, &c->peer->chain[0]);
    if (error == EBUSY && in_chain(c->peer, &holder))
        return 0;
    if (error == EBUSY && !program_process_lives(&holder)) {
        program_forget(p, &holder);
        error = program_set_cap(p, &c->peer->chain[0], c->request.a,
                                c->request.b, &holder);
    }
    return error;
}

static int do_prgid(struct call *c, struct be_writer *reply)
{
    int has = c->peer->member;

    if (c->request.a != 0)
        has = program_cgroup_has(&c->held->group, c->request.a);
    if (has < 0)
        return errno;
    if (!has)
        return ESRCH;
    be_put32(reply, (uint32_t)c->held->program.number);
    return 0;
}

static int do_info(struct call *c, struct be_writer *reply)
{
    int max = c->request.a, n;
    pid_t *pids;

    if (max < 0 || max > SF_PROGRAM_PIDS_MAX - 8)
        max = SF_PROGRAM_PIDS_MAX - 8;
    pids = calloc((size_t)max + 1, sizeof(*pids));
    if (!pids)
        return ENOMEM;
    n = program_cgroup_pids(&c->held->group, pids, max, PROGRAM_SKIP(c->held),
                            NULL);
    if (n >= 0) {
        be_put32(reply, (uint32_t)n);
        for (int i = 0; i < n && i < max; i++)
            be_put32(reply, (uint32_t)pids[i]);
    }
    free(pids);
    return n < 0 ? EIO : 0;
}

static int do_stats(struct call *c, struct be_writer *reply)
{
    program_account_look(&c->held->account, &c->held->group,
                         PROGRAM_SKIP(c->held));
    program_stats_put(reply, &c->held->account.stats);
    return 0;
}

static int do_signal(struct call *c, struct be_writer *reply)
{
    int signo = c->request.a, sent;

    (void)reply;
    if (signo < 0 || signo > SIGRTMAX)
        return EINVAL;
    sent = program_cgroup_signal(&c->held->group, signo, PROGRAM_SKIP(c->held),
                                 NULL);
    return sent < 0 ? EIO : sent == 0 ? ESRCH : 0;
}

static int do_suspend(struct call *c, struct be_writer *reply)
{
    bool stop = c->request.verb == PROGRAM_SUSPEND;

    (void)reply;
    if (program_cgroup_freeze(&c->held->group, stop, PROGRAM_SKIP(c->held),
                              NULL) < 0)
        return EIO;
    c->held->suspended = stop;
    return 0;
}

static int do_addcap(struct call *c, struct be_writer *reply)
{
    (void)reply;
    return program_add_cap(&c->held->program, c->request.a, c->request.cap);
}

int program_held_empty(struct program_held *held)
{
    if (program_cgroup_lives(&held->group)) {
        program_account_look(&held->account, &held->group, PROGRAM_SKIP(held));
        if (program_cgroup_empty(&held->group, SF_PROGRAM_KILL_SECONDS * 1000,
                                 NULL) < 0)
            return errno;
    }
    program_account_end(&held->account, &held->group);
    return 0;
}

static int do_destroy(struct call *c, struct be_writer *reply)
{
    int error = program_held_empty(c->held);

    if (error == 0 && program_cgroup_remove(&c->held->group, NULL) < 0)
        error = errno;
    if (error != 0)
        return error;
    program_stats_put(reply, &c->held->account.stats);
    c->held->done = true;
    return 0;
}

static verb_f *const verbs[PROGRAM_VERBS] = {
    [PROGRAM_NCAPS] = do_ncaps,     [PROGRAM_GETCAP] = do_getcap,
    [PROGRAM_SETCAP] = do_setcap,   [PROGRAM_PRGID] = do_prgid,
    [PROGRAM_INFO] = do_info,       [PROGRAM_STATS] = do_stats,
    [PROGRAM_SIGNAL] = do_signal,   [PROGRAM_SUSPEND] = do_suspend,
    [PROGRAM_RESUME] = do_suspend,  [PROGRAM_ADDCAP] = do_addcap,
    [PROGRAM_DESTROY] = do_destroy,
};

static bool allowed(const struct program_held *held,
                    const struct program_peer *peer, uint32_t verb)
{
    bool owner = peer->uid == held->program.uid;

    switch (program_verb_right(verb)) {
    case PROGRAM_MEMBER:
        return peer->member && owner;
    case PROGRAM_OWNER:
        return owner || peer->uid == 0;
    default:
        return peer->uid == 0;
    }
}

void program_serve(struct program_held *held, const struct program_peer *peer,
                   const void *request, size_t len, struct be_writer *reply,
                   void *buf, size_t size)
{
    struct elan_capability cap;
    struct call c = {.held = held, .peer = peer, .request.cap = &cap};
    int error = EPROTO;

    program_reply_begin(reply, buf, size, 0);
    if (program_request_get(&c.request, request, len) == 0)
        error = allowed(held, peer, c.request.verb)
                    ? verbs[c.request.verb](&c, reply)
                    : EPERM;
    if (error == 0 && reply->bad)
        error = EMSGSIZE;
    if (error != 0)
        program_reply_begin(reply, buf, size, error);
    explicit_bzero(&cap, sizeof(cap));
}
