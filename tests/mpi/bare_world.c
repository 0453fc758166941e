/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One world of several IMPI clients without Slurm and without impid: each
 * client is started by its own library's launcher; this program plays
 * impid's part towards the processes (impi/task_wire.h).
 *
 *   bare_world [-i] [-6] [-h] [-u] [-f] [-w] [-s] [-r] [-e] [-b] [-t]
 *              [-o] [-l] [-p] [-m maxdatalen] [-a address]
 *              FAMILY:N ... -- PROGRAM [ARG ...]
 *
 * FAMILY is mpich or openmpi; PROGRAM.mpich and PROGRAM.openmpi are run.  -i:
 * ranks are dealt out to the clients in turn, instead of client by client.
 * -6: processes meet at ::1 instead of 127.0.0.1; -a: at that address of IPv4.
 * -h: each process has an IMPI host of its own, instead of each client.  -u:
 * the last rank is said to be at an address of a network for documents.  -f:
 * the others reach it by a way that another user floods (flooded_way.h).  -w:
 * no windows span, as before version 4 of the extensions.  -s: their members
 * share no memory, as before version 5.  -r, -e, -b: as before versions 9, 10
 * and 11.  -t: no libfabric, as before version 6.  -o: what stands for MUNGE
 * says that another user runs it.  -l: a process that vanishes is left to the
 * others, which have to see it themselves.  -p: no memory is passed that a
 * process may not open itself.  BARE_FRONT names the library to preload.  Exit
 * code: that of MPI_Abort; 1 when a process vanished; else the worst of the
 * launchers'.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd_pass.h"
#include "base/mac.h"
#include "base/memory.h"
#include "base/sealed.h"
#include "flooded_way.h"
#include "impi/spawn.h"
#include "impi/task_wire.h"
#include "impi/table.h"
#include "impi/world.h"

#define LAUNCHER_GRACE 20 /* seconds to end when told */
#define MAX_PROCS 64
#define MAX_CLIENTS 32
#define BUF_SIZE 65536
#define TAGUB 0x7ffffff

struct proc {
    int fd; /* -1: gone */
    bool finished;
    uint32_t rank;
    pid_t pid;
    struct memory_view view;
    uint8_t buf[SF_TASK_REQUEST_MAX + TASK_HEADER_SIZE];
    size_t len;
};

static struct {
    uint32_t nclients;
    const char *family[MAX_CLIENTS];
    uint32_t size[MAX_CLIENTS];
    pid_t launcher[MAX_CLIENTS];
    uint32_t nprocs;
    uint32_t client[MAX_PROCS]; /* by rank */
    uint32_t native[MAX_PROCS];
    struct impi_world world;
    struct proc proc[MAX_PROCS]; /* by connection */
    uint32_t nconn, nhello, njoin;
    int code;
    bool failed;
    char dir[64];
    char path[108];
    int listener;
    bool ipv6;
    uint8_t address[4]; /* of IPv4 where processes meet */
    bool own_hosts;
    bool last_is_far;
    bool last_is_flooded;
    bool other_user;
    bool left_to_others;
    bool passes_nothing;
    uint32_t without; /* enum impi_world_flag */
} b = {.address = {127, 0, 0, 1}};

static void die(const char *what)
{
    fprintf(stderr, "bare_world: %s: %s\n", what, strerror(errno));
    exit(99);
}

static void kill_all(int code, const char *why)
{
    if (b.failed)
        return;
    b.failed = true;
    b.code = code;
    fprintf(stderr, "bare_world: ending the job: %s\n", why);
    for (uint32_t i = 0; i < b.nclients; i++)
        if (b.launcher[i] > 0)
            kill(b.launcher[i], SIGTERM);
}

/* A launcher that was told to end, and does not, must not keep the test. */
static void kill_launchers(void)
{
    for (uint32_t i = 0; i < b.nclients; i++) {
        if (b.launcher[i] <= 0)
            continue;
        fprintf(stderr, "bare_world: the launcher of client %u does not end\n",
                i);
        kill(b.launcher[i], SIGKILL);
    }
}

/* ---- ranks ---- */

static void deal_ranks(bool interleave)
{
    uint32_t given[MAX_CLIENTS] = {0};

    for (uint32_t r = 0, c = 0; r < b.nprocs; r++) {
        while (given[c] == b.size[c])
            c = (c + 1) % b.nclients;
        b.client[r] = c;
        b.native[r] = given[c]++;
        if (interleave)
            c = (c + 1) % b.nclients;
    }
}

static void ranks_of(uint32_t client, char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t r = 0; r < b.nprocs; r++)
        if (b.client[r] == client)
            n += (size_t)snprintf(text + n, size - n, "%u ", r);
}

/* ---- frames ---- */

static void send_all(struct proc *p, const uint8_t *buf, ssize_t len)
{
    if (len < 0 || send(p->fd, buf, (size_t)len, MSG_NOSIGNAL) != len)
        die("send");
}

static void send_env(struct proc *p)
{
    static uint8_t buf[BUF_SIZE];
    uint32_t c = b.client[p->rank];
    struct task_env e = {.nclients = b.nclients,
                         .client = c,
                         .native_rank = b.native[p->rank],
                         .native_size = b.size[c],
                         .world_size = b.nprocs,
                         .pid = p->view.pid,
                         .machine = p->view.machine};

    if (b.ipv6)
        e.host_addr[sizeof(e.host_addr) - 1] = 1;
    else
        impi_hostid_set_ipv4(e.host_addr, b.address);
    send_all(p, buf, task_env_encode(buf, sizeof(buf), &e));
}

static int make_table(void)
{
    uint32_t clients[MAX_CLIENTS];
    uint8_t *image;
    size_t len;
    int fd;

    for (uint32_t i = 0; i < b.nclients; i++)
        clients[i] = i;
    if (impi_table_build(&image, &len, &b.world, clients, b.nclients) < 0)
        die("table");
    fd = sealed_make("bare_world", image, len);
    if (fd < 0)
        die("table");
    free(image);
    return fd;
}

static void send_world(struct proc *p)
{
    uint8_t head[IMPI_WORLD_HEAD_SIZE];
    uint8_t frame[TASK_HEADER_SIZE + sizeof(head)];
    int table = make_table();

    impi_world_encode_head(&b.world, head);
    task_frame_encode(frame, sizeof(frame), TASK_WORLD, head, sizeof(head));
    if (fd_pass_send(p->fd, frame, sizeof(frame), &table, 1, 0) !=
            (ssize_t)sizeof(frame) &&
        !b.failed)
        die("WORLD");
    close(table);
}

static void to_all(void (*what)(struct proc *))
{
    for (uint32_t i = 0; i < b.nconn; i++)
        if (b.proc[i].fd >= 0)
            what(&b.proc[i]);
}

/* Where the others will look for it. */
static void address(const struct proc *p, uint8_t addr[IMPI_HOSTID_SIZE])
{
    static const uint8_t far[4] = {203, 0, 113, 1};

    if (b.last_is_far && p->rank == b.nprocs - 1)
        impi_hostid_set_ipv4(addr, far);
}

static void take_join(struct proc *p, const struct task_frame *f)
{
    struct impi_proc *w = &b.world.procs[p->rank];
    struct task_join j;

    if (task_join_decode(&j, f->payload, f->len) < 0)
        die("JOIN");
    w->client = b.client[p->rank];
    w->host = b.own_hosts ? p->rank : w->client;
    w->pid = j.pid;
    memcpy(w->hostid, j.addr, sizeof(w->hostid));
    memcpy(w->addr, j.addr, sizeof(w->addr));
    address(p, w->addr);
    w->port = j.port;
    if (b.last_is_flooded && p->rank == b.nprocs - 1) {
        w->port = flooded_way(j.port);
        if (!w->port)
            die("flooded way");
    }
    w->cpus = j.cpus;
    if (++b.njoin == b.nprocs)
        to_all(send_world);
}

/* In the place of munged. */
static void take_question(struct proc *p, const struct task_frame *f)
{
    const char *own = b.other_user ? "bare other" : "bare same";
    uint8_t buf[TASK_PROOF_SIZE];
    struct task_proof t;

    if (task_proof_decode(&t, f->payload, f->len) < 0)
        die("PROVE or CHECK");
    if (f->type == TASK_PROVE)
        strcpy(t.credential, own);
    else if (strcmp(t.credential, own) != 0)
        strcpy(t.text, "SF-E519: the other world may not meet this one: it "
                       "belongs to another user");
    send_all(p, buf,
             task_proof_encode(
                 buf, sizeof(buf),
                 f->type == TASK_PROVE ? TASK_PROOF : TASK_CHECKED, &t));
}

/* As impid_memory.c. */
static void take_claim(struct proc *p, const struct task_frame *f)
{
    uint8_t frame[TASK_HEADER_SIZE];
    struct task_claim c;
    int fd = -1;

    if (task_claim_decode(&c, f->payload, f->len) < 0)
        die("CLAIM");
    if (!b.passes_nothing)
        fd = memory_open(c.pid, c.fd, c.kind);
    if (fd >= 0 && !memory_has(fd, c.kind, c.token))
        die("CLAIM of memory with another token");
    task_frame_encode(frame, sizeof(frame), TASK_CLAIMED, NULL, 0);
    if (fd_pass_send(p->fd, frame, sizeof(frame), &fd, fd >= 0, 0) !=
        (ssize_t)sizeof(frame))
        die("CLAIMED");
    if (fd >= 0)
        close(fd);
}

/* As impi-server of impirun. */
static void refuse_spawn(struct proc *p, const struct task_frame *f)
{
    uint8_t buf[256];
    struct impi_spawn s;
    struct errbuf err;
    struct bytebuf answer;

    if (impi_spawn_decode(&s, f->payload, f->len, &err) < 0)
        die("SPAWN");
    bytebuf_init(&answer, sizeof(buf));
    impi_spawned_encode(&answer, s.number,
                        "only srun's steps can start others");
    send_all(p, buf,
             task_frame_encode(buf, sizeof(buf), TASK_SPAWNED,
                               bytebuf_data(&answer), bytebuf_len(&answer)));
    bytebuf_free(&answer);
    impi_spawn_free(&s);
}

static void take_frame(struct proc *p, const struct task_frame *f)
{
    struct task_hello h;
    struct task_abort a;
    char text[SF_TASK_TEXT_MAX + 64];
    uint8_t buf[TASK_HEADER_SIZE];

    switch (f->type) {
    case TASK_HELLO:
        if (task_hello_decode(&h, f->payload, f->len) < 0 || h.rank >= b.nprocs)
            die("HELLO");
        p->rank = h.rank;
        if (!b.passes_nothing)
            p->view = memory_view_of(p->pid, h.pid, h.users);
        if (++b.nhello == b.nprocs)
            to_all(send_env);
        break;
    case TASK_JOIN:
        take_join(p, f);
        break;
    case TASK_FINISH:
        p->finished = true;
        send_all(p, buf,
                 task_frame_encode(buf, sizeof(buf), TASK_FINISHED, NULL, 0));
        break;
    case TASK_ABORT:
        if (task_abort_decode(&a, f->payload, f->len) < 0)
            die("ABORT");
        if (a.text[0])
            snprintf(text, sizeof(text), "rank %u ended it: %s", p->rank,
                     a.text);
        else
            snprintf(text, sizeof(text), "rank %u called MPI_Abort(%d)",
                     p->rank, a.code);
        kill_all(a.code, text);
        break;
    case TASK_PROVE:
    case TASK_CHECK:
        take_question(p, f);
        break;
    case TASK_CLAIM:
        take_claim(p, f);
        break;
    case TASK_SPAWN:
        refuse_spawn(p, f);
        break;
    default:
        break;
    }
}

/* What it has sent; 0: that was all. */
static ssize_t take(struct proc *p)
{
    struct task_frame f;
    ssize_t n, got = recv(p->fd, p->buf + p->len, sizeof(p->buf) - p->len,
                          MSG_DONTWAIT);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? -1 : 0;
    p->len += (size_t)got;
    while ((n = task_frame_parse(&f, p->buf, p->len, SF_TASK_REQUEST_MAX)) >
           0) {
        take_frame(p, &f);
        p->len -= (size_t)n;
        memmove(p->buf, p->buf + n, p->len);
    }
    return got;
}

/* An MPI_Abort is told before its launcher ends the colleagues. */
static void hear_all(void)
{
    for (uint32_t i = 0; i < b.nconn; i++)
        while (b.proc[i].fd >= 0 && take(&b.proc[i]) > 0)
            ;
}

static void read_proc(struct proc *p)
{
    char text[64];

    if (take(p) != 0)
        return;
    close(p->fd);
    p->fd = -1;
    if (p->finished)
        return;
    hear_all();
    snprintf(text, sizeof(text), "rank %u vanished", p->rank);
    if (b.left_to_others)
        fprintf(stderr, "bare_world: %s\n", text);
    else
        kill_all(1, text);
}

/* A launcher fails because of its processes. */
static void read_all(void)
{
    hear_all();
    for (uint32_t i = 0; i < b.nconn; i++)
        if (b.proc[i].fd >= 0)
            read_proc(&b.proc[i]);
}

/* ---- start ---- */

/* Open MPI's launchers of one user share a session directory, which they make
 * and remove without caring for each other. */
static void session_dir(uint32_t c, char *path, size_t size)
{
    snprintf(path, size, "%s/%u", b.dir, c);
}

static void own_session_dir(uint32_t c)
{
    char path[256];

    session_dir(c, path, sizeof(path));
    if (mkdir(path, 0700) == 0) {
        setenv("OMPI_MCA_orte_tmpdir_base", path, 1);
        setenv("PRTE_MCA_prte_tmpdir_base", path, 1);
    }
}

static void remove_session_dirs(void)
{
    char path[256];

    for (uint32_t c = 0; c < b.nclients; c++) {
        session_dir(c, path, sizeof(path));
        rmdir(path);
    }
}

static void launch(uint32_t c, char **program)
{
    bool mpich = strcmp(b.family[c], "mpich") == 0;
    char ranks[512], script[4096], n[16];
    char *argv[64];
    int i = 0;

    ranks_of(c, ranks, sizeof(ranks));
    snprintf(n, sizeof(n), "%u", b.size[c]);
    /* The launcher is not a stranger here: its variables are marked as impid's
     * own are (front.c). */
    snprintf(script, sizeof(script),
             "set_rank() { shift $%s; SLURM_PROCID=$1; }; set_rank %s; "
             "export SLURM_PROCID SLURM_IMPI_AGENT=%s LD_PRELOAD=%s "
             "BARE_TAGUB=%d BARE_PID=%d; "
             "export SLURM_IMPI_PMI_FD=$PMI_FD; "
             "export SLURM_IMPI_PMIX_NAMESPACE=$PMIX_NAMESPACE; "
             "prog=$1; shift; exec $prog.%s \"$@\"",
             mpich ? "PMI_RANK" : "OMPI_COMM_WORLD_RANK", ranks, b.path,
             getenv("BARE_FRONT"), TAGUB, (int)getpid(), b.family[c]);
    argv[i++] = (char *)(mpich ? "mpiexec.hydra" : "mpirun.openmpi");
    if (!mpich) {
        argv[i++] = (char *)"--allow-run-as-root";
        argv[i++] = (char *)"--oversubscribe";
    }
    argv[i++] = (char *)"-n";
    argv[i++] = n;
    argv[i++] = (char *)"sh";
    argv[i++] = (char *)"-c";
    argv[i++] = script;
    argv[i++] = (char *)"sh";
    while (*program && i < 63)
        argv[i++] = *program++;
    argv[i] = NULL;
    b.launcher[c] = fork();
    if (b.launcher[c] == 0) {
        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        own_session_dir(c);
        /* What -q does; there is no such option from Open MPI 5 on. */
        setenv("OMPI_MCA_orte_execute_quiet", "1", 1);
        setenv("PRTE_MCA_prte_execute_quiet", "1", 1);
        execvp(argv[0], argv);
        _exit(127);
    }
}

static void make_world(uint32_t maxdatalen, uint32_t flags)
{
    struct impi_world *w = &b.world;

    if (impi_world_alloc(w, b.own_hosts ? b.nprocs : b.nclients, b.nprocs) < 0)
        die("world");
    w->maxdatalen = maxdatalen;
    w->tagub = TAGUB;
    w->coll_xsize = 1024;
    w->coll_maxlinear = 4;
    w->ackmark = IMPI_OWN_ACKMARK;
    w->hiwater = IMPI_OWN_HIWATER;
    w->flags = flags;
    w->nclients = b.nclients;
    for (uint32_t i = 0; i < w->nhosts; i++) {
        w->hosts[i].client = b.own_hosts ? b.client[i] : i;
        w->hosts[i].nprocs = b.own_hosts ? 1 : b.size[i];
        w->hosts[i].addr[15] = (uint8_t)(i + 1);
        w->hosts[i].port = 1;
    }
    mac_random(w->secret, sizeof(w->secret));
}

static void listen_here(void)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};

    snprintf(b.dir, sizeof(b.dir), "/tmp/bare_world.XXXXXX");
    if (!mkdtemp(b.dir))
        die("mkdtemp");
    snprintf(b.path, sizeof(b.path), "%s/agent", b.dir);
    strcpy(sun.sun_path, b.path);
    b.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (b.listener < 0 ||
        bind(b.listener, (struct sockaddr *)&sun, sizeof(sun)) < 0 ||
        listen(b.listener, MAX_PROCS) < 0)
        die(b.path);
}

/* ---- run ---- */

static void accept_proc(void)
{
    int fd = accept4(b.listener, NULL, NULL, SOCK_CLOEXEC);
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);

    if (fd < 0)
        return;
    if (b.nconn == MAX_PROCS) {
        close(fd);
        return;
    }
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
    b.proc[b.nconn].fd = fd;
    b.proc[b.nconn].pid = peer.pid;
    b.proc[b.nconn++].rank = UINT32_MAX;
}

static bool reap(void)
{
    bool left = false;

    for (uint32_t i = 0; i < b.nclients; i++) {
        int st;

        if (b.launcher[i] <= 0)
            continue;
        if (waitpid(b.launcher[i], &st, WNOHANG) == b.launcher[i]) {
            int code = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
            char text[64];

            b.launcher[i] = 0;
            if (code) {
                read_all();
                snprintf(text, sizeof(text),
                         "the launcher of client %u (%s) ended with code %d", i,
                         b.family[i], code);
                if (!b.left_to_others)
                    kill_all(code, text);
            }
        } else {
            left = true;
        }
    }
    return left;
}

static volatile sig_atomic_t told_to_end;

static void on_signal(int sig)
{
    if (sig != SIGCHLD)
        told_to_end = sig;
}

static void run(void)
{
    const struct timespec grace = {.tv_sec = LAUNCHER_GRACE};
    struct pollfd fds[MAX_PROCS + 1];
    sigset_t chld, old;

    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigaddset(&chld, SIGTERM);
    sigaddset(&chld, SIGINT);
    sigprocmask(SIG_BLOCK, &chld, &old);
    while (reap()) {
        uint32_t n = b.nconn;
        int ready;

        if (told_to_end)
            kill_all(128 + told_to_end, "told to");
        fds[0] = (struct pollfd){.fd = b.listener, .events = POLLIN};
        for (uint32_t i = 0; i < n; i++)
            fds[i + 1] = (struct pollfd){.fd = b.proc[i].fd, .events = POLLIN};
        ready = ppoll(fds, n + 1, b.failed ? &grace : NULL, &old);
        if (ready == 0)
            kill_launchers();
        if (ready <= 0)
            continue;
        for (uint32_t i = 0; i < n; i++)
            if (b.proc[i].fd >= 0 && fds[i + 1].revents)
                read_proc(&b.proc[i]);
        if (fds[0].revents)
            accept_proc();
    }
}

static char **parse(char **argv, bool *interleave, uint32_t *maxdatalen)
{
    for (argv++; *argv && strcmp(*argv, "--") != 0; argv++) {
        char *colon = strchr(*argv, ':');

        if (strcmp(*argv, "-i") == 0) {
            *interleave = true;
        } else if (strcmp(*argv, "-6") == 0) {
            b.ipv6 = true;
        } else if (strcmp(*argv, "-h") == 0) {
            b.own_hosts = true;
        } else if (strcmp(*argv, "-u") == 0) {
            b.last_is_far = true;
        } else if (strcmp(*argv, "-f") == 0) {
            b.last_is_flooded = true;
        } else if (strcmp(*argv, "-o") == 0) {
            b.other_user = true;
        } else if (strcmp(*argv, "-l") == 0) {
            b.left_to_others = true;
        } else if (strcmp(*argv, "-p") == 0) {
            b.passes_nothing = true;
        } else if (strcmp(*argv, "-w") == 0) {
            /* as before version 4 of the extensions */
            b.without |= IMPI_WORLD_RMA | IMPI_WORLD_RMA_SHARE |
                         IMPI_WORLD_FILES | IMPI_WORLD_RMA_FABRIC |
                         IMPI_WORLD_FEW_ROUNDS | IMPI_WORLD_RMA_EARLY |
                         IMPI_WORLD_FEW_BYTES;
        } else if (strcmp(*argv, "-s") == 0) {
            /* before version 5 */
            b.without |= IMPI_WORLD_RMA_SHARE | IMPI_WORLD_FILES |
                         IMPI_WORLD_RMA_FABRIC | IMPI_WORLD_FEW_ROUNDS |
                         IMPI_WORLD_RMA_EARLY | IMPI_WORLD_FEW_BYTES;
        } else if (strcmp(*argv, "-r") == 0) {
            /* before version 9 */
            b.without |= IMPI_WORLD_FEW_ROUNDS | IMPI_WORLD_RMA_EARLY |
                         IMPI_WORLD_FEW_BYTES;
        } else if (strcmp(*argv, "-e") == 0) {
            /* before version 10 */
            b.without |= IMPI_WORLD_RMA_EARLY | IMPI_WORLD_FEW_BYTES;
        } else if (strcmp(*argv, "-b") == 0) {
            /* before version 11 */
            b.without |= IMPI_WORLD_FEW_BYTES;
        } else if (strcmp(*argv, "-t") == 0) {
            b.without |= IMPI_WORLD_FABRIC | IMPI_WORLD_RMA_FABRIC;
        } else if (strcmp(*argv, "-m") == 0 && argv[1]) {
            *maxdatalen = (uint32_t)atoi(*++argv);
        } else if (strcmp(*argv, "-a") == 0 && argv[1]) {
            if (inet_pton(AF_INET, *++argv, b.address) != 1)
                return NULL;
        } else if (colon && b.nclients < MAX_CLIENTS) {
            *colon = '\0';
            b.family[b.nclients] = *argv;
            b.size[b.nclients] = (uint32_t)atoi(colon + 1);
            b.nprocs += b.size[b.nclients++];
        } else {
            return NULL;
        }
    }
    if (!*argv || b.nprocs == 0 || b.nprocs > MAX_PROCS)
        return NULL;
    return argv + 1;
}

int main(int argc, char **argv)
{
    uint32_t maxdatalen = IMPI_OWN_MAXDATALEN;
    bool interleave = false;
    char **program = parse(argv, &interleave, &maxdatalen);
    struct sigaction sa = {.sa_handler = on_signal};

    if (!program || !*program) {
        fprintf(stderr, "usage: bare_world [-i] [-6] [-h] [-u] [-f] [-w] [-s] "
                        "[-r] [-e] [-b] [-t] [-o] [-l] [-p] [-m bytes] "
                        "[-a address] FAMILY:N ... -- PROGRAM [ARG ...]\n");
        return 99;
    }
    if (!getenv("BARE_FRONT")) {
        fprintf(stderr, "bare_world: BARE_FRONT is not set: the programs would "
                        "run in native worlds of their own\n");
        return 99;
    }
    sigaction(SIGCHLD, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGINT, &sa, NULL);
    deal_ranks(interleave);
    make_world(maxdatalen, IMPI_WORLD_ALL & ~b.without);
    listen_here();
    for (uint32_t c = 0; c < b.nclients; c++)
        launch(c, program);
    run();
    unlink(b.path);
    remove_session_dirs();
    rmdir(b.dir);
    return b.code;
}
