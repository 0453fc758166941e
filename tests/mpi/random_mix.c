/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   random_mix SEED [ROUNDS]
 *
 * All ranks draw the same rounds from SEED: messages of every kind of send and
 * receive with every way to wait, collective calls, communicators that come
 * and go, cancelled sends, native barriers.  All data and statuses are looked
 * at.  Each rank draws for itself in what order it waits and when it rests.
 */
#include "mix.h"

#define MESSAGES 24
#define LONGEST 600000
#define INTS 3000
#define NCOMMS 3
#define CANCEL_TAG 900
#define FLAG_TAG 901

static int pick_length(void)
{
    static const int edge[] = {0, 1, 1024, 65536, 262144 - 48, 262144};
    int kind = pick(8), n = pick(LONGEST), e = pick(6), sign = pick(3) - 1;

    if (kind < 3)
        return n % 64;
    if (kind < 5)
        return n % 3000;
    if (kind < 7)
        return edge[e] + sign < 0 ? 0 : edge[e] + sign;
    return n;
}

/* ---- communicators: the members are always all ---- */

static MPI_Comm comms[NCOMMS], near;
static int *client; /* of each rank: the first rank of its client */

static void make_comms(void)
{
    int first = rank;

    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
    setenv("SLURM_IMPI_WINDOWS", "messages", 1); /* each client for itself */
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank,
                        MPI_INFO_NULL, &near);
    unsetenv("SLURM_IMPI_WINDOWS");
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, near);
    client = malloc((size_t)size * sizeof(int));
    MPI_Allgather(&first, 1, MPI_INT, client, 1, MPI_INT, MPI_COMM_WORLD);
}

static void free_comms(void)
{
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    MPI_Comm_free(&near);
    free(client);
}

/* ---- messages ---- */

enum how {
    POSTED,
    POSTED_ANY,
    PERSISTENT,
    BLOCKING,
    PROBED,
    MATCHED,
    IPROBED,
    NHOW
};
enum mode { STANDARD, SYNCHRONOUS, BUFFERED, STARTED, SPREAD, NMODE };

struct msg {
    int src, dst, len, tag;
    enum mode mode;
    enum how how;
    unsigned char *in, *out;
};

static struct msg msgs[MESSAGES];
static MPI_Request reqs[2 * MESSAGES];
static struct msg *of[2 * MESSAGES]; /* a receive's message, or NULL */
static int nmsgs, nreqs;
static MPI_Comm comm;

/* A faster rank may be one round ahead: no two rounds share a tag. */
static void draw_messages(void)
{
    static int tag = 1000;

    tag = tag > 30000 ? 1000 : tag + MESSAGES;
    nmsgs = 1 + pick(MESSAGES);
    for (int i = 0; i < nmsgs; i++) {
        struct msg *m = &msgs[i];

        *m = (struct msg){.tag = tag + i};
        m->src = pick(size);
        m->dst = pick(size);
        m->len = pick_length();
        m->mode = (enum mode)pick(NMODE);
        m->how = (enum how)pick(NHOW);
        if (m->mode >= BUFFERED && m->mode != STARTED && m->len > 4000)
            m->mode = STANDARD;
        m->in = malloc((size_t)m->len + 1);
    }
}

static MPI_Request *new_request(struct msg *m)
{
    of[nreqs] = m;
    return &reqs[nreqs++];
}

static void post(struct msg *m)
{
    MPI_Request *r = new_request(m);

    if (m->how == PERSISTENT) {
        MPI_Recv_init(m->in, m->len, MPI_BYTE, m->src, m->tag, comm, r);
        MPI_Start(r);
    } else {
        MPI_Irecv(m->in, m->len, MPI_BYTE,
                  m->how == POSTED_ANY ? MPI_ANY_SOURCE : m->src, m->tag, comm,
                  r);
    }
}

/* Every second byte. */
static void send_spread(struct msg *m)
{
    MPI_Datatype t;

    m->out = realloc(m->out, 2 * (size_t)m->len + 1);
    for (int i = 0; i < m->len; i++)
        m->out[2 * i] = pattern(m->src, m->tag, (size_t)i);
    MPI_Type_vector(m->len, 1, 2, MPI_BYTE, &t);
    MPI_Type_commit(&t);
    MPI_Isend(m->out, 1, t, m->dst, m->tag, comm, new_request(NULL));
    MPI_Type_free(&t);
}

static void send(struct msg *m)
{
    m->out = malloc((size_t)m->len + 1);
    fill(m->out, (size_t)m->len, m->src, m->tag);
    switch (m->mode) {
    case SYNCHRONOUS:
        MPI_Issend(m->out, m->len, MPI_BYTE, m->dst, m->tag, comm,
                   new_request(NULL));
        break;
    case BUFFERED:
        MPI_Bsend(m->out, m->len, MPI_BYTE, m->dst, m->tag, comm);
        break;
    case STARTED:
        MPI_Send_init(m->out, m->len, MPI_BYTE, m->dst, m->tag, comm,
                      new_request(NULL));
        MPI_Start(&reqs[nreqs - 1]);
        break;
    case SPREAD:
        send_spread(m);
        break;
    default:
        MPI_Isend(m->out, m->len, MPI_BYTE, m->dst, m->tag, comm,
                  new_request(NULL));
        break;
    }
}

static void verify(const struct msg *m, MPI_Status *st)
{
    int count;

    MPI_Get_count(st, MPI_BYTE, &count);
    MUST(count == m->len && st->MPI_SOURCE == m->src && st->MPI_TAG == m->tag);
    MUST(same(m->in, (size_t)m->len, m->src, m->tag));
}

static void receive(struct msg *m)
{
    int any = m->tag % 2 ? MPI_ANY_SOURCE : m->src, flag = 0;
    MPI_Message message;
    MPI_Status st;

    if (m->how == PROBED)
        MPI_Probe(any, m->tag, comm, &st);
    while (m->how == IPROBED && !flag)
        MPI_Iprobe(any, m->tag, comm, &flag, &st);
    if (m->how == MATCHED) {
        MPI_Mprobe(any, m->tag, comm, &message, &st);
        MUST(st.MPI_SOURCE == m->src);
        MPI_Mrecv(m->in, m->len, MPI_BYTE, &message, &st);
    } else {
        MPI_Recv(m->in, m->len, MPI_BYTE, any, m->tag, comm, &st);
    }
    verify(m, &st);
}

/* ---- all ways to wait ---- */

static void ended(int i, MPI_Status *st)
{
    if (of[i])
        verify(of[i], st);
    of[i] = NULL;
}

static void end_some(int wait)
{
    int index[2 * MESSAGES], n;
    MPI_Status st[2 * MESSAGES];

    do {
        if (wait)
            MPI_Waitsome(nreqs, reqs, &n, index, st);
        else
            MPI_Testsome(nreqs, reqs, &n, index, st);
        for (int k = 0; n != MPI_UNDEFINED && k < n; k++)
            ended(index[k], &st[k]);
    } while (n != MPI_UNDEFINED);
}

static void end_any(int wait)
{
    int i, flag = 1;
    MPI_Status st;

    do {
        if (wait)
            MPI_Waitany(nreqs, reqs, &i, &st);
        else
            MPI_Testany(nreqs, reqs, &i, &flag, &st);
        if (flag && i != MPI_UNDEFINED)
            ended(i, &st);
    } while (!flag || i != MPI_UNDEFINED);
}

static void end_all(int wait)
{
    MPI_Status st[2 * MESSAGES];
    int flag = wait;

    if (wait)
        MPI_Waitall(nreqs, reqs, st);
    while (!flag)
        MPI_Testall(nreqs, reqs, &flag, st);
    for (int i = 0; i < nreqs; i++)
        ended(i, &st[i]);
}

static void end_each(void)
{
    int from = draw(&own, nreqs + 1);

    for (int k = 0; k < nreqs; k++) {
        int i = (from + k) % nreqs;
        MPI_Status st;

        MPI_Wait(&reqs[i], &st);
        ended(i, &st);
    }
}

static void end_requests(void)
{
    switch (draw(&own, 7)) {
    case 0:
    case 1:
        end_some(draw(&own, 2));
        break;
    case 2:
    case 3:
        end_any(draw(&own, 2));
        break;
    case 4:
        end_each();
        break;
    default:
        end_all(draw(&own, 2));
    }
    for (int i = 0; i < nreqs; i++) /* the persistent ones */
        if (reqs[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&reqs[i]);
}

static void begin_messages(int me)
{
    nreqs = 0;
    for (int i = 0; i < nmsgs; i++)
        if (msgs[i].dst == me && msgs[i].how <= PERSISTENT)
            post(&msgs[i]);
    rest();
    for (int i = 0; i < nmsgs; i++)
        if (msgs[i].src == me)
            send(&msgs[i]);
}

static void end_messages(int me)
{
    rest();
    for (int i = 0; i < nmsgs; i++)
        if (msgs[i].dst == me && msgs[i].how > PERSISTENT)
            receive(&msgs[i]);
    end_requests();
    for (int i = 0; i < nmsgs; i++) {
        free(msgs[i].in);
        free(msgs[i].out);
    }
}

static void messages(MPI_Comm c)
{
    int me;

    comm = c;
    MPI_Comm_rank(c, &me);
    draw_messages();
    begin_messages(me);
    end_messages(me);
}

/* ---- collective calls ---- */

static int ints[INTS], more[INTS * 64];

static void sums(MPI_Comm c, int n, int kind)
{
    int me, sum = size * (size - 1) / 2, first;

    MPI_Comm_rank(c, &me);
    for (int i = 0; i < n; i++)
        ints[i] = me + i;
    if (kind == 0)
        MPI_Allreduce(ints, more, n, MPI_INT, MPI_SUM, c);
    else if (kind == 1)
        MPI_Reduce(ints, more, n, MPI_INT, MPI_SUM, n % size, c);
    else
        MPI_Scan(ints, more, n, MPI_INT, MPI_SUM, c);
    if (kind == 1 && me != n % size)
        return;
    first = kind == 2 ? me * (me + 1) / 2 : sum;
    for (int i = 0; i < n; i++)
        MUST(more[i] == first + i * (kind == 2 ? me + 1 : size));
}

static void spreads(MPI_Comm c, int n, int kind)
{
    int me, root = n % size;

    MPI_Comm_rank(c, &me);
    n = 1 + n % (INTS / 64);
    for (int i = 0; i < n * size; i++)
        ints[i] = me * 10000 + i;
    if (kind == 0)
        MPI_Alltoall(ints, n, MPI_INT, more, n, MPI_INT, c);
    else if (kind == 1)
        MPI_Allgather(ints, n, MPI_INT, more, n, MPI_INT, c);
    else
        MPI_Gather(ints, n, MPI_INT, more, n, MPI_INT, root, c);
    for (int p = 0; p < size && (kind != 2 || me == root); p++)
        for (int i = 0; i < n; i++)
            MUST(more[p * n + i] == p * 10000 + (kind == 0 ? me * n : 0) + i);
}

static void bcast(MPI_Comm c, int len, int root)
{
    unsigned char *buf = malloc((size_t)len + 1);
    int me;

    MPI_Comm_rank(c, &me);
    if (me == root)
        fill(buf, (size_t)len, root, len);
    MPI_Bcast(buf, len, MPI_BYTE, root, c);
    MUST(same(buf, (size_t)len, root, len));
    free(buf);
}

/* Messages while collective calls are under way. */
static void overlapped(MPI_Comm c)
{
    int one = 1, sum = 0, me, root = pick(size), v;
    MPI_Request r[3];

    MPI_Comm_rank(c, &me);
    v = me == root ? 4711 : 0;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c, &r[0]);
    MPI_Ibcast(&v, 1, MPI_INT, root, c, &r[1]);
    messages(comms[pick(NCOMMS)]);
    MPI_Ibarrier(c, &r[2]);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    MUST(sum == size && v == 4711);
}

static void collective(void)
{
    MPI_Comm c = comms[pick(NCOMMS)];
    int kind = pick(9), n = 1 + pick(INTS - 1), len = pick_length();

    rest();
    if (kind < 3)
        sums(c, n, kind);
    else if (kind < 6)
        spreads(c, n, kind - 3);
    else if (kind == 6)
        bcast(c, len, n % size);
    else if (kind == 7)
        MPI_Barrier(c);
    else
        overlapped(c);
}

/* ---- others ---- */

static void communicators(void)
{
    int parts = 1 + pick(3), n, one = 1, sum = 0;
    MPI_Comm a, b;

    MPI_Comm_split(comms[pick(NCOMMS)], rank % parts, rank, &a);
    MPI_Comm_dup(comms[pick(NCOMMS)], &b);
    messages(b);
    MPI_Comm_size(a, &n);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, a);
    MUST(sum == n);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
}

/* Either it is gone or it is received.  Open MPI takes no send back itself:
 * between its own ranks only short ones. */
static void cancelled(void)
{
    int src = pick(size), dst = (src + 1 + pick(size)) % size, gone = 0;
    int len = pick_length(), sync = pick(2);
    unsigned char *buf = malloc((size_t)len + 1);
    MPI_Request r;
    MPI_Status st;

    if (client[src] == client[dst])
        len %= 1000, sync = 0;
    if (rank == src && src != dst) {
        fill(buf, (size_t)len, src, len);
        (sync ? MPI_Issend : MPI_Isend)(buf, len, MPI_BYTE, dst, CANCEL_TAG,
                                        MPI_COMM_WORLD, &r);
        rest();
        MPI_Cancel(&r);
        MPI_Wait(&r, &st);
        MPI_Test_cancelled(&st, &gone);
        MPI_Send(&gone, 1, MPI_INT, dst, FLAG_TAG, MPI_COMM_WORLD);
    } else if (rank == dst && src != dst) {
        MPI_Recv(&gone, 1, MPI_INT, src, FLAG_TAG, MPI_COMM_WORLD, &st);
        if (!gone) {
            MPI_Recv(buf, len, MPI_BYTE, src, CANCEL_TAG, MPI_COMM_WORLD, &st);
            MUST(same(buf, (size_t)len, src, len));
        }
    }
    free(buf);
}

/* A barrier of the own client while a message of another one is due. */
static void near_barrier(void)
{
    int in = -1, d = 1 + pick(size - 1);
    MPI_Request r[2];

    MPI_Irecv(&in, 1, MPI_INT, (rank + d) % size, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Barrier(near);
    MPI_Isend(&rank, 1, MPI_INT, (rank + size - d) % size, 7, MPI_COMM_WORLD,
              &r[1]);
    MPI_Barrier(near);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MUST(in == (rank + d) % size);
}

static void one_round(void)
{
    step_now = pick(12);
    if (step_now < 6)
        messages(comms[pick(NCOMMS)]);
    else if (step_now < 9)
        collective();
    else if (step_now == 9)
        communicators();
    else if (step_now == 10)
        cancelled();
    else
        near_barrier();
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 40, left;
    void *bsend = malloc(1 << 20);

    begin_mix(argc, argv);
    MPI_Buffer_attach(bsend, 1 << 20);
    make_comms();
    for (round_now = 0; round_now < rounds; round_now++)
        one_round();
    free_comms();
    MPI_Buffer_detach(&bsend, &left);
    free(bsend);
    return end("random_mix");
}
