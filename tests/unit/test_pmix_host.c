/* SPDX-License-Identifier: BSD-3-Clause
 * A server and a client of the real libpmix: this program runs itself as the
 * client.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pmix.h>

#include "suite.h"

#include "pmi/pmix_host.h"

#define BLOB (1 << 20)
#define FENCES 12
#define SETTLED 4 /* after so many libpmix has what it keeps */
#define MANY 65536
#define MANY_HOSTS 1025
#define MANY_MB 24 /* libpmix's own are some 5 */

extern const struct pmix_host_api pmix_host_api;

/* ---- the client ---- */

static int publish(char *blob)
{
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    int rc;

    value.data.bo.bytes = blob;
    value.data.bo.size = BLOB;
    rc = PMIx_Put(PMIX_GLOBAL, "blob", &value);
    return rc == PMIX_SUCCESS ? PMIx_Commit() : rc;
}

/* All that was ever published goes along. */
static int fence(void)
{
    bool collect = true;
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    return PMIx_Fence(NULL, 0, &info, 1);
}

/* What libpmix says of a process, or NULL. */
static pmix_value_t *get(const pmix_proc_t *me, uint32_t rank, const char *key)
{
    pmix_proc_t proc = {.rank = rank};
    pmix_value_t *v = NULL;

    memcpy(proc.nspace, me->nspace, sizeof(proc.nspace));
    return PMIx_Get(&proc, key, NULL, 0, &v) == PMIX_SUCCESS ? v : NULL;
}

static bool is_text(const pmix_proc_t *me, uint32_t rank, const char *key,
                    const char *want)
{
    pmix_value_t *v = get(me, rank, key);
    bool good =
        v && v->type == PMIX_STRING && strcmp(v->data.string, want) == 0;

    if (v)
        PMIX_VALUE_RELEASE(v);
    return good;
}

static bool is_number(const pmix_proc_t *me, uint32_t rank, const char *key,
                      uint32_t want)
{
    pmix_value_t *v = get(me, rank, key);
    bool good = v && ((v->type == PMIX_UINT32 && v->data.uint32 == want) ||
                      (v->type == PMIX_UINT16 && v->data.uint16 == want));

    if (v)
        PMIX_VALUE_RELEASE(v);
    return good;
}

/* Bytes of this process's own memory. */
static size_t touched(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    size_t kb = 0;

    while (f && fgets(line, sizeof(line), f) &&
           sscanf(line, "Anonymous: %zu kB", &kb) != 1)
        continue;
    if (f)
        fclose(f);
    return kb ? kb * 1024 : SIZE_MAX;
}

static int client(void)
{
    pmix_proc_t me;
    char *blob;
    int rc;

    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 2;
    if (!is_text(&me, 1, PMIX_HOSTNAME, "n1"))
        return 6;
    blob = calloc(1, BLOB);
    rc = blob ? publish(blob) : PMIX_ERR_NOMEM;
    free(blob);
    if (rc != PMIX_SUCCESS)
        return 3;
    for (int i = 0; i < FENCES; i++)
        if (fence() != PMIX_SUCCESS)
            return 5;
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 4;
}

/* Comes and goes. */
static int short_client(void)
{
    pmix_proc_t me;

    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 1;
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 2;
}

/* Of a large job it knows its own node only, and so takes little memory. */
static int one_of_many(void)
{
    pmix_proc_t me;

    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 1;
    if (!is_number(&me, 0, PMIX_LOCAL_RANK, 0) ||
        !is_number(&me, 0, PMIX_NODE_RANK, 0) ||
        !is_number(&me, 0, PMIX_APPNUM, 3) ||
        !is_text(&me, 0, PMIX_HOSTNAME, "n0"))
        return 2;
    if (!is_number(&me, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, MANY) ||
        !is_number(&me, PMIX_RANK_WILDCARD, PMIX_NUM_NODES, MANY_HOSTS) ||
        !is_number(&me, PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE, 1) ||
        !is_text(&me, PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, "0"))
        return 3;
    if (get(&me, 1, PMIX_HOSTNAME) || get(&me, 1, PMIX_LOCAL_RANK))
        return 4;
    if (touched() > MANY_MB << 20)
        return 5;
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 6;
}

/* ---- the server ---- */

struct server {
    int wake[2];
    unsigned nfences;
    size_t blobs;   /* bytes that came with fences, once settled */
    size_t settled; /* bytes of the heap then */
    size_t used;    /* and now */
};

static size_t heap(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

static void on_wake(void *arg)
{
    const struct server *s = arg;

    assert_int_equal(write(s->wake[1], "", 1), 1);
}

static void on_client(void *arg, const char *nspace, uint32_t rank)
{
}

static void on_abort(void *arg, const char *nspace, uint32_t rank, int code,
                     const char *text)
{
    fail();
}

static void on_fence(void *arg, struct pmix_host_fence *f, const char *nspace,
                     const uint32_t *ranks, size_t nranks, const void *blob,
                     size_t len)
{
    struct server *s = arg;

    s->nfences++;
    if (s->nfences == SETTLED)
        s->settled = heap();
    else if (s->nfences > SETTLED)
        s->blobs += len;
    s->used = heap();
    pmix_host_api.fence_done(f, blob, len, true);
}

static const struct pmix_host_ops ops = {on_wake, on_client, on_client,
                                         on_abort, on_fence};

static pid_t spawn_client(const char *nspace, char *what, struct errbuf *err)
{
    char **env = pmix_host_api.add_process(nspace, 0, getuid(), getgid(), err);
    pid_t pid;

    assert_non_null(env);
    pid = fork();
    if (pid == 0) {
        char *const argv[] = {"test_pmix_host", what, NULL};

        for (char **e = env; *e; e++)
            putenv(*e);
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    assert_true(pid > 0);
    pmix_host_api.free_env(env);
    return pid;
}

static int serve_until_end(struct server *s, pid_t pid)
{
    struct pollfd p = {.fd = s->wake[0], .events = POLLIN};
    int status = 0;
    char byte;

    while (waitpid(pid, &status, WNOHANG) == 0)
        if (poll(&p, 1, 100) == 1) {
            assert_int_equal(read(s->wake[0], &byte, 1), 1);
            pmix_host_api.dispatch();
        }
    return status;
}

static char dir[] = "/tmp/test_pmix_host.XXXXXX";
static struct server server;

/* libpmix 5 begins once in a process only. */
static int start_server(void **state)
{
    struct errbuf err = {""};

    assert_non_null(mkdtemp(dir));
    assert_int_equal(pipe(server.wake), 0);
    if (pmix_host_api.start(dir, "n0", &ops, &server, &err) < 0)
        fail_msg("%s", err.text);
    return 0;
}

static int stop_server(void **state)
{
    char command[64];

    pmix_host_api.stop();
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

/* How a client of that kind ends, the first process of a namespace of two. */
static int one_client(char *what, const char *nspace, const char *its_dir)
{
    static const char *const names[] = {"n0", "n1"};
    static const uint32_t hosts[] = {0, 1};
    struct pmix_host_nspace ns = {.name = nspace,
                                  .dir = its_dir,
                                  .size = 2,
                                  .nhosts = 2,
                                  .host_names = names,
                                  .rank_host = hosts,
                                  .universe = 2};
    struct errbuf err = {""};

    if (pmix_host_api.add_nspace(&ns, &err) < 0)
        fail_msg("%s", err.text);
    return serve_until_end(&server, spawn_client(nspace, what, &err));
}

static void blobs_of_fences_are_not_kept(void **state)
{
    const struct server *s = &server;

    assert_int_equal(one_client("client", "ns", dir), 0);
    assert_int_equal(s->nfences, FENCES);
    assert_true(s->blobs >= (FENCES - SETTLED) * (size_t)BLOB);
    print_message("# %zu bytes came, %zd stayed\n", s->blobs,
                  (ssize_t)(s->used - s->settled));
    /* libpmix 4.2.2 itself keeps each twice: when it collects them, and in
     * what it stores of the answer */
    assert_true(s->used <= s->settled + 2 * s->blobs + s->blobs / 2);
}

/* As a container's process has it, by a descriptor.  libpmix 5 would put a
 * file there. */
static void a_directory_that_the_server_does_not_see(void **state)
{
    assert_int_equal(one_client("short", "there", "/proc/self/fd/300/ns"), 0);
}

/* The first process alone on its node, 64 on each of the others. */
static void a_large_job_costs_little(void **state)
{
    static char text[MANY_HOSTS][8];
    static const char *names[MANY_HOSTS];
    static uint32_t hosts[MANY];
    struct pmix_host_nspace ns = {.name = "many",
                                  .dir = dir,
                                  .size = MANY,
                                  .nhosts = MANY_HOSTS,
                                  .host_names = names,
                                  .rank_host = hosts,
                                  .universe = MANY,
                                  .appnum = 3};
    struct errbuf err = {""};
    size_t before, after;

    for (uint32_t h = 0; h < MANY_HOSTS; h++) {
        snprintf(text[h], sizeof(text[h]), "n%u", h);
        names[h] = text[h];
    }
    for (uint32_t r = 1; r < MANY; r++)
        hosts[r] = 1 + (r - 1) / 64;
    before = heap();
    if (pmix_host_api.add_nspace(&ns, &err) < 0)
        fail_msg("%s", err.text);
    after = heap();
    print_message("# %zd bytes for %u ranks\n", (ssize_t)(after - before),
                  MANY);
    assert_true(after <= before + (1 << 20));
    assert_int_equal(
        serve_until_end(&server, spawn_client("many", "many", &err)), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_that_the_server_does_not_see),
        cmocka_unit_test(a_large_job_costs_little),
        cmocka_unit_test(blobs_of_fences_are_not_kept),
    };

    if (argc > 1 && strcmp(argv[1], "client") == 0)
        return client();
    if (argc > 1 && strcmp(argv[1], "short") == 0)
        return short_client();
    if (argc > 1 && strcmp(argv[1], "many") == 0)
        return one_of_many();
    return cmocka_run_group_tests_name("pmix_host", tests, start_server,
                                       stop_server);
}
