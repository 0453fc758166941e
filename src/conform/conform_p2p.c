/* SPDX-License-Identifier: BSD-3-Clause
 * Point-to-point operations.
 *
 *   send   to tag type count seed mode comm [req] [persistent=1]
 *   recv   from tag type count seed comm [req] [got source realtag error]
 *   sendrecv to from tag type count seed rseed comm
 *   probe  from tag type comm got [source realtag] [matched=1 seed]
 *   nothing from tag comm            no message is there
 *   maybe  ... as recv               if the sender's cancel told that it failed
 *   buffer bytes                     for buffered sends; bytes=0 detaches
 */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

static int rank_of(const struct instruction *l, const char *key, int otherwise)
{
    int n = number(l, key, otherwise);

    if (n == ANY)
        return MPI_ANY_SOURCE;
    return n == NULL_PROC ? MPI_PROC_NULL : n;
}

static int tag_of(const struct instruction *l)
{
    int n = number(l, "tag", 0);

    return n == ANY ? MPI_ANY_TAG : n;
}

struct pending *pending_of(const struct instruction *l, const char *key)
{
    int n = number(l, key, -1);

    if (n < 0 || n >= MAX_REQUESTS)
        bad_script(l, key);
    return &st.pending[n];
}

/* The words of a line that is finished later live on with the request. */
static void keep_line(struct pending *p, const struct instruction *l)
{
    size_t len = strlen(l->op) + 1;
    char *at;

    for (int i = 0; i < l->nwords; i++)
        len += strlen(l->key[i]) + strlen(l->value[i]) + 2;
    p->text = at = malloc(len);
    if (!at)
        MPI_Abort(MPI_COMM_WORLD, 99);
    p->expect = *l;
    p->expect.op = strcpy(at, l->op);
    at += strlen(at) + 1;
    for (int i = 0; i < l->nwords; i++) {
        p->expect.key[i] = strcpy(at, l->key[i]);
        at += strlen(at) + 1;
        p->expect.value[i] = strcpy(at, l->value[i]);
        at += strlen(at) + 1;
    }
}

static void check_status(const struct instruction *l, const struct kind *k,
                         const MPI_Status *status, int count)
{
    int got, source = rank_of(l, "source", rank_of(l, "from", 0));
    int tag = number(l, "realtag", tag_of(l));

    if (word(l, "error", NULL))
        return;
    MPI_Get_count(status, k->type, &got);
    if (got != number(l, "got", count))
        fail(l, "%d elements, expected %d", got, number(l, "got", count));
    if (source != MPI_ANY_SOURCE && status->MPI_SOURCE != source)
        fail(l, "source %d, expected %d", status->MPI_SOURCE, source);
    if (tag != MPI_ANY_TAG && status->MPI_TAG != tag && source != MPI_PROC_NULL)
        fail(l, "tag %d, expected %d", status->MPI_TAG, tag);
}

void check_received(const struct instruction *l, const struct kind *k,
                    const void *buffer, const MPI_Status *status)
{
    int count = number(l, "count", 1), got = number(l, "got", count);

    check_status(l, k, status, count);
    if (rank_of(l, "from", 0) == MPI_PROC_NULL || word(l, "error", NULL))
        return;
    if (number(l, "seed", 0) != ANY)
        data_check(l, k, buffer, got, number(l, "seed", 0));
}

/* ---- sending ---- */

static int start_send(const struct instruction *l, void *b, int n,
                      MPI_Datatype t, MPI_Request *r)
{
    const char *mode = word(l, "mode", "standard");
    int to = rank_of(l, "to", 0), tag = tag_of(l);
    MPI_Comm c = comm_of(l);
    int kept = number(l, "persistent", 0);

    if (strcmp(mode, "sync") == 0)
        return kept ? MPI_Ssend_init(b, n, t, to, tag, c, r)
                    : MPI_Issend(b, n, t, to, tag, c, r);
    if (strcmp(mode, "buffered") == 0)
        return kept ? MPI_Bsend_init(b, n, t, to, tag, c, r)
                    : MPI_Ibsend(b, n, t, to, tag, c, r);
    if (strcmp(mode, "ready") == 0)
        return kept ? MPI_Rsend_init(b, n, t, to, tag, c, r)
                    : MPI_Irsend(b, n, t, to, tag, c, r);
    return kept ? MPI_Send_init(b, n, t, to, tag, c, r)
                : MPI_Isend(b, n, t, to, tag, c, r);
}

static int blocking_send(const struct instruction *l, void *b, int n,
                         MPI_Datatype t)
{
    const char *mode = word(l, "mode", "standard");
    int to = rank_of(l, "to", 0), tag = tag_of(l);
    MPI_Comm c = comm_of(l);

    if (strcmp(mode, "sync") == 0)
        return MPI_Ssend(b, n, t, to, tag, c);
    if (strcmp(mode, "buffered") == 0)
        return MPI_Bsend(b, n, t, to, tag, c);
    if (strcmp(mode, "ready") == 0)
        return MPI_Rsend(b, n, t, to, tag, c);
    if (strcmp(mode, "standard") != 0)
        bad_script(l, "mode");
    return MPI_Send(b, n, t, to, tag, c);
}

static void do_send(const struct instruction *l)
{
    const struct kind *k = kind_of(l);
    int n = number(l, "count", 1);
    void *b = data_alloc(k, n);
    struct pending *p;

    data_fill(k, b, n, number(l, "seed", 0));
    if (number(l, "req", -1) < 0) {
        check_code(l, blocking_send(l, b, n, k->type));
        free(b);
        return;
    }
    p = pending_of(l, "req");
    *p = (struct pending){.active = 1, .buffer = b, .kind = k};
    keep_line(p, l);
    check_code(l, start_send(l, b, n, k->type, &p->request));
}

/* ---- receiving ---- */

static void do_recv(const struct instruction *l)
{
    const struct kind *k = kind_of(l);
    int n = number(l, "count", 1), from = rank_of(l, "from", 0);
    void *b = data_alloc(k, n);
    MPI_Status status;
    struct pending *p;
    int rc;

    if (number(l, "req", -1) < 0) {
        rc = MPI_Recv(b, n, k->type, from, tag_of(l), comm_of(l), &status);
        if (check_code(l, rc) == 0)
            check_received(l, k, b, &status);
        free(b);
        return;
    }
    p = pending_of(l, "req");
    *p = (struct pending){.active = 1, .is_recv = 1, .buffer = b, .kind = k};
    keep_line(p, l);
    rc = number(l, "persistent", 0)
             ? MPI_Recv_init(b, n, k->type, from, tag_of(l), comm_of(l),
                             &p->request)
             : MPI_Irecv(b, n, k->type, from, tag_of(l), comm_of(l),
                         &p->request);
    if (rc != MPI_SUCCESS)
        fail(l, "error %d", rc);
}

static void do_sendrecv(const struct instruction *l)
{
    const struct kind *k = kind_of(l);
    int n = number(l, "count", 1), to = rank_of(l, "to", 0);
    int from = rank_of(l, "from", 0), tag = tag_of(l), rc;
    void *out = data_alloc(k, n), *in = data_alloc(k, n);
    MPI_Status status;

    data_fill(k, out, n, number(l, "seed", 0));
    if (number(l, "replace", 0)) {
        rc = MPI_Sendrecv_replace(out, n, k->type, to, tag, from, tag,
                                  comm_of(l), &status);
        memcpy(in, out, (size_t)n * (size_t)k->size);
    } else {
        rc = MPI_Sendrecv(out, n, k->type, to, tag, in, n, k->type, from, tag,
                          comm_of(l), &status);
    }
    if (check_code(l, rc) == 0)
        data_check(l, k, in, n, number(l, "rseed", 0));
    free(out);
    free(in);
}

/* ---- probing ---- */

static void matched(const struct instruction *l, const struct kind *k,
                    int count)
{
    void *b = data_alloc(k, count);
    MPI_Message message;
    MPI_Status status;

    check_code(l, MPI_Mprobe(rank_of(l, "from", 0), tag_of(l), comm_of(l),
                             &message, &status));
    check_status(l, k, &status, count);
    check_code(l, MPI_Mrecv(b, count, k->type, &message, &status));
    check_status(l, k, &status, count);
    data_check(l, k, b, count, number(l, "seed", 0));
    free(b);
}

static void do_probe(const struct instruction *l)
{
    const struct kind *k = kind_of(l);
    int count = number(l, "got", 1);
    MPI_Status status;

    if (number(l, "matched", 0)) {
        matched(l, k, count);
        return;
    }
    check_code(
        l, MPI_Probe(rank_of(l, "from", 0), tag_of(l), comm_of(l), &status));
    check_status(l, k, &status, count);
}

static void do_nothing(const struct instruction *l)
{
    int flag = 0;

    check_code(l, MPI_Iprobe(rank_of(l, "from", ANY), tag_of(l), comm_of(l),
                             &flag, MPI_STATUS_IGNORE));
    if (flag)
        fail(l, "a message is there");
}

/* The other half of cancel tell=: the message is there unless it was
 * cancelled. */
static void do_maybe(const struct instruction *l)
{
    int cancelled = 0;

    check_code(l, MPI_Recv(&cancelled, 1, MPI_INT, rank_of(l, "from", 0),
                           TELL_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (!cancelled)
        do_recv(l);
}

static void do_buffer(const struct instruction *l)
{
    int n = number(l, "bytes", 0), old;
    void *b;

    if (n == 0) {
        check_code(l, MPI_Buffer_detach(&b, &old));
        free(b);
        return;
    }
    b = malloc((size_t)n);
    if (!b)
        MPI_Abort(MPI_COMM_WORLD, 99);
    check_code(l, MPI_Buffer_attach(b, n));
}

int run_p2p(const struct instruction *l)
{
    static const struct {
        const char *op;
        void (*run)(const struct instruction *l);
    } table[] = {
        {"send", do_send},         {"recv", do_recv},
        {"sendrecv", do_sendrecv}, {"probe", do_probe},
        {"nothing", do_nothing},   {"maybe", do_maybe},
        {"buffer", do_buffer},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].op, l->op) == 0) {
            table[i].run(l);
            return 1;
        }
    return 0;
}
