/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening credentials.  munged is asked beside the loop (base/clerk.h), as its
 * answer may take seconds.  A credential is opened when it is first seen; when
 * that is done every connection that waits asks again and finds its own.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clerk.h"
#include "base/limits.h"
#include "base/seal.h"
#include "impid/impi_server.h"

struct opener {
    struct clerk *clerk;
    LIST_HEAD(, opening) openings;
};

struct opening {
    struct clerk_job job; /* first */
    LIST_ENTRY(opening) next;
    struct server *server;
    char *cred;
    bool done; /* the rest is filled */
    int rc;
    struct seal_info info;
    void *data;
    size_t len;
    struct errbuf err;
};

/* ---- one credential ---- */

static void forget(struct opening *o)
{
    LIST_REMOVE(o, next);
    free(o->cred);
    free(o->data);
    free(o);
}

/* In the clerk's thread. */
static void ask_munged(struct clerk_job *job)
{
    struct opening *o = (struct opening *)job;
    const char *munge = o->server->start.munge;

    o->rc = seal_open(&o->data, &o->len, &o->info, o->cred,
                      munge[0] ? munge : NULL, &o->err);
}

/* Whose connection has gone meanwhile, nobody asks for. */
static void answered(struct clerk_job *job, bool cancelled)
{
    struct opening *o = (struct opening *)job;

    o->done = true;
    if (!cancelled)
        server_worlds_retry(o->server);
    forget(o);
}

/* ---- what the method asks ---- */

static int begin(struct server *s, const char *cred, struct errbuf *err)
{
    struct opening *o = calloc(1, sizeof(*o));

    if (o)
        o->cred = strdup(cred);
    if (!o || !o->cred) {
        free(o);
        return errprintf(err, "credential: out of memory");
    }
    o->job.work = ask_munged;
    o->job.done = answered;
    o->server = s;
    LIST_INSERT_HEAD(&s->opener->openings, o, next);
    if (clerk_give(s->opener->clerk, &o->job) == 0)
        return 1;
    forget(o);
    return errprintf(err, "credential: too many at once");
}

/* It must be of the user whose job this is. */
static int judge(const struct opening *o, struct bytebuf *payload,
                 struct errbuf *err)
{
    if (o->rc < 0)
        return errprintf(err, "%s", o->err.text);
    bytebuf_add(payload, o->data, o->len);
    if (o->info.uid != getuid())
        return errprintf(err, "credential: made by uid %u, not by the job's",
                         (unsigned)o->info.uid);
    if (o->info.expired)
        return errprintf(err, "credential: expired (clocks of the nodes?)");
    return 0;
}

static int start(struct server *s, struct errbuf *err)
{
    struct opener *o = calloc(1, sizeof(*o));

    if (o)
        o->clerk = clerk_new(s->loop, 2 * SF_IMPI_PENDING_MAX);
    if (!o || !o->clerk) {
        free(o);
        return errprintf(err, "credential: no thread to open it");
    }
    LIST_INIT(&o->openings);
    s->opener = o;
    return 0;
}

int server_credential(void *arg, const char *cred, struct bytebuf *payload,
                      struct errbuf *err)
{
    struct server *s = arg;
    struct opening *o;

    if (!s->opener && start(s, err) < 0)
        return -1;
    LIST_FOREACH(o, &s->opener->openings, next)
    if (strcmp(o->cred, cred) == 0)
        return o->done ? judge(o, payload, err) : 1;
    return begin(s, cred, err);
}

void server_credential_stop(struct server *s)
{
    if (!s->opener || !clerk_free(s->opener->clerk))
        return; /* with munged: the process ends without it */
    free(s->opener);
    s->opener = NULL;
}
