/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between two processes, by our means and by plain ones:
 *
 *     hsn_bench ring SIZE COUNT ROUNDS           one shared-memory ring
 *     hsn_bench seqpacket RELAYS SIZE COUNT ROUNDS
 *     hsn_bench hsn SOCKET BOARD SOCKET BOARD SIZE COUNT ROUNDS
 *                          endpoints of one hsnd, or of two
 * print "RATE HALF": messages received per second while the other side sends
 * as fast as it can with at most 1024 (8 KB: 96) under way, and the median half
 * round trip in microseconds.
 *
 *     hsn_bench tag SIZE        ns of the tag of a frame: made, checked
 *     hsn_bench memory SOCKET PID N   bytes that hsnd takes per endpoint
 *
 * As one of two tasks of a program on this node (elan_run):
 *
 *     hsn_bench pages CONTROL COUNT   task 1 gets COUNT messages of 64 KB,
 * eight hsn_bench rings CONTROL COUNT   of 8 KB each, in pages or by rings, and
 *                                     prints how many bytes libhsn and hsnd
 *                                     copied for one, and messages per second
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/ctl.h"
#include "base/ring.h"
#include "elan/rmscall.h"
#include "hsn/elan_frame.h"
#include "hsn/libhsn.h"
#include "../tests/unit/ring_wait.h"

#define SIZE_MAX_BENCH (8192 + 64)

static uint8_t buf[SIZE_MAX_BENCH];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One side of a way to send messages to the other side. */
struct end {
    int (*send)(struct end *e, size_t size); /* waits for room */
    int (*recv)(struct end *e);              /* waits for one */
    struct ring out, in;
    int bell, fd;
    struct ring_spin spin;
    struct hsn *h;
    uint64_t peer;
    uint16_t module; /* of the peer */
};

/* ---- a ring ---- */

static int ring_send(struct end *e, size_t size)
{
    void *p;

    while (!(p = ring_reserve(&e->out, size))) {
        struct pollfd w = {.fd = e->bell, .events = POLLIN};

        if (errno != EAGAIN)
            return -1;
        if (ring_sleep_full(&e->out, size) && poll(&w, 1, -1) == 1 &&
            ring_bell_clear(e->bell) < 0)
            return -1;
        ring_awake(&e->out);
    }
    memcpy(p, buf, size);
    ring_commit(&e->out, size);
    if (ring_must_wake(&e->out))
        ring_bell(e->bell);
    return 0;
}

static int ring_recv(struct end *e)
{
    size_t len;
    const void *p;

    while (!(p = ring_peek(&e->in, &len))) {
        if (errno != EAGAIN || ring_wait(&e->in, e->bell, -1, &e->spin) < 0)
            return -1;
    }
    memcpy(buf, p, len);
    ring_consume(&e->in);
    if (ring_must_wake_full(&e->in))
        ring_bell(e->bell);
    return 0;
}

/* ---- SEQPACKET ---- */

static int socket_send(struct end *e, size_t size)
{
    return send(e->fd, buf, size, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static int socket_recv(struct end *e)
{
    return recv(e->fd, buf, sizeof(buf), 0) > 0 ? 0 : -1;
}

/* A process that passes messages on, both ways. */
static void relay(int a, int b)
{
    struct pollfd p[2] = {{.fd = a, .events = POLLIN},
                          {.fd = b, .events = POLLIN}};

    while (poll(p, 2, -1) > 0)
        for (int i = 0; i < 2; i++) {
            ssize_t n;

            while (p[i].revents &&
                   (n = recv(p[i].fd, buf, sizeof(buf), MSG_DONTWAIT)) >= 0)
                if (n == 0 || send(p[!i].fd, buf, (size_t)n, MSG_NOSIGNAL) < 0)
                    _exit(0);
        }
    _exit(0);
}

/* ---- endpoints ---- */

static int hsn_end_send(struct end *e, size_t size)
{
    struct hsn_message m = {
        .board = e->peer, .module = e->module, .data = buf, .data_len = size};

    while (hsn_send(e->h, &m) < 0)
        if (errno != EAGAIN || hsn_wait_send(e->h, -1) < 0)
            return -1;
    return 0;
}

static int hsn_end_recv(struct end *e)
{
    struct hsn_message m;

    while (hsn_try_recv(e->h, &m) < 0)
        if (errno != EAGAIN || (hsn_wait(e->h, 200) < 0 && errno != EINTR))
            return -1;
        else if (hsn_try_recv(e->h, &m) == 0)
            break;
        else if (errno != EAGAIN)
            return -1;
        else
            return 1; /* lost: for who cares */
    memcpy(buf, m.data, m.data_len);
    return 0;
}

/* ---- measuring ---- */

struct shared {
    _Atomic int streaming; /* what is sent now is not to be answered */
    volatile int stop;
    volatile double rate;
    _Atomic uint32_t got;  /* messages counted so far */
    _Atomic uint32_t goal; /* the sender sleeps until so many; 0: awake */
};

static long futex(_Atomic uint32_t *word, int op, uint32_t value,
                  const struct timespec *limit)
{
    return syscall(SYS_futex, word, op, value, limit, NULL, 0);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double half_round_trip(struct end *e, size_t size, int rounds)
{
    double *t = calloc((size_t)rounds, sizeof(*t)), median;

    for (int i = 0; i < rounds; i++) {
        double begin = now();
        int rc;

        do {
            if (e->send(e, size) < 0)
                die("send");
            rc = e->recv(e);
        } while (rc == 1); /* a datagram was lost: again */
        if (rc < 0)
            die("receive");
        t[i] = (now() - begin) / 2 * 1e6;
    }
    qsort(t, (size_t)rounds, sizeof(*t), compare);
    median = t[rounds / 2];
    free(t);
    return median;
}

/* One more message came: let the sender go on when it waits for that. */
static void count_one(struct shared *s, int n)
{
    uint32_t goal;

    atomic_store(&s->got, (uint32_t)n);
    goal = atomic_load(&s->goal);
    if (goal && (uint32_t)n >= goal && atomic_exchange(&s->goal, 0))
        futex(&s->goal, FUTEX_WAKE, 1, NULL);
}

/* The other side: answers, then counts.  It does not count its answers: one
 * that was late was asked for twice. */
static void answer(struct end *e, struct shared *s, size_t size, int count)
{
    double begin;
    int rc, n = 0;

    while ((rc = e->recv(e)) == 1 || !s->streaming)
        if (rc < 0 || (rc == 0 && e->send(e, size) < 0))
            die("answer");
    begin = now();
    while (n < count) {
        rc = e->recv(e);
        if (rc < 0)
            die("receive");
        n += rc == 0;
        count_one(s, n);
    }
    s->rate = count / (now() - begin);
    s->stop = 1;
    count_one(s, INT32_MAX);
    while (e->fd >= 0 && e->recv(e) == 0) /* until the sender stops */
        ;
}

/* The window is full: sleep until half of it has arrived.  False: nothing
 * moves. */
static bool window_wait(struct shared *s, uint32_t goal)
{
    const struct timespec limit = {.tv_nsec = 5000000};
    uint32_t seen = atomic_load(&s->got);

    goal = goal ? goal : 1;
    atomic_store(&s->goal, goal);
    if (atomic_load(&s->got) < goal)
        futex(&s->goal, FUTEX_WAIT, goal, &limit);
    atomic_store(&s->goal, 0);
    return atomic_load(&s->got) != seen;
}

/* Send as fast as the receiver takes them: a window of messages may be under
 * way.  What is lost is noticed by nothing moving for a while. */
static void stream(struct end *a, struct shared *s, size_t size, pid_t pid)
{
    uint32_t sent = 0, window = size > 1024 ? 96 : 1024;

    while (!s->stop && waitpid(pid, NULL, WNOHANG) <= 0) {
        for (; sent - atomic_load(&s->got) < window; sent++)
            if (a->send(a, size) < 0 && !s->stop)
                die("send");
        if (!window_wait(s, sent - window / 2) && !s->stop)
            sent = atomic_load(&s->got);
    }
}

static void run(struct end *a, struct end *b, size_t size, int count,
                int rounds)
{
    struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = fork();
    double half;

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (a->fd >= 0)
            close(a->fd);
        answer(b, s, size, count);
        _exit(0);
    }
    if (b->fd >= 0)
        close(b->fd);
    half = half_round_trip(a, size, rounds);
    s->streaming = 1;
    stream(a, s, size, pid);
    if (s->rate == 0)
        exit(1);
    printf("%.0f %.3f\n", s->rate, half);
    fflush(stdout);
    kill(pid, SIGKILL);
    _exit(0); /* relays end with their sockets */
}

static void bench_ring(size_t size, int count, int rounds)
{
    struct end a = {ring_send, ring_recv, .fd = -1};
    struct end b = {ring_send, ring_recv, .fd = -1};
    int pair[2], there = ring_create(1 << 20, NULL);
    int back = ring_create(1 << 20, NULL);

    if (there < 0 || back < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0 ||
        ring_attach(&a.out, there, RING_PRODUCER, 16384, NULL) < 0 ||
        ring_attach(&b.in, there, RING_CONSUMER, 16384, NULL) < 0 ||
        ring_attach(&b.out, back, RING_PRODUCER, 16384, NULL) < 0 ||
        ring_attach(&a.in, back, RING_CONSUMER, 16384, NULL) < 0)
        die("ring");
    a.bell = pair[0];
    b.bell = pair[1];
    run(&a, &b, size, count, rounds);
}

static void bench_seqpacket(int relays, size_t size, int count, int rounds)
{
    struct end a = {.send = socket_send, .recv = socket_recv};
    struct end b = {.send = socket_send, .recv = socket_recv};
    int left, pair[2], first[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, first) < 0)
        die("socketpair");
    left = first[1];
    for (int i = 0; i < relays; i++) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
            die("socketpair");
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(first[0]);
            close(pair[1]);
            relay(left, pair[0]);
        }
        close(left);
        close(pair[0]);
        left = pair[1];
    }
    a.fd = first[0];
    b.fd = left;
    run(&a, &b, size, count, rounds);
}

static void bench_hsn(char **argv, size_t size, int count, int rounds)
{
    struct end a = {hsn_end_send, hsn_end_recv, .fd = -1};
    struct end b = {hsn_end_send, hsn_end_recv, .fd = -1};
    const char *one = argv[0], *two = argv[2];

    a.h = hsn_dgram_open(one, 0x600);
    b.h = hsn_dgram_open(two, 0x601);
    a.module = 0x601;
    b.module = 0x600;
    if (!a.h || !b.h)
        die("hsnd");
    a.peer = strtoull(argv[3], NULL, 16);
    b.peer = strtoull(argv[1], NULL, 16);
    run(&a, &b, size, count, rounds);
}

static void bench_tag(size_t size)
{
    struct elan_capability cap = {.LowContext = 1,
                                  .HighContext = 2,
                                  .HighNode = 1,
                                  .Entries = 4,
                                  .Type = ELAN_CAP_TYPE_BLOCK,
                                  .Bitmap = {0xf}};
    struct hsn_elan_sources *s = hsn_elan_sources_new(&cap);
    struct hsn_elan_sender sender;
    struct hsn_elan_head h;
    struct iovec data = {buf, size}, none = {NULL, 0};
    uint8_t head[HSN_ELAN_HEADER];
    int n = size > 1000 ? 20000 : 200000;
    double seal = 0, check = 0, t;

    hsn_elan_sender_init(&sender, &cap.UserKey, 0, 1, 1);
    for (int i = 0; i < n; i++) {
        t = now();
        hsn_elan_seal(&sender, 1, 2, &data, &none, head);
        seal += now() - t;
        hsn_elan_head_get(&h, head, sizeof(head));
        t = now();
        if (hsn_elan_check(s, &h, head, &data, 1, &none) != HSN_ELAN_OK)
            exit(1);
        check += now() - t;
    }
    printf("%.0f %.0f\n", seal / n * 1e9, check / n * 1e9);
}

/* Private and shared memory of a process, bytes. */
static long memory_of(const char *pid)
{
    char path[64], line[256];
    long kb, all = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%s/smaps_rollup", pid);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Rss: %ld", &kb) == 1)
            all = kb * 1024;
    if (f)
        fclose(f);
    return all;
}

static void bench_memory(const char *socket, const char *pid, int n)
{
    long before = memory_of(pid);

    for (int i = 0; i < n; i++)
        if (!hsn_dgram_open(socket, (uint16_t)(0x700 + i)))
            die("hsnd");
    printf("%ld\n", (memory_of(pid) - before) / n);
}

/* ---- 64 KB between two processes of a program ---- */

enum { PARTS = 8, PART = 8192, WINDOW = 8 /* messages of 64 KB under way */ };

/* Bytes of data that hsnd has copied so far. */
static uint64_t copied_by_hsnd(const char *control)
{
    static const char *const names[] = {"port_copied", "page_copied",
                                        "copied_data"};
    struct json_object *reply, *counters, *value;
    struct errbuf err;
    uint64_t sum = 0;

    if (ctl_ask(control, "counters", &reply, 60000, &err) < 0 ||
        !json_object_object_get_ex(reply, "counters", &counters))
        exit(1);
    for (int i = 0; i < 3; i++) {
        if (!json_object_object_get_ex(counters, names[i], &value))
            exit(1);
        sum += json_object_get_uint64(value);
    }
    json_object_put(reply);
    return sum;
}

/* The next message; who waits for a minute gives up. */
static void await(struct hsn *h, struct hsn_message *m)
{
    while (hsn_try_recv(h, m) < 0)
        if (errno != EAGAIN || (hsn_wait(h, 60000) <= 0 && errno != EINTR))
            die("receive");
}

/* To the other task; copied: bytes that had to be copied for it. */
static void part_send(struct hsn *h, const ELAN_CAPABILITY *cap, bool pages,
                      int number, uint64_t *copied)
{
    struct hsn_message m = {.node = (uint32_t)cap->LowNode,
                            .context = (uint32_t)cap->LowContext + 1,
                            .data = buf,
                            .data_len = PART,
                            .header = copied,
                            .header_len = sizeof(*copied)};
    void *page = buf;

    while (pages && !(page = hsn_page_get(h)))
        if (errno != EAGAIN || hsn_wait_send(h, 60000) <= 0)
            die("page");
    memset(page, number, PART); /* it is made where it is sent from */
    m.data = page;
    *copied += pages ? 0 : PART;
    while ((pages ? hsn_send_page(h, &m) : hsn_send(h, &m)) < 0)
        if (errno != EAGAIN || hsn_wait_send(h, 60000) <= 0)
            die("send");
}

static void task_sends(struct hsn *h, const ELAN_CAPABILITY *cap, bool pages,
                       int count)
{
    struct hsn_message m;
    uint64_t copied = 0;
    int taken = 0;

    await(h, &m); /* the other one is there */
    for (int n = 0; n < count; n++) {
        for (; n - taken >= WINDOW; taken++)
            await(h, &m);
        for (int i = 0; i < PARTS; i++)
            part_send(h, cap, pages, n, &copied);
    }
    for (; taken < count; taken++)
        await(h, &m);
}

static void task_receives(struct hsn *h, const ELAN_CAPABILITY *cap,
                          const char *control, int count)
{
    struct hsn_message m, ack = {.node = (uint32_t)cap->LowNode,
                                 .context = (uint32_t)cap->LowContext,
                                 .header = "",
                                 .header_len = 1};
    uint64_t before = copied_by_hsnd(control), by_library = 0;
    double begin;

    while (hsn_send(h, &ack) < 0)
        ;
    begin = now();
    for (int n = 0; n < count; n++) {
        for (int i = 0; i < PARTS; i++) {
            await(h, &m);
            if (m.data_len != PART || m.header_len != sizeof(by_library))
                exit(1);
            for (size_t k = 0; k < PART; k += 64)
                if (((const uint8_t *)m.data)[k] != (uint8_t)n)
                    exit(1); /* one was lost, or is wrong */
            memcpy(&by_library, m.header, sizeof(by_library));
        }
        while (hsn_send(h, &ack) < 0)
            ;
    }
    begin = now() - begin;
    printf("%.0f %.0f\n",
           (double)(copied_by_hsnd(control) - before + by_library) / count,
           count / begin);
}

static int bench_task(const char *control, bool pages, int count)
{
    const char *task = getenv("RMS_PROCID");
    ELAN_CAPABILITY cap;
    struct hsn *h;

    if (!task || count < 1 || rms_getcap(0, &cap) < 0)
        die("no task of a program");
    h = hsn_attach(NULL, &cap, -1);
    if (!h || (pages && hsn_pages_open(h) < 0))
        die("hsnd");
    if (atoi(task) == 0)
        task_sends(h, &cap, pages, count);
    else
        task_receives(h, &cap, control, count);
    hsn_close(h);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    size_t size = argc > 3 ? (size_t)atol(argv[argc - 3]) : 0;
    int count = argc > 2 ? atoi(argv[argc - 2]) : 0;
    int rounds = argc > 2 ? atoi(argv[argc - 1]) : 0;

    if (size > 8192)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    if (strcmp(what, "ring") == 0 && argc == 5)
        bench_ring(size, count, rounds);
    else if (strcmp(what, "seqpacket") == 0 && argc == 6)
        bench_seqpacket(atoi(argv[2]), size, count, rounds);
    else if (strcmp(what, "hsn") == 0 && argc == 9)
        bench_hsn(argv + 2, size, count, rounds);
    else if (strcmp(what, "tag") == 0 && argc == 3)
        bench_tag((size_t)atol(argv[2]));
    else if ((strcmp(what, "pages") == 0 || strcmp(what, "rings") == 0) &&
             argc == 4)
        return bench_task(argv[2], what[0] == 'p', atoi(argv[3]));
    else if (strcmp(what, "memory") == 0 && argc == 5)
        bench_memory(argv[2], argv[3], atoi(argv[4]));
    else
        return 2;
    return 0;
}
