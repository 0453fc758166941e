/* SPDX-License-Identifier: BSD-3-Clause
 * A server and a client of the real libpmix: this program runs itself as the
 * client.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
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

/* Of the process of the other node: the first and the last that is told. */
static bool knows_the_other(const pmix_proc_t *me)
{
    pmix_proc_t other = {.rank = 1};
    pmix_value_t *v = NULL;
    bool good;

    memcpy(other.nspace, me->nspace, sizeof(other.nspace));
    good = PMIx_Get(&other, PMIX_HOSTNAME, NULL, 0, &v) == PMIX_SUCCESS &&
           v->type == PMIX_STRING && strcmp(v->data.string, "n1") == 0;
    if (v)
        PMIX_VALUE_RELEASE(v);
    return good;
}

static int client(void)
{
    char *blob = calloc(1, BLOB);
    pmix_proc_t me;

    if (!blob || PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 2;
    if (!knows_the_other(&me))
        return 6;
    if (publish(blob) != PMIX_SUCCESS)
        return 3;
    free(blob);
    for (int i = 0; i < FENCES; i++)
        if (fence() != PMIX_SUCCESS)
            return 5;
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 4;
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

static pid_t spawn_client(struct errbuf *err)
{
    char **env = pmix_host_api.add_process("ns", 0, getuid(), getgid(), err);
    pid_t pid;

    assert_non_null(env);
    pid = fork();
    if (pid == 0) {
        char *const argv[] = {"test_pmix_host", "client", NULL};

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

static void blobs_of_fences_are_not_kept(void **state)
{
    static const char *const names[] = {"n0", "n1"};
    static const uint32_t hosts[] = {0, 1};
    char dir[] = "/tmp/test_pmix_host.XXXXXX", command[64];
    struct pmix_host_nspace ns = {.name = "ns",
                                  .dir = dir,
                                  .size = 2,
                                  .nhosts = 2,
                                  .host_names = names,
                                  .rank_host = hosts,
                                  .universe = 2};
    struct server s = {.nfences = 0};
    struct errbuf err = {""};

    assert_non_null(mkdtemp(dir));
    assert_int_equal(pipe(s.wake), 0);
    if (pmix_host_api.start(dir, "n0", &ops, &s, &err) < 0 ||
        pmix_host_api.add_nspace(&ns, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(serve_until_end(&s, spawn_client(&err)), 0);
    pmix_host_api.stop();
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(s.nfences, FENCES);
    assert_true(s.blobs >= (FENCES - SETTLED) * (size_t)BLOB);
    print_message("# %zu bytes came, %zd stayed\n", s.blobs,
                  (ssize_t)(s.used - s.settled));
    /* libpmix 4.2.2 itself keeps each twice: when it collects them, and in
     * what it stores of the answer */
    assert_true(s.used <= s.settled + 2 * s.blobs + s.blobs / 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blobs_of_fences_are_not_kept),
    };

    if (argc > 1 && strcmp(argv[1], "client") == 0)
        return client();
    return cmocka_run_group_tests_name("pmix_host", tests, NULL, NULL);
}
