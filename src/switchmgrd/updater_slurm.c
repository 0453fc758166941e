/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The updater's use of Slurm's public API.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <malloc.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "slurmabi/slurm_sym.h"
#include "switchmgrd/steady_clock.h"
#include "switchmgrd/updater.h"

static void set_text(char **dst, const char *src)
{
    if (src && *dst && strcmp(*dst, src) == 0)
        return;
    free(*dst);
    *dst = src ? strdup(src) : NULL;
}

/* Numbers are taken as they are; names are looked up once per change. */
static void set_addr(struct upd_node *n, const char *text)
{
    struct addrinfo hints = {.ai_family = AF_INET}, *found = NULL;

    if (!text || (n->addr_text && strcmp(n->addr_text, text) == 0))
        return;
    set_text(&n->addr_text, text);
    n->told = false;
    if (inet_pton(AF_INET, text, &n->addr) == 1)
        return;
    n->addr.s_addr = 0;
    if (getaddrinfo(text, NULL, &hints, &found) != 0)
        return;
    n->addr = ((struct sockaddr_in *)found->ai_addr)->sin_addr;
    freeaddrinfo(found);
}

static bool is_unusable(uint32_t state)
{
    const uint32_t base = state & NODE_STATE_BASE;

    return base == NODE_STATE_DOWN || base == NODE_STATE_FUTURE ||
           base == NODE_STATE_UNKNOWN ||
           (state & (NODE_STATE_FAIL | NODE_STATE_POWERED_DOWN |
                     NODE_STATE_POWERING_DOWN | NODE_STATE_POWER_DOWN));
}

/* When slurmctld was started; 0 if it does not say.  Asked at most once per
 * load, and only when a drain is missed. */
static int64_t boot_time(struct updater *u)
{
    slurm_conf_t *conf = NULL;

    if (u->boot_time >= 0)
        return u->boot_time;
    u->boot_time = 0;
    if (slurm_load_ctl_conf(0, &conf) == SLURM_SUCCESS) {
        u->boot_time = (int64_t)conf->boot_time * 1000;
        slurmabi_free_conf(conf);
    }
    return u->boot_time;
}

/* A drain of ours has gone.  A slurmctld that was killed forgets what it had
 * not saved: that drain is made again.  Else somebody took it back. */
static void miss_drain(struct updater *u, struct upd_node *n)
{
    if (plan_drain_was_lost(n->own_seen, boot_time(u))) {
        log_info("%s: slurmctld was restarted and has lost our drain", n->name);
        n->lost = n->drained_since;
    } else {
        log_info("%s: our drain was taken back; not again for this fault",
                 n->name);
        n->undone = n->drained_since;
    }
    n->drained_since = 0;
}

/* Take over what Slurm says. */
static void take_node(struct updater *u, const node_info_t *in)
{
    struct upd_node *n = in->name ? upd_node_make(u, in->name) : NULL;
    bool own;

    if (!n)
        return;
    set_text(&n->features, in->features);
    /* Without active features of its own a node has all that it declares. */
    set_text(&n->features_act,
             in->features_act ? in->features_act : in->features);
    set_text(&n->extra, in->extra);
    set_text(&n->comment, in->comment);
    set_text(&n->reason, in->reason);
    set_addr(n, in->node_addr);
    n->state = in->node_state;
    n->unusable = is_unusable(n->state);
    own = (n->state & NODE_STATE_DRAIN) && plan_is_own(n->reason);
    if (own != n->own || n->drain != !!(n->state & NODE_STATE_DRAIN))
        n->told = false;
    n->drain = n->state & NODE_STATE_DRAIN;
    n->own = own;
    if (own)
        n->own_seen = steady_wall(steady_now());
    else if (n->drained_since)
        miss_drain(u, n);
    n->dirty = n->seen = true;
}

static int failed(struct updater *u, const char *what)
{
    int e = errno;

    snprintf(u->status.error, sizeof(u->status.error), "%s: %s", what,
             slurm_strerror(errno));
    u->status.failures++;
    errno = e;
    return -1;
}

/* A node that has gone stays known, without its texts, until it comes back. */
static void forget_gone(struct updater *u)
{
    struct upd_node *n, *next;

    HASH_ITER(hh, u->nodes, n, next)
    {
        if (n->seen)
            continue;
        HASH_DEL(u->nodes, n);
        free(n->features);
        free(n->features_act);
        free(n->extra);
        free(n->comment);
        free(n->reason);
        free(n->addr_text);
        upd_dry_forget(n);
        free(n);
    }
}

/* Slurm before 24.05.5 leaves texts of a node behind: as often as we look,
 * that would be all memory in the end.  What is freed here is NULL for the
 * Slurm that frees it, too. */
static void free_nodes(node_info_msg_t *msg)
{
    for (uint32_t i = 0; i < msg->record_count; i++) {
        slurmabi_free(msg->node_array[i].bcast_address);
        slurmabi_free(msg->node_array[i].comment);
        slurmabi_free(msg->node_array[i].extra);
    }
    slurm_free_node_info_msg(msg);
}

int upd_slurm_load(struct updater *u)
{
    node_info_msg_t *msg = NULL;
    struct upd_node *n, *next;

    u->boot_time = -1;
    if (slurm_load_node((time_t)u->last_update, &msg, SHOW_ALL) !=
        SLURM_SUCCESS) {
        if (errno == SLURM_NO_CHANGE_IN_DATA) {
            u->status.reachable = 1;
            return 0;
        }
        u->status.reachable = 0;
        return failed(u, "slurm_load_node");
    }
    HASH_ITER(hh, u->nodes, n, next)
    n->seen = false;
    for (uint32_t i = 0; i < msg->record_count; i++)
        take_node(u, &msg->node_array[i]);
    forget_gone(u);
    u->last_update = msg->last_update;
    u->status.reachable = 1;
    u->status.error[0] = '\0';
    free_nodes(msg);
    malloc_trim(0); /* thousands of nodes were there for a moment */
    return 1;
}

int upd_slurm_load_one(struct updater *u, struct upd_node *n)
{
    node_info_msg_t *msg = NULL;
    int rc = -1;

    u->boot_time = -1;
    if (slurm_load_node_single(&msg, n->name, SHOW_ALL) != SLURM_SUCCESS)
        return failed(u, "slurm_load_node_single");
    if (msg->record_count == 1 && msg->node_array[0].name &&
        strcmp(msg->node_array[0].name, n->name) == 0) {
        take_node(u, &msg->node_array[0]);
        rc = 0;
    }
    free_nodes(msg);
    return rc;
}

static int send_update(struct updater *u, update_node_msg_t *msg)
{
    slurmabi_update_by(msg, geteuid());
    if (slurm_update_node(msg) != SLURM_SUCCESS)
        return failed(u, "slurm_update_node");
    u->status.updates++;
    return 0;
}

int upd_slurm_set(struct updater *u, const char *nodes, const char *features,
                  const char *extra, const char *comment)
{
    update_node_msg_t msg;

    slurm_init_update_node_msg(&msg);
    msg.node_names = (char *)nodes;
    msg.features_act = (char *)features;
    msg.extra = (char *)extra;
    msg.comment = (char *)comment;
    return send_update(u, &msg);
}

int upd_slurm_drain(struct updater *u, const char *node, const char *reason)
{
    update_node_msg_t msg;

    slurm_init_update_node_msg(&msg);
    msg.node_names = (char *)node;
    msg.node_state = NODE_STATE_DRAIN;
    msg.reason = (char *)reason;
    return send_update(u, &msg);
}

int upd_slurm_resume(struct updater *u, const char *node)
{
    update_node_msg_t msg;

    slurm_init_update_node_msg(&msg);
    msg.node_names = (char *)node;
    msg.node_state = NODE_STATE_UNDRAIN;
    return send_update(u, &msg);
}

int upd_slurm_reconfigure(struct updater *u)
{
    if (slurm_reconfigure() != SLURM_SUCCESS)
        return failed(u, "slurm_reconfigure");
    return 0;
}
