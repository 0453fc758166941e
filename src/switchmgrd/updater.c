/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sitedir.h"
#include "switchmgrd/net_clock.h"
#include "switchmgrd/topology.h"
#include "switchmgrd/updater.h"
#include "switchmgrd/updater_apply.h"

struct upd_node *upd_node_make(struct updater *u, const char *name)
{
    struct upd_node *n;

    if (strlen(name) >= sizeof(n->name))
        return NULL;
    HASH_FIND_STR(u->nodes, name, n);
    if (n)
        return n;
    if (HASH_COUNT(u->nodes) >= SF_SWITCHMGR_NODES_MAX)
        return NULL;
    n = calloc(1, sizeof(*n));
    if (!n)
        return NULL;
    strcpy(n->name, name);
    HASH_ADD_STR(u->nodes, name, n);
    return n;
}

/* A want of a node that Slurm does not have is dropped: the network side
 * sends it again when it hears of the node. */
static void take_want(struct updater *u, const struct plan_want *want)
{
    struct upd_node *n;

    if (!plan_want_valid(want)) {
        log_error("SF-E703: the network side sent a want that is none");
        return;
    }
    HASH_FIND_STR(u->nodes, want->node, n);
    if (!n)
        return;
    if (!want->drain)
        n->dry_drained = n->capped = 0;
    if (!n->wanted || memcmp(&n->want, want, sizeof(*want)) != 0) {
        n->want = *want;
        n->wanted_at = net_now();
        n->wanted = n->dirty = true;
    }
}

/* All records that are there.  -1: the network side has gone. */
static int read_records(struct updater *u)
{
    struct rec_want rec;

    for (;;) {
        ssize_t n = recv(u->fd, &rec, sizeof(rec), MSG_DONTWAIT | MSG_TRUNC);

        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return -1;
        if (n < 0)
            return 0;
        if (n == (ssize_t)sizeof(rec) && rec.type == REC_WANT)
            take_want(u, &rec.want);
        else if (n == (ssize_t)sizeof(struct rec_reload) &&
                 rec.type == REC_RELOAD)
            u->reload = true;
        else
            log_error("SF-E703: the network side sent no record");
    }
}

static uint32_t flags_of(const struct upd_node *n)
{
    bool undone = n->undone && n->want.drain && n->undone == n->want.since;

    return (n->own ? REC_NODE_OWN_DRAIN : 0u) |
           (n->drain ? REC_NODE_DRAIN : 0u) |
           (upd_caps_holds(n) ? REC_NODE_CAPPED : 0u) |
           (undone ? REC_NODE_UNDONE : 0u);
}

/* Tell the network side what it does not know; what does not fit now is told
 * the next time. */
static void tell(struct updater *u)
{
    struct upd_node *n, *next;

    u->status.type = REC_STATUS;
    u->status.nodes = u->status.own_drains = u->status.waiting = 0;
    HASH_ITER(hh, u->nodes, n, next)
    {
        struct rec_node rec = {
            .type = REC_NODE, .flags = flags_of(n), .addr = n->addr};

        u->status.nodes++;
        u->status.own_drains += n->own;
        u->status.waiting += n->wanted && n->dirty;
        if (n->told && n->told_flags == rec.flags)
            continue;
        n->told = false;
        n->told_flags = rec.flags;
        memcpy(rec.name, n->name, sizeof(rec.name));
        if (send(u->fd, &rec, sizeof(rec), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            continue;
        n->told = true;
    }
    send(u->fd, &u->status, sizeof(u->status), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool all_told(const struct updater *u)
{
    for (const struct upd_node *n = u->nodes; n; n = n->hh.next) {
        if (!n->told)
            return false;
    }
    return true;
}

/* Look at Slurm when it is time.  Errors come at growing distances. */
static void poll_slurm(struct updater *u, int64_t *distance)
{
    int64_t now = net_now();
    uint32_t was = u->status.reachable;

    if (now < u->next_poll)
        return;
    if (upd_slurm_load(u) < 0) {
        if (was || *distance == 0)
            log_warn("SF-E702: slurmctld does not answer: %s", u->status.error);
        *distance = *distance ? *distance * 2 : 500;
        if (*distance > u->conf->slurm_poll * 2000)
            *distance = u->conf->slurm_poll * 2000;
    } else {
        if (!was)
            log_info("slurmctld answers, %u nodes", HASH_COUNT(u->nodes));
        *distance = u->conf->slurm_poll * 1000;
        upd_caps_look(u);
    }
    u->next_poll = net_now() + *distance;
}

/* A new topology.conf: in place, then known to slurmctld; not done until both
 * are. */
static void look_at_topology(struct updater *u)
{
    int64_t now = net_now();
    struct errbuf err;
    int rc;

    if (!u->conf->topology_conf || !*u->conf->topology_conf ||
        u->conf->dry_run || now < u->next_topology)
        return;
    u->next_topology = now + (u->reconfigure ? 5000 : 1000);
    if (!u->reconfigure) {
        rc = topology_install(SITEDIR_RUN(TOPOLOGY_CANDIDATE),
                              u->conf->topology_conf, &err);
        if (rc < 0)
            log_error("SF-E707: %s; the old file stays", err.text);
        if (rc != 0)
            u->next_topology = now + u->conf->topology_interval * 1000;
        if (rc <= 0)
            return;
        log_info("%s is new", u->conf->topology_conf);
        u->reconfigure = u->conf->topology_reconfigure;
    }
    if (u->reconfigure && u->status.reachable &&
        upd_slurm_reconfigure(u) == 0) {
        u->reconfigure = false;
        u->next_topology = now + u->conf->topology_interval * 1000;
    }
}

static int time_to_wait(const struct updater *u, bool more)
{
    int64_t now = net_now(), until = u->next_poll;

    /* While slurmctld is away nothing can be done before the next look. */
    if (more && u->status.reachable && u->next_rpc < until)
        until = u->next_rpc;
    if (!all_told(u) && now + 100 < until)
        until = now + 100;
    if (until <= now)
        return 0;
    return until - now > 1000 ? 1000 : (int)(until - now);
}

static void report_line(const char *text, void *arg)
{
    log_error("SF-E700: %s", text);
}

/* The network side, which has its own look at the file, found it good. */
static void reload(struct updater *u)
{
    struct mgrconf fresh;

    u->reload = false;
    if (mgrconf_read(&fresh, u->conf_path, true, report_line, NULL) < 0)
        return;
    mgrconf_free(u->conf);
    *u->conf = fresh;
    mgrconf_caps(u->conf, &u->caps_conf);
    memset(&u->dry_caps, 0, sizeof(u->dry_caps));
    for (struct upd_node *n = u->nodes; n; n = n->hh.next) {
        upd_dry_forget(n);
        n->capped = 0;
        n->told = false;
        n->dirty = n->wanted;
    }
    u->next_poll = 0;
}

int updater_run(struct mgrconf *conf, const char *conf_path, int fd,
                const char *state_path, volatile int *stop)
{
    struct updater *u = calloc(1, sizeof(*u));
    int64_t distance = 0;
    bool more = false;

    if (!u)
        return 1;
    u->conf = conf;
    u->conf_path = conf_path;
    u->fd = fd;
    u->state_path = state_path;
    mgrconf_caps(conf, &u->caps_conf);
    upd_state_load(u);
    while (!*stop) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (poll(&p, 1, time_to_wait(u, more)) < 0 && errno != EINTR)
            break;
        if (read_records(u) < 0)
            break;
        if (u->reload)
            reload(u);
        poll_slurm(u, &distance);
        look_at_topology(u);
        more = upd_apply(u);
        tell(u);
    }
    free(u); /* its nodes go with the process */
    return *stop ? 0 : 1;
}
