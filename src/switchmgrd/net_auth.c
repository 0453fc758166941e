/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who may report: a credential made by root or the service user on the node
 * that the report is about.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clerk.h"
#include "base/seal.h"
#include "elan/hostlist.h"
#include "switchmgrd/net.h"

static enum net_verdict refuse(struct net *n, uint64_t *counter,
                               const char *who, const char *why)
{
    char text[192];

    (*counter)++;
    snprintf(text, sizeof(text), "report of %.60s refused: %.110s", who, why);
    net_events_alarm(text, net_now(), n);
    return NET_BAD;
}

/* A liar, or a node whose munged goes by another address than NodeAddr. */
static enum net_verdict refuse_host(struct net *n, const char *who,
                                    in_addr_t from, struct in_addr own)
{
    char a[INET_ADDRSTRLEN], b[INET_ADDRSTRLEN], why[128];

    inet_ntop(AF_INET, &from, a, sizeof(a));
    inet_ntop(AF_INET, &own, b, sizeof(b));
    snprintf(why, sizeof(why),
             "made on another host (%s, not %s; see Reporters in "
             "switchmgr.conf)",
             a, b);
    return refuse(n, &n->count.refused_host, who, why);
}

/* A mapper that is cut off goes on reporting: that is no alarm. */
static enum net_verdict not_taken(struct net *n, const char *who,
                                  const char *why)
{
    if (errno != EAGAIN)
        refuse(n, &n->count.refused_model, who, why);
    else
        n->count.refused_model++;
    return NET_REFUSED;
}

/* The machine's own loopback is as good as its sockets in the file system. */
static bool is_here(struct in_addr from)
{
    return from.s_addr == 0 || from.s_addr == htonl(INADDR_LOOPBACK);
}

static enum net_verdict refuse_source(struct net *n, const char *who,
                                      struct in_addr from, struct in_addr own)
{
    char a[INET_ADDRSTRLEN], b[INET_ADDRSTRLEN], why[160];

    inet_ntop(AF_INET, &from, a, sizeof(a));
    inet_ntop(AF_INET, &own, b, sizeof(b));
    snprintf(why, sizeof(why),
             "sent from another host (%s, not %s; see CheckSource in "
             "switchmgr.conf)",
             a, b);
    return refuse(n, &n->count.refused_host, who, why);
}

static bool listed(const char *list, const char *name)
{
    struct elan_names names;
    bool found = false;

    if (!list || !*list)
        return true; /* no list: any */
    if (elan_hostlist_expand(&names, list, NULL) < 0)
        return false;
    for (uint32_t i = 0; i < names.n && !found; i++)
        found = strcmp(names.name[i], name) == 0;
    elan_names_free(&names);
    return found;
}

static bool check_role(struct net *n, const struct report *r)
{
    switch (r->from) {
    case REPORT_MAPPERD:
        return listed(n->conf.mapper_nodes, r->node);
    case REPORT_LINKS:
        return n->conf.link_nodes && listed(n->conf.link_nodes, r->node);
    case REPORT_HSND:
        break;
    }
    return true;
}

/* Where a credential was made the munged there says, which root of that node
 * may have told anything: it must also have come from there. */
static enum net_verdict take(struct net *n, const struct report *r,
                             const struct seal_info *info, struct in_addr from)
{
    struct net_peer *p = net_peer_find(n, r->node);
    struct in_addr own = {p ? net_peer_addr(p).s_addr : 0};
    struct errbuf err;

    if (info->uid != 0 && info->uid != n->service_uid &&
        (info->uid != n->mapper_uid || r->from != REPORT_MAPPERD))
        return refuse(n, &n->count.refused_uid, r->node,
                      "made by an ordinary user");
    if (own.s_addr == 0)
        return refuse(n, &n->count.refused_host, r->node,
                      "its address is not known");
    if (info->addr_be != own.s_addr)
        return refuse_host(n, r->node, info->addr_be, own);
    if (n->conf.check_source && !is_here(from) && from.s_addr != own.s_addr)
        return refuse_source(n, r->node, from, own);
    if (!check_role(n, r)) {
        errno = EPERM;
        return not_taken(n, r->node, "it may not report this");
    }
    if (model_input(n->model, r, net_now(), &err) < 0)
        return not_taken(n, r->node, err.text);
    n->count.accepted++;
    return NET_ACCEPTED;
}

/* A credential at munged, which may let one wait. */
struct opening {
    struct clerk_job job; /* first */
    struct net *net;
    net_auth_done_f *done;
    void *arg;
    char *cred, *munge_socket;
    struct in_addr from;
    struct seal_info info;
    struct errbuf err;
    void *text;
    size_t len;
    int rc;
};

static void opening_free(struct opening *o)
{
    if (!o)
        return;
    free(o->cred);
    free(o->munge_socket);
    free(o->text);
    free(o);
}

/* In the clerk's thread. */
static void ask_munged(struct clerk_job *job)
{
    struct opening *o = (struct opening *)job;

    o->rc = seal_open(&o->text, &o->len, &o->info, o->cred, o->munge_socket,
                      &o->err);
}

static enum net_verdict take_opened(struct opening *o)
{
    struct net *n = o->net;
    enum net_verdict verdict;
    struct report r;

    if (o->rc < 0)
        return refuse(n, &n->count.refused_munge, "somebody", o->err.text);
    if (o->info.replayed || o->info.expired)
        return refuse(n, &n->count.refused_munge, "somebody",
                      o->info.replayed ? "a credential seen before"
                                       : "too old");
    if (report_decode(&r, o->text, o->len, &o->err) < 0)
        return refuse(n, &n->count.malformed, "somebody", o->err.text);
    verdict = take(n, &r, &o->info, o->from);
    report_free(&r);
    return verdict;
}

static void answered(struct clerk_job *job, bool cancelled)
{
    struct opening *o = (struct opening *)job;
    net_auth_done_f *done = o->done;
    void *arg = o->arg;
    enum net_verdict verdict = cancelled ? NET_REFUSED : take_opened(o);

    opening_free(o);
    if (!cancelled && done)
        done(verdict, arg);
}

struct opening *net_auth_ask(struct net *n, const char *cred, size_t len,
                             struct in_addr from, net_auth_done_f *done,
                             void *arg)
{
    struct opening *o = calloc(1, sizeof(*o));

    if (!o)
        return NULL;
    *o = (struct opening){.job = {ask_munged, answered, NULL},
                          .net = n,
                          .from = from,
                          .done = done,
                          .arg = arg};
    o->cred = strndup(cred, len);
    if (n->conf.munge_socket)
        o->munge_socket = strdup(n->conf.munge_socket);
    if (o->cred && (o->munge_socket || !n->conf.munge_socket) &&
        clerk_give(n->clerk, &o->job) == 0)
        return o;
    opening_free(o);
    return NULL;
}

void net_auth_forget(struct opening *o)
{
    o->done = NULL;
}
