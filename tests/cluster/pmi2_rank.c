/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank of a client that speaks PMI-2 by Slurm's own libpmi2, as an MPICH does
 * that was built for `srun --mpi=pmi2`, without an MPI library: it asks impid
 * as libimpi does, and then calls what PMI-2 has.
 *
 *   pmi2_rank          "rank R of N on NODE, appnum A, mapping M: all is right"
 *   pmi2_rank abort R  rank R calls PMI2_Abort
 *   pmi2_rank talk R   rank R sends what is no PMI-2
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "impi/task_wire.h"
#include "libimpi/agent.h"

#define LIBRARY "libpmi2.so.0"
#define VALUE_SIZE 1025

static struct {
    int (*init)(int *, int *, int *, int *);
    int (*finalize)(void);
    int (*abort)(int, const char *);
    int (*get_id)(char *, int);
    int (*put)(const char *, const char *);
    int (*fence)(void);
    int (*get)(const char *, int, const char *, char *, int, int *);
    int (*put_node)(const char *, const char *);
    int (*get_node)(const char *, char *, int, int *, int);
    int (*get_job)(const char *, char *, int, int *);
    int (*publish)(const char *, const void *, const char *);
    int (*ring)(const char *, int *, int *, char *, char *, int);
} pmi;

static const struct {
    const char *name;
    void *at;
} calls[] = {
    {"PMI2_Init", &pmi.init},
    {"PMI2_Finalize", &pmi.finalize},
    {"PMI2_Abort", &pmi.abort},
    {"PMI2_Job_GetId", &pmi.get_id},
    {"PMI2_KVS_Put", &pmi.put},
    {"PMI2_KVS_Fence", &pmi.fence},
    {"PMI2_KVS_Get", &pmi.get},
    {"PMI2_Info_PutNodeAttr", &pmi.put_node},
    {"PMI2_Info_GetNodeAttr", &pmi.get_node},
    {"PMI2_Info_GetJobAttr", &pmi.get_job},
    {"PMI2_Nameserv_publish", &pmi.publish},
    {"PMIX_Ring", &pmi.ring},
};

static const char *node;
static int rank, size;
static char job[VALUE_SIZE];

static void must(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "rank %d of %d: %s\n", rank, size, what);
    exit(3);
}

static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW);

    must(library != NULL, dlerror());
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *f = dlsym(library, calls[i].name);

        must(f != NULL, calls[i].name);
        memcpy(calls[i].at, &f, sizeof(f));
    }
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    must(value != NULL, name);
    return value;
}

/* As libimpi: HELLO, and the environment that impid gives. */
static void meet(struct agent_conn *agent, struct task_env *env)
{
    struct task_hello hello = {.version = TASK_WIRE_VERSION,
                               .family = TASK_FAMILY_MPICH,
                               .pid = (uint32_t)getpid(),
                               .build = 2,
                               .library = "PMI-2 alone"};
    struct errbuf err = {""};
    char number[16];
    int fd;

    hello.rank = (uint32_t)atoi(variable("SLURM_PROCID"));
    must(agent_connect(agent, variable("SLURM_IMPI_AGENT"), &err) == 0 &&
             agent_hello(agent, &hello, env, &fd, &err) == 0,
         err.text);
    for (uint32_t i = 0; i < env->nenv; i++)
        if (env->env[i][0] != '?')
            putenv(env->env[i]);
    must(fd >= 0, "no socket");
    snprintf(number, sizeof(number), "%d", fd);
    setenv("PMI_FD", number, 1);
}

/* Odd ones for the wire: blanks, lines, semicolons, none at all. */
static void value_of(char *value, int of, int round)
{
    switch (of % 3) {
    case 0:
        snprintf(value, VALUE_SIZE, "of %d=a;b;;c\n;round %d;", of, round);
        break;
    case 1:
        snprintf(value, VALUE_SIZE, "%0*d", VALUE_SIZE - 1, round);
        break;
    default:
        value[0] = '\0';
        break;
    }
}

static void exchange(int round)
{
    char key[65], want[VALUE_SIZE], got[VALUE_SIZE];
    int len;

    snprintf(key, sizeof(key), "key-%d-%d", round, rank);
    value_of(want, rank, round);
    must(pmi.put(key, want) == 0, "put");
    must(pmi.fence() == 0, "fence");
    for (int r = 0; r < size; r++) {
        snprintf(key, sizeof(key), "key-%d-%d", round, r);
        value_of(want, r, round);
        must(pmi.get(job, r, key, got, sizeof(got), &len) == 0, key);
        must(len == (int)strlen(want) && strcmp(got, want) == 0, "value");
    }
    must(pmi.get(job, -1, "nobody's", got, sizeof(got), &len) != 0,
         "a key that nobody has put");
    must(pmi.get("another_job", -1, key, got, sizeof(got), &len) != 0,
         "a key of another job");
}

/* The first process of a node says its name; the others wait for it. */
static void attributes(void)
{
    char got[VALUE_SIZE];
    int found = 1;

    must(pmi.get_node("nobody's", got, sizeof(got), &found, 0) == 0 && !found,
         "an attribute that nobody has put");
    if (strcmp(variable("SLURM_LOCALID"), "0") == 0)
        must(pmi.put_node("node", node) == 0, "put of an attribute");
    must(pmi.get_node("node", got, sizeof(got), &found, 1) == 0 && found,
         "attribute");
    must(strcmp(got, node) == 0, got);
}

static void ring(void)
{
    char mine[32], left[32], right[32], want[32];
    int place, places;

    snprintf(mine, sizeof(mine), "of %d", rank);
    must(pmi.ring(mine, &place, &places, left, right, sizeof(left)) == 0,
         "ring");
    must(place == rank && places == size, "place in the ring");
    snprintf(want, sizeof(want), "of %d", (rank + size - 1) % size);
    must(strcmp(left, want) == 0, left);
    snprintf(want, sizeof(want), "of %d", (rank + 1) % size);
    must(strcmp(right, want) == 0, right);
}

int main(int argc, char **argv)
{
    bool mine = argc == 3 && strcmp(argv[2], variable("SLURM_PROCID")) == 0;
    int spawned, appnum, found = 0;
    struct agent_conn agent;
    struct task_env env;
    char mapping[VALUE_SIZE], universe[VALUE_SIZE];
    struct errbuf err = {""};

    node = variable("SLURMD_NODENAME");
    load();
    meet(&agent, &env);
    must(pmi.init(&spawned, &size, &rank, &appnum) == 0, "init");
    must(!spawned && rank == (int)env.native_rank &&
             size == (int)env.native_size,
         "place");
    must(pmi.get_id(job, sizeof(job)) == 0 && job[0], "job");
    if (mine && strcmp(argv[1], "abort") == 0)
        pmi.abort(1, "as asked");
    if (mine && strcmp(argv[1], "talk") == 0)
        must(write(atoi(variable("PMI_FD")), "999999cmd=", 10) == 10, "talk");
    must(pmi.get_job("PMI_process_mapping", mapping, sizeof(mapping), &found) ==
                 0 &&
             found,
         "mapping");
    must(pmi.get_job("universeSize", universe, sizeof(universe), &found) == 0 &&
             found && atoi(universe) == size,
         "universe");
    must(pmi.get_job("nobody's", universe, sizeof(universe), &found) == 0 &&
             !found,
         "an attribute that no job has");
    exchange(0);
    exchange(1);
    attributes();
    ring();
    must(pmi.publish("service", NULL, "port") != 0, "a name that is published");
    must(pmi.fence() == 0 && pmi.fence() == 0, "fence");
    must(pmi.finalize() == 0, "finalize");
    must(agent_finish(&agent, &err) == 0, err.text);
    printf("rank %d of %d on %s, appnum %d, mapping %s: all is right\n", rank,
           size, node, appnum, mapping);
    agent_close(&agent);
    return 0;
}
