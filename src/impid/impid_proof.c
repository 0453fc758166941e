/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who the user of a process is, for another world that it meets by a port
 * (impi/couple.h).  munged is asked beside the loop (base/clerk.h), as its
 * answer may take seconds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clerk.h"
#include "base/seal.h"
#include "impid/impid.h"

#define WAITING_MAX 256 /* processes of one node that ask at once */

/* One question of a process, which may go meanwhile. */
struct impid_question {
    struct clerk_job job;    /* first */
    struct impid_proc *proc; /* NULL: gone */
    char *munge;             /* socket, NULL: the default */
    bool any_user;
    uint32_t answer; /* enum task_frame_type */
    struct task_proof proof;
};

static void answer(struct impid_proc *p, uint32_t type,
                   const struct task_proof *proof)
{
    uint8_t buf[TASK_PROOF_SIZE];
    ssize_t n = task_proof_encode(buf, sizeof(buf), type, proof);

    if (n > 0 && !p->lost)
        impid_stream_write(&p->stream, buf, (size_t)n);
}

static void say(struct task_proof *t, const char *what, const char *why)
{
    snprintf(t->text, sizeof(t->text), "SF-E519: %s: %.400s", what, why);
}

static void prove(struct impid_question *q)
{
    struct task_proof *t = &q->proof;
    struct errbuf err = {""};
    char *cred = NULL;

    t->credential[0] = t->text[0] = '\0';
    if (seal_make(&cred, t->about, sizeof(t->about), SEAL_ANY_UID, 0, q->munge,
                  &err) == 0 &&
        strlen(cred) < sizeof(t->credential))
        strcpy(t->credential, cred);
    else if (!q->any_user)
        say(t, "the user cannot be proved to the other world", err.text);
    free(cred);
}

static void check(struct impid_question *q)
{
    struct task_proof *t = &q->proof;
    struct seal_info info = {.uid = (uid_t)-1};
    struct errbuf err = {""}, why = {""};
    void *data = NULL;
    size_t len = 0;

    t->text[0] = '\0';
    if (q->any_user)
        return;
    if (seal_open(&data, &len, &info, t->credential, q->munge, &why) < 0) {
        errprintf(&err,
                  "%s (two clusters need one MUNGE key, or PortUsers=any in "
                  "impi.conf of both)",
                  why.text);
    } else {
        if (len != sizeof(t->about) || memcmp(data, t->about, len) != 0)
            errprintf(&err, "its credential is about something else");
        else if (info.expired)
            errprintf(&err, "its credential has expired (clocks?)");
        else if (info.uid != getuid())
            errprintf(&err,
                      "it belongs to user %u, this one to user %u (PortUsers "
                      "of impi.conf)",
                      (unsigned)info.uid, (unsigned)getuid());
    }
    free(data);
    if (*err.text)
        say(t, "the other world may not meet this one", err.text);
}

/* In the clerk's thread. */
static void work(struct clerk_job *job)
{
    struct impid_question *q = (struct impid_question *)job;

    if (q->answer == TASK_PROOF)
        prove(q);
    else
        check(q);
}

static void done(struct clerk_job *job, bool cancelled)
{
    struct impid_question *q = (struct impid_question *)job;

    if (q->proc) {
        q->proc->question = NULL;
        if (!cancelled)
            answer(q->proc, q->answer, &q->proof);
    }
    explicit_bzero(&q->proof, sizeof(q->proof));
    free(q->munge);
    free(q);
}

static int begin(struct impid_proc *p, struct impid_question *q)
{
    struct impid *a = p->impid;

    if (!a->clerk && !(a->clerk = clerk_new(a->loop, WAITING_MAX)))
        return -1;
    if (a->conf.munge && a->conf.munge[0] &&
        !(q->munge = strdup(a->conf.munge)))
        return -1;
    q->job.work = work;
    q->job.done = done;
    q->proc = p;
    q->any_user = a->conf.site.any_user;
    return clerk_give(a->clerk, &q->job);
}

int impid_proof_ask(struct impid_proc *p, const struct task_frame *f)
{
    struct impid_question *q = calloc(1, sizeof(*q));
    struct task_proof none = {.text = ""};

    if (p->question ||
        (q && task_proof_decode(&q->proof, f->payload, f->len))) {
        free(q);
        return -1;
    }
    if (q)
        q->answer = f->type == TASK_PROVE ? TASK_PROOF : TASK_CHECKED;
    if (q && begin(p, q) == 0) {
        p->question = q;
        return 0;
    }
    say(&none, "munged cannot be asked", strerror(errno));
    answer(p, f->type == TASK_PROVE ? TASK_PROOF : TASK_CHECKED, &none);
    if (q)
        free(q->munge);
    free(q);
    return 0;
}

void impid_proof_forget(struct impid_proc *p)
{
    if (p->question)
        p->question->proc = NULL;
}
