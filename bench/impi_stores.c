/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a node keeps beside what is ours when 65 536 ranks of one library are
 * a client on so many nodes: PMI-1's key-value space, for MPICH, and libpmix's
 * job and modex.  Two real processes of MPICH say what a rank has to say, and
 * processes of the real libpmix say as much; pmi1 takes it of all ranks,
 * libpmix the job of all and the modex of two, times the ranks.  Two real
 * processes of Open MPI, in a job of four and in the large one, say what
 * MPI_Init takes of each in all.  Lines of "NAME VALUE".
 *
 *     impi_stores NODES MPICH-PROGRAM OPENMPI-PROGRAM
 */
#include <malloc.h>
#include <pmix.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/be.h"
#include "base/limits.h"
#include "base/number.h"
#include "pmi/pmi.h"
#include "pmi/pmix_host.h"

#define RANKS 65536u
#define LOCAL 2 /* real processes at a time */
#define WAIT_MS 60000
#define NODE_NAME "node%05u"

extern const struct pmix_host_api pmix_host_api;

static void must(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "impi_stores: %s\n", what);
    exit(1);
}

static size_t heap(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

static pid_t start(const char *program, const char *what, char **env)
{
    pid_t pid = fork();

    must(pid >= 0, "fork");
    if (pid > 0)
        return pid;
    must(dup2(2, 1) == 1, "dup2");
    for (char **e = env; *e; e++)
        putenv(*e);
    execl(program, program, what, (char *)NULL);
    _exit(127);
}

static void end(const pid_t *pids)
{
    for (int i = 0; i < LOCAL; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
}

/* ---- PMI-1 ------------------------------------------------------------- */

#define PUTS 64

/* What a process put, in its order. */
struct puts {
    unsigned n;
    struct {
        char key[SF_PMI_KEY_MAX + 1], value[SF_PMI_VALUE_MAX + 1];
    } put[PUTS];
};

struct mpich {
    struct pmi *pmi1;
    int fd[LOCAL];
    struct puts puts[LOCAL];
    unsigned barriers;
};

static void on_reply(void *arg, uint32_t local, const char *line, size_t len)
{
    const struct mpich *m = arg;

    must(write(m->fd[local], line, len) == (ssize_t)len, "answer to MPICH");
}

static void on_barrier(void *arg, const void *blob, size_t len)
{
    struct mpich *m = arg;
    struct pmi_blob own = {blob, len};

    m->barriers++;
    must(pmi_barrier_done(m->pmi1, &own, 1, NULL) == 0, "barrier");
}

static void on_abort(void *arg, uint32_t local, int code)
{
    must(false, "MPICH aborts");
}

static const struct pmi_ops ops = {on_reply, on_barrier, on_abort};

static void note_puts(struct puts *p, char *text)
{
    char *save, *line;

    for (line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        const char *key = strstr(line, " key="), *value;

        if (strncmp(line, "cmd=put ", 8) != 0 || !key)
            continue;
        value = strstr(line, " value=");
        must(value != NULL && p->n < PUTS, "what MPICH puts");
        must(sscanf(key, " key=%64s", p->put[p->n].key) == 1 &&
                 sscanf(value, " value=%1024s", p->put[p->n].value) == 1,
             "what MPICH puts");
        p->n++;
    }
}

/* Whole lines: MPICH waits for each answer.  False: it has gone. */
static bool hear(struct mpich *m, uint32_t local)
{
    char text[4 * SF_PMI1_LINE_MAX];
    ssize_t n = read(m->fd[local], text, sizeof(text) - 1);

    if (n <= 0)
        return false;
    must(pmi_input(m->pmi1, local, text, (size_t)n, NULL) == 0, "PMI-1");
    text[n] = '\0';
    note_puts(&m->puts[local], text);
    return true;
}

/* Two processes of one node, to the end of their MPI_Init at least. */
static void listen_to_mpich(struct mpich *m, const char *program)
{
    const struct pmi_config config = {.kvsname = "kvs",
                                      .mapping = "(vector,(0,1,2))",
                                      .size = LOCAL,
                                      .nlocal = LOCAL,
                                      .universe = LOCAL};
    struct pollfd p[LOCAL];
    pid_t pids[LOCAL];
    int open = LOCAL;

    memset(m, 0, sizeof(*m));
    m->pmi1 = pmi_create(&config, &ops, m);
    must(m->pmi1 != NULL, "PMI-1");
    for (int i = 0; i < LOCAL; i++) {
        char fd[32], rank[32], size[] = "PMI_SIZE=2";
        char *env[] = {fd, rank, size, NULL};
        int pair[2];

        must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
        m->fd[i] = pair[0];
        snprintf(fd, sizeof(fd), "PMI_FD=%d", pair[1]);
        snprintf(rank, sizeof(rank), "PMI_RANK=%d", i);
        pids[i] = start(program, NULL, env);
        close(pair[1]);
        p[i] = (struct pollfd){.fd = pair[0], .events = POLLIN};
    }
    while (open > 0) {
        must(poll(p, LOCAL, WAIT_MS) > 0, "MPICH says nothing");
        for (int i = 0; i < LOCAL; i++) {
            if (p[i].revents == 0 || hear(m, (uint32_t)i))
                continue;
            p[i].fd = -1;
            open--;
        }
    }
    end(pids);
    for (int i = 0; i < LOCAL; i++)
        close(m->fd[i]);
    pmi_destroy(m->pmi1);
    must(m->barriers > 0, "MPICH has no barrier");
}

/* Its key, with another rank in place of its own at the end. */
static void rank_key(char *buf, size_t size, const char *key, uint32_t rank)
{
    size_t len = strlen(key);

    while (len > 0 && key[len - 1] >= '0' && key[len - 1] <= '9')
        len--;
    snprintf(buf, size, "%.*s%u", (int)len, key, rank);
}

/* The blob of a node's ranks: its first one says what a node's first one does,
 * the others what a second one does. */
static size_t make_blob(const struct mpich *m, uint8_t *blob, size_t size,
                        uint32_t first, uint32_t n)
{
    struct be_writer w;

    be_writer_init(&w, blob, size);
    for (uint32_t r = first; r < first + n; r++) {
        const struct puts *p = &m->puts[r == first ? 0 : 1];

        for (unsigned i = 0; i < p->n; i++) {
            char key[SF_PMI_KEY_MAX + 16];

            rank_key(key, sizeof(key), p->put[i].key, r);
            be_put_str(&w, key);
            be_put_str(&w, p->put[i].value);
        }
    }
    must(!w.bad, "blob");
    return w.len;
}

static struct {
    struct pmi *pmi1;
    bool waits;
} big;

static void big_reply(void *arg, uint32_t local, const char *line, size_t len)
{
}

static void big_barrier(void *arg, const void *blob, size_t len)
{
    big.waits = true;
}

static const struct pmi_ops big_ops = {big_reply, big_barrier, on_abort};

static void key_value_space(const struct mpich *m, uint32_t nodes)
{
    const struct pmi_config config = {.kvsname = "kvs",
                                      .mapping = "(vector,(0,1,1))",
                                      .size = RANKS,
                                      .nlocal = 1,
                                      .universe = RANKS};
    static const char words[] = "cmd=init pmi_version=1 pmi_subversion=1\n"
                                "cmd=barrier_in\n";
    size_t size = (size_t)RANKS / nodes * PUTS * 512, before, sent = 0;
    struct pmi_blob *blobs = calloc(nodes, sizeof(*blobs));
    uint8_t *scratch = malloc(size);
    uint32_t each = RANKS / nodes;
    struct errbuf err = {""};

    must(blobs && scratch, "memory");
    for (uint32_t h = 0; h < nodes; h++) {
        size_t len = make_blob(m, scratch, size, h * each, each);
        uint8_t *copy = malloc(len);

        must(copy != NULL, "memory");
        memcpy(copy, scratch, len);
        blobs[h] = (struct pmi_blob){copy, len};
        sent += len;
    }
    before = heap();
    big.pmi1 = pmi_create(&config, &big_ops, NULL);
    must(big.pmi1 != NULL, "PMI-1");
    must(pmi_input(big.pmi1, 0, words, sizeof(words) - 1, &err) == 0, err.text);
    must(big.waits, "no barrier");
    must(pmi_barrier_done(big.pmi1, blobs, nodes, &err) == 0, err.text);
    fflush(stdout);
    printf("kvs_sent_bytes %.1f\n", (double)sent / RANKS);
    printf("kvs_mb %.2f\n", (double)(heap() - before) / 1e6);
    pmi_destroy(big.pmi1);
    for (uint32_t h = 0; h < nodes; h++)
        free((void *)blobs[h].data);
    free(blobs);
    free(scratch);
}

/* ---- PMIx -------------------------------------------------------------- */

/* A process that has so many bytes to say, as MPI_Init does. */
static int client(uint32_t len)
{
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    bool collect = true;
    pmix_info_t info;
    pmix_proc_t me;

    value.data.bo.bytes = calloc(1, len);
    value.data.bo.size = len;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    must(value.data.bo.bytes && PMIx_Init(&me, NULL, 0) == PMIX_SUCCESS &&
             PMIx_Put(PMIX_GLOBAL, "allgather-shm-1", &value) == PMIX_SUCCESS &&
             PMIx_Commit() == PMIX_SUCCESS &&
             PMIx_Fence(NULL, 0, &info, 1) == PMIX_SUCCESS,
         "a process of libpmix");
    PMIx_Fence(NULL, 0, NULL, 0); /* the server ends us there */
    return 0;
}

/* What a server with two processes tells. */
struct told {
    size_t job;     /* bytes that the namespace takes here */
    size_t touched; /* bytes of its own of rank 0, in its modex */
    size_t ended;   /* and in the barrier at the end of MPI_Init */
    size_t modex;   /* bytes that the modex takes here */
    size_t len;     /* of what the processes say in the modex */
    uint8_t blob[1 << 18];
};

struct host {
    struct told *told;
    const struct told *others; /* what comes of the other node, or NULL */
    const char *program;       /* of Open MPI, or NULL: this one */
    pid_t pids[LOCAL];
    size_t before; /* bytes of the heap at the modex */
    int wake[2];
    bool over;
};

static void on_wake(void *arg)
{
    const struct host *h = arg;

    must(write(h->wake[1], "", 1) == 1, "pipe");
}

static void on_client(void *arg, const char *nspace, uint32_t rank)
{
}

static void on_pmix_abort(void *arg, const char *nspace, uint32_t rank,
                          int code, const char *text)
{
    must(false, "a process aborts");
}

static size_t touched(pid_t pid)
{
    char path[64], line[256];
    size_t kb = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    f = fopen(path, "r");
    must(f != NULL, path);
    while (fgets(line, sizeof(line), f) &&
           sscanf(line, "Anonymous: %zu kB", &kb) != 1)
        continue;
    fclose(f);
    return kb * 1024;
}

/* The first one with data is the modex; what comes then, the barrier at the
 * end of MPI_Init, is the end here. */
static void on_fence(void *arg, struct pmix_host_fence *f, const char *nspace,
                     const uint32_t *ranks, size_t nranks, const void *blob,
                     size_t len)
{
    struct host *h = arg;
    struct told *t = h->told;
    size_t more = h->others ? h->others->len : 0;
    uint8_t *all;

    if (t->len > 0) {
        t->modex = heap() - h->before;
        t->ended = touched(h->pids[0]);
        h->over = true;
        return;
    }
    must(len <= sizeof(t->blob), "a long modex");
    all = malloc(len + more + 1);
    must(all != NULL, "memory");
    memcpy(all, blob, len);
    if (more > 0)
        memcpy(all + len, h->others->blob, more);
    if (len > 0) {
        memcpy(t->blob, blob, len);
        t->len = len;
        t->touched = touched(h->pids[0]);
        h->before = heap();
    }
    pmix_host_api.fence_done(f, all, len + more, true);
    free(all);
}

static const struct pmix_host_ops host_ops = {on_wake, on_client, on_client,
                                              on_pmix_abort, on_fence};

/* A node with the two that are real, and the other ranks in blocks. */
static void add_nspace(struct host *h, const char *dir, uint32_t size,
                       uint32_t nodes, uint32_t host)
{
    const char **names = calloc(nodes + 1, sizeof(*names));
    uint32_t *at = calloc(size, sizeof(*at));
    char(*text)[16] = calloc(nodes + 1, sizeof(*text));
    struct pmix_host_nspace ns = {.name = "ns",
                                  .dir = dir,
                                  .size = size,
                                  .host_names = names,
                                  .rank_host = at,
                                  .host = host,
                                  .universe = size};
    struct errbuf err = {""};
    size_t before;

    must(names && at && text, "memory");
    for (uint32_t i = 0; i <= nodes; i++) {
        snprintf(text[i], sizeof(text[i]), NODE_NAME, i);
        names[i] = text[i];
    }
    for (uint32_t r = LOCAL; r < size; r++)
        at[r] = 1 + (r - LOCAL) / (size / nodes);
    ns.nhosts = at[size - 1] + 1;
    before = heap();
    must(pmix_host_api.add_nspace(&ns, &err) == 0, err.text);
    h->told->job = heap() - before;
    free(names);
    free(at);
    free(text);
}

static void serve(struct host *h, uint32_t len, uint32_t size, uint32_t nodes,
                  uint32_t host)
{
    char dir[] = "/tmp/impi_stores.XXXXXX", command[64], name[16], length[16];
    struct pollfd p = {.events = POLLIN};
    struct errbuf err = {""};
    char byte;

    must(mkdtemp(dir) != NULL && pipe(h->wake) == 0, "a directory");
    snprintf(length, sizeof(length), "%u", len);
    snprintf(name, sizeof(name), NODE_NAME, host);
    setenv("OMPI_MCA_btl_vader_backing_directory", dir, 1);
    must(pmix_host_api.start(dir, name, &host_ops, h, &err) == 0, err.text);
    add_nspace(h, dir, size, nodes, host);
    for (uint32_t i = 0; i < LOCAL; i++) {
        char **env = pmix_host_api.add_process("ns", host * LOCAL + i, getuid(),
                                               getgid(), &err);

        must(env != NULL, err.text);
        h->pids[i] =
            start(h->program ? h->program : "/proc/self/exe", length, env);
        pmix_host_api.free_env(env);
    }
    p.fd = h->wake[0];
    while (!h->over) {
        must(poll(&p, 1, WAIT_MS) == 1 && read(p.fd, &byte, 1) == 1,
             "libpmix says nothing");
        pmix_host_api.dispatch();
    }
    end(h->pids);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    must(system(command) == 0, command);
}

/* libpmix's state is a process's: each server is one of its own. */
static void ask(struct told *t, const struct told *others, const char *program,
                uint32_t len, uint32_t size, uint32_t nodes, uint32_t host)
{
    struct host h = {.told = t, .others = others, .program = program};
    size_t got = 0;
    int pair[2], status;
    pid_t pid;

    memset(t, 0, sizeof(*t));
    must(pipe(pair) == 0, "pipe");
    fflush(stdout);
    pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        serve(&h, len, size, nodes, host);
        for (const char *at = (const char *)t; got < sizeof(*t);) {
            ssize_t n = write(pair[1], at + got, sizeof(*t) - got);

            must(n > 0, "pipe");
            got += (size_t)n;
        }
        _exit(0);
    }
    close(pair[1]);
    while (got < sizeof(*t)) {
        ssize_t n = read(pair[0], (char *)t + got, sizeof(*t) - got);

        must(n > 0, "the server has ended");
        got += (size_t)n;
    }
    close(pair[0]);
    must(waitpid(pid, &status, 0) == pid && status == 0, "the server failed");
}

static void pmix_stores(uint32_t len, uint32_t nodes)
{
    static struct told other, alone, both, large;
    double of_rank, modex;

    ask(&other, NULL, NULL, len, 2 * LOCAL, 2, 1);
    ask(&alone, NULL, NULL, len, 2 * LOCAL, 2, 0);
    ask(&both, &other, NULL, len, 2 * LOCAL, 2, 0);
    ask(&large, NULL, NULL, len, RANKS, nodes, 0);
    of_rank = (double)other.len / LOCAL;
    modex = ((double)both.modex - (double)alone.modex) / LOCAL;
    printf("modex_sent_bytes %.1f\n", of_rank);
    printf("modex_kept_bytes %.1f\n", modex);
    printf("modex_mb %.2f\n", modex * RANKS / 1e6);
    printf("job_mb %.2f\n", (double)large.job / 1e6);
    printf("rank_job_mb %.2f\n",
           ((double)large.touched - (double)alone.touched) / 1e6);
}

/* MPI_Init is as in a step of so many ranks, of which nobody else has come. */
static void openmpi(const char *program, uint32_t nodes)
{
    static struct told small, large;

    setenv("OMPI_MCA_ess", "pmi", 1); /* as impirun says it */
    setenv("OMPI_MCA_schizo", "^orte", 1);
    ask(&small, NULL, program, 0, 2 * LOCAL, 2, 0);
    ask(&large, NULL, program, 0, RANKS, nodes, 0);
    printf("openmpi_small_mb %.2f\n", (double)small.ended / 1e6);
    printf("openmpi_mb %.2f\n", (double)large.ended / 1e6);
}

static uint32_t bytes_of(const struct puts *p)
{
    size_t len = 0;

    for (unsigned i = 0; i < p->n; i++)
        len += strlen(p->put[i].value);
    return (uint32_t)len;
}

int main(int argc, char **argv)
{
    static struct mpich mpich;
    uint32_t nodes, len;

    if (argc == 2 && number_parse(&len, argv[1], 0, 1 << 20) == 0)
        return client(len);
    if (argc != 4 || number_parse(&nodes, argv[1], 1, RANKS) < 0 ||
        RANKS % nodes != 0 || RANKS / nodes < LOCAL) {
        fprintf(stderr, "usage: impi_stores NODES MPICH-PROGRAM "
                        "OPENMPI-PROGRAM, nodes a power of two\n");
        return 2;
    }
    listen_to_mpich(&mpich, argv[2]);
    key_value_space(&mpich, nodes);
    pmix_stores(bytes_of(&mpich.puts[1]), nodes);
    openmpi(argv[3], nodes);
    return 0;
}
