/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The process's end of its connection to impid.
 */
#include "libimpi/agent.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd_pass.h"
#include "base/local.h"
#include "impi/spawn.h"

/* How long the library is not called while the world comes together. */
enum { JOIN_NAP_MS = 10 };

int agent_connect(struct agent_conn *a, const char *path, struct errbuf *err)
{
    memset(a, 0, sizeof(*a));
    a->fd = local_connect(path, SOCK_STREAM, 0);
    if (a->fd >= 0)
        return 0;
    if (errno == ENAMETOOLONG)
        return errprintf(err, "SLURM_IMPI_AGENT is too long: %s", path);
    /* The step's directory is its user's alone. */
    if (errno == EACCES)
        return errprintf(err,
                         "cannot reach impid at %s: user %u is not the job's "
                         "(in a container run the program as its root, or by "
                         "podman run --userns=keep-id: doc/containers.md)",
                         path, (unsigned)geteuid());
    return errprintf(err, "cannot reach impid at %s: %s", path,
                     strerror(errno));
}

void agent_close(struct agent_conn *a)
{
    if (a->fd >= 0)
        close(a->fd);
    free(a->buf);
    a->fd = -1;
    a->buf = NULL;
    a->len = a->size = 0;
}

/* With MSG_DONTWAIT all of it or nothing: half a frame would make nonsense of
 * those behind it. */
static int send_all(struct agent_conn *a, const uint8_t *buf, size_t len,
                    int flags)
{
    while (len > 0) {
        ssize_t n = send(a->fd, buf, len, MSG_NOSIGNAL | flags);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        buf += n;
        len -= (size_t)n;
        flags = 0;
    }
    return 0;
}

static int send_frame(struct agent_conn *a, const uint8_t *buf, ssize_t len,
                      struct errbuf *err)
{
    if (len < 0 || send_all(a, buf, (size_t)len, 0) < 0)
        return errprintf(err, "lost the connection to impid: %s",
                         strerror(errno));
    return 0;
}

static int reserve(struct agent_conn *a)
{
    uint8_t *p;

    if (a->len < a->size)
        return 0;
    p = realloc(a->buf, a->size ? 2 * a->size : 4096);
    if (!p)
        return -1;
    a->size = a->size ? 2 * a->size : 4096;
    a->buf = p;
    return 0;
}

/* A descriptor may travel with any byte. */
static ssize_t receive(struct agent_conn *a, int *fd)
{
    int got;
    ssize_t n = fd_pass_receive(a->fd, a->buf + a->len, a->size - a->len, &got,
                                1, NULL, 0);

    if (got < 0)
        return n;
    if (*fd >= 0)
        close(*fd);
    *fd = got;
    return n;
}

static void do_meanwhile(const struct agent_conn *a)
{
    struct pollfd p = {.fd = a->fd, .events = POLLIN};

    while (a->meanwhile && poll(&p, 1, JOIN_NAP_MS) <= 0)
        a->meanwhile();
}

/* Wait for one frame.  It borrows from a->buf. */
static int next_frame(struct agent_conn *a, struct task_frame *frame, int *fd,
                      struct errbuf *err)
{
    ssize_t n;

    for (;;) {
        n = task_frame_parse(frame, a->buf, a->len, SF_TASK_REPLY_MAX);
        if (n > 0)
            return (int)n;
        if (errno != EAGAIN)
            return errprintf(err, "impid sent nonsense");
        if (reserve(a) < 0)
            return errprintf(err, "no memory");
        do_meanwhile(a);
        n = receive(a, fd);
        if (n == 0)
            return errprintf(err, "impid closed the connection");
        if (n > 0)
            a->len += (size_t)n;
        else if (errno != EINTR)
            return errprintf(err, "lost the connection to impid: %s",
                             strerror(errno));
    }
}

static void drop_frame(struct agent_conn *a, int n)
{
    a->len -= (size_t)n;
    memmove(a->buf, a->buf + n, a->len);
}

/* A step that we had started has ended, at any time: take that out. */
static bool take_ended(struct agent_conn *a, const struct task_frame *frame)
{
    struct agent_ended *e = &a->ended[a->nended % 8];

    if (frame->type != TASK_SPAWNED)
        return false;
    if (impi_spawned_decode(&e->number, e->why, sizeof(e->why), frame->payload,
                            frame->len) == 0)
        a->nended++;
    drop_frame(a, (int)(TASK_HEADER_SIZE + frame->len));
    return true;
}

/* n if it is of this type; an ERROR in its place becomes our error. */
static int check_type(const struct task_frame *frame, uint32_t type, int n,
                      struct errbuf *err)
{
    struct task_text text;

    if (frame->type == type)
        return n;
    if (frame->type == TASK_ERROR &&
        task_error_decode(&text, frame->payload, frame->len) == 0)
        return errprintf(err, "%s", text.text);
    return errprintf(err, "impid sent frame %u where %u was due", frame->type,
                     type);
}

/* Wait for a frame of this type. */
static int expect(struct agent_conn *a, uint32_t type, struct task_frame *frame,
                  int *fd, struct errbuf *err)
{
    int none = -1, n;

    do
        n = next_frame(a, frame, fd ? fd : &none, err);
    while (n >= 0 && take_ended(a, frame));
    if (none >= 0)
        close(none);
    return n < 0 ? -1 : check_type(frame, type, n, err);
}

int agent_hello(struct agent_conn *a, const struct task_hello *hello,
                struct task_env *env, int *fd, struct errbuf *err)
{
    uint8_t buf[2 * SF_TASK_TEXT_MAX];
    struct task_frame frame;
    int n;

    *fd = -1;
    if (send_frame(a, buf, task_hello_encode(buf, sizeof(buf), hello), err) < 0)
        return -1;
    n = expect(a, TASK_ENV, &frame, fd, err);
    if (n >= 0 && task_env_decode(env, frame.payload, frame.len) < 0)
        n = errprintf(err, "impid sent a broken environment");
    if (n >= 0) {
        drop_frame(a, n);
        return 0;
    }
    if (*fd >= 0)
        close(*fd);
    return -1;
}

/* WORLD with the table, and before it perhaps the socket of a relay.  (One
 * call receives one descriptor at most, with the frame that it was sent with.)
 */
static int expect_world(struct agent_conn *a, struct task_frame *frame,
                        int *relay, int *table, struct errbuf *err)
{
    int n = next_frame(a, frame, table, err);

    if (n >= 0 && frame->type == TASK_RELAY && frame->len == 0) {
        drop_frame(a, n);
        *relay = *table;
        *table = -1;
        if (*relay < 0)
            return errprintf(err, "impid sent no socket for packets");
        n = next_frame(a, frame, table, err);
    }
    n = n < 0 ? -1 : check_type(frame, TASK_WORLD, n, err);
    if (n >= 0 && *table < 0)
        return errprintf(err, "impid sent no table of the world");
    return n;
}

int agent_join(struct agent_conn *a, const struct task_join *join,
               void (*meanwhile)(void), struct impi_world *world, int *relay,
               int *table, struct errbuf *err)
{
    uint8_t buf[128];
    struct task_frame frame;
    int n;

    *relay = *table = -1;
    if (send_frame(a, buf, task_join_encode(buf, sizeof(buf), join), err) < 0)
        return -1;
    a->meanwhile = meanwhile;
    n = expect_world(a, &frame, relay, table, err);
    a->meanwhile = NULL;
    if (n < 0 ||
        impi_world_decode_head(world, frame.payload, frame.len, err) < 0)
        return -1;
    drop_frame(a, n);
    return 0;
}

static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

static int ask(struct agent_conn *a, uint32_t type, uint32_t answer,
               struct task_proof *proof, struct errbuf *err)
{
    uint8_t buf[TASK_PROOF_SIZE];
    struct task_frame frame;
    int n;

    if (send_frame(a, buf, task_proof_encode(buf, sizeof(buf), type, proof),
                   err) < 0)
        return -1;
    n = expect(a, answer, &frame, NULL, err);
    if (n < 0)
        return -1;
    if (task_proof_decode(proof, frame.payload, frame.len) < 0)
        errprintf(err, "impid sent a broken proof");
    else if (proof->text[0])
        errprintf(err, "%s", proof->text);
    else
        n = 0;
    drop_frame(a, (int)(TASK_HEADER_SIZE + frame.len));
    return n ? -1 : 0;
}

static int ask_alone(struct agent_conn *a, uint32_t type, uint32_t answer,
                     struct task_proof *proof, struct errbuf *err)
{
    int rc;

    pthread_mutex_lock(&asking);
    rc = ask(a, type, answer, proof, err);
    pthread_mutex_unlock(&asking);
    return rc;
}

int agent_prove(struct agent_conn *a, const uint8_t about[TASK_ABOUT_SIZE],
                char credential[SF_IMPI_CREDENTIAL_MAX], struct errbuf *err)
{
    struct task_proof proof = {.text = ""};

    memcpy(proof.about, about, sizeof(proof.about));
    if (ask_alone(a, TASK_PROVE, TASK_PROOF, &proof, err) < 0)
        return -1;
    strcpy(credential, proof.credential);
    return 0;
}

int agent_check(struct agent_conn *a, const uint8_t about[TASK_ABOUT_SIZE],
                const char *credential, struct errbuf *err)
{
    struct task_proof proof = {.text = ""};

    memcpy(proof.about, about, sizeof(proof.about));
    snprintf(proof.credential, sizeof(proof.credential), "%s", credential);
    return ask_alone(a, TASK_CHECK, TASK_CHECKED, &proof, err);
}

int agent_claim(struct agent_conn *a, const struct task_claim *claim)
{
    uint8_t buf[TASK_HEADER_SIZE + sizeof(*claim)];
    struct task_frame frame;
    struct errbuf err;
    int fd = -1, n = -1;

    pthread_mutex_lock(&asking);
    if (send_frame(a, buf, task_claim_encode(buf, sizeof(buf), claim), &err) ==
        0)
        n = expect(a, TASK_CLAIMED, &frame, &fd, &err);
    if (n >= 0)
        drop_frame(a, n);
    pthread_mutex_unlock(&asking);
    if (n >= 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int agent_spawn(struct agent_conn *a, const void *request, size_t len,
                struct errbuf *err)
{
    uint8_t *buf = malloc(TASK_HEADER_SIZE + len);
    int rc;

    if (!buf)
        return errprintf(err, "no memory");
    pthread_mutex_lock(&asking);
    rc = send_frame(a, buf,
                    task_frame_encode(buf, TASK_HEADER_SIZE + len, TASK_SPAWN,
                                      request, len),
                    err);
    pthread_mutex_unlock(&asking);
    explicit_bzero(buf, TASK_HEADER_SIZE + len);
    free(buf);
    return rc;
}

/* What has come, without waiting.  -1: the connection is gone. */
static int look(struct agent_conn *a)
{
    struct pollfd p = {.fd = a->fd, .events = POLLIN};
    struct task_frame frame;
    int none = -1;

    while (poll(&p, 1, 0) > 0) {
        ssize_t n;

        if (reserve(a) < 0)
            return 0;
        n = receive(a, &none);

        if (n <= 0 && errno != EINTR)
            return -1;
        a->len += n > 0 ? (size_t)n : 0;
        while (task_frame_parse(&frame, a->buf, a->len, SF_TASK_REPLY_MAX) > 0)
            if (!take_ended(a, &frame))
                return 0;
    }
    return 0;
}

bool agent_spawned(struct agent_conn *a, uint32_t number, struct errbuf *why)
{
    bool ended = false;

    pthread_mutex_lock(&asking);
    if (look(a) < 0)
        ended = errprintf(why, "lost the connection to impid");
    for (unsigned i = 0; !ended && i < 8; i++)
        if (a->ended[i].number == number)
            ended = errprintf(why, "%s", a->ended[i].why);
    pthread_mutex_unlock(&asking);
    return ended;
}

int agent_finish(struct agent_conn *a, struct errbuf *err)
{
    uint8_t buf[TASK_HEADER_SIZE];
    struct task_frame frame;
    ssize_t len = task_frame_encode(buf, sizeof(buf), TASK_FINISH, NULL, 0);

    if (send_frame(a, buf, len, err) < 0)
        return -1;
    return expect(a, TASK_FINISHED, &frame, NULL, err) < 0 ? -1 : 0;
}

void agent_abort(struct agent_conn *a, int code, const char *text)
{
    uint8_t buf[2 * SF_TASK_TEXT_MAX];
    struct task_abort abort_frame = {.code = code};
    ssize_t len;

    if (a->fd < 0)
        return;
    strncpy(abort_frame.text, text, sizeof(abort_frame.text) - 1);
    len = task_abort_encode(buf, sizeof(buf), &abort_frame);
    if (len > 0)
        send_all(a, buf, (size_t)len, MSG_DONTWAIT);
}

void agent_stage(struct agent_conn *a, uint32_t stage)
{
    uint8_t buf[64];
    struct task_stage s = {.stage = stage};
    ssize_t len = task_stage_encode(buf, sizeof(buf), &s);

    if (a->fd >= 0 && len > 0)
        send_all(a, buf, (size_t)len, MSG_DONTWAIT);
}

void agent_exiting(struct agent_conn *a, int code)
{
    uint8_t buf[64];
    struct task_exiting exiting = {.code = code};
    ssize_t len = task_exiting_encode(buf, sizeof(buf), &exiting);

    if (a->fd >= 0 && len > 0)
        send_all(a, buf, (size_t)len, MSG_DONTWAIT);
}
